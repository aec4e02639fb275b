"""Types that are written down twice say the same."""

import inspect
from typing import get_type_hints

import stepwell
from stepwell._types import ReservoirOptions


def test_estimators_pass_on_all_options_of_the_reservoir():
    own = get_type_hints(stepwell.PyramidalReservoir.__init__)
    assert own.pop("return") is type(None)
    assert get_type_hints(ReservoirOptions) == own


def test_public_functions_are_annotated():
    empty = inspect.Parameter.empty
    for name in stepwell.__all__:
        public = getattr(stepwell, name)
        members = [(name, public)]
        if inspect.isclass(public):
            members = [(f"{name}.{each}", held) for each, held in vars(public).items() if not each.startswith("_")]
        for place, function in members:
            if inspect.isfunction(function) and function.__module__.startswith("stepwell"):
                signature = inspect.signature(function)
                annotated = [each.annotation for each in signature.parameters.values() if each.name != "self"]
                assert empty not in [*annotated, signature.return_annotation], place

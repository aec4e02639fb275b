"""Types that are declared twice agree."""

import inspect
from pathlib import Path

import pytest
import stepwell
from stepwell import _options, _parameters
from stepwell._stepwell import check_options, option_table, preset_options


def test_types_of_parameters_are_those_of_the_options():
    written = Path(_parameters.__file__).read_text()
    assert written == _options.source(), "run python -m stepwell._options"
    for kind, types in [
        (stepwell.PyramidalReservoir, _parameters.ReservoirParameters),
        (stepwell.PyramidalReservoirRegressor, _parameters.RegressorParameters),
        (stepwell.PyramidalReservoirClassifier, _parameters.ClassifierParameters),
        (stepwell.PyramidalReservoirNodeRegressor, _parameters.NodeRegressorParameters),
        (stepwell.PyramidalReservoirNodeClassifier, _parameters.NodeClassifierParameters),
    ]:
        assert sorted(kind().get_params()) == sorted(types.__annotations__)
        for name in types.__annotations__:
            assert f"\n{name} : " in kind.__doc__, name


def test_every_option_is_a_parameter_with_its_default():
    known = stepwell.PyramidalReservoirClassifier().get_params()
    of_nodes, vertices = stepwell.PyramidalReservoirNodeClassifier().get_params(), preset_options("vertices")
    accurate, paper = preset_options("accurate"), preset_options("paper")
    for name, group, annotation, doc in option_table():
        assert group in ("Model", "Pooling", "Readout") and annotation and doc.endswith(".")
        assert check_options({name: paper[name]}) == paper, name
        if name == "level":  # fixed by the class
            continue
        of_vertices = name in _options.OF_VERTICES
        value = (of_nodes if of_vertices else known)[_options.spelled(name)]
        if of_vertices:
            assert value == vertices[name], name
        elif name in _options.CHOSEN:
            assert value is None, name
        elif name != "class_weight":
            assert (list(value) if isinstance(value, tuple) else value) == accurate[name], name
        with pytest.raises(ValueError, match=f"^{name}: expected "):
            check_options({name: {"no": "value"}})


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

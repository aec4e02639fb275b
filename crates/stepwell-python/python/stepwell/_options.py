"""Options of a model as parameters of an estimator.

The library defines every option once: name, type, default, doc and range. This
module makes signatures and docstrings from them, and ``python -m
stepwell._options`` writes the types in ``_parameters.py``.
"""

import difflib
import inspect
import re
import textwrap
from typing import Any, get_type_hints

from ._parameters import ClassifierParameters, NodeClassifierParameters
from ._stepwell import option_table, preset_options

#: Options without effect for graphs, and for vertices.
OF_VERTICES = ("level", "concat_sweeps", "own_inputs")
OF_GRAPHS = ("level", "aggregate", "pool_after", "pool_last", "kernel", "wl_rounds", "wl_weight", "choose")

#: Options that leave-one-out may choose. Here they are None unless the user sets them, so that training can tell
#: a value that equals the default from no value.
CHOSEN = tuple(name.replace("-", "_") for name in preset_options("accurate")["choose"])

#: Options with another name or meaning in scikit-learn: name, type, doc.
_SPELLED = {
    "seed": (
        "random_state",
        "int | np.integer[Any] | np.random.RandomState | None",
        "Seed of the random weights: an integer, a ``RandomState``, or None for a new seed each time.",
    ),
    "class_weight": (
        "class_weight",
        'Literal["balanced", "auto"] | Mapping[Any, float] | None',
        "Weight of the graphs of a class: None (equal weight for all graphs), \"balanced\" (equal weight for "
        "all classes), \"auto\" (None, balanced or a blend, whichever has the best leave-one-out ``metric``; "
        "None if the metric is accuracy, or if there are more than three targets), or a weight for each label.",
    ),
}

#: Parameters that are not options of the model.
_OWN = {
    "n_jobs": (
        "int | None",
        None,
        "Number of threads, at most one per core. None means 1, -1 one per core. Results do not "
        "depend on it.",
    ),
    "verbose": ("bool", False, "Report progress on stderr."),
    "device": (
        'Literal["cpu", "cuda", "auto"]',
        "cpu",
        "Device for the vectors: \"cpu\", \"cuda\" (an NVIDIA GPU; an error if there is none), or "
        "\"auto\" (a GPU if there is one). Vectors agree to about 1e-6; the model file does not depend on it.",
    ),
    "input": (
        'Literal["graphs", "smiles", "smiles:ogb"]',
        "graphs",
        "The type of input: \"graphs\", \"smiles\" for SMILES strings, which are converted by "
        "``stepwell.molecules.from_smiles``, or \"smiles:ogb\" for SMILES with the features of OGB. The model "
        "file stores it. RDKit molecules and graphs of molecules are accepted as well.",
    ),
}


def spelled(name: str) -> str:
    """The name of an option as a parameter."""
    return _SPELLED[name][0] if name in _SPELLED else name


def set_by_user(options: dict[str, Any]) -> list[str]:
    """The options with a value that no preset has."""
    presets = [preset_options(name) for name in ("accurate", "paper", "reference", "vertices")]
    return [name for name, value in options.items() if all(value != preset[name] for preset in presets)]


def defaults(groups: tuple[str, ...], preset: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parameters for options in these groups, with the values of a preset."""
    values = unset(preset_options(preset), preset)
    found = {name: values[name] for name, group, *_ in option_table() if group in groups and name not in without}
    found = {spelled(name): frozen(value) for name, value in found.items()}
    if found.get("class_weight") == "none":
        found["class_weight"] = None
    return found | {name: default for name, (_, default, _) in _OWN.items()}


def unset(options: dict[str, Any], preset: str) -> dict[str, Any]:
    """The options with None for those that leave-one-out chooses, starting from the value of the preset."""
    usual = preset_options(preset)
    chosen = [name.replace("-", "_") for name in options["choose"]]
    return options | {name: None for name in CHOSEN if name in chosen and options[name] == usual[name]}


def with_parameters(groups: tuple[str, ...], preset: str, without: tuple[str, ...] = ()):
    """Gives a class an ``__init__`` with these parameters, and their description
    in place of ``**parameters`` in its docstring."""
    known = defaults(groups, preset, without)

    def decorate(cls):
        def __init__(self, **given):
            unknown = [name for name in given if name not in known]
            if unknown:
                near = difflib.get_close_matches(unknown[0], known, 1)
                hint = f". Did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument {unknown[0]!r}{hint}")
            vars(self).update(known | given)

        kind, types = inspect.Parameter.KEYWORD_ONLY, _types()
        listed = [
            inspect.Parameter(name, kind, default=value, annotation=types.get(name, inspect.Parameter.empty))
            for name, value in known.items()
        ]
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = inspect.Signature([first, *listed])
        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        __init__.__module__ = cls.__module__
        cls.__init__ = __init__
        cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("**parameters", _described(known))
        cls._defaults, cls._preset = known, preset
        return cls

    return decorate


def _types():
    """The types of all parameters. A new option has none before ``_parameters.py`` is written again."""
    return get_type_hints(ClassifierParameters) | get_type_hints(NodeClassifierParameters)


def _rows():
    """Every parameter with its type and doc."""
    for name, group, annotation, doc in option_table():
        if name in _SPELLED:
            name, annotation, doc = _SPELLED[name]
        if name in CHOSEN:
            annotation += " | None"
            doc += " None means the value that ``choose`` finds, or the default of the preset if ``choose`` does not list the option."
        yield group, name, annotation, re.sub("`+", "``", doc)
    for name, (annotation, _, doc) in _OWN.items():
        yield "Model", name, annotation, doc


def _described(known):
    entries = []
    for _, name, annotation, doc in _rows():
        if name in known:
            kind = re.sub(r'Literal\[(.*?)\]', r"{\1}", annotation).replace(" | ", " or ")
            kind = re.sub(r"Sequence\[(.*?)\]", r"list of \1", kind).replace("np.integer[Any] or np.random.", "")
            default = known[name]
            text = textwrap.fill(doc, 76, break_on_hyphens=False)
            entries.append(f"{name} : {kind}, default={default!r}\n{textwrap.indent(text, '    ')}")
    return "\n".join(entries)


def frozen(value):
    """The value with tuples in place of lists, as defaults should be."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def source() -> str:
    """The content of ``_parameters.py``."""
    lines = [
        '"""Types of the estimators\' parameters. Written by ``python -m stepwell._options``; do not edit."""',
        "",
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Literal, TypedDict",
        "",
        "import numpy as np",
        "",
    ]
    classes = [
        ("ReservoirParameters", "TypedDict, total=False", ("Model", "Pooling"), OF_VERTICES),
        ("RegressorParameters", "ReservoirParameters, total=False", ("Readout",), ("class_weight",)),
        ("ClassifierParameters", "RegressorParameters, total=False", ("Readout",), None),
        ("NodeRegressorParameters", "TypedDict, total=False", ("Model", "Readout"), (*OF_GRAPHS, "class_weight")),
        ("NodeClassifierParameters", "NodeRegressorParameters, total=False", ("Readout",), None),
    ]
    for name, base, groups, without in classes:
        lines += ["", f"class {name}({base}):"]
        for group, parameter, annotation, _ in _rows():
            wanted = parameter == "class_weight" if without is None else parameter not in without
            if group in groups and wanted:
                lines.append(f"    {parameter}: {annotation}")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    import pathlib

    pathlib.Path(__file__).with_name("_parameters.py").write_text(source())

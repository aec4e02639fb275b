"""The work of a cluster's workers, for Ray and Spark: Arrow in, Arrow out.

A worker gets a :class:`Plan`, which is the same for all, and tables with a
graph per row. Its result depends on nothing else, so a task may run twice,
anywhere, in any order.
"""

import pickle
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir
from ._stepwell import RawCensus, RawDraw, RawFeatureFit, RawModel, RawReadoutFit, RawRows, decode_classes
from ._targets import as_labels, binary_weights, is_gap

_TRAINABLE = "a PyramidalReservoirClassifier or PyramidalReservoirRegressor"

#: The origin of a row, for errors: added by the reader of the rows.
FILE, ROW, GROUP = "_stepwell_file", "_stepwell_row", "_stepwell_group"

#: Columns of results; input columns with these names are dropped.
MADE = ("embedding", "prediction", "scores", "error")


@dataclass(frozen=True)
class Plan:
    """The instructions for workers."""

    #: The fitted model.
    model: RawModel
    #: Whether to skip a row that cannot be used; otherwise it is an error.
    skip_bad: bool = False
    #: Input columns to keep.
    keep: tuple = ()

    @property
    def value_type(self):
        """The Arrow type of an embedding's numbers."""
        return pa.float64() if self.model.options["precision"] == "f64" else pa.float32()

    @property
    def answers(self):
        """The columns of predictions and their types."""
        return {name: column.type for name, column in _predictions(self.model, np.zeros((0, self.model.columns))).items()}


def trained_plan(model, **rest):
    """The plan of a trained classifier or regressor."""
    if not isinstance(model, (PyramidalReservoirClassifier, PyramidalReservoirRegressor)):
        raise TypeError(f"model: expected {_TRAINABLE}, found {type(model).__name__}")
    check_is_fitted(model)
    return Plan(model._model, **rest)


def embed(plan, tables):
    """For every table of graphs, yields tables of kept columns and the embedding."""
    made = lambda vectors: {"embedding": _lists(vectors, plan.value_type)}
    return _answers(plan, tables, plan.model.embed_possible, made)


def predict(plan, tables):
    """For every table of graphs, yields tables of kept columns and predictions."""
    return _answers(plan, tables, plan.model.decide_possible, lambda values: _predictions(plan.model, values))


def _predictions(model, values):
    """Predictions and, for classes, their scores; null for graphs without vertices."""
    blank, found = np.isnan(values).all(axis=1), _all_predictions(model, values)
    if not len(values) or not blank.any():
        return found
    rows = pa.array(np.arange(len(values)), mask=blank)
    return {name: column.take(rows) for name, column in found.items()}


def _all_predictions(model, values):
    if model.task == "binary":
        answers = (values > 0).astype(np.int64)
        return {"prediction": _lists(answers, pa.int64()), "scores": _lists(values, pa.float64())}
    if model.task == "classification":
        names = pa.array(model.classes.tolist())
        return {"prediction": names.take(pa.array(decode_classes(values))), "scores": _lists(values, pa.float64())}
    return {"prediction": pa.array(values[:, 0]) if values.shape[1] == 1 else _lists(values, pa.float64())}


def _answers(plan, tables, numbers_of, columns_of):
    """The kept columns of every row, and the columns computed from its numbers."""
    for table in tables:
        names = [name for name in plan.keep if name in table.column_names and name not in MADE]
        for rows, numbers, bad in _numbers(plan, table, numbers_of):
            made, errors = columns_of(numbers), pa.nulls(len(rows), pa.string())
            if bad:  # bad rows have no result, but keep their position
                rows = np.concatenate([rows, [row for row, _ in bad]]).astype(np.int64)
                order = pa.array(np.argsort(rows))
                with_gaps = lambda column: pa.concat_arrays([column, pa.nulls(len(bad), column.type)]).take(order)
                made = {name: with_gaps(column) for name, column in made.items()}
                errors = pa.concat_arrays([errors, pa.array([reason for _, reason in bad], pa.string())]).take(order)
            # Together with the bad rows, the rows of a piece are contiguous.
            kept = table.select(names).slice(int(rows.min()), len(rows)) if len(rows) else table.select(names)[:0]
            columns = {name: kept[name] for name in names} | made
            yield pa.table(columns | {"error": errors} if plan.skip_bad else columns)


def _lists(vectors, kind):
    """Rows of a matrix as Arrow lists, without a copy."""
    values = pa.array(np.ascontiguousarray(vectors, dtype=kind.to_pandas_dtype()).reshape(-1))
    starts = np.arange(len(vectors) + 1, dtype=np.int32) * np.int32(vectors.shape[1])
    return pa.ListArray.from_arrays(pa.array(starts), values, type=pa.list_(pa.field("item", kind, nullable=False)))


def _numbers(plan, table, numbers_of):
    """Pieces of a table: the rows, a row of numbers for each, and bad rows."""
    for batch, rows, bad in _pieces(table, plan.model.expected, plan.skip_bad):
        numbers, failed = numbers_of(batch)
        for at, reason in failed:
            bad.append(_bad(plan.skip_bad, table, int(rows[at]), re.sub(r"^graph \d+, ", "", reason)))
        yield np.delete(rows, [at for at, _ in failed]), numbers, bad


def _pieces(table, expected, skip_bad):
    """Pieces of a table as graphs; a bad row is an error unless it is skipped."""
    for batch, rows, wrong in RawRows(table, expected):
        yield batch, rows, [_bad(skip_bad, table, row, reason) for row, reason in wrong]


def _bad(skip_bad, table, row, reason):
    reason = f"{_place(table, row)}: {reason}"
    if not skip_bad:
        raise ValueError(reason)
    return row, reason


def _place(table, row):
    """The origin of a row of a table, as far as it is known."""
    held = lambda name: table[name][row].as_py() if name in table.column_names else None
    file, number, group, name = held(FILE), held(ROW), held(GROUP), held("id")
    if file is not None:
        group = _group_of(file, number) if group is None else group
        place = file if number is None else f"{file}, row {number}"
        return place if group is None else f"{place} (row group {group})"
    return f"row {row} of a block" if name is None else f"row {name!r}"


def _group_of(file, row):
    """The row group of a row, if this machine can read the file."""
    import pyarrow.fs
    import pyarrow.parquet

    try:
        system, path = pyarrow.fs.FileSystem.from_uri(file)
        groups = pyarrow.parquet.ParquetFile(system.open_input_file(path)).metadata
        ends = np.cumsum([groups.row_group(group).num_rows for group in range(groups.num_row_groups)])
        return int(np.searchsorted(ends, row, side="right"))
    except (OSError, TypeError, ValueError):
        return None


@dataclass(frozen=True)
class Target:
    """The target columns and their kind."""

    #: One column of scalars or lists, or several of scalars.
    names: tuple[str, ...]
    #: "classes", or "binary" or "numbers" in ``width`` columns.
    kind: str
    width: int = 1

    def of(self, table, rows):
        """The rows with a target, and their targets."""
        columns = [_column(table, name).take(pa.array(rows)) for name in self.names]
        if self.kind == "classes":
            if not _is_any(columns[0].type, *_NUMBERS, *_STRINGS):
                expected = "a column of integers, floats, booleans or strings"
                raise ValueError(f"{self.names[0]}: expected {expected}, found {columns[0].type}")
            labels = columns[0].to_pylist()
            known = np.flatnonzero([not is_gap(label) for label in labels])
            return known, [labels[row] for row in known]
        values = [self._numbers(name, column) for name, column in zip(self.names, columns)]
        values = np.column_stack(values) if values[0].ndim == 1 else values[0]
        known = np.flatnonzero(~np.isnan(values).all(axis=1))
        return known, np.ascontiguousarray(values[known], dtype=np.float64)

    def _numbers(self, name, column):
        """Numbers with NaN for null, or rows of numbers if the column holds lists."""
        lists = _is_any(column.type, *_LISTS)
        if not _is_any(column.type.value_type if lists else column.type, *_NUMBERS):
            wanted = "lists of numbers" if self.width > 1 else "numbers"
            raise ValueError(f"{name}: expected a column of {wanted} (0 and 1 for classes), found {column.type}")
        rows = column.to_pylist()
        if not lists:
            return np.array([np.nan if value is None else float(value) for value in rows])
        rows = [[None] * self.width if row is None else row for row in rows]
        wrong = next((row for row in rows if len(row) != self.width), None)
        if wrong is not None:
            raise ValueError(f"{name}: expected {self.width} targets in every row, found {len(wrong)}")
        known = [[np.nan if value is None else value for value in row] for row in rows]
        return np.array(known, dtype=np.float64).reshape(-1, self.width)


#: Arrow's types of numbers, strings and lists, by name. A column of nulls has a type of its own.
_NUMBERS = ("integer", "floating", "boolean", "null")
_STRINGS = ("string", "large_string", "string_view")
_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


def _is_any(kind, *names):
    checks = (getattr(pa.types, f"is_{name}", None) for name in names)  # pyarrow gains types
    return any(check is not None and check(kind) for check in checks)


def _column(table, name):
    column = table[name]
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


@dataclass(frozen=True)
class First:
    """Finds the first row whose value of a column is not blank, as a mapping."""

    column: str
    blank: tuple

    def __call__(self, tables):
        for table in tables:
            values = _column(table, self.column).to_pylist()
            for at, value in enumerate(values):
                if value not in self.blank:
                    return pickle.dumps(table.slice(at, 1).to_pylist()[0])
        return pickle.dumps(None)

    @staticmethod
    def merged(states):
        """The first of several states that has a row."""
        return next((state for state in states if pickle.loads(state) is not None), pickle.dumps(None))


def _first(cluster, column, *blank):
    """The first row whose value of a column is not blank; the first row if there is none."""
    row = cluster.first
    value = row.get(column)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if column not in row or value not in blank:
        return row
    return pickle.loads(cluster.reduce(First(column, blank))) or row


@dataclass(frozen=True)
class Survey:
    """Collects statistics of all graphs before they are embedded."""

    options: dict
    #: The number of vertex attributes, and whether there are labels.
    expected: tuple
    skip_bad: bool
    #: Counts targets and samples graphs, or None.
    target: Target | None = None

    def __call__(self, tables):
        found = Surveyed(RawFeatureFit(self.options))
        if self.target is not None:
            binary = self.target.kind == "binary"
            found.draw = RawDraw(self.options, binary)
            found.census = RawCensus(self.target.width, binary) if self.target.kind != "classes" else None
        for table in tables:
            for batch, rows, bad in _pieces(table, self.expected, self.skip_bad):
                found.skipped += len(bad)
                if self.target is not None:
                    known, values = self.target.of(table, rows)
                    found.untargeted += len(rows) - len(known)
                    batch = _selected(batch, known)
                    found.draw.observe(batch, values)
                    if found.census is None:
                        found.counts.update(values)
                    else:
                        found.census.observe(values)
                found.features.observe(batch)
        return pickle.dumps(found)

    @staticmethod
    def merged(states):
        """Merges the results of several workers, in order."""
        first, *others = map(pickle.loads, states)
        for other in others:
            first.merge(other)
        return pickle.dumps(first)


@dataclass
class Surveyed:
    """The result of a survey."""

    features: RawFeatureFit
    draw: RawDraw | None = None
    census: RawCensus | None = None
    #: The number of graphs of each class.
    counts: Counter = field(default_factory=Counter)
    skipped: int = 0
    #: The number of graphs without a target.
    untargeted: int = 0

    def merge(self, other):
        for mine, theirs in ((self.features, other.features), (self.draw, other.draw), (self.census, other.census)):
            if mine is not None:
                mine.merge(theirs)
        self.counts += other.counts
        self.skipped += other.skipped
        self.untargeted += other.untargeted


@dataclass(frozen=True)
class Gather:
    """Collects the sums of vectors and targets that a readout needs next."""

    plan: Plan
    target: Target
    fit: RawReadoutFit

    def __call__(self, tables):
        skipped = 0

        def pieces():
            nonlocal skipped
            for table in tables:
                for batch, rows, bad in _pieces(table, self.plan.model.expected, self.plan.skip_bad):
                    skipped += len(bad)
                    known, values = self.target.of(table, rows)
                    if len(known):
                        yield _selected(batch, known), values, (table, rows[known])

        def refuse(place, at, reason):
            nonlocal skipped
            table, rows = place
            _bad(self.plan.skip_bad, table, int(rows[at]), re.sub(r"^graph \d+, ", "", reason))
            skipped += 1

        found = self.fit.gather_graphs(self.plan.model, pieces(), refuse)
        return pickle.dumps((found, skipped))

    @staticmethod
    def merged(states):
        """Merges the states of several workers, in order; unpacks one state at a time."""
        found, skipped = None, 0
        for state in states:
            other, bad = pickle.loads(state)
            skipped += bad
            if found is None:
                found = other
            else:
                found.merge(other)
        return pickle.dumps((found, skipped))


def _selected(batch, known):
    return batch if len(known) == len(batch) else batch.select(known.tolist())


#: The number of states that are merged at a time. The last bits of a sum depend on it and
#: on the rows of a state, so neither depends on the number of workers.
FAN = 4


def reduced(states, merged):
    """Merges many states to one, by the tree that all clusters use."""
    states = list(states)
    while len(states) > 1:
        states = [merged(states[at : at + FAN]) for at in range(0, len(states), FAN)]
    return states[0]


def _surveyed(cluster, options, skip_bad, target=None):
    if cluster.first is None:
        raise ValueError("data: expected at least one graph, found none")
    row = _first(cluster, "num_nodes", None, 0)  # a graph without vertices may lack features
    width, labels = int(row.get("x_dim") or 0), row.get("node_label") is not None
    return pickle.loads(cluster.reduce(Survey(options, (width, labels), skip_bad, target)))


def _copied(model, kind, wanted):
    """An unfitted copy of a model of the right type."""
    if not isinstance(model, kind):
        raise TypeError(f"model: expected {wanted}, found {type(model).__name__}")
    if model.input != type(model)._defaults["input"]:
        raise ValueError(f"input: expected graphs on a cluster, found {model.input!r}; convert molecules to graphs first")
    if model.device == "cuda":
        raise ValueError("device: expected 'cpu' or 'auto', found 'cuda'; workers of a cluster compute on the CPU")
    return clone(model)


def fit(cluster, model, skip_bad=False):
    """A fitted copy of a model.

    ``cluster`` has ``first``, the first row as a mapping, and ``reduce(job)``,
    which runs a job on all rows and merges the results of workers with
    ``job.merged``, in a tree that does not depend on the workers.
    """
    model = _copied(model, PyramidalReservoir, "a PyramidalReservoir")
    options = model._checked()
    row = _first(cluster, "num_nodes", None, 0) if cluster.first else None
    width = int(row.get("x_dim") or 0) if row else 0
    model.skipped_ = 0
    # Raw attributes alone need no pass over the graphs.
    if options["raw"] and width and row.get("node_label") is None and not options["structure"] and options["edge_gate"] == "none":
        ones = {"means": [0.0] * width, "scales": [1.0] * width}
        features = {"attributes": width, "structure": [], "labels": [], **ones}
    else:
        found = _surveyed(cluster, options, skip_bad)
        features, model.skipped_ = found.features.finish(), found.skipped
    model._keep(RawModel.with_features(options, features))
    return model


def _target(cluster, model, y):
    """The targets, inferred from the first row with a target."""
    names = (y,) if isinstance(y, str) else tuple(y)
    missing = [name for name in names if name not in cluster.first]
    found = ", ".join(cluster.first)
    if not names:
        raise ValueError(f"y: expected the name of at least one column, found none; the columns are {found}")
    if missing:
        raise ValueError(f"y: expected a column {missing[0]!r}, found {found}")
    listed = _first(cluster, names[0], None, [])[names[0]] if len(names) == 1 else None
    several = len(names) > 1 or isinstance(listed, (list, tuple, np.ndarray))
    width = len(listed) if several and len(names) == 1 else len(names)
    kind = "numbers"
    if isinstance(model, PyramidalReservoirClassifier):
        kind = "binary" if several else "classes"
    return Target(names, kind, width)


def train(cluster, model, y="y", skip_bad=False):
    """A trained copy of a classifier or regressor."""
    model = _copied(model, (PyramidalReservoirClassifier, PyramidalReservoirRegressor), _TRAINABLE)
    if cluster.first is None:
        raise ValueError("data: expected at least one graph, found none")
    target = _target(cluster, model, y)
    names = list(target.names) if len(target.names) == target.width and target.names != ("y",) else []
    options = model._checked()
    found = _surveyed(cluster, options, skip_bad, target)
    classes = np.array(sorted(found.counts))
    if target.kind == "classes" and len(classes) < 2:
        raise ValueError(f"y: expected labels of at least two classes, found {len(classes)} class")
    if isinstance(getattr(model, "class_weight", None), Mapping):
        if target.kind == "binary":
            options["class_weight"] = binary_weights(model.class_weight)
        else:
            options["class_weight"] = compute_class_weight(dict(model.class_weight), classes=classes, y=classes).tolist()
    labels = as_labels(classes) if target.kind == "classes" else None
    options, choices = found.draw.choose(options, labels)
    features = found.features
    if not features.serves(options):  # columns of structure were chosen
        features = _surveyed(cluster, options, skip_bad, target).features
    plan = Plan(RawModel.with_features(options, features.finish()), skip_bad=skip_bad)
    readout = RawReadoutFit(
        options,
        plan.model.width,
        labels,
        [found.counts[name] for name in classes.tolist()],
        found.census,
        names,
        found.draw,
    )
    trained = None
    while trained is None:
        gathered, model.skipped_ = pickle.loads(cluster.reduce(Gather(plan, target, readout)))
        trained = readout.advance(gathered)
    model._keep(plan.model.with_readout(trained, names, choices))
    if found.untargeted:
        warnings.warn(f"skipped {found.untargeted} graphs without a target", stacklevel=3)
    model._warn_of_inputs(None, stacklevel=4)
    model._warn_of_training(stacklevel=4)
    return model


def fitted_plan(cluster, model, skip_bad, keep):
    """The plan of a model, which is fitted first if necessary."""
    if not hasattr(model, "_model"):
        model = fit(cluster, model, skip_bad)
    return Plan(model._model, skip_bad=skip_bad, keep=tuple(keep))

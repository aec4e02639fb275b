"""What the workers of a cluster do, whoever runs them: Arrow in, Arrow out.

A worker gets a :class:`Plan`, which is small and the same for all, and tables
with a graph per row. What it answers depends on nothing else, so that a task
may run twice, anywhere, in any order.
"""

import json
import pickle
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ._datasets import seed_of
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir
from ._stepwell import (
    RawFeatureFit,
    RawMoments,
    RawRows,
    decode_classes,
    encode_classes,
    random_tanh,
    random_weights,
    read_out,
    readout_alphas,
)

_TRAINABLE = "a PyramidalReservoirClassifier or PyramidalReservoirRegressor"

#: Where a row was found, for errors: added by whoever reads the rows.
FILE, ROW, GROUP = "_stepwell_file", "_stepwell_row", "_stepwell_group"

#: Columns that are made; those of the same name are not kept.
MADE = ("embedding", "prediction", "scores", "error")

#: What comes back from workers that gather something.
STATE = pa.schema([("state", pa.binary())])


@dataclass(frozen=True)
class Plan:
    """What workers are told."""

    #: All options of the model, as JSON.
    options: str
    #: How features are made, as JSON; None where they are taken as they are.
    feature_map: str | None = None
    #: How many attributes vertices have, and whether they have labels.
    expected: tuple = (0, False)
    #: Columns of the features.
    width: int = 0
    #: Whether the feature map makes all of them, also those of attributes.
    whole: bool = False
    #: Weights that were set and not drawn, or None.
    weights: tuple | None = None
    #: Whether a row that cannot be used ends the work.
    skip_bad: bool = False
    #: Columns that stay beside the embedding.
    keep: tuple = ()

    @property
    def value_type(self):
        """The numbers of an embedding."""
        return pa.float64() if json.loads(self.options)["precision"] == "f64" else pa.float32()


def plan_of(model, **rest):
    """The plan of a fitted model."""
    options, feature_map = json.dumps(model._kept, sort_keys=True), model.feature_map_
    width = model.weights_[0][1].shape[0]
    drawn = random_weights(options, width)
    same = all(np.array_equal(a, b) for pair in zip(drawn, model.weights_) for a, b in zip(*pair))
    made = {"attributes": 0, "labels": [], "means": []} if feature_map is None else json.loads(feature_map)
    # Attributes that no map knows of are the columns before its own.
    attributes = made["attributes"] or width - len(made["means"]) - len(made["labels"])
    return Plan(
        options=options,
        feature_map=feature_map,
        expected=(attributes, bool(made["labels"])),
        width=width,
        whole=made["attributes"] > 0,
        weights=None if same else tuple(model.weights_),
        **rest,
    )


@lru_cache(maxsize=8)
def _drawn(options, width):
    return random_weights(options, width)


def embed(plan, tables):
    """For every table of graphs, tables of what is kept and the embedding."""
    return _answers(plan, tables, lambda vectors: {"embedding": _lists(vectors, plan.value_type)})


def predict(plan, readout, tables):
    """For every table of graphs, tables of what is kept and what is predicted."""
    return _answers(plan, tables, readout.columns)


def _answers(plan, tables, columns_of):
    """What is kept of every row, and the columns made of its vector."""
    for table in tables:
        names = [name for name in plan.keep if name in table.column_names and name not in MADE]
        for rows, vectors, bad in _vectors(plan, table):
            made, errors = columns_of(vectors), pa.nulls(len(rows), pa.string())
            if bad:  # without an answer, where it stood
                rows = np.concatenate([rows, [row for row, _ in bad]]).astype(np.int64)
                order = pa.array(np.argsort(rows))
                with_gaps = lambda column: pa.concat_arrays([column, pa.nulls(len(bad), column.type)]).take(order)
                made = {name: with_gaps(column) for name, column in made.items()}
                errors = pa.concat_arrays([errors, pa.array([reason for _, reason in bad], pa.string())]).take(order)
            # With the bad ones, the rows of a piece are all there are from its first to its last.
            kept = table.select(names).slice(int(rows.min()), len(rows)) if len(rows) else table.select(names)[:0]
            columns = {name: kept[name] for name in names} | made
            yield pa.table(columns | {"error": errors} if plan.skip_bad else columns)


@dataclass(frozen=True)
class Readout:
    """What a trained model makes of vectors."""

    coef: np.ndarray
    intercept: np.ndarray
    random_features: tuple | None
    landmarks: tuple | None
    #: The names of the classes; None for numbers.
    classes: np.ndarray | None

    @classmethod
    def of(cls, model):
        """That of a trained classifier or regressor."""
        if not isinstance(model, (PyramidalReservoirClassifier, PyramidalReservoirRegressor)):
            raise TypeError(f"model: expected {_TRAINABLE}, found {type(model).__name__}")
        check_is_fitted(model, "coef_")
        return cls(
            np.atleast_2d(model.coef_),
            np.atleast_1d(model.intercept_),
            model.random_features_,
            model.landmarks_,
            getattr(model, "classes_", None),
        )

    @property
    def types(self):
        """The columns and their types."""
        return {name: column.type for name, column in self.columns(np.zeros((0, self._width))).items()}

    @property
    def _width(self):
        if self.landmarks is not None:
            return self.landmarks[2].shape[1]
        return self.coef.shape[1] if self.random_features is None else self.random_features[0].shape[0]

    def columns(self, vectors):
        """Predictions; of classes, their scores beside them."""
        parts = (self.coef, self.intercept, self.random_features, self.landmarks)
        values = read_out(np.ascontiguousarray(vectors, dtype=np.float64), *parts, 1)
        if self.classes is not None:
            names = pa.array(self.classes.tolist())
            return {"prediction": names.take(pa.array(decode_classes(values))), "scores": _lists(values, pa.float64())}
        numbers = pa.array(values[:, 0]) if values.shape[1] == 1 else _lists(values, pa.float64())
        return {"prediction": numbers}


def _lists(vectors, kind):
    """Rows of a matrix as lists, without copying them."""
    values = pa.array(np.ascontiguousarray(vectors, dtype=kind.to_pandas_dtype()).reshape(-1))
    starts = np.arange(len(vectors) + 1, dtype=np.int32) * np.int32(vectors.shape[1])
    return pa.ListArray.from_arrays(pa.array(starts), values, type=pa.list_(pa.field("item", kind, nullable=False)))


def _vectors(plan, table):
    """Pieces of a table: which rows, their vectors, and rows that cannot be used."""
    weights = list(plan.weights) if plan.weights is not None else _drawn(plan.options, plan.width)
    for batch, rows, bad in _pieces(plan, table):
        made = batch.as_they_are() if plan.feature_map is None else batch.with_features(plan.feature_map)
        while True:
            try:
                vectors, _, _ = made.prepare(plan.options, 1).embed(plan.options, weights, 1)
                break
            except ValueError as error:
                at = getattr(error, "graph", None)
                if at is None:
                    raise
                bad.append(_bad(plan, table, int(rows[at]), re.sub(r"^graph \d+, ", "", str(error))))
                rows = np.delete(rows, at)
                made = made.select([other for other in range(len(made)) if other != at])
        yield rows, vectors, bad


def _pieces(plan, table):
    """Pieces of a table, as graphs; rows that cannot be used are an error unless they are skipped."""
    # Not what a file says about attributes counts, but what the model was fitted to.
    graphs = table.replace_schema_metadata({"stepwell": '{"features": {"raw": false}}'} if plan.whole else None)
    for batch, rows, wrong in RawRows(graphs, plan.expected):
        yield batch, rows, [_bad(plan, table, row, reason) for row, reason in wrong]


def _bad(plan, table, row, reason):
    reason = f"{_place(table, row)}: {reason}"
    if not plan.skip_bad:
        raise ValueError(reason)
    return row, reason


def _place(table, row):
    """Where a row of a table comes from, as far as that is known."""
    held = lambda name: table[name][row].as_py() if name in table.column_names else None
    file, number, group, name = held(FILE), held(ROW), held(GROUP), held("id")
    if file is not None:
        group = _group_of(file, number) if group is None else group
        place = file if number is None else f"{file}, row {number + 1}"
        return place if group is None else f"{place} (row group {group})"
    return f"row {row} of a block" if name is None else f"row {name!r}"


def _group_of(file, row):
    """The row group of a row, if the file can be looked at from here."""
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
class Survey:
    """Gathers what must be known of all graphs before they are embedded."""

    plan: Plan
    #: Whether attributes are taken as they are.
    raw: bool
    #: Whether a feature map is to be fitted.
    features: bool
    #: The column of the classes to count, or None.
    classes: str | None = None

    def __call__(self, tables):
        fit, counts, skipped = RawFeatureFit(self.plan.options, self.raw), Counter(), 0
        for table in tables:
            for batch, rows, bad in _pieces(self.plan, table):
                skipped += len(bad)
                if self.features:
                    fit.observe(batch)
                if self.classes is not None:
                    for each in pc.value_counts(_targets(table, self.classes, rows)).to_pylist():
                        counts[each["values"]] += each["counts"]
        return pickle.dumps((fit, counts, skipped))


@dataclass(frozen=True)
class Gather:
    """Gathers the moments of vectors and targets, or leave-one-out errors."""

    plan: Plan
    y: str
    #: Names and weights of the classes; None for numbers.
    classes: tuple | None = None
    class_weight: tuple | None = None
    #: Weights and biases of random tanh units, if any.
    units: tuple | None = None
    #: Moments of all rows, and the alphas whose errors are wanted.
    choose: tuple | None = None

    def __call__(self, tables):
        found, skipped, path = None, 0, None
        if self.choose is not None:
            moments, alphas, standardize = self.choose
            path = moments.path(standardize)
        for table in tables:
            for rows, vectors, bad in _vectors(self.plan, table):
                skipped += len(bad)
                if not len(rows):
                    continue
                targets, weights = self._encoded(_targets(table, self.y, rows))
                if self.units is not None:
                    vectors = random_tanh(vectors, *self.units)
                if path is not None:
                    errors = path.leave_one_out(list(alphas), vectors, targets, weights)
                    found = errors if found is None else _merged(found, errors)
                    continue
                if found is None:
                    found = RawMoments(vectors.shape[1], targets.shape[1])
                found.observe(vectors, targets, weights)
        return pickle.dumps((found, skipped))

    def _encoded(self, values):
        if self.classes is None:
            return np.asarray(values.cast(pa.float64())).reshape(-1, 1), None
        number = {name: at for at, name in enumerate(self.classes)}
        numbers = np.array([number[value] for value in values.to_pylist()], dtype=np.int64)
        weights = None if self.class_weight is None else np.asarray(self.class_weight)[numbers]
        return encode_classes(numbers, len(self.classes)), weights


def _targets(table, name, rows):
    """Some rows of the column of targets, which must all be there."""
    column = table[name]
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values = column.take(pa.array(rows))
    if values.null_count:
        row = int(rows[pc.is_null(values).index(True).as_py()])
        raise ValueError(f"{_place(table, row)}: expected a value in {name!r}, found null")
    return values


def _merged(mine, theirs):
    mine.merge(theirs)
    return mine


def fit(cluster, model, skip_bad=False, classes=None):
    """A fitted copy of a model, and how often the classes occur.

    ``cluster`` has ``first``, the first row as a mapping, ``raw``, and
    ``gather(job)``, which runs a job on all workers and hands out what they answer.
    """
    if not isinstance(model, PyramidalReservoir):
        raise TypeError(f"model: expected a PyramidalReservoir, found {type(model).__name__}")
    model = clone(model)
    options = model._checked()
    raw = cluster.raw if options["raw"] is None else options["raw"]
    row = cluster.first
    if row is None:
        raise ValueError("data: expected at least one graph, found none")
    expected = (int(row.get("x_dim") or 0), row.get("node_label") is not None)
    ready = raw and expected[0] > 0 and not expected[1]
    features = not ready or bool(options["structure"])
    options["seed"] = seed_of(model.random_state)
    plan = Plan(options=json.dumps(options, sort_keys=True), expected=expected, whole=not raw, skip_bad=skip_bad)
    fitted, counts, skipped = None, Counter(), 0
    if features or classes is not None:
        for state in cluster.gather(Survey(plan, raw, features, classes)):
            other, more, bad = pickle.loads(state)
            fitted = other if fitted is None else _merged(fitted, other)
            counts += more
            skipped += bad
    feature_map = fitted.finish() if features else None
    width = expected[0] if ready else 0
    if features:
        made = json.loads(feature_map)
        width += len(made["means"]) + len(made["labels"])
    model._keep(options, feature_map, random_weights(plan.options, width))
    model.skipped_ = skipped
    return model, counts


def fit_ridge(cluster, model, y="y", skip_bad=False):
    """A trained copy of a classifier or regressor."""
    if not isinstance(model, (PyramidalReservoirClassifier, PyramidalReservoirRegressor)):
        raise TypeError(f"model: expected {_TRAINABLE}, found {type(model).__name__}")
    if cluster.first is not None and y not in cluster.first:
        raise ValueError(f"y: expected a column {y!r}, found {', '.join(cluster.first)}")
    if model.landmarks:
        why = "workers hand in moments, not graphs; landmarks=0 with or without random_features works there"
        raise ValueError(f"landmarks: expected 0 on a cluster, found {model.landmarks}: {why}")
    classify = isinstance(model, PyramidalReservoirClassifier)
    model, counts = fit(cluster, model, skip_bad, y if classify else None)
    job = Gather(plan_of(model, skip_bad=skip_bad), y)
    if classify:
        classes = np.array(sorted(counts))
        if len(classes) < 2:
            raise ValueError(f"y: expected labels of at least two classes, found {len(classes)} class")
        job = replace(job, classes=tuple(classes.tolist()), class_weight=_class_weight(model, classes, counts))
        model.classes_ = classes
    options = model._kept
    moments, skipped = _gathered(cluster, job)
    if moments is None:
        raise ValueError("data: expected at least one graph that can be used, found none")
    model.random_features_ = model.landmarks_ = None
    if options["random_features"]:
        model.random_features_ = moments.draw_units(options["random_features"], options["seed"])
        job = replace(job, units=model.random_features_)
        moments, skipped = _gathered(cluster, job)
    alphas = readout_alphas(json.dumps(options))
    if len(alphas) == 1:
        model.alpha_ = alphas[0]
        model.coef_, model.intercept_ = moments.solve(model.alpha_, options["standardize"])
    else:
        errors, _ = _gathered(cluster, replace(job, choose=(moments, tuple(alphas), options["standardize"])))
        model.alpha_ = errors.best()
        model.coef_, model.intercept_ = moments.path(options["standardize"]).solve(model.alpha_)
    if not classify:
        model.coef_, model.intercept_ = model.coef_[0], float(model.intercept_[0])
    model.skipped_ = skipped
    return model


def _class_weight(model, classes, counts):
    if model.class_weight is None:
        return None
    if model.class_weight == "balanced":
        total = sum(counts.values())
        return tuple(total / (len(classes) * counts[name]) for name in classes.tolist())
    return tuple(compute_class_weight(model.class_weight, classes=classes, y=classes).tolist())


def _gathered(cluster, job):
    found, skipped = None, 0
    for state in cluster.gather(job):
        other, bad = pickle.loads(state)
        skipped += bad
        if other is not None:
            found = other if found is None else _merged(found, other)
    return found, skipped


def fitted_plan(cluster, model, skip_bad, keep):
    """The plan of a model, which is fitted first if it is not yet."""
    if not hasattr(model, "weights_"):
        model, _ = fit(cluster, model, skip_bad)
    return plan_of(model, skip_bad=skip_bad, keep=tuple(keep))

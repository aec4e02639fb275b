"""Models that predict: reservoirs with a trained linear readout."""

import copy
import os
import warnings
from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._datasets import Dataset
from ._options import OF_VERTICES, with_parameters
from ._parameters import ClassifierParameters, RegressorParameters
from ._reservoir import PyramidalReservoir, _as_parameters, _threads
from ._stepwell import RawModel, decode_classes
from ._targets import (
    accuracy_of_known,
    as_array,
    as_labels,
    as_matrix,
    binary_weights,
    is_gap,
    is_matrix,
    numbers_with_gaps,
    r2_of_known,
    without_gaps,
)
from ._types import AnyGraphs, AnyPath, Floats


class _WithReadout(PyramidalReservoir):
    """A reservoir with a linear readout."""

    @property
    def _flat(self) -> bool:
        """Whether results have one dimension: for classes, and for one target of numbers."""
        fitted = self._fitted
        return fitted.task == "classification" or (fitted.task == "regression" and len(fitted.alphas) == 1)

    @property
    def alpha_(self) -> float | Floats:
        alphas = self._fitted.alphas
        return alphas[0] if self._flat else np.array(alphas)

    @property
    def metric_(self) -> str | None:
        assessments = self._fitted.assessments
        return assessments[0][0] if assessments else None

    @property
    def loo_score_(self) -> float | Floats | None:
        values = [value for _, value, _ in self._fitted.assessments]
        return (values[0] if self._flat else np.array(values)) if values else None

    @property
    def chosen_(self) -> dict[str, Any]:
        chosen = self._fitted.choices
        return {each["option"].replace("-", "_"): each["candidates"][each["chosen"]]["value"] for each in chosen}

    @property
    def target_names_(self) -> list[str]:
        return self._fitted.target_names

    @property
    def random_features_(self) -> tuple[Floats, Floats] | None:
        return self._fitted.random_features

    @property
    def landmarks_(self) -> tuple[Floats, Floats, Floats] | None:
        return self._fitted.landmarks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model") and self._model.task is not None

    def _values(self, graphs):
        """Predicted numbers or decision values, one row per graph."""
        check_is_fitted(self)
        batch = self._seen(graphs)
        with self._progress(batch) as report:
            values, journey = self._placed(self._model).decide(batch, _threads(self.n_jobs), report)
        self._arrived(batch, journey)
        blank = int(np.isnan(values).all(axis=1).sum())
        if blank:
            graphs = "one graph has" if blank == 1 else f"{blank} graphs have"
            warnings.warn(f"{graphs} no vertices and therefore no prediction", stacklevel=3)
        return values

    def _scored(self, metric, graphs, y, sample_weight):
        """A metric of the predictions for graphs with known targets."""
        y, names = _targets_of(graphs, y)
        predicted = self.predict(graphs)
        y = _given(y, self, len(predicted))
        names, known = list(getattr(y, "columns", names)), self.target_names_
        if names != known and sorted(map(str, names)) == sorted(known):
            order = [list(map(str, names)).index(name) for name in known]
            y = np.asarray(y)[:, order]  # columns in another order
        if predicted.dtype.kind in "fO":
            y, predicted, sample_weight = _with_prediction(y, predicted, sample_weight)
        return metric(y, predicted, _as_weights(sample_weight, len(predicted)))

    def explain(self, graphs: AnyGraphs) -> tuple[Floats, list[Floats]]:
        """Splits decision values or predictions into contributions of vertices.

        Contributions are exact for linear readouts. For a model with landmarks they
        are integrated gradients from the mean training graph, and the intercept is
        the model's output for that graph. :func:`plot_explanation` draws them.

        Parameters
        ----------
        graphs : sequence of graphs
            The graphs to explain.

        Returns
        -------
        intercepts : array of shape (graphs, columns)
            The value before any contribution, the same for all graphs with vertices.
            A column is a class (with two classes, both have one) or a target.
        contributions : list of arrays of shape (vertices, columns)
            The contribution of each vertex. Intercept and contributions of a graph
            add up to its decision values. In a pooled model, the contribution of a
            coarse vertex is split among the vertices that it represents.

        Examples
        --------
        >>> from stepwell import PyramidalReservoirClassifier, make_benchmark
        >>> ds = make_benchmark("b-easy-small")
        >>> model = PyramidalReservoirClassifier().fit(ds.graphs[::2], ds.y[::2])
        >>> intercepts, contributions = model.explain(ds.graphs[1:4])
        >>> decision = intercepts[0] + contributions[0].sum(axis=0)
        >>> bool(abs(decision - model.decision_function(ds.graphs[1:2])[0]).max() < 1e-6)
        True
        """
        check_is_fitted(self)
        batch = self._seen(graphs)
        with self._progress(batch) as report:
            return self._model.explain(batch, _threads(self.n_jobs), report)

    def _trained(self, batch, targets, sample_weight, binary=False, names=(), vertices=None, **options):
        """Trains a copy, so that a failure leaves the model unchanged."""
        count = len(batch) if vertices is None else len(vertices)
        for what, values in (("y", targets), ("sample_weight", sample_weight)):
            if values is not None and len(values) != count:
                raise ValueError(f"{what}: expected {count} values, one per graph, found {len(values)}")
        untrained = self._drawn(batch, **options)
        trained = copy.copy(self)
        with self._progress(batch) as report:
            model, journey = self._placed(untrained).train(
                batch, targets, sample_weight, _threads(self.n_jobs), report, binary, list(names), vertices
            )
        unknown = np.isnan(targets).all(axis=1).sum() if isinstance(targets, np.ndarray) else 0
        if unknown:
            warnings.warn(f"skipped {unknown} graphs without a target", stacklevel=3)
        trained._keep(model)
        trained._arrived(batch, journey)
        trained._warn_of_inputs(batch, stacklevel=4)
        trained._warn_of_training(stacklevel=4)
        vars(self).update(vars(trained))
        return self

    def _warn_of_training(self, stacklevel):
        """Warns of problems with a model that was just trained."""
        if self._model.is_blind:
            items = "graphs" if self._fixed["level"] == "graph" else "vertices"
            warnings.warn(
                f"all training {items} have the same vector, so every prediction is the same; "
                "give the vertices features or labels, or pass structure=",
                stacklevel=stacklevel,
            )


@with_parameters(("Model", "Pooling", "Readout"), "accurate", without=OF_VERTICES)
class PyramidalReservoirClassifier(ClassifierMixin, _WithReadout):
    """Classifies graphs: random reservoirs, then a ridge classifier.

    Training fits a linear map to a target of 1 or -1 for each class, like
    scikit-learn's ``RidgeClassifier``. The reservoirs are not trained. The
    inputs of the map are similarities between a graph and training graphs, the
    landmarks; with ``landmarks=0`` they are the vectors themselves. The defaults
    are those of the preset "accurate"; ``from_preset("paper")`` is the paper's
    model. ``model.save(path)`` writes a file that ``stepwell predict`` also
    reads.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    classes_ : array, or list of arrays for several targets
        The labels, sorted.
    coef_ : array of shape (classes, columns), or (1, columns) for two classes
        The linear map; for several targets, of shape (targets, columns).
    intercept_ : array of shape (classes,), (1,) or (targets,)
        The intercept of the linear map.
    alpha_ : float, or array of shape (targets,)
        The penalty it was trained with.
    metric_ : str
        The metric that chose alpha and class weights.
    loo_score_ : float, or array of shape (targets,)
        The leave-one-out value of the metric, which estimates the score on new
        graphs.
    chosen_ : dict
        The options that leave-one-out chose (see ``choose``), with their values.
    target_names_ : list of str
        The names of the targets, if y was a data frame or came from a dataset.
    random_features_ : (array, array) or None
        Weights and biases of the random features.
    landmarks_ : (array, array, array) or None
        Means and scales of the vectors, and the landmarks, scaled.
    weights_, feature_map_, iterations_, converged_
        As in :class:`PyramidalReservoir`.

    Examples
    --------
    >>> from stepwell import PyramidalReservoirClassifier, make_benchmark
    >>> ds = make_benchmark("b-easy-small")
    >>> train, test = ds.split == "train", ds.split == "test"
    >>> model = PyramidalReservoirClassifier(random_state=0)
    >>> model = model.fit(ds.graphs[train], ds.y[train])
    >>> model.score(ds.graphs[test], ds.y[test]) > 0.8
    True

    In a search, all stages are parameters of one estimator:

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"units": [10, 30], "pool": ["none", "graclus"]}
    >>> search = GridSearchCV(model, grid, cv=3).fit(ds.graphs[train], ds.y[train])
    >>> sorted(search.best_params_)
    ['pool', 'units']
    """

    def __init__(self, **parameters: Unpack[ClassifierParameters]) -> None: ...  # made by the decorator

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        fitted = self._fitted
        return fitted.classes if self._flat else [np.array([0, 1])] * len(fitted.alphas)

    @property
    def coef_(self) -> Floats:
        return self._fitted.coefficients[0]

    @property
    def intercept_(self) -> Floats:
        return self._fitted.coefficients[1]

    def fit(  # type: ignore[override]  # what is trained needs a target
        self, graphs: AnyGraphs, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fits the feature map, draws the weights of the reservoirs and trains the readout.

        Parameters
        ----------
        graphs : sequence of graphs, or Dataset
        y : array of labels, or of shape (graphs, targets)
            Integers, strings, booleans or floats, one per graph. Or several
            targets of 0 and 1, with NaN for unknown values. By default, targets
            and their names are those of the dataset.
        sample_weight : array of float, optional
            The weight of each graph.
        """
        batch = self._given(graphs)
        y, names = _targets_of(graphs, y)
        return self._fit(batch, _given(y, self, len(batch)), _as_weights(sample_weight, len(batch)), names)

    def score(  # type: ignore[override]
        self, graphs: AnyGraphs, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Returns the accuracy: the share of graphs with a correct prediction.

        For several targets, it is the share of graphs whose known targets are all
        predicted correctly; graphs without a known target do not count. For another
        metric, pass the known values of a target and the same rows of
        :meth:`decision_function` to a function of scikit-learn.

        Parameters
        ----------
        graphs : sequence of graphs, or Dataset
        y : array of labels, or of shape (graphs, targets)
            The true labels, by default those of the dataset. NaN or None means
            unknown.
        sample_weight : array of float, optional
            The weight of each graph.
        """
        return self._scored(accuracy_of_known, graphs, y, sample_weight)

    def _fit(self, batch, y, sample_weight, names=(), **known):
        """Trains on graphs or vertices with known targets."""
        weight = self.class_weight or "none"
        if is_matrix(y):
            y, columns = as_matrix(y)
            names = columns or names
            found = np.unique(y[~np.isnan(y)])
            if not np.isin(found, (0, 1)).all():
                other = found[~np.isin(found, (0, 1))][0]
                raise ValueError(
                    f"y: with several targets, expected 0, 1 or NaN, found {other:g}; "
                    "train one model per target if targets have more classes"
                )
            if isinstance(weight, Mapping):
                weight = binary_weights(weight)
            self._trained(batch, y, sample_weight, binary=True, names=names, class_weight=weight, **known)
            return self
        y, rows = without_gaps(y)
        if rows is not None:
            skipped, batch = len(batch) - len(rows), batch.select(rows.tolist())
            sample_weight = None if sample_weight is None else sample_weight[rows]
        y = column_or_1d(as_array(y), warn=True)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y: expected labels of at least two classes, found {len(classes)} class")
        if isinstance(weight, Mapping):
            weight = compute_class_weight(dict(weight), classes=classes, y=y).tolist()
        self._trained(batch, as_labels(y), sample_weight, class_weight=weight, **known)
        if rows is not None:
            warnings.warn(f"skipped {skipped} graphs without a target", stacklevel=3)
        return self

    def decision_function(self, graphs: AnyGraphs) -> Floats:
        """Returns the decision value of each class; for two classes, that of the
        second one; for several targets, that of 1 for each."""
        values = self._values(graphs)
        return values[:, 0] if self._flat and values.shape[1] == 1 else values

    def predict(self, graphs: AnyGraphs) -> NDArray[Any]:
        """Returns a label for each graph, or a row of 0 and 1 for several targets.

        A graph without vertices has no prediction: None, or a row of NaN. Its decision
        values and probabilities are NaN, and its set contains every class.
        """
        decisions = self._values(graphs)
        blank = np.isnan(decisions).all(axis=1)
        found = self.classes_[decode_classes(decisions)] if self._flat else (decisions > 0).astype(np.int64)
        if blank.any():  # nothing is known of a graph without vertices
            found = found.astype(object if self._flat else np.float64)
            found[blank] = None if self._flat else np.nan
        return found

    def predict_proba(self, graphs: AnyGraphs) -> Floats:
        """Returns the probability of every class, one row per graph; for several
        targets, the probability of 1 for each.

        Probabilities are calibrated on leave-one-out decision values of the
        training graphs. With class weights, the most probable class may differ
        from the class that :meth:`predict` returns.
        """
        return self._fitted.probabilities(self._values(graphs))

    def predict_set(
        self, graphs: AnyGraphs, coverage: float = 0.9, *, per_class: bool = False
    ) -> NDArray[np.bool_]:
        """Returns the classes that cannot be ruled out, as a mask of shape
        (graphs, classes), or (graphs, targets, 2) for several targets.

        The set contains the true class with probability ``coverage`` if new
        graphs are like the training graphs (exchangeable). This is approximate,
        because it uses leave-one-out values instead of held-out graphs. A set may
        be empty: then no class is as probable as the true class usually is.

        The probability is an average over all graphs, so the graphs of a rare class may
        be covered far less often. With ``per_class=True`` it holds for the graphs of
        every class; a class with too few training graphs is then in every set.
        """
        note = self._fitted.note_of_sets(coverage, per_class)
        if note is not None:
            warnings.warn(note if per_class else f"{note}; per_class=True covers every class", stacklevel=2)
        sets = self._fitted.sets(self._values(graphs), coverage, per_class)
        return sets if self._flat else sets.reshape(len(sets), -1, 2)

    def threshold(
        self, *, precision: float | None = None, recall: float | None = None, label: Any = None
    ) -> float | Floats:
        """Returns a threshold for :meth:`decision_function`.

        ``label`` is the class to find, by default the second class, or 1. Graphs at or
        above the threshold count as that class; for the first class, or 0, graphs at or
        below it. Precision or recall of the class is then at least the given value,
        estimated by leave-one-out.

        Examples
        --------
        >>> from stepwell import PyramidalReservoirClassifier, make_benchmark
        >>> ds = make_benchmark("b-easy-small")
        >>> model = PyramidalReservoirClassifier().fit(ds.graphs, ds.y == 0)
        >>> found = model.decision_function(ds.graphs) >= model.threshold(recall=0.9)
        """
        fitted = self._fitted
        place = 1
        if label is not None:
            classes = self.classes_ if self._flat else np.array([0, 1])
            places = np.flatnonzero(classes == label)
            if len(places) == 0:
                raise ValueError(f"label: expected one of {', '.join(map(str, classes))}, found {label!r}")
            place = int(places[0])
        found = [fitted.threshold(target, precision, recall, place)[0] for target in range(len(fitted.alphas))]
        return found[0] if self._flat else np.array(found)


@with_parameters(("Model", "Pooling", "Readout"), "accurate", without=(*OF_VERTICES, "class_weight"))
class PyramidalReservoirRegressor(RegressorMixin, _WithReadout):
    """Predicts numbers for graphs: random reservoirs, then ridge regression.

    Training fits a linear map, like scikit-learn's ``Ridge``. The reservoirs are
    not trained. The inputs of the map are similarities between a graph and
    training graphs, the landmarks; with ``landmarks=0`` they are the vectors
    themselves. The defaults are those of the preset "accurate";
    ``from_preset("paper")`` is the paper's model. ``model.save(path)`` writes a
    file that ``stepwell predict`` also reads.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    coef_ : array of shape (columns,), or (targets, columns) for y with two dimensions
        The linear map.
    intercept_ : float or array of shape (targets,)
        The intercept of the linear map.
    alpha_ : float, or array of shape (targets,)
        The penalty it was trained with.
    metric_ : str
        The metric that chose alpha.
    loo_score_ : float, or array of shape (targets,)
        The leave-one-out value of the metric, which estimates the score on new
        graphs.
    chosen_ : dict
        The options that leave-one-out chose (see ``choose``), with their values.
    target_names_ : list of str
        The names of the targets, if y was a data frame or came from a dataset.
    random_features_ : (array, array) or None
        Weights and biases of the random features.
    landmarks_ : (array, array, array) or None
        Means and scales of the vectors, and the landmarks, scaled.
    weights_, feature_map_, iterations_, converged_
        As in :class:`PyramidalReservoir`.

    Examples
    --------
    >>> import numpy as np
    >>> from stepwell import PyramidalReservoirRegressor, make_benchmark
    >>> graphs = make_benchmark("b-easy-small").graphs
    >>> edges = np.array([graph.num_edges for graph in graphs])
    >>> model = PyramidalReservoirRegressor(random_state=0)
    >>> model.fit(graphs[:200], edges[:200]).score(graphs[200:], edges[200:]) > 0.9
    True
    """

    def __init__(self, **parameters: Unpack[RegressorParameters]) -> None: ...  # made by the decorator

    @property
    def coef_(self) -> Floats:
        coefficients = self._fitted.coefficients[0]
        return coefficients[0] if self._flat else coefficients

    @property
    def intercept_(self) -> float | Floats:
        intercept = self._fitted.coefficients[1]
        return float(intercept[0]) if self._flat else intercept

    def fit(  # type: ignore[override]  # what is trained needs a target
        self, graphs: AnyGraphs, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fits the feature map, draws the weights of the reservoirs and trains the readout.

        Parameters
        ----------
        graphs : sequence of graphs, or Dataset
        y : array of shape (graphs,) or (graphs, targets)
            The numbers to predict; with two dimensions, NaN for unknown values. By
            default, targets and their names are those of the dataset.
        sample_weight : array of float, optional
            The weight of each graph.
        """
        batch = self._given(graphs)
        y, names = _targets_of(graphs, y)
        return self._fit(batch, _given(y, self, len(batch)), _as_weights(sample_weight, len(batch)), names)

    def score(  # type: ignore[override]
        self, graphs: AnyGraphs, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Returns R². For several targets, it is the mean over targets, each on the
        graphs where it is known.

        Parameters
        ----------
        graphs : sequence of graphs, or Dataset
        y : array of shape (graphs,) or (graphs, targets)
            The true numbers, by default those of the dataset. NaN or None means
            unknown.
        sample_weight : array of float, optional
            The weight of each graph.
        """
        return self._scored(r2_of_known, graphs, y, sample_weight)

    def _fit(self, batch, y, sample_weight, names=(), **known):
        """Trains on graphs or vertices with known targets."""
        if np.ndim(y) == 2:
            y, columns = as_matrix(y)
            names = columns or names
        else:
            if np.asarray(y).dtype.kind in "SU":
                raise ValueError(f"y: expected numbers, found {np.asarray(y).flat[0].item()!r}; use a classifier for classes")
            y = check_array(
                numbers_with_gaps(y), ensure_2d=False, ensure_all_finite="allow-nan", dtype=np.float64, order="C", input_name="y"
            )
        if y.ndim > 2:
            raise ValueError(f"y: expected 1 or 2 dimensions, found {y.ndim}")
        skipped = int(np.isnan(y).sum()) if y.ndim == 1 and len(y) == len(batch) else 0
        if skipped:
            rows = np.flatnonzero(~np.isnan(y))
            if len(rows) == 0:
                raise ValueError("y: expected a known number for at least one graph, found NaN for all graphs")
            batch, y = batch.select(rows.tolist()), y[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        self._trained(batch, np.ascontiguousarray(y.reshape(len(y), -1)), sample_weight, names=names, **known)
        if skipped:
            warnings.warn(f"skipped {skipped} graphs without a target", stacklevel=3)
        return self

    def predict(self, graphs: AnyGraphs) -> Floats:
        """Returns a number for each graph, or a row of numbers for several targets.

        A single target has one dimension, also if y had two. A graph without vertices
        has no prediction: NaN.
        """
        values = self._values(graphs)
        return values[:, 0] if self._flat else values

    def predict_interval(self, graphs: AnyGraphs, coverage: float = 0.9) -> Floats:
        """Returns the lower and upper ends of intervals, of shape (graphs, 2), or
        (graphs, targets, 2) for several targets.

        The interval contains the true number with probability ``coverage`` if
        new graphs are like the training graphs (exchangeable). This is
        approximate, because it uses leave-one-out errors instead of held-out
        graphs. All intervals of a target have the same length.
        """
        ends = self._fitted.intervals(self._values(graphs), coverage)
        return ends if self._flat else ends.reshape(len(ends), -1, 2)


def load(
    path: AnyPath,
) -> PyramidalReservoir | PyramidalReservoirClassifier | PyramidalReservoirRegressor:
    """Loads a fitted estimator from a model file.

    An estimator's ``save`` and ``stepwell train`` write such files; the name does
    not matter. Returns a classifier or regressor for graphs or vertices, or a
    :class:`PyramidalReservoir` if the file has no readout.

    Examples
    --------
    >>> import os, tempfile
    >>> import stepwell
    >>> ds = stepwell.make_benchmark("b-easy-small")
    >>> model = stepwell.PyramidalReservoirClassifier().fit(ds.graphs, ds.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     model.save(path)
    ...     again = stepwell.load(path)
    >>> bool((again.predict(ds.graphs) == model.predict(ds.graphs)).all())
    True
    """
    model = RawModel.load(os.fsdecode(path))
    kinds = {
        None: PyramidalReservoir,
        "classification": PyramidalReservoirClassifier,
        "binary": PyramidalReservoirClassifier,
        "regression": PyramidalReservoirRegressor,
    }
    cls = kinds[model.task]
    if model.options["level"] == "vertex":
        from ._vertices import PyramidalReservoirNodeClassifier, PyramidalReservoirNodeRegressor

        if model.task is None:
            raise ValueError(f"{os.fsdecode(path)}: a model of vertices without a readout has no Python estimator; use stepwell embed -m")
        cls = PyramidalReservoirNodeRegressor if model.task == "regression" else PyramidalReservoirNodeClassifier
    parameters = _as_parameters(cls, model.asked)
    if isinstance(parameters.get("class_weight"), tuple):
        labels = (0, 1) if model.task == "binary" else model.classes.tolist()
        parameters["class_weight"] = dict(zip(labels, parameters["class_weight"]))
    if model.molecules is not None:
        parameters["input"] = "smiles" if model.molecules == "default" else f"smiles:{model.molecules}"
    estimator = cls(**parameters)
    estimator._keep(model)
    return estimator


def _targets_of(graphs, y):
    """The targets and their names: those of a dataset, unless y is given."""
    if isinstance(graphs, Dataset) and (y is None or y is graphs.y):
        y, names = graphs.y, graphs.target_names
        return y, names if y is not None and len(names) == (1 if np.ndim(y) == 1 else np.shape(y)[1]) else ()
    return y, ()


def _given(y, estimator, count):
    """Targets as they were passed, if there is one per graph."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    if count == 0:
        raise ValueError("graphs: expected at least one, found none")
    if np.ndim(y) > 0 and not issparse(y) and len(y) != count:
        raise ValueError(f"y: expected {count} values, one per graph, found {len(y)}")
    return y.toarray() if issparse(y) else y


def _with_prediction(y, predicted, sample_weight):
    """The rows that have a prediction: graphs without vertices have none."""
    flat = predicted.reshape(len(predicted), -1)
    rows = np.array([not all(map(is_gap, row)) for row in flat.tolist()], dtype=bool)
    if rows.all():
        return y, predicted, sample_weight
    weights = None if np.ndim(sample_weight) == 0 else np.asarray(sample_weight)[rows]
    return np.asarray(y)[rows], np.array(predicted[rows].tolist()), weights


def _as_weights(values, count):
    if values is None:
        return None
    if np.ndim(values) == 0:
        values = np.full(count, values)
    values = check_array(values, ensure_2d=False, ensure_min_samples=0, dtype=np.float64, input_name="sample_weight")
    if len(values) != count:
        raise ValueError(f"sample_weight: expected {count} values, one per graph, found {len(values)}")
    return values

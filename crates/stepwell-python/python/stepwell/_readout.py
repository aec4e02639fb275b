"""Models that predict: reservoirs with a trained linear readout."""

import copy
import os
import warnings
from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._batches import as_batch
from ._options import with_parameters
from ._parameters import ClassifierParameters, RegressorParameters
from ._reservoir import PyramidalReservoir, _as_parameters, _threads
from ._stepwell import RawModel, decode_classes
from ._targets import as_array, as_labels
from ._types import AnyGraphs, Floats


class _WithReadout(PyramidalReservoir):
    """A reservoir and what a linear map makes of its vectors."""

    @property
    def alpha_(self) -> float:
        return self._fitted.alpha

    @property
    def random_features_(self) -> tuple[Floats, Floats] | None:
        return self._fitted.random_features

    @property
    def landmarks_(self) -> tuple[Floats, Floats, Floats] | None:
        return self._fitted.landmarks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model") and self._model.task is not None

    def _values(self, graphs):
        """A row of predicted numbers, or decision values, for each graph."""
        check_is_fitted(self)
        batch = as_batch(graphs)
        with self._progress(batch) as report:
            values, journey = self._model.decide(batch, _threads(self.n_jobs), report)
        self._arrived(batch, journey)
        return values

    def _trained(self, batch, targets, sample_weight, **options):
        """Trains a copy: should anything fail, the model is what it was."""
        count = len(batch)
        for what, values in (("y", targets), ("sample_weight", sample_weight)):
            if values is not None and len(values) != count:
                raise ValueError(f"{what}: expected {count} values, one per graph, found {len(values)}")
        untrained = self._drawn(batch, **options)
        trained = copy.copy(self)
        with self._progress(batch) as report:
            model, journey = untrained.train(batch, targets, sample_weight, _threads(self.n_jobs), report)
        trained._keep(model)
        trained._arrived(batch, journey)
        ignored = model.features.get("ignored", 0)
        if ignored:
            warnings.warn(f"all {ignored} vertex features are constant, and ignored", stacklevel=3)
        if model.is_blind:
            warnings.warn(
                "all training graphs have the same vector, so every prediction is the same; "
                "give vertices features or labels, or add structure=",
                stacklevel=3,
            )
        vars(self).update(vars(trained))
        return self


@with_parameters(("Model", "Pooling", "Readout"), "accurate")
class PyramidalReservoirClassifier(ClassifierMixin, _WithReadout):
    """Tells classes of graphs apart: reservoirs, then a ridge classifier.

    What is trained is a linear map to a target of 1 or -1 for each class,
    as by scikit-learn's ``RidgeClassifier``; the reservoirs stay as they
    are drawn. What it maps are similarities of the graphs' vectors to those
    of training graphs, or with ``landmarks=0`` the vectors themselves. The
    defaults are those of the preset "accurate"; ``from_preset("paper")`` is the
    paper's model. ``model.save(path)`` writes a file that ``stepwell predict``
    reads too.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_ : array of shape (classes, columns), or (1, columns) for two classes
        The linear map.
    intercept_ : array of shape (classes,) or (1,)
        What it adds.
    alpha_ : float
        The penalty it was trained with.
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

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted.classes

    @property
    def coef_(self) -> Floats:
        return self._fitted.coefficients[0]

    @property
    def intercept_(self) -> Floats:
        return self._fitted.coefficients[1]

    def fit(  # type: ignore[override]  # what is trained needs a target
        self, graphs: AnyGraphs, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fits the feature map, draws the weights of the reservoirs and trains the readout.

        Parameters
        ----------
        graphs : sequence of graphs
        y : array of labels
            Integers, strings, booleans or floats, one per graph.
        sample_weight : array of float, optional
            How much each graph counts.
        """
        batch = as_batch(graphs)
        y = column_or_1d(as_array(_given(y, self)), warn=True)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y: expected labels of at least two classes, found {len(classes)} class")
        weight = self.class_weight or "none"
        if isinstance(weight, Mapping):
            weight = compute_class_weight(dict(weight), classes=classes, y=y).tolist()
        sample_weight = _as_weights(sample_weight, len(batch))
        return self._trained(batch, as_labels(y), sample_weight, class_weight=weight)

    def decision_function(self, graphs: AnyGraphs) -> Floats:
        """How much speaks for each class; of two classes, for the second one."""
        values = self._values(graphs)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, graphs: AnyGraphs) -> NDArray[Any]:
        """A label for each graph."""
        decisions = self._values(graphs)
        return self.classes_[decode_classes(decisions)]


@with_parameters(("Model", "Pooling", "Readout"), "accurate", without=("class_weight",))
class PyramidalReservoirRegressor(RegressorMixin, _WithReadout):
    """Predicts numbers of graphs: reservoirs, then ridge regression.

    What is trained is a linear map, as by scikit-learn's ``Ridge``; the
    reservoirs stay as they are drawn. What it maps are similarities of the
    graphs' vectors to those of training graphs, or with ``landmarks=0`` the
    vectors themselves. The defaults are those of the preset "accurate";
    ``from_preset("paper")`` is the paper's model. ``model.save(path)`` writes a
    file that ``stepwell predict`` reads too.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    coef_ : array of shape (columns,), or (targets, columns) for y with two dimensions
        The linear map.
    intercept_ : float or array of shape (targets,)
        What it adds.
    alpha_ : float
        The penalty it was trained with.
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

    #: Whether y had one dimension.
    _flat = True

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
        self, graphs: AnyGraphs, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fits the feature map, draws the weights of the reservoirs and trains the readout.

        Parameters
        ----------
        graphs : sequence of graphs
        y : array of shape (graphs,) or (graphs, targets)
            The numbers to predict.
        sample_weight : array of float, optional
            How much each graph counts.
        """
        batch = as_batch(graphs)
        y = check_array(_given(y, self), ensure_2d=False, dtype=np.float64, order="C", input_name="y")
        if y.ndim > 2:
            raise ValueError(f"y: expected 1 or 2 dimensions, found {y.ndim}")
        sample_weight = _as_weights(sample_weight, len(batch))
        self._trained(batch, np.ascontiguousarray(y.reshape(len(y), -1)), sample_weight)
        self._flat = y.ndim == 1
        return self

    def predict(self, graphs: AnyGraphs) -> Floats:
        """A number, or a row of them, for each graph."""
        values = self._values(graphs)
        return values[:, 0] if self._flat else values


def load(
    path: str | os.PathLike[str],
) -> PyramidalReservoir | PyramidalReservoirClassifier | PyramidalReservoirRegressor:
    """The fitted estimator of a model's file.

    Files are those that an estimator's ``save`` or ``stepwell train`` wrote,
    whatever they are called. What comes back is a classifier, a regressor, or a
    :class:`PyramidalReservoir` if there is no readout in it.

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
    model = RawModel.load(os.fspath(path))
    kinds = {
        None: PyramidalReservoir,
        "classification": PyramidalReservoirClassifier,
        "regression": PyramidalReservoirRegressor,
    }
    cls = kinds[model.task]
    parameters = _as_parameters(cls, model.options)
    if isinstance(parameters.get("class_weight"), tuple):
        parameters["class_weight"] = dict(zip(model.classes.tolist(), parameters["class_weight"]))
    estimator = cls(**parameters)
    estimator._keep(model)
    if cls is PyramidalReservoirRegressor:
        estimator._flat = len(model.coefficients[1]) == 1
    return estimator


def _given(y, estimator):
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    return y


def _as_weights(values, count):
    if values is None:
        return None
    if np.ndim(values) == 0:
        values = np.full(count, values)
    return check_array(values, ensure_2d=False, ensure_min_samples=0, dtype=np.float64, input_name="sample_weight")

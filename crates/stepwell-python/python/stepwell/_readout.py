"""Models that predict: reservoirs with a trained linear readout."""

import copy
import inspect
import json
from collections.abc import Mapping
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._batches import as_batch
from ._progress import Progress
from ._reservoir import PyramidalReservoir, _preset, _threads
from ._stepwell import decode_classes, fit_classes, fit_values, read_out
from ._targets import refuse_gaps
from ._types import Alpha, AnyGraphs, Floats, ReservoirOptions


def _accurate():
    """What reservoirs are by default when their vectors are read: the preset "accurate"."""
    found = _preset("accurate", inspect.signature(PyramidalReservoir).parameters.keys() - PyramidalReservoir._not_options)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


_ACCURATE = _accurate()


def _joined(init):
    """The signature of an ``__init__`` whose ``**reservoir`` are parameters of :class:`PyramidalReservoir`."""
    own = [each for each in inspect.signature(init).parameters.values() if each.kind is not each.VAR_KEYWORD]
    _, *reservoir = inspect.signature(PyramidalReservoir.__init__).parameters.values()
    by_default = lambda each: each.replace(kind=each.KEYWORD_ONLY, default=_ACCURATE.get(each.name, each.default))
    return inspect.Signature(own + [by_default(each) for each in reservoir])


def _described(text):
    """The docstring with the reservoir's parameters where it names them."""
    _, _, section = inspect.cleandoc(PyramidalReservoir.__doc__).partition("Parameters\n----------\n")
    parameters, _, _ = section.partition("\n\nAttributes\n")
    return inspect.cleandoc(text).replace("**reservoir", parameters)


class _WithReadout(PyramidalReservoir):
    """A reservoir and what a linear map makes of its vectors."""

    alpha_: float
    random_features_: tuple[Floats, Floats] | None
    landmarks_: tuple[Floats, Floats, Floats] | None

    def _values(self, graphs):
        """A row of predicted numbers, or decision values, for each graph."""
        check_is_fitted(self, "coef_")
        vectors = self._embed(as_batch(graphs))
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        return read_out(vectors, coef, intercept, self.random_features_, self.landmarks_, _threads(self.n_jobs))

    def _train(self, batch, fit, *targets, sample_weight, **options):
        """Draws the weights, embeds, and lets ``fit`` train on the vectors.

        Answers with a trained copy: should anything fail, the model is what it was.
        """
        count = len(batch)
        for what, values in (("y", targets[0]), ("sample_weight", sample_weight)):
            if values is not None and len(values) != count:
                raise ValueError(f"{what}: expected {count} values, one per graph, found {len(values)}")
        trained = copy.copy(self)
        options = json.dumps({**trained._draw(batch), **options})
        vectors = trained._embed(batch)
        with Progress(self.verbose, "reading out", count):
            found = fit(options, vectors, *targets, sample_weight, _threads(self.n_jobs))
        trained.coef_, trained.intercept_, trained.alpha_, trained.random_features_, trained.landmarks_ = found
        return trained

    def _become(self, trained):
        vars(self).update(vars(trained))
        return self


class PyramidalReservoirClassifier(ClassifierMixin, _WithReadout):
    __doc__ = _described(
        """Tells classes of graphs apart: reservoirs, then a ridge classifier.

        What is trained is a linear map to a target of 1 or -1 for each class,
        as by scikit-learn's ``RidgeClassifier``; the reservoirs stay as they
        are drawn. What it maps are similarities of the graphs' vectors to those
        of training graphs, or with ``landmarks=0`` the vectors themselves. The
        defaults are those of the preset "accurate";
        ``from_preset("paper")`` is the paper's model.

        Parameters
        ----------
        alpha : float, list of float or "loo"
            Strength of the penalty on the coefficients. Of several, or of the
            powers of ten from 1e-6 to 1e6 with "loo", the one with the
            smallest leave-one-out error, which is exact and costs little.
        class_weight : None, "balanced" or dict
            How much the graphs of a class count: a weight for each label, or
            the same total for all classes.
        standardize : bool
            Whether the penalty is that for vectors whose columns are divided
            by their standard deviations. Landmarks do so in any case.
        random_features : int
            Random tanh units between the vectors and the linear map.
        landmarks : int
            At most so many training graphs whose similarities to a graph (a
            linear and a Gaussian kernel, added up) stand between its vector and
            the linear map; 0 for none.
        **reservoir

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
        weights_, iterations_, converged_
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
    )

    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats

    _not_options = (*PyramidalReservoir._not_options, "class_weight")

    def __init__(
        self,
        *,
        alpha: Alpha = "loo",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        standardize: bool = False,
        random_features: int = 0,
        landmarks: int = 2000,
        **reservoir: Unpack[ReservoirOptions],
    ) -> None:
        super().__init__(**{**_ACCURATE, **reservoir})
        self.alpha = alpha
        self.class_weight = class_weight
        self.standardize = standardize
        self.random_features = random_features
        self.landmarks = landmarks

    __init__.__signature__ = _joined(__init__)  # type: ignore[attr-defined]

    def fit(  # type: ignore[override]  # what is trained needs a target
        self, graphs: AnyGraphs, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draws the weights of the reservoirs and trains the readout.

        Parameters
        ----------
        graphs : sequence of graphs
        y : array of labels
            Whole numbers or texts, one per graph.
        sample_weight : array of float, optional
            How much each graph counts.
        """
        batch = as_batch(graphs)
        y = column_or_1d(_given(y, self), warn=True)
        refuse_gaps(y)
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y: expected labels of at least two classes, found {len(classes)} class")
        weight = "none"
        if self.class_weight is not None:
            weight = compute_class_weight(self.class_weight, classes=classes, y=y).tolist()
        numbers = numbers.astype(np.int64)
        sample_weight = _as_weights(sample_weight, len(batch))
        counted = (numbers, len(classes))
        trained = self._train(batch, fit_classes, *counted, sample_weight=sample_weight, class_weight=weight)
        trained.classes_ = classes
        return self._become(trained)

    def decision_function(self, graphs: AnyGraphs) -> Floats:
        """How much speaks for each class; of two classes, for the second one."""
        values = self._values(graphs)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, graphs: AnyGraphs) -> NDArray[Any]:
        """A label for each graph."""
        decisions = self._values(graphs)
        return self.classes_[decode_classes(decisions)]


class PyramidalReservoirRegressor(RegressorMixin, _WithReadout):
    __doc__ = _described(
        """Predicts numbers of graphs: reservoirs, then ridge regression.

        What is trained is a linear map, as by scikit-learn's ``Ridge``; the
        reservoirs stay as they are drawn. What it maps are similarities of the
        graphs' vectors to those of training graphs, or with ``landmarks=0`` the
        vectors themselves. The defaults are those of the preset "accurate";
        ``from_preset("paper")`` is the paper's model.

        Parameters
        ----------
        alpha : float, list of float or "loo"
            Strength of the penalty on the coefficients. Of several, or of the
            powers of ten from 1e-6 to 1e6 with "loo", the one with the
            smallest leave-one-out error, which is exact and costs little.
        standardize : bool
            Whether the penalty is that for vectors whose columns are divided
            by their standard deviations. Landmarks do so in any case.
        random_features : int
            Random tanh units between the vectors and the linear map.
        landmarks : int
            At most so many training graphs whose similarities to a graph (a
            linear and a Gaussian kernel, added up) stand between its vector and
            the linear map; 0 for none.
        **reservoir

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
        weights_, iterations_, converged_
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
    )

    coef_: Floats
    intercept_: float | Floats

    def __init__(
        self,
        *,
        alpha: Alpha = "loo",
        standardize: bool = False,
        random_features: int = 0,
        landmarks: int = 2000,
        **reservoir: Unpack[ReservoirOptions],
    ) -> None:
        super().__init__(**{**_ACCURATE, **reservoir})
        self.alpha = alpha
        self.standardize = standardize
        self.random_features = random_features
        self.landmarks = landmarks

    __init__.__signature__ = _joined(__init__)  # type: ignore[attr-defined]

    def fit(  # type: ignore[override]  # what is trained needs a target
        self, graphs: AnyGraphs, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draws the weights of the reservoirs and trains the readout.

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
        trained = self._train(batch, fit_values, y.reshape(len(y), -1), sample_weight=sample_weight)
        if y.ndim == 1:
            trained.coef_, trained.intercept_ = trained.coef_[0], float(trained.intercept_[0])
        return self._become(trained)

    def predict(self, graphs: AnyGraphs) -> Floats:
        """A number, or a row of them, for each graph."""
        values = self._values(graphs)
        return values[:, 0] if np.ndim(self.coef_) == 1 else values


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

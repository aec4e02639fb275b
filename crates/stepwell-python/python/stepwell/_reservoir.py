"""The model as a scikit-learn transformer."""

import os
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._batches import as_input, molecule_features
from ._coarsen import warn_of_directions, warn_of_losses
from ._datasets import seed_of
from ._options import CHOSEN, OF_VERTICES, frozen, set_by_user, spelled, unset, with_parameters
from ._parameters import ReservoirParameters
from ._progress import Progress
from ._stepwell import RawModel, check_options, preset_options
from ._unknown import warn_of_labels
from ._types import AnyGraphs, AnyPath, Floats, Preset


@with_parameters(("Model", "Pooling"), "paper", without=OF_VERTICES)
class PyramidalReservoir(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turns graphs into vectors, without training.

    Each vertex has a state. A block iterates ``H <- tanh(Ã H W + X V)``, with
    fixed random W and V, to its fixed point. If there is a ``pool``, graphs are
    coarsened between blocks, by their structure alone. The vector of a graph is
    the sum of the states of its last block. A feature map, fitted on the
    training graphs, makes the input X: attributes are z-scored unless ``raw``,
    labels become one-hot columns, and vertices without either get columns of
    their structure.

    Changing a parameter of a fitted model takes effect at the next fit, except
    for ``n_jobs``, ``verbose`` and ``device``.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    weights_ : list of (W, V)
        W of shape (H, H) and V of shape (F, H), by stack, block and reservoir.
    gates_ : list of (labels, U, b), or None
        The gates of edges with labels or attributes, in the order of
        ``weights_``: a row of ``labels`` for each label, and ``U`` of shape
        (attributes, H) and ``b`` of shape (H,) for ``cos(a @ U + b)``.
    feature_map_ : dict
        The map from vertex data to inputs: means and scales of attributes
        and structure columns, and the label of each one-hot column.
    iterations_ : array of shape (graphs, stacks * blocks * reservoirs)
        Number of sweeps in the last transform.
    converged_ : array of the same shape
        Whether the iteration converged.
    pooling_notes_ : dict
        Counts of events while the last transform pooled its graphs:
        cuts_improved, vertices_lost, without_edges, fill_dropped, symmetrized.
        Zero counts are omitted.

    Examples
    --------
    >>> from stepwell import PyramidalReservoir, make_benchmark
    >>> graphs = make_benchmark("b-easy-small").graphs
    >>> PyramidalReservoir(units=20, spectral_radius=0.5).fit_transform(graphs).shape
    (300, 20)
    """

    iterations_: NDArray[np.uint32]
    converged_: NDArray[np.bool_]
    pooling_notes_: dict[str, int]

    #: Parameters that are not options of the model.
    _not_options = ("n_jobs", "verbose", "device", "input")
    #: Options with a fixed value.
    _fixed: dict[str, Any] = {"level": "graph"}
    #: The fitted model.
    _model: RawModel
    _defaults: dict[str, Any]
    _preset: str

    def __init__(self, **parameters: Unpack[ReservoirParameters]) -> None: ...  # made by the decorator

    @classmethod
    def from_preset(cls, preset: Preset, **changes: Any) -> Self:
        """Returns an estimator with the options of a preset, and ``changes`` to them.

        Presets are "paper" (the paper's model), "accurate" (several wide reservoirs
        with several aggregates), "reference" (the paper's public code) and, for
        estimators of vertices, "vertices"."""
        if preset == "vertices" and cls._fixed["level"] != "vertex":
            wanted = "PyramidalReservoirNodeClassifier and PyramidalReservoirNodeRegressor"
            raise ValueError(f"preset: 'vertices' is for {wanted}, not {cls.__name__}")
        return cls(**{**_as_parameters(cls, preset_options(preset)), **changes})

    def fit(self, graphs: AnyGraphs, y: object = None) -> Self:
        """Fits the feature map on the graphs and draws the weights."""
        batch = self._given(graphs)
        self._keep(self._drawn(batch))
        self._warn_of_inputs(batch, stacklevel=3)
        return self

    def set_weights(
        self,
        weights: Iterable[tuple[ArrayLike, ArrayLike]],
        gates: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]] | None = None,
    ) -> Self:
        """Replaces the weights by pairs ``(W, V)``, listed by stack, block and reservoir.

        ``gates`` replaces the gates of edges by triples in the same order and form
        as ``gates_``; by default the gates of the last ``fit`` stay. Without a
        ``fit``, the model uses raw vertex features as inputs.
        """
        pairs = []
        for position, pair in enumerate(weights):
            try:
                recurrent, inputs = (np.ascontiguousarray(part, dtype=np.float64) for part in pair)
            except (TypeError, ValueError) as error:
                raise TypeError(f"weights: expected a pair of arrays at position {position}: {error}") from None
            pairs.append((recurrent, inputs))
        options = self._checked()
        expected = options["stacks"] * options["blocks"] * options["reservoirs"]
        if len(pairs) != expected:
            found = len(pairs)
            raise ValueError(f"weights: expected {expected} pairs, one per stack, block and reservoir, found {found}")
        features = self._model.features if hasattr(self, "_model") else None
        triples = self._model.gates if features is not None else None
        if gates is not None:
            own = partial(np.ascontiguousarray, dtype=np.float64)
            try:
                triples = [(own(labels), own(frequencies), own(phases)) for labels, frequencies, phases in gates]
            except (TypeError, ValueError) as error:
                raise TypeError(f"gates: expected triples of arrays (labels, U, b): {error}") from None
            if len(triples) != expected:
                found = len(triples)
                raise ValueError(f"gates: expected {expected}, one per stack, block and reservoir, found {found}")
        self._keep(RawModel.with_weights(options, features, pairs, triples))
        return self

    def transform(self, graphs: AnyGraphs) -> Floats:
        """Returns the vectors, one row per graph."""
        check_is_fitted(self)
        batch = self._seen(graphs)
        with self._progress(batch) as report:
            vectors, journey = self._placed(self._model).embed(batch, _threads(self.n_jobs), report)
        self._arrived(batch, journey)
        return vectors

    def _placed(self, model):
        """The model on the requested device. Warns if the CPU computes it anyway."""
        placed, note = model.on(self.device)
        if note:
            warnings.warn(note, stacklevel=3)
        return placed

    def fit_transform(self, graphs: AnyGraphs, y: Any = None, **fit_params: Any) -> Floats:
        """Fits on the graphs and returns their vectors."""
        batch = self._given(graphs)
        return self.fit(batch, y, **fit_params).transform(batch)

    def transform_nodes(self, graphs: AnyGraphs) -> list[Floats]:
        """Returns the states of all vertices of all graphs: one array for each block
        that is part of the embedding, by stack and block."""
        check_is_fitted(self)
        return self._model.states(self._seen(graphs), _threads(self.n_jobs))

    def save(self, path: AnyPath) -> None:
        """Writes the fitted model to a file, completely or not at all.

        :func:`stepwell.load` reads it, and so do ``stepwell predict``, ``embed``
        and ``explain``. The format is safetensors, whatever the file name.
        """
        check_is_fitted(self)
        self._model.save(os.fsdecode(path))

    @property
    def weights_(self) -> list[tuple[Floats, Floats]]:
        return self._fitted.weights

    @property
    def gates_(self) -> list[tuple[Floats, Floats, Floats]] | None:
        return self._fitted.gates

    @property
    def feature_map_(self) -> dict[str, Any]:
        return self._fitted.features

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    @property
    def _fitted(self):
        """The fitted model; an AttributeError before ``fit``."""
        if not hasattr(self, "_model"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._model

    def _checked(self):
        """All options of the model, including defaults."""
        options = {name: getattr(self, name) for name in self._defaults if name not in self._not_options}
        options |= self._fixed
        if callable(options.get("pool")):
            raise TypeError(
                "pool: expected the name of a pooling, found a function; pool the graphs yourself "
                "and embed each level with set_weights"
            )
        options["seed"] = seed_of(options.pop("random_state"))
        if options.get("random_features") and options["landmarks"] == self._defaults["landmarks"]:
            options["landmarks"] = 0  # random features replace the landmarks of a preset
        if options.get("choose") == self._defaults.get("choose"):  # options that the user set are not chosen
            left = lambda name: options[name] is None
            options["choose"] = [name for name in options.get("choose") or () if left(name.replace("-", "_"))]
        usual = preset_options(self._preset)
        options |= {name: usual[name] for name in CHOSEN if name in options and options[name] is None}
        if options.get("class_weight", "") is None or isinstance(options.get("class_weight"), Mapping):
            options["class_weight"] = "none"  # weights per label are resolved when y is known
        return check_options(options)

    def _drawn(self, batch, **options):
        """An untrained model, fitted to the graphs' features."""
        options = {**self._checked(), **options}
        if len(batch) == 0:
            raise ValueError("graphs: expected at least one, found none")
        model = RawModel.fit(options, batch)
        features = molecule_features(self.input)
        return model if features is None else model.of_molecules(features)

    def _given(self, graphs):
        """The batch of training graphs."""
        return as_input(graphs, molecule_features(self.input), self.n_jobs, self.verbose)

    def _seen(self, graphs):
        """The batch of graphs for a fitted model."""
        return as_input(graphs, self._model.molecules, self.n_jobs, self.verbose)

    def _keep(self, model):
        self._model = model
        self._n_features_out = model.width

    def _progress(self, batch):
        pooled = self._model.options["pool"] if hasattr(self, "_model") else getattr(self, "pool", "none")
        return Progress(self.verbose, "embedding" if pooled == "none" else "pooling and embedding", len(batch))

    def _warn_of_inputs(self, batch, stacklevel):
        """Warns of options, and of parts of the training graphs, that the model does not use."""
        for name in set_by_user(self._model.options):
            if needs := self._model.lacks(name):
                warnings.warn(f"{name} has no effect unless {needs[0]} is {needs[1]}", stacklevel=stacklevel)
        constant = self._model.features.get("ignored", 0)
        if constant:
            warnings.warn(f"all {constant} vertex features are constant and were ignored", stacklevel=stacklevel)
        blind = batch is not None and self._model.options["edge_gate"] == "none"
        ignored = blind and self._model.ignored_of_edges(batch)
        if ignored:
            why = "pass edge_gate='signs' to use them"
            warnings.warn(f"this model ignores {ignored} of edges; {why}", stacklevel=stacklevel)

    def _arrived(self, batch, journey):
        """Keeps the report of the last transform, and warns of problems."""
        self.iterations_, self.converged_, notes, losses = journey
        self.pooling_notes_ = dict(notes)
        warn_of_losses(losses, len(batch), stacklevel=4)
        warn_of_directions(self.pooling_notes_, stacklevel=4)
        warn_of_labels(self._model, batch, stacklevel=5)
        options = self._model.options
        ignored = self._model.ignored_of_edges(batch)
        if ignored and options["edge_gate"] != "none":  # else, fit has warned
            why = "the training graphs had none, or only one value"
            warnings.warn(f"this model ignores {ignored} of edges; {why}", stacklevel=4)
        if options["fixed_sweeps"] is None and not self.converged_.all():
            share = 1 - self.converged_.all(axis=1).mean()
            warnings.warn(
                f"{share:.1%} of the graphs did not converge in {options['max_iter']} sweeps; "
                "raise max_iter or lower spectral_radius",
                ConvergenceWarning,
                stacklevel=4,
            )


def _as_parameters(cls, options):
    """The options of a model that an estimator has, as its parameters."""
    found = {spelled(name): value for name, value in unset(options, "accurate").items()}
    if found["class_weight"] == "none":
        found["class_weight"] = None
    return {name: frozen(found[name]) for name in cls._defaults if name in found}


def _threads(n_jobs):
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs: expected an integer other than 0, or None, found {n_jobs!r}")
    cores = os.cpu_count() or 1
    return min(int(n_jobs), cores) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))

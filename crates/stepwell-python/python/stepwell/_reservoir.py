"""The model as a scikit-learn transformer."""

import inspect
import json
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._batches import as_batch
from ._coarsen import warn_of_losses
from ._datasets import seed_of
from ._progress import Progress
from ._stepwell import check_options, preset_options, random_weights
from ._types import Aggregate, AnyGraphs, Floats, Pooling, Preset, RandomState, Structure


class PyramidalReservoir(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turns graphs into vectors, without training.

    Vertices carry states; ``H <- tanh(Ã H W + X V)`` with fixed random W and V
    is iterated to its fixed point. Between such blocks graphs are coarsened by
    their topology alone, if there is a ``pool``; the states of the last block
    are summed.

    A fitted model is what its parameters were at the time; changes of them
    show after the next fit, except for those of ``n_jobs`` and ``verbose``.

    Parameters
    ----------
    pool : {"none", "graclus", "nmf", "ndp", "kmis"}
        What makes graphs smaller between blocks.
    blocks : int
        Reservoirs on top of each other, L.
    units : int or list of int
        Units of a reservoir, H: one number, or one per block.
    spectral_radius : float or list of float
        Size of W, rho.
    scaling : {"radius", "norm"}
        What ``spectral_radius`` measures: the largest modulus among the
        eigenvalues of W, or its 2-norm.
    input_scaling : float
        Scale of the first block's V, omega_in.
    hidden_scaling : float or list of float
        Scale of the other blocks' V, omega_hid.
    recurrence : {"dense", "sparse", "ring", "orthogonal", "diagonal"}
        Pattern of W.
    input_pattern : {"uniform", "signs", "sparse", "one-per-unit"}
        Pattern of V.
    density : float
        Share of entries that are not zero in sparse W and V.
    tied : bool
        Whether all blocks but the first share one W and one V.
    reservoirs : int
        Reservoirs side by side in every block, their states added up (ARMA).
    stacks : int
        Models side by side, their vectors joined.
    normalize : bool
        Whether states spread by the normalised adjacency.
    lift : bool
        Whether vertices that must have equal states are computed once.
    precision : {"f32", "f64"}
        Numbers the states are computed in.
    solver : {"gauss-seidel", "jacobi"}
        Order of updates; "jacobi" is the paper's.
    leak : float
        Share of the new state in a step.
    tol : float
        Stop once a sweep changes a graph's states by less than this.
    max_iter : int
        Stop after this many sweeps in any case.
    fixed_sweeps : int, optional
        Make exactly this many sweeps, whatever ``tol`` and ``max_iter`` say.
    aggregate : str or list of str
        What makes one vector of all states: "sum", "mean", "max", "std".
    concat : bool
        Whether all blocks go into the vector.
    pool_after : int
        Blocks that run on the graphs themselves, before the first pooling.
    pool_last : bool
        Whether the states of the last block are pooled once more before they
        are aggregated, where there is a pooling.
    pool_seed : int
        Seed of the poolings that draw lots.
    reduce : {"mean", "sum", "max"}
        Graclus, k-MIS: how the states of a cluster become one.
    delta : float
        NDP: links with a smaller weight are dropped.
    sparsify : {"each-level", "deferred"}
        NDP: whether they are dropped before or after the next level is made.
    side : {"largest", "smaller", "larger"}
        NDP: which side of the cut is kept.
    approximate : bool
        NDP: where joining the kept vertices would take too many links, drop
        small ones on the way instead of refusing.
    fill_budget : int
        NDP: pairs of kept vertices that may be joined before it is too many.
    raw : bool, optional
        Whether features are taken as they are (True and None) or scaled to mean
        0 and deviation 1 over the graphs fitted on (False). Those of a loaded
        dataset were made when it was loaded; False makes them anew of what its
        vertices carry.
    structure : str or list of str
        Features read off the structure, beside those vertices have: "degree",
        "log-degree", "clustering", "local-degree-profile".
    bare_structure : str or list of str
        The same for graphs whose vertices have no features; the degree unless
        said. Those of a loaded dataset have some, made of the degree; with
        ``raw=False`` they are made anew.
    random_state : int, RandomState instance or None
        Seed of the weights.
    n_jobs : int or None
        Threads; None is one, -1 one per core, and there are never more than
        that. Results do not depend on it.
    verbose : bool
        Whether to say on stderr how far the work is.

    Attributes
    ----------
    weights_ : list of (W, V)
        W of shape (H, H) and V of shape (F, H), by stack, block and reservoir.
    iterations_ : array of shape (graphs, stacks * blocks * reservoirs)
        Sweeps of the last transform.
    converged_ : array of the same shape
        Whether they converged.
    pooling_notes_ : dict
        What happened when the graphs of the last transform were pooled, in
        numbers: cuts_improved, vertices_lost, without_edges, fill_dropped,
        symmetrized; without those that are 0.

    Examples
    --------
    >>> from stepwell import PyramidalReservoir, make_benchmark
    >>> graphs = make_benchmark("b-easy-small").graphs
    >>> PyramidalReservoir(units=20, spectral_radius=0.5).fit_transform(graphs).shape
    (300, 20)
    """

    weights_: list[tuple[Floats, Floats]]
    iterations_: NDArray[np.uint32]
    converged_: NDArray[np.bool_]
    pooling_notes_: dict[str, int]
    feature_map_: str | None

    #: Parameters that do not change what the model is, or are read on their own.
    _not_options: tuple[str, ...] = ("n_jobs", "random_state", "verbose")

    def __init__(
        self,
        pool: Literal["none"] | Pooling = "none",
        blocks: int = 2,
        units: int | Sequence[int] = 50,
        spectral_radius: float | Sequence[float] = 0.9,
        scaling: Literal["radius", "norm"] = "radius",
        input_scaling: float = 0.5,
        hidden_scaling: float | Sequence[float] = 0.8,
        recurrence: Literal["dense", "sparse", "ring", "orthogonal", "diagonal"] = "dense",
        input_pattern: Literal["uniform", "signs", "sparse", "one-per-unit"] = "uniform",
        density: float = 0.1,
        tied: bool = False,
        reservoirs: int = 1,
        stacks: int = 1,
        normalize: bool = True,
        lift: bool = True,
        precision: Literal["f32", "f64"] = "f32",
        solver: Literal["gauss-seidel", "jacobi"] = "gauss-seidel",
        leak: float = 1.0,
        tol: float = 1e-5,
        max_iter: int = 50,
        fixed_sweeps: int | None = None,
        aggregate: Aggregate | Sequence[Aggregate] = "sum",
        concat: bool = False,
        pool_after: int = 1,
        pool_last: bool = False,
        pool_seed: int = 0,
        reduce: Literal["mean", "sum", "max"] = "mean",
        delta: float = 0.1,
        sparsify: Literal["each-level", "deferred"] = "each-level",
        side: Literal["largest", "smaller", "larger"] = "largest",
        approximate: bool = False,
        fill_budget: int = 1 << 26,
        raw: bool | None = None,
        structure: Structure | Sequence[Structure] = (),
        bare_structure: Structure | Sequence[Structure] = (),
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.pool = pool
        self.blocks = blocks
        self.units = units
        self.spectral_radius = spectral_radius
        self.scaling = scaling
        self.input_scaling = input_scaling
        self.hidden_scaling = hidden_scaling
        self.recurrence = recurrence
        self.input_pattern = input_pattern
        self.density = density
        self.tied = tied
        self.reservoirs = reservoirs
        self.stacks = stacks
        self.normalize = normalize
        self.lift = lift
        self.precision = precision
        self.solver = solver
        self.leak = leak
        self.tol = tol
        self.max_iter = max_iter
        self.fixed_sweeps = fixed_sweeps
        self.aggregate = aggregate
        self.concat = concat
        self.pool_after = pool_after
        self.pool_last = pool_last
        self.pool_seed = pool_seed
        self.reduce = reduce
        self.delta = delta
        self.sparsify = sparsify
        self.side = side
        self.approximate = approximate
        self.fill_budget = fill_budget
        self.raw = raw
        self.structure = structure
        self.bare_structure = bare_structure
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def from_preset(cls, preset: Preset, **changes: Any) -> Self:
        """An estimator with a named set of options: "paper" (the paper's model),
        "accurate" (more of more reservoirs) or "reference" (what the paper's
        public code does)."""
        return cls(**{**_preset(preset, inspect.signature(cls).parameters.keys() - cls._not_options), **changes})

    def fit(self, graphs: AnyGraphs, y: object = None) -> Self:
        """Draws the weights. Of the graphs only the number of features matters,
        which labels there are, and the spread of what is scaled: features with
        ``raw=False``, columns of the structure, degrees where vertices carry
        nothing."""
        self._draw(as_batch(graphs))
        return self

    def set_weights(self, weights: Iterable[tuple[ArrayLike, ArrayLike]]) -> Self:
        """Replaces the weights by pairs ``(W, V)``, listed by stack, block and reservoir.

        Where vertices have features, no ``fit`` is needed before.
        """
        pairs = []
        for position, pair in enumerate(weights):
            try:
                recurrent, inputs = (np.ascontiguousarray(part, dtype=np.float64) for part in pair)
            except (TypeError, ValueError) as error:
                raise TypeError(f"weights: expected a pair of arrays at {position}: {error}") from None
            pairs.append((recurrent, inputs))
        options = self._checked()
        expected = options["stacks"] * options["blocks"] * options["reservoirs"]
        if len(pairs) != expected:
            found = len(pairs)
            raise ValueError(f"weights: expected {expected} pairs, one per stack, block and reservoir, found {found}")
        self._keep(options, getattr(self, "feature_map_", None), pairs)
        return self

    def transform(self, graphs: AnyGraphs) -> Floats:
        """One row per graph."""
        check_is_fitted(self, "weights_")
        return self._embed(as_batch(graphs))

    def fit_transform(self, graphs: AnyGraphs, y: Any = None, **fit_params: Any) -> Floats:
        """The same as ``fit``, then ``transform`` of the same graphs."""
        batch = as_batch(graphs)
        return self.fit(batch, y, **fit_params).transform(batch)

    def transform_nodes(self, graphs: AnyGraphs) -> list[Floats]:
        """The states of all vertices of all graphs: one array per block that
        goes into the embedding, by stack and block."""
        check_is_fitted(self, "weights_")
        prepared, options, threads = self._prepare(as_batch(graphs))
        return prepared.states(options, self.weights_, threads)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _draw(self, batch):
        """Draws the weights for such graphs; answers with all options."""
        options = self._checked()
        if len(batch) == 0:
            raise ValueError("graphs: expected at least one, found none")
        batch = _as_carried(batch, options)
        needed = batch.width() is None or options["structure"]
        feature_map = batch.fit_features(json.dumps(options)) if needed else None
        width = _with_features(batch, feature_map).width()
        options["seed"] = seed_of(self.random_state)
        self._keep(options, feature_map, random_weights(json.dumps(options), width))
        return options

    def _keep(self, options, feature_map, weights):
        """Fits the model to be this; what it is does not change with its parameters then."""
        blocks = weights[:: options["reservoirs"]]
        read = blocks if options["concat"] else blocks[options["blocks"] - 1 :: options["blocks"]]
        width = sum(np.shape(W)[1] for W, _ in read) * len(options["aggregate"])
        vars(self).update(_kept=options, feature_map_=feature_map, weights_=weights, _n_features_out=width)

    def _prepare(self, batch):
        options, threads = json.dumps(self._kept), _threads(self.n_jobs)
        batch = self._with_features(batch)
        if batch.width() is None and batch.has_vertices():
            raise ValueError("graphs: expected features; fit on graphs without them gives them their degrees")
        with Progress(self.verbose and self._kept["pool"] != "none", "pooling", len(batch)) as report:
            prepared = batch.prepare(options, threads, report)
        self.pooling_notes_ = dict(prepared.notes)
        warn_of_losses(prepared.losses, len(batch), stacklevel=5)
        return prepared, options, threads

    def _with_features(self, batch):
        return _with_features(_as_carried(batch, self._kept), self.feature_map_)

    def _embed(self, batch):
        prepared, options, threads = self._prepare(batch)
        with Progress(self.verbose, "embedding", len(batch)) as report:
            vectors, self.iterations_, self.converged_ = prepared.embed(options, self.weights_, threads, report)
        if self._kept["fixed_sweeps"] is None and not self.converged_.all():
            share = 1 - self.converged_.all(axis=1).mean()
            warnings.warn(
                f"{share:.1%} of the graphs did not converge in {self._kept['max_iter']} sweeps; "
                "raise max_iter or lower spectral_radius",
                ConvergenceWarning,
                stacklevel=3,
            )
        return vectors

    def _checked(self):
        """All options, or an exception that says what is wrong with one of them."""
        options = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        for name in self._not_options:
            del options[name]
        for name in ("aggregate", "structure", "bare_structure"):
            if isinstance(options[name], str):
                options[name] = [options[name]]
        check = lambda given: check_options(json.dumps(given, allow_nan=False))
        try:
            return json.loads(check(options))
        except (TypeError, ValueError) as error:
            wrong = str(error)
        named = lambda text: text.partition(":")[0] in options
        if not named(wrong):  # a value of the wrong type: say which one it is
            for name, value in options.items():
                try:
                    check({name: value})
                except (TypeError, ValueError) as error:
                    if not named(str(error)):  # else it is right beside the others
                        wrong = f"{name}: {error}"
                        break
        raise ValueError(wrong)


def _preset(name, known):
    """The options of a preset, those that are known."""
    options = {"landmarks": 0, "bare_structure": [], **json.loads(preset_options(name))}
    return {name: value for name, value in options.items() if name in known}


def _as_carried(batch, options):
    return batch.carried() if options["raw"] is False else batch


def _with_features(batch, feature_map):
    return batch.as_they_are() if feature_map is None else batch.with_features(feature_map)


def _plain(value):
    """Lists and plain numbers, which JSON knows, of what NumPy has."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _threads(n_jobs):
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs: expected a whole number other than 0, or None, found {n_jobs!r}")
    cores = os.cpu_count() or 1
    return min(int(n_jobs), cores) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))

"""Any input to the package gives a result or an ordinary exception."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stepwell import (
    Graph,
    PyramidalReservoir,
    PyramidalReservoirClassifier,
    PyramidalReservoirRegressor,
    coarsen,
    kron_reduce,
)

TRIANGLE = Graph([[0, 1, 2], [1, 2, 0]], np.eye(3))
SQUARE = Graph([[0, 1, 2, 3], [1, 2, 3, 0]], np.ones((4, 3)))
POOLS = ["none", "graclus", "nmf", "ndp", "kmis"]
TRANSFORMERS = [PyramidalReservoir(units=3, pool=pool).fit([TRIANGLE]) for pool in POOLS]
CLASSIFIER = PyramidalReservoirClassifier(units=3, pool="ndp").fit([TRIANGLE, SQUARE], ["a", "b"])

numbers = st.one_of(
    st.integers(-3, 6),
    st.sampled_from([2**31, 2**32, 2**63, 2**64, -(2**63), 10**30]),
    st.floats(),
    st.sampled_from([1e300, -1e300, 1e-300, 5e-324]),
    st.booleans(),
    st.complex_numbers(),
)
dtypes = st.sampled_from(["i1", "i4", "i8", "u8", "f2", "f4", "f8", "c16", "?", "O", "U3", "M8[s]"])
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements=st.integers(-1, 5) if dtype in ("i1", "i4", "i8", "O") else None,
    )
)
edges = hnp.arrays(np.int64, st.tuples(st.just(2), st.integers(0, 6)), elements=st.integers(-1, 5))


@st.composite
def matrices(draw):
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    if draw(st.booleans()):
        shape = (shape[0], shape[0])
    dense = draw(hnp.arrays(draw(st.sampled_from(["f8", "f4", "i8", "?", "c16"])), shape))
    layout = draw(st.sampled_from([sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.dok_matrix, sp.dia_array]))
    return layout(dense)


things = st.recursive(
    st.one_of(
        st.none(),
        numbers,
        st.text(max_size=3),
        st.binary(max_size=3),
        arrays,
        matrices(),
        st.sampled_from([TRIANGLE, SQUARE, Graph, object(), len, range(3), sp.coo_array([1.0, 2.0])]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=2),
    ),
    max_leaves=6,
)
features = hnp.arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(0, 4)))
nearly_graphs = st.one_of(
    things,
    st.tuples(st.one_of(edges, matrices(), things), st.one_of(st.none(), features, things)),
)


@st.composite
def extreme_graphs(draw):
    """Well-formed graphs with arbitrary numbers."""
    size = draw(st.integers(0, 6))
    magnitude = st.sampled_from([0.0, 5e-324, 1e-300, 1e-30, 1.0, 3.0, 1e30, 3e38, 1e40, 1e300, 1.7e308])
    half = np.triu(draw(hnp.arrays(np.float64, (size, size), elements=magnitude)))
    matrix = sp.csr_matrix(np.maximum(half, half.T))
    sign = draw(st.sampled_from([1, -1]))
    return matrix, sign * draw(hnp.arrays(np.float64, (size, 3), elements=magnitude))


nearly_lists = st.one_of(things, st.lists(nearly_graphs, max_size=4), st.lists(extreme_graphs(), max_size=4))


def harmless(work):
    """Runs the work; fails unless it returns, or raises a TypeError or ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except (TypeError, ValueError) as error:
            assert str(error)


@given(nearly_lists)
@settings(max_examples=250, deadline=None)
def test_fit_and_transform(graphs):
    model = PyramidalReservoir(units=3, pool="kmis", structure="degree", max_iter=5)
    if harmless(lambda: model.fit(graphs)) is not None:
        harmless(lambda: model.transform(graphs))
    for transformer in TRANSFORMERS:
        vectors = harmless(lambda: transformer.transform(graphs))
        assert vectors is None or np.isfinite(vectors).all()
    harmless(lambda: TRANSFORMERS[1].transform_nodes(graphs))
    harmless(lambda: CLASSIFIER.predict(graphs))


@given(nearly_lists, things, things)
@settings(max_examples=150, deadline=None)
def test_training(graphs, y, weights):
    for kind in (PyramidalReservoirClassifier, PyramidalReservoirRegressor):
        model = kind(units=3, fixed_sweeps=2)
        harmless(lambda: model.fit(graphs, y))
        harmless(lambda: model.fit([TRIANGLE, SQUARE], y, weights))
        harmless(lambda: model.fit([TRIANGLE, SQUARE], [0, 1], weights))


poolings = st.sampled_from(["graclus", "nmf", "ndp", "kmis"])


@given(
    st.one_of(extreme_graphs(), nearly_graphs),
    st.one_of(poolings, poolings, things),
    st.one_of(st.integers(-1, 4), things),
)
@settings(max_examples=250, deadline=None)
def test_coarsening(graph, pool, levels):
    harmless(lambda: coarsen(graph, pool, levels))
    harmless(lambda: coarsen(TRIANGLE, pool, levels))
    harmless(lambda: kron_reduce(graph, levels))


PARAMETERS = sorted(PyramidalReservoirClassifier().get_params())


@given(st.dictionaries(st.sampled_from(PARAMETERS), things, max_size=2))
@settings(max_examples=250, deadline=None)
def test_parameters(given):
    given.pop("verbose", None)
    model = PyramidalReservoirClassifier(**{"units": 3, "fixed_sweeps": 2, **given})
    harmless(lambda: model.fit([TRIANGLE, SQUARE, TRIANGLE], ["a", "b", "a"]))
    harmless(lambda: model.predict([SQUARE]) if hasattr(model, "coef_") else None)


@pytest.mark.parametrize("position", [0, 2])
@pytest.mark.parametrize(
    "bad",
    [None, 1, "graph", (1, 2, 3), ([[0], [9]], np.eye(3)), (sp.eye(3), np.full((3, 3), np.nan)), sp.coo_array([1.0])],
    ids=lambda bad: type(bad).__name__,
)
def test_the_position_is_named(bad, position):
    graphs = [TRIANGLE, SQUARE, TRIANGLE]
    graphs[position] = bad
    for call in (PyramidalReservoir().fit, TRANSFORMERS[1].transform, CLASSIFIER.predict):
        with pytest.raises((TypeError, ValueError), match=f"^graph {position}: "):
            call(graphs)


def _broken(form, part, value):
    """A valid matrix of a format, with one array changed behind SciPy's back."""
    matrix = getattr(sp, f"{form}_matrix")(np.ones((4, 4)))
    array = np.array(getattr(matrix, part))
    array[tuple(-1 for _ in array.shape)] = value
    setattr(matrix, part, array)
    return matrix


@pytest.mark.parametrize(
    ("form", "part", "value"),
    [
        ("csr", "indices", 10**6),
        ("csr", "indices", -(10**6)),
        ("csr", "indptr", 10**6),
        ("csc", "indices", 10**6),
        ("csc", "indptr", 10**6),
        ("bsr", "indices", 10**6),
        ("coo", "row", 10**6),
        ("coo", "col", -5),
        ("csr", "data", None),
        ("dia", "offsets", None),
    ],
)
def test_matrices_that_lie_about_themselves_are_refused(form, part, value):
    if value is None:
        matrix = getattr(sp, f"{form}_matrix")(np.ones((4, 4)))
        setattr(matrix, part, getattr(matrix, part)[:1])
    else:
        matrix = _broken(form, part, value)
    # In a separate process, because the failure would be a segmentation fault.
    code = "import pickle, sys, stepwell\ntry:\n    stepwell.Graph(pickle.load(sys.stdin.buffer))\nexcept ValueError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(matrix), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"adjacency: the " + form.encode() + b" matrix is not valid" in done.stdout, done

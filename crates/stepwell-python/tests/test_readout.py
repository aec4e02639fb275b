"""The readout compared with scikit-learn's ridge regression."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.utils.class_weight import compute_class_weight

from stepwell._stepwell import RawCensus, RawReadout, RawReadoutFit, decode_classes

ALPHAS = [1e-6, 1e-3, 1e-1, 1.0, 30.0, 1e4]


def tall(rng):
    return rng.normal(size=(90, 12))


def wide(rng):
    return rng.normal(size=(20, 45))


def collinear(rng):
    x = rng.normal(size=(60, 6))
    return np.column_stack([x, x[:, :2], x @ rng.normal(size=(6, 3)), np.ones(60), np.zeros(60)])


def far_and_uneven(rng):
    return 50 + rng.normal(size=(70, 10)) * np.logspace(-1, 1, 10)


def long_sums(rng):
    """Vectors like embeddings: sums over graphs of many sizes."""
    return rng.uniform(20, 200, size=(80, 1)) * rng.normal(1, 0.1, size=(80, 20))


PROBLEMS = {make.__name__: make for make in (tall, wide, collinear, far_and_uneven, long_sums)}


@pytest.fixture(params=PROBLEMS)
def x(request):
    return PROBLEMS[request.param](np.random.default_rng(1))


@pytest.fixture(params=[False, True], ids=["alike", "weighted"])
def weights(request, x):
    return np.random.default_rng(2).uniform(0.2, 3, len(x)) if request.param else None


def condition(x, weights, alpha):
    centred = x - np.average(x, 0, weights)
    centred = centred * np.sqrt(1 if weights is None else weights[:, None])
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    smallest = values[-1] if len(values) == x.shape[1] else 0
    return (values[0] + alpha) / (smallest + alpha)


def solvable(x, weights, alphas=ALPHAS):
    """The alphas whose problem has a condition number of at most 1e8."""
    alphas = [alpha for alpha in alphas if condition(x, weights, alpha) <= 1e8]
    assert len(alphas) >= 3
    return alphas


def close(found, right):
    return np.linalg.norm(found - right) <= 1e-8 * np.linalg.norm(right)


def fit_of(options, x, y):
    """A partially fitted readout for these rows."""
    census = RawCensus(y.shape[1], False)
    census.observe(y)
    return RawReadoutFit(options, x.shape[1], census=census)


def gathered_in_parts(fit, parts):
    """A readout of rows in several places, and the errors that chose its penalty."""
    errors = None
    while True:
        sent, all_rows = pickle.loads(pickle.dumps(fit)), None
        for x, y, weights in parts:
            found = pickle.loads(pickle.dumps(sent.gather(x, y, weights)))
            if all_rows is None:
                all_rows = found
            else:
                all_rows.merge(found)
        errors = all_rows.errors
        readout = fit.advance(all_rows)
        if readout is not None:
            return readout, errors


@pytest.mark.parametrize("targets", [1, 3])
def test_regression(x, weights, targets):
    rng = np.random.default_rng(3)
    y = 5 + x[:, :targets] + rng.normal(size=(len(x), targets))
    for alpha in solvable(x, weights):
        found = RawReadout.fit({"alpha": alpha}, x, y, weights)
        coef, intercept = found.coefficients
        assert (found.alphas, found.random_features, found.landmarks) == ([alpha] * targets, None, None)
        peer = Ridge(alpha=alpha, solver="svd").fit(x, y, weights)
        assert close(coef, peer.coef_.reshape(targets, -1))
        assert close(intercept, np.atleast_1d(peer.intercept_))
        assert close(found.predict(x), peer.predict(x).reshape(-1, targets))


@pytest.mark.parametrize("class_weight", [None, "balanced", "given"])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_classification(x, weights, classes, class_weight):
    rng = np.random.default_rng(4)
    y = np.concatenate([np.arange(classes), rng.choice(classes, len(x) - classes)])
    given, peer_given = "none", class_weight
    if class_weight == "given":
        peer_given = {label: 0.5 + label for label in range(classes)}
    if class_weight is not None:
        given = compute_class_weight(peer_given, classes=np.arange(classes), y=y).tolist()
    if class_weight == "balanced":
        given = "balanced"
    total = np.ones(len(x)) if weights is None else weights
    if class_weight is not None:
        total = total * compute_class_weight(peer_given, classes=np.arange(classes), y=y)[y]
    for alpha in solvable(x, total):
        found = RawReadout.fit({"alpha": alpha, "class_weight": given}, x, y.tolist(), weights)
        coef, intercept = found.coefficients
        peer = RidgeClassifier(alpha=alpha, class_weight=peer_given, solver="svd").fit(x, y, weights)
        assert close(coef, peer.coef_)
        assert close(intercept, peer.intercept_)
        decisions = found.predict(x)
        assert close(decisions.squeeze(), peer.decision_function(x))
        assert np.array_equal(decode_classes(decisions), peer.predict(x))


@pytest.mark.parametrize("targets", [1, 2])
def test_leave_one_out_chooses_as_ridge_cv(x, weights, targets):
    rng = np.random.default_rng(5)
    y = x[:, :targets] + rng.normal(size=(len(x), targets))
    alphas = solvable(x, weights)
    found = RawReadout.fit({"alpha": alphas}, x, y, weights)
    coef, intercept = found.coefficients
    peer = RidgeCV(alphas=alphas, store_cv_results=True, alpha_per_target=targets > 1).fit(x, y, weights)
    assert found.alphas == np.atleast_1d(peer.alpha_).tolist()
    assert close(coef, peer.coef_.reshape(targets, -1))
    assert close(intercept, np.atleast_1d(peer.intercept_))
    again, errors = gathered_in_parts(fit_of({"alpha": alphas}, x, y), [(x, y, weights)])
    assert again.alphas == found.alphas
    by_peer = peer.cv_results_.reshape(len(x), targets, len(alphas)).mean((0, 1))
    if condition(x, weights, min(alphas)) <= 1e6:  # errors are squares of quotients
        np.testing.assert_allclose(errors, by_peer, rtol=1e-8)


def test_leave_one_out_leaves_one_out():
    rng = np.random.default_rng(6)
    x, weights = rng.normal(size=(25, 8)), rng.uniform(0.5, 2, 25)
    y = x[:, :1] + rng.normal(size=(25, 1))
    _, errors = gathered_in_parts(fit_of({"alpha": [0.1, 10.0]}, x, y), [(x, y, weights)])
    for alpha, mean in zip([0.1, 10.0], errors):
        total = 0
        for row in range(25):
            rest = np.arange(25) != row
            peer = Ridge(alpha=alpha, solver="svd").fit(x[rest], y[rest], weights[rest])
            total += weights[row] * ((peer.predict(x[[row]]) - y[row]) ** 2).sum()
        assert mean == pytest.approx(total / 25, rel=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_by_leave_one_out(x, classes):
    y = np.random.default_rng(7).integers(classes, size=len(x))
    alphas = solvable(x, None)
    found = RawReadout.fit({"alpha": alphas}, x, y.tolist())
    peer = RidgeClassifierCV(alphas=alphas).fit(x, y)
    assert found.alphas == [peer.alpha_]
    assert close(found.coefficients[0], peer.coef_)


def test_standardize_is_a_penalty_on_scaled_columns():
    rng = np.random.default_rng(8)
    x = far_and_uneven(rng)
    y = x[:, :1] + rng.normal(size=(len(x), 1))
    coef, intercept = RawReadout.fit({"alpha": 3.0, "standardize": True}, x, y).coefficients
    peer = Ridge(alpha=3.0, solver="svd").fit((x - x.mean(0)) / x.std(0), y[:, 0])
    assert close(coef[0], peer.coef_ / x.std(0))
    assert close(x @ coef.T + intercept, peer.predict((x - x.mean(0)) / x.std(0))[:, None])


def test_random_features_are_a_layer_in_front():
    x = tall(np.random.default_rng(9))
    y = np.sin(2 * x[:, :1])
    found = RawReadout.fit({"alpha": 0.1, "random_features": 30, "seed": 5}, x, y)
    random = found.random_features
    layer = np.tanh(x @ random[0] + random[1])
    peer = Ridge(alpha=0.1, solver="svd").fit(layer, y[:, 0])
    assert close(found.coefficients[0][0], peer.coef_)
    np.testing.assert_allclose(found.predict(x)[:, 0], peer.predict(layer), rtol=1e-8, atol=1e-10)
    again = RawReadout.fit({"alpha": 0.1, "random_features": 30, "seed": 6}, x, y)
    assert not np.array_equal(again.random_features[0], random[0])


@pytest.mark.parametrize("count", [25, 200])
def test_landmarks_are_a_kernel_in_front(count):
    rng = np.random.default_rng(11)
    x = np.column_stack([tall(rng), np.full(90, 0.3)])  # the last column carries no information
    y = np.sin(2 * x[:, :1])
    readout = RawReadout.fit({"alpha": 0.01, "landmarks": count, "seed": 5}, x, y)
    mean, scale, points = readout.landmarks
    assert readout.random_features is None and points.shape == (min(count, 90), 13)
    scaled = (x[:, :12] - x[:, :12].mean(0)) / x[:, :12].std(0)
    np.testing.assert_allclose(scale[:12], x[:, :12].std(0) * np.sqrt(12))
    landmarks = points[:, :12] * np.sqrt(12)
    assert all(np.abs(scaled - each).max(1).min() < 1e-6 for each in landmarks), "they are among the rows"
    near = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(2) / 24) + a @ b.T / 12
    root = np.linalg.cholesky(near(landmarks, landmarks) + 1e-7 * np.eye(len(landmarks)))
    layer = np.linalg.solve(root, near(landmarks, scaled)).T
    peer = Ridge(alpha=0.01, solver="svd").fit(layer, y[:, 0])
    new = np.column_stack([tall(np.random.default_rng(12)), np.full(90, 7.0)])
    found = readout.predict(new)
    seen = np.linalg.solve(root, near(landmarks, (new[:, :12] - x[:, :12].mean(0)) / x[:, :12].std(0))).T
    # Similarities are in f32.
    np.testing.assert_allclose(found[:, 0], peer.predict(seen), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("front", [{}, {"random_features": 9}, {"landmarks": 15}], ids=str)
def test_rows_in_many_places_train_the_readout_of_all(x, weights, front):
    rng = np.random.default_rng(10)
    y = x[:, :1] + rng.normal(size=(len(x), 1))
    options = {"alpha": solvable(x, weights) if not front else [0.1, 10.0], **front}
    whole = RawReadout.fit(options, x, y, weights)
    for _ in range(4):
        where = rng.integers(rng.integers(1, 8), size=len(x))
        parts = [
            (x[where == part], y[where == part], None if weights is None else weights[where == part])
            for part in rng.permutation(where.max() + 1)
        ]
        found, _ = gathered_in_parts(fit_of(options, x, y), parts)
        assert found.alphas == whole.alphas
        difference = np.linalg.norm(found.predict(x) - whole.predict(x))
        assert difference <= (1e-8 if not front else 1e-6) * np.linalg.norm(whole.predict(x))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x, y: RawReadout.fit({"alpha": -1}, x, y), "alpha"),
        (lambda x, y: RawReadout.fit({"alpha": [0.0, 1.0]}, x, y), "alpha"),
        (lambda x, y: RawReadout.fit({}, x, y[:3]), "rows of the targets: expected 90, found 3"),
        (lambda x, y: RawReadout.fit({}, x * np.nan, y), "input of row 0 is NaN"),
        (lambda x, y: RawReadout.fit({}, x, y * np.inf), "for graph 0 in column 0"),
        (lambda x, y: RawReadout.fit({}, x, y * np.nan), "target '0': expected values to learn from, found none"),
        (lambda x, y: RawReadout.fit({}, x, y, -np.ones(90)), "row 0 has weight -1"),
        (lambda x, y: RawReadout.fit({}, x, y, np.zeros(90)), "weights: expected at least one above 0, found none"),
        (lambda x, y: RawReadout.fit({"random_features": 10**9}, x, y), "random_features"),
        (lambda x, y: RawReadout.fit({}, x, [0] * 90), "at least 2"),
        (lambda x, y: RawReadout.fit({"class_weight": [1.0]}, x, [0, 1] * 45), "class weights"),
        (lambda x, y: RawReadout.fit({}, x, y).predict(x[:, :5].copy()), "columns of the inputs"),
        (lambda x, y: fit_of({}, x[:, :3], y).gather(x, y, None), "columns of the inputs: expected 3, found 12"),
        (lambda x, y: RawReadoutFit({}, 12, [0, 1], [45, 45]).gather(x, [7] * 90, None), "has class 7"),
        (lambda x, y: RawReadoutFit({}, 2**40, [0, 1], [45, 45]).gather(x, [0] * 90, None), "columns of inputs and targets"),
        (lambda x, y: RawReadoutFit({}, 12), "expected classes or a census"),
        (lambda x, y: RawReadoutFit.from_bytes(b"junk"), "invalid type"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    x = tall(np.random.default_rng(13))
    with pytest.raises(ValueError) as caught:
        make(x, x[:, :1].copy())
    assert words in str(caught.value)

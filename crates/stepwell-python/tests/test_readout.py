"""The readout against scikit-learn's ridge regression."""

import json
import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.utils.class_weight import compute_class_weight

from stepwell._stepwell import RawMoments, decode_classes, fit_classes, fit_values, read_out

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
    """Like embeddings: sums over graphs of many sizes."""
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


def options(**given):
    return json.dumps(given)


@pytest.mark.parametrize("targets", [1, 3])
def test_regression(x, weights, targets):
    rng = np.random.default_rng(3)
    y = 5 + x[:, :targets] + rng.normal(size=(len(x), targets))
    for alpha in solvable(x, weights):
        coef, intercept, used, random, landmarks = fit_values(options(alpha=alpha), x, y, weights, 1)
        assert (used, random, landmarks) == (alpha, None, None)
        peer = Ridge(alpha=alpha, solver="svd").fit(x, y, weights)
        assert close(coef, peer.coef_.reshape(targets, -1))
        assert close(intercept, np.atleast_1d(peer.intercept_))
        assert close(read_out(x, coef, intercept, None, None, 1), peer.predict(x).reshape(-1, targets))


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
        coef, intercept, *_ = fit_classes(options(alpha=alpha, class_weight=given), x, y, classes, weights, 1)
        peer = RidgeClassifier(alpha=alpha, class_weight=peer_given, solver="svd").fit(x, y, weights)
        assert close(coef, peer.coef_)
        assert close(intercept, peer.intercept_)
        decisions = read_out(x, coef, intercept, None, None, 1)
        assert close(decisions.squeeze(), peer.decision_function(x))
        assert np.array_equal(decode_classes(decisions), peer.predict(x))


@pytest.mark.parametrize("targets", [1, 2])
def test_leave_one_out_chooses_as_ridge_cv(x, weights, targets):
    rng = np.random.default_rng(5)
    y = x[:, :targets] + rng.normal(size=(len(x), targets))
    alphas = solvable(x, weights)
    coef, intercept, alpha, *_ = fit_values(options(alpha=alphas), x, y, weights, 1)
    peer = RidgeCV(alphas=alphas, store_cv_results=True).fit(x, y, weights)
    assert alpha == peer.alpha_
    assert close(coef, peer.coef_.reshape(targets, -1))
    assert close(intercept, np.atleast_1d(peer.intercept_))
    moments = RawMoments(x.shape[1], targets)
    moments.observe(x, y, weights)
    errors = moments.path().leave_one_out(alphas, x, y, weights)
    assert errors.best() == alpha
    by_peer = peer.cv_results_.reshape(len(x), targets, len(alphas)).mean((0, 1))
    if condition(x, weights, min(alphas)) <= 1e6:  # errors are squares of quotients
        np.testing.assert_allclose(errors.means(), by_peer, rtol=1e-8)


def test_leave_one_out_leaves_one_out():
    rng = np.random.default_rng(6)
    x, weights = rng.normal(size=(25, 8)), rng.uniform(0.5, 2, 25)
    y = x[:, :2] + rng.normal(size=(25, 2))
    moments = RawMoments(8, 2)
    moments.observe(x, y, weights)
    errors = moments.path().leave_one_out([0.1, 10.0], x, y, weights)
    for alpha, mean in zip([0.1, 10.0], errors.means()):
        total = 0
        for row in range(25):
            rest = np.arange(25) != row
            peer = Ridge(alpha=alpha, solver="svd").fit(x[rest], y[rest], weights[rest])
            total += weights[row] * ((peer.predict(x[[row]]) - y[row]) ** 2).sum()
        assert mean == pytest.approx(total / 50, rel=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_by_leave_one_out(x, classes):
    y = np.random.default_rng(7).integers(classes, size=len(x))
    alphas = solvable(x, None)
    coef, _, alpha, *_ = fit_classes(options(alpha=alphas), x, y, classes, None, 1)
    peer = RidgeClassifierCV(alphas=alphas).fit(x, y)
    assert alpha == peer.alpha_
    assert close(coef, peer.coef_)


def test_standardize_is_a_penalty_on_scaled_columns():
    rng = np.random.default_rng(8)
    x = far_and_uneven(rng)
    y = x[:, :1] + rng.normal(size=(len(x), 1))
    coef, intercept, *_ = fit_values(options(alpha=3.0, standardize=True), x, y, None, 1)
    peer = Ridge(alpha=3.0, solver="svd").fit((x - x.mean(0)) / x.std(0), y[:, 0])
    assert close(coef[0], peer.coef_ / x.std(0))
    assert close(x @ coef.T + intercept, peer.predict((x - x.mean(0)) / x.std(0))[:, None])


def test_random_features_are_a_layer_in_front():
    x = tall(np.random.default_rng(9))
    y = np.sin(2 * x[:, :1])
    coef, intercept, _, random, _ = fit_values(options(alpha=0.1, random_features=30, seed=5), x, y, None, 1)
    layer = np.tanh(x @ random[0] + random[1])
    peer = Ridge(alpha=0.1, solver="svd").fit(layer, y[:, 0])
    assert close(coef[0], peer.coef_)
    found = read_out(x, coef, intercept, random, None, 1)
    np.testing.assert_allclose(found[:, 0], peer.predict(layer), rtol=1e-8, atol=1e-10)
    again = fit_values(options(alpha=0.1, random_features=30, seed=6), x, y, None, 1)
    assert not np.array_equal(again[3][0], random[0])


@pytest.mark.parametrize("count", [25, 200])
def test_landmarks_are_a_kernel_in_front(count):
    rng = np.random.default_rng(11)
    x = np.column_stack([tall(rng), np.full(90, 0.3)])  # the last says nothing
    y = np.sin(2 * x[:, :1])
    given = options(alpha=0.01, landmarks=count, seed=5)
    coef, intercept, _, random, (mean, scale, points) = fit_values(given, x, y, None, 1)
    assert random is None and points.shape == (min(count, 90), 13)
    scaled = (x[:, :12] - x[:, :12].mean(0)) / x[:, :12].std(0)
    np.testing.assert_allclose(scale[:12], x[:, :12].std(0) * np.sqrt(12))
    landmarks = points[:, :12] * np.sqrt(12)
    assert all(np.abs(scaled - each).max(1).min() < 1e-12 for each in landmarks), "they are among the rows"
    near = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(2) / 24) + a @ b.T / 12
    root = np.linalg.cholesky(near(landmarks, landmarks) + 1e-7 * np.eye(len(landmarks)))
    layer = np.linalg.solve(root, near(landmarks, scaled)).T
    peer = Ridge(alpha=0.01, solver="svd").fit(layer, y[:, 0])
    new = np.column_stack([tall(np.random.default_rng(12)), np.full(90, 7.0)])
    found = read_out(new, coef, intercept, None, (mean, scale, points), 1)
    seen = np.linalg.solve(root, near(landmarks, (new[:, :12] - x[:, :12].mean(0)) / x[:, :12].std(0))).T
    np.testing.assert_allclose(found[:, 0], peer.predict(seen), rtol=1e-5, atol=1e-7)


def test_merged_moments_of_parts_are_those_of_the_whole(x, weights):
    rng = np.random.default_rng(10)
    y = rng.normal(size=(len(x), 3))
    whole = RawMoments(x.shape[1], 3)
    whole.observe(x, y, weights)
    for _ in range(10):
        where = rng.integers(rng.integers(1, 8), size=len(x))
        parts = []
        for part in rng.permutation(where.max() + 1):
            moments = RawMoments(x.shape[1], 3)
            rows = where == part
            moments.observe(x[rows], y[rows], None if weights is None else weights[rows])
            parts.append(pickle.loads(pickle.dumps(moments)))
        while len(parts) > 1:
            last = parts.pop()
            parts[rng.integers(len(parts))].merge(last)
        rows, weight, *arrays = parts[0].scatter()
        total, total_weight, *expected = whole.scatter()
        assert rows == total == len(x)
        assert weight == pytest.approx(total_weight, rel=1e-12)
        for found, right in zip(arrays, expected):
            assert np.linalg.norm(found - right) <= 1e-12 * np.linalg.norm(right)


def test_moments_are_what_numpy_says(x, weights):
    y = np.random.default_rng(11).normal(size=(len(x), 2))
    moments = RawMoments(x.shape[1], 2)
    for first in range(0, len(x), 7):
        part = slice(first, first + 7)
        moments.observe(x[part], y[part], None if weights is None else weights[part])
    rows, weight, x_mean, y_mean, xx, xy, yy = moments.scatter()
    share = np.ones(len(x)) if weights is None else weights
    centred, centred_y = x - np.average(x, 0, share), y - np.average(y, 0, share)
    expected = [
        share.sum(),
        np.average(x, 0, share),
        np.average(y, 0, share),
        centred.T @ (share[:, None] * centred),
        centred.T @ (share[:, None] * centred_y),
        (share[:, None] * centred_y**2).sum(0),
    ]
    for found, right in zip([weight, x_mean, y_mean, xx, xy, yy], expected):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11 * np.abs(right).max())
    again = pickle.loads(pickle.dumps(moments))
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(again.scatter()[2:], moments.scatter()[2:]))


def test_errors_of_parts_merge():
    rng = np.random.default_rng(12)
    x = tall(rng)
    y = rng.normal(size=(len(x), 1))
    moments = RawMoments(x.shape[1], 1)
    moments.observe(x, y)
    path = moments.path()
    first, second = (path.leave_one_out(ALPHAS, x[part], y[part]) for part in (slice(0, 40), slice(40, None)))
    first.merge(pickle.loads(pickle.dumps(second)))
    np.testing.assert_allclose(first.means(), path.leave_one_out(ALPHAS, x, y).means(), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x, y: fit_values(options(alpha=-1), x, y, None, 1), "alpha"),
        (lambda x, y: fit_values(options(alpha=[0.0, 1.0]), x, y, None, 1), "alpha"),
        (lambda x, y: fit_values(options(), x, y[:3], None, 1), "rows of the targets: expected 90, found 3"),
        (lambda x, y: fit_values(options(), x * np.nan, y, None, 1), "input of row 0 is NaN"),
        (lambda x, y: fit_values(options(), x, y * np.inf, None, 1), "target of row 0"),
        (lambda x, y: fit_values(options(), x, y, -np.ones(90), 1), "row 0 has weight -1"),
        (lambda x, y: fit_values(options(), x, y, np.zeros(90), 1), "rows with a positive weight"),
        (lambda x, y: fit_values(options(random_features=10**9), x, y, None, 1), "random_features"),
        (lambda x, y: fit_classes(options(), x, np.full(90, -1), 2, None, 1), "there are 2 classes"),
        (lambda x, y: fit_classes(options(), x, np.full(90, 7), 2, None, 1), "has class 7"),
        (lambda x, y: fit_classes(options(), x, np.zeros(90, int), 1, None, 1), "at least 2"),
        (lambda x, y: fit_classes(options(class_weight=[1.0]), x, np.zeros(90, int), 2, None, 1), "class weights"),
        (lambda x, y: read_out(x, np.ones((1, 5)), np.ones(1), None, None, 1), "columns of the inputs"),
        (lambda x, y: RawMoments(3, 1).observe(x, y), "columns of the inputs: expected 3, found 12"),
        (lambda x, y: RawMoments(12, 1).path(), "positive weight"),
        (lambda x, y: RawMoments(12, 1).merge(RawMoments(11, 1)), "columns of the inputs"),
        (lambda x, y: RawMoments(2**40, 1), "columns of inputs and targets"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    x = tall(np.random.default_rng(13))
    with pytest.raises(ValueError) as caught:
        make(x, x[:, :1].copy())
    assert words in str(caught.value)

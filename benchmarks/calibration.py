"""How well probabilities, prediction sets and intervals are calibrated on new graphs.

    python benchmarks/calibration.py --data-dir DATA [--datasets NCI1,...] [--splits 10] [--coverage-splits 20]

For every dataset and random split (80 % training graphs), reports the expected calibration error of
``predict_proba``; that of a perfectly calibrated model with the same probabilities and as many test
graphs (labels are drawn from the probabilities; the mean of 200 draws); that of scikit-learn's
``CalibratedClassifierCV`` around the same model (5 folds, Platt's method and isotonic regression);
and the time each needs beyond one ``fit``. Then reports the share of true classes in prediction
sets, and of true numbers in intervals, for several coverages.

Calibration error: for the class with the largest probability, in 10 bins with equally many graphs,
the mean absolute difference between mean probability and share of correct predictions.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

import stepwell

COVERAGES = (0.8, 0.9, 0.95)


class Positions(stepwell.PyramidalReservoirClassifier):
    """The classifier for positions in a list of graphs, which scikit-learn can split."""

    graphs = None

    def fit(self, positions, y):
        return super().fit(self.graphs[np.ravel(positions)], y)

    def _values(self, positions):
        return super()._values(self.graphs[np.ravel(positions)])


def calibration_error(confidence, correct, bins=10):
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, bins)
    return sum(abs(confidence[part].mean() - correct[part].mean()) * len(part) for part in parts) / len(order)


def error_of(probabilities, y):
    best = probabilities.argmax(axis=1)
    return calibration_error(probabilities[np.arange(len(y)), best], best == y)


def simulated(probabilities, draws, rng):
    """The error of labels drawn from the probabilities themselves."""
    cumulated = probabilities.cumsum(axis=1)
    errors = []
    for _ in range(draws):
        y = (rng.random((len(probabilities), 1)) > cumulated).sum(axis=1).clip(max=probabilities.shape[1] - 1)
        errors.append(error_of(probabilities, y))
    return float(np.mean(errors))


def loaded(name, data_dir):
    name, _, target = name.partition(":")
    ds = stepwell.load_dataset(name, data_dir=data_dir, target=target or None)
    known = np.flatnonzero(~np.isnan(ds.y)) if ds.y.dtype.kind == "f" else np.arange(len(ds.y))
    return name.rsplit("/", 1)[-1] + (f" {target}" if target else ""), ds.graphs[known], ds.y[known]


def probabilities_of(name, graphs, y, splits, jobs):
    y = np.unique(y, return_inverse=True)[1]
    Positions.graphs = graphs
    rng = np.random.default_rng(0)
    rows = []
    for train, test in StratifiedShuffleSplit(splits, test_size=0.2, random_state=0).split(y, y):
        model, column = Positions(n_jobs=jobs), train.reshape(-1, 1)
        start = time.perf_counter()
        model.fit(column, y[train])
        fitted = time.perf_counter() - start
        found = model.predict_proba(test)
        row = {"own": error_of(found, y[test]), "perfect": simulated(found, 200, rng), "own log loss": log_loss(y[test], found)}
        for method in ("sigmoid", "isotonic"):
            start = time.perf_counter()
            other = CalibratedClassifierCV(Positions(n_jobs=jobs), method=method, cv=5).fit(column, y[train])
            row[f"{method} cost"] = (time.perf_counter() - start) / fitted
            others = other.predict_proba(test.reshape(-1, 1))
            row[method], row[f"{method} log loss"] = error_of(others, y[test]), log_loss(y[test], others)
        rows.append(row)
    mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
    print(
        f"| {name} | {mean['own']:.4f} | {mean['perfect']:.4f} | {mean['sigmoid']:.4f} | {mean['isotonic']:.4f} | "
        f"{mean['own log loss']:.3f} | {mean['sigmoid log loss']:.3f} | {mean['isotonic log loss']:.3f} | "
        f"{mean['sigmoid cost']:.1f} × |",
        flush=True,
    )


def coverage_of(name, graphs, y, splits, jobs):
    numbers = y.dtype.kind == "f"
    cls = stepwell.PyramidalReservoirRegressor if numbers else stepwell.PyramidalReservoirClassifier
    cut = ShuffleSplit(splits, test_size=0.2, random_state=1)
    found = {coverage: [] for coverage in COVERAGES}
    sizes = {coverage: [] for coverage in COVERAGES}
    for train, test in cut.split(y):
        model = cls(n_jobs=jobs).fit(graphs[train], y[train])
        for coverage in COVERAGES:
            if numbers:
                ends = model.predict_interval(graphs[test], coverage)
                found[coverage].append(((ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1])).mean())
                sizes[coverage].append((ends[:, 1] - ends[:, 0]).mean())
            else:
                sets = model.predict_set(graphs[test], coverage)
                codes = np.searchsorted(model.classes_, y[test])
                found[coverage].append(sets[np.arange(len(test)), codes].mean())
                sizes[coverage].append(sets.sum(axis=1).mean())
    cells = [f"{100 * np.mean(found[c]):.1f} ± {100 * np.std(found[c]):.1f} ({np.mean(sizes[c]):.2f})" for c in COVERAGES]
    print(f"| {name} | {len(train)} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--datasets", default="NCI1,PROTEINS,ENZYMES,IMDB-BINARY,IMDB-MULTI,Mutagenicity")
    parser.add_argument("--regressions", default="", help="files with a number for each graph")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--coverage-splits", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=-1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = [loaded(name, args.data_dir) for name in args.datasets.split(",") if name]
    if args.splits:
        print("| | own | perfect | Platt, 5 folds | isotonic, 5 folds | log loss own | Platt | isotonic | time of 5 folds |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for name, graphs, y in sets:
            probabilities_of(name, graphs, y, args.splits, args.jobs)
    if args.coverage_splits:
        print("\n| | training graphs | " + " | ".join(f"{100 * c:g} % (size)" for c in COVERAGES) + " |")
        print("|---|--:|" + "--:|" * len(COVERAGES))
        sets += [loaded(name, args.data_dir) for name in args.regressions.split(",") if name]
        for name, graphs, y in sets:
            if 0.8 * len(y) >= 1000:
                coverage_of(name, graphs, y, args.coverage_splits, args.jobs)


if __name__ == "__main__":
    main()

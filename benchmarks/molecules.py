"""Molecules: compares Stepwell with fingerprints and forests on the same splits.

usage: molecules.py [--data FOLDER] [--out FILE] [--page FILE] [--threads N] [--set NAME ...]
                    [--split KIND ...] [--row NAME ...] [--repeats N] [--only-page]

Each cell (a dataset, a split, a row of the table, a repeat) is one training and one test score.
Finished cells are lines of --out and are not repeated, so an interrupted run can be resumed. The
first repeat of all rows comes first. At the end, or with --only-page alone, the script prints the
page docs/results/molecules.md, or writes it to --page.

Nothing is chosen on test molecules. Ridge on fingerprints chooses its penalty on the validation
part and is then trained on training and validation molecules. The other models choose nothing
there and are trained on both parts, as `stepwell evaluate` does.
"""

import argparse
import csv
import functools
import gzip
import json
import pathlib
import time
import warnings

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score, roc_auc_score, root_mean_squared_error

#: For each set: its file, target columns, metric, and the repeats of cheap and of costly rows.
SETS = {
    "ESOL": ("delaney.csv.gz", ["logp"], "RMSE", {"scaffold": 5, "random": 5}),
    "Lipophilicity": ("lipo.csv.gz", ["lipo"], "RMSE", {"scaffold": 5, "random": 5}),
    "ogbg-molhiv": ("hiv.csv.gz", ["HIV_active"], "ROC-AUC", {"official": 10}),
    "Tox21": ("tox21.csv.gz", None, "mean ROC-AUC", {"scaffold": 5, "random": 5}),
    "Peptides-func": ("peptides_func.csv.gz", "labels", "average precision", {"official": 3}),
}
#: Sets on which slow rows are repeated less often.
FEWER = {"ogbg-molhiv": 3, "Tox21": 3, "Peptides-func": 1}
TREES = 500
#: Fewer trees where a forest on our wide vectors, one per target, would take an hour.
FEWER_TREES = {"Tox21": 100, "Peptides-func": 100}
ALPHAS = np.logspace(-1, 5, 13)

#: Published test scores on the same splits, in the units of the page.
PUBLISHED = {
    "ogbg-molhiv": [
        ("MOLTOP + random forest", 80.8, "MOLTOP"),
        ("ECFP + random forest", 80.6, "ogb-molecule-comp"),
        ("GEM, pretrained, with 3-D structures", 80.6, "MOLTOP"),
        ("GIN, pretrained", 79.9, "MOLTOP"),
        ("D-MPNN", 77.1, "MOLTOP"),
        ("Q-WL + random forest", 76.7, "Q-WL"),
    ],
    "Tox21": [
        ("GIN, pretrained", 78.1, "MOLTOP"),
        ("GEM, pretrained, with 3-D structures", 78.1, "MOLTOP"),
        ("MOLTOP + random forest", 76.3, "MOLTOP"),
        ("D-MPNN", 75.9, "MOLTOP"),
        ("Q-WL + random forest", 74.5, "Q-WL"),
    ],
    "Peptides-func": [
        ("DRew", 0.7150, "LRGB"),
        ("Q-WL + random forest", 0.71, "Q-WL"),
        ("GRIT", 0.6988, "LRGB"),
        ("GPS", 0.6535, "LRGB"),
        ("GCN", 0.593, "LRGB"),
    ],
}
SOURCES = {
    "MOLTOP": "[MOLTOP](https://github.com/j-adamczyk/MOLTOP), `scripts/wilcoxon.py`",
    "ogb-molecule-comp": "[ogb-molecule-comp](https://github.com/cyrusmaher/ogb-molecule-comp)",
    "Q-WL": "[arXiv 2508.10651](https://arxiv.org/abs/2508.10651)",
    "LRGB": "[LRGB](https://github.com/vijaydwivedi75/lrgb)",
}


class Table:
    """The molecules of a set: SMILES and targets, one column each, NaN if unknown."""

    def __init__(self, folder, name, threads):
        self.name, self.folder, self.threads = name, folder, threads
        file, columns, self.metric, _ = SETS[name]
        with gzip.open(folder / file, "rt") as lines:
            rows = list(csv.DictReader(lines))
        self.smiles = [row["smiles"] for row in rows]
        if columns == "labels":
            self.y = np.array([json.loads(row["labels"]) for row in rows], dtype=float)
        else:
            columns = columns or [column for column in rows[0] if column != "smiles"]
            self.y = np.array([[float(row[c]) if row[c] else np.nan for c in columns] for row in rows])
        self.is_regression = self.metric == "RMSE"
        self.seconds = {}

    @functools.cache  # noqa: B019
    def split(self, kind, repeat):
        """Positions of training, validation and test molecules."""
        count = len(self.smiles)
        if kind == "official":
            file = {"ogbg-molhiv": "hiv_split.json.gz", "Peptides-func": "peptides_func_split.json.gz"}[self.name]
            parts = json.loads(gzip.open(self.folder / file).read())
            return [np.array(parts[key]) for key in ("train", "valid" if "valid" in parts else "val", "test")]
        if kind == "random":
            order = np.random.default_rng(repeat).permutation(count)
            return np.split(order, [int(0.8 * count), int(0.9 * count)])
        from stepwell.molecules import scaffold_split, scaffolds

        parts = scaffold_split(scaffolds(self.smiles, errors="keep"))
        return [np.flatnonzero(parts == part) for part in ("train", "validation", "test")]

    def once(self, name, make):
        """Computes a value once for all cells; each of them counts its cost."""
        if name not in self.__dict__:
            start = time.process_time()
            self.__dict__[name] = make()
            self.seconds[name] = time.process_time() - start
        return self.__dict__[name], self.seconds[name]

    def score(self, test, values):
        """The metric of the set, over all its targets."""
        known = self.y[test]
        if self.is_regression:
            return float(root_mean_squared_error(known[:, 0], values[:, 0]))
        score = average_precision_score if self.metric == "average precision" else roc_auc_score
        found = []
        for true, value in zip(known.T, values.T):
            rows = ~np.isnan(true)
            if 0 < true[rows].sum() < rows.sum():
                found.append(score(true[rows], value[rows]))
        return float(np.mean(found))


def molecules(table):
    """RDKit's molecules."""
    from rdkit import Chem, rdBase

    def molecule(smiles):
        found = Chem.MolFromSmiles(smiles)
        if found is None:  # seven of HIV, which OGB keeps
            found = Chem.MolFromSmiles(smiles, sanitize=False)
            found.UpdatePropertyCache(strict=False)
            Chem.FastFindRings(found)
        return found

    with rdBase.BlockLogs():
        return [molecule(smiles) for smiles in table.smiles]


def fingerprints(table):
    """ECFP4: how often each environment of up to two bonds occurs, folded to 2,048 columns."""
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return np.array([generator.GetCountFingerprintAsNumPy(m) for m in molecules(table)], dtype=np.uint8)


def topology(table):
    """Features after MOLTOP's description: the mean, deviation and number of each kind of atom and
    bond; histograms of degrees, of the minimum, maximum, mean and deviation of the neighbours'
    degrees, and of three scores of bonds: betweenness, adjusted Rand index and structural
    similarity (SCAN)."""
    import igraph

    found = molecules(table)
    kinds = [[int(bond.GetBondType()) for bond in molecule.GetBonds()] for molecule in found]
    names = sorted({kind for listed in kinds for kind in listed})
    bins = int(np.median([molecule.GetNumAtoms() for molecule in found]))
    rows = []
    for molecule, listed in zip(found, kinds):
        n, row = molecule.GetNumAtoms(), []
        atoms = np.eye(90)[[min(atom.GetAtomicNum(), 89) for atom in molecule.GetAtoms()]]
        bonds = np.array([[kind == name for name in names] for kind in listed], dtype=float).reshape(-1, len(names))
        for one_hot in (atoms, bonds):
            row += [one_hot.mean(0), one_hot.std(0), one_hot.sum(0)] if len(one_hot) else [np.zeros(3 * one_hot.shape[1])]
        pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
        graph = igraph.Graph(n, pairs)
        near = [set(graph.neighbors(vertex)) for vertex in range(n)]
        degrees = np.array([len(each) for each in near])
        around = [degrees[list(each)] if each else np.zeros(1) for each in near]
        for counts in (degrees, [int(min(x)) for x in around], [int(max(x)) for x in around]):
            row.append(np.bincount(counts, minlength=11)[:11])
        for values in ([np.mean(x) for x in around], [np.std(x) for x in around]):
            row.append(np.histogram(values, bins)[0])
        scale = max(n * (n - 1) / 2, 1)
        rand, scan = [], []
        for a, b in pairs:
            both = len(near[a] & near[b])
            only_a, only_b = degrees[a] - both, degrees[b] - both
            neither = n - both - only_a - only_b
            above = 2 * (both * neither - only_a * only_b)
            below = (both + only_a) * (only_a + neither) + (both + only_b) * (only_b + neither)
            rand.append(above / below if below else 1.0)
            scan.append((both + 2) / np.sqrt((degrees[a] + 1) * (degrees[b] + 1)))
        for values in (np.array(graph.edge_betweenness()) / scale, rand, scan):
            row.append(np.histogram(values, bins)[0])
        rows.append(np.concatenate(row))
    rows = np.array(rows, dtype=np.float32)
    return rows[:, rows.std(0) > 0]


def forest(table, seed, trees=TREES):
    """A forest with MOLTOP's settings, with half as many trees."""
    if table.is_regression:
        return RandomForestRegressor(trees, max_features="sqrt", random_state=seed, n_jobs=table.threads)
    return RandomForestClassifier(trees, criterion="entropy", min_samples_split=10, random_state=seed, n_jobs=table.threads)


def boosting(table, seed):
    made = HistGradientBoostingRegressor if table.is_regression else HistGradientBoostingClassifier
    return made(learning_rate=0.05, max_iter=300, early_stopping=False, random_state=seed)


def by_target(table, x, parts, model):
    """Test predictions of a model for each target, trained on the molecules with a known value."""
    train, test = np.concatenate(parts[:2]), parts[2]
    columns = []
    for target in table.y.T:
        known = train[~np.isnan(target[train])]
        fitted = model().fit(x[known], target[known])
        columns.append(fitted.predict(x[test]) if table.is_regression else fitted.predict_proba(x[test])[:, 1])
    return np.column_stack(columns)


def trees_on_fingerprints(model, table, parts, seed):
    x, cost = table.once("fingerprints", lambda: fingerprints(table))
    return by_target(table, x, parts, lambda: model(table, seed)), cost


def forest_on_topology(table, parts, seed):
    x, cost = table.once("topology", lambda: topology(table))
    return by_target(table, x, parts, lambda: forest(table, seed)), cost


def ridge_on_fingerprints(table, parts, seed):
    """Ridge; the validation part chooses the penalty and, for classes, whether to balance them."""
    x, cost = table.once("fingerprints", lambda: fingerprints(table))
    x = x.astype(np.float32)
    columns = []
    for index, target in enumerate(table.y.T):
        train, valid = (part[~np.isnan(target[part])] for part in parts[:2])
        tries = [(alpha, balanced) for alpha in ALPHAS for balanced in ([False] if table.is_regression else [False, True])]
        best = max(tries, key=lambda given: tried(table, x, target, index, train, valid, *given))
        columns.append(fitted(x, target, np.concatenate([train, valid]), *best).predict(x[parts[2]]))
    return np.column_stack(columns), cost


def tried(table, x, target, index, train, valid, alpha, balanced):
    values = fitted(x, target, train, alpha, balanced).predict(x[valid])
    if table.is_regression:
        return -root_mean_squared_error(target[valid], values)
    score = average_precision_score if table.metric == "average precision" else roc_auc_score
    return score(target[valid], values) if 0 < target[valid].sum() < len(valid) else -alpha


def fitted(x, target, rows, alpha, balanced):
    weights = None
    if balanced:
        share = target[rows].mean()
        weights = np.where(target[rows] == 1, 0.5 / share, 0.5 / (1 - share))
    return Ridge(alpha).fit(x[rows], target[rows], sample_weight=weights)


def estimator(table, seed, options):
    from stepwell import PyramidalReservoirClassifier, PyramidalReservoirRegressor

    if table.is_regression:
        return PyramidalReservoirRegressor(random_state=seed, n_jobs=table.threads, **options)
    metric = "average-precision" if table.metric == "average precision" else "roc-auc"
    return PyramidalReservoirClassifier(random_state=seed, n_jobs=table.threads, metric=metric, **options)


def graphs(table):
    from stepwell.molecules import from_smiles

    return from_smiles(table.smiles, errors="keep")


def stepwell(options, table, parts, seed):
    """The predictions of a model trained on training and validation molecules."""
    x, cost = table.once("graphs", lambda: graphs(table))
    train = np.concatenate(parts[:2])
    y = table.y[train]
    model = estimator(table, seed, options).fit(x[train], y[:, 0] if y.shape[1] == 1 else y)
    values = model.predict(x[parts[2]]) if table.is_regression else model.decision_function(x[parts[2]])
    return values.reshape(len(parts[2]), -1), cost


def forest_on_vectors(table, parts, seed):
    """A forest on the vectors of the reservoirs."""
    from stepwell import PyramidalReservoir

    x, cost = table.once("graphs", lambda: graphs(table))
    train = np.concatenate(parts[:2])
    model = PyramidalReservoir.from_preset("accurate", random_state=seed, n_jobs=table.threads).fit(x[train])
    vectors = np.asarray(model.transform(x), dtype=np.float32)
    trees = FEWER_TREES.get(table.name, TREES)
    return by_target(table, vectors, parts, lambda: forest(table, seed, trees)), cost


#: The rows: functions of (table, split, seed) that return predictions and the seconds spent on features before.
ROWS = {
    "Stepwell": functools.partial(stepwell, {}),
    "Stepwell, linear readout": functools.partial(stepwell, {"landmarks": 0}),
    "Stepwell without gates": functools.partial(stepwell, {"edge_gate": "none"}),
    "Stepwell without WL-OA": functools.partial(stepwell, {"kernel": "states"}),
    "ECFP4 counts + ridge": ridge_on_fingerprints,
    "ECFP4 counts + random forest": functools.partial(trees_on_fingerprints, forest),
    "ECFP4 counts + gradient boosting": functools.partial(trees_on_fingerprints, boosting),
    "topological features + random forest": forest_on_topology,
    "Stepwell's vectors + random forest": forest_on_vectors,
}


def cells(sets, splits, rows):
    """All cells, first repeats first."""
    for name in sets:
        kinds = {kind: count for kind, count in SETS[name][3].items() if not splits or kind in splits}
        for repeat in range(max(kinds.values(), default=0)):
            for kind, repeats in kinds.items():
                for row in rows:
                    # Ridge has no randomness.
                    draws = 1 if row == "ECFP4 counts + ridge" and kind != "random" else repeats
                    if row != "Stepwell":
                        draws = min(draws, FEWER.get(name, draws))
                    if repeat < draws:
                        yield name, kind, row, repeat


def shown(metric, values):
    """Mean and standard deviation of some scores."""
    scale, digits = (100, 1) if "ROC-AUC" in metric else (1, 3)
    mean = f"{scale * np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {scale * np.std(values, ddof=1):.{digits}f}"


#: Remarks for the reader about a set and a split.
NOTES = {
    ("ogbg-molhiv", "official"): (
        "We had seen test scores of one draw, for two weights of the colours in the kernel, when we widened the margin "
        "of `--choose` for rare classes. So this table is not blind to the test molecules."
    ),
    ("Tox21", "random"): "Rows with one run use the first repeat alone, on which Stepwell scores 83.9.",
    ("Peptides-func", "official"): (
        "Trees on fingerprints are far ahead here: peptides are chains of a few amino acids, whose presence ECFP4 counts "
        "record directly. Use them for such molecules. A forest also gets more out of Stepwell's vectors than Stepwell's "
        "own readout does; on the other sets it does not."
    ),
}


def page(done, rows):
    """The page: a table for every set and split."""
    lines = ["# Molecules", "", INTRODUCTION, ""]
    for name, (_, _, metric, kinds) in SETS.items():
        for kind in kinds:
            better = "lower is better" if metric == "RMSE" else "higher is better"
            unit = ", in percent" if "ROC-AUC" in metric else ""
            lines += [f"## {name}, {kind} split", "", f"Test {metric}{unit}; {better}.", ""]
            lines += [NOTES[name, kind], ""] if (name, kind) in NOTES else []
            lines += ["| | score | runs | core-seconds a run |", "|---|--:|--:|--:|"]
            for row in rows:
                found = [cell for cell in done if (cell["set"], cell["split"], cell["row"]) == (name, kind, row)]
                if not found:
                    lines.append(f"| {row} | not run | | |")
                    continue
                score = shown(metric, [cell["score"] for cell in found])
                seconds = np.mean([cell["seconds"] for cell in found])
                lines.append(f"| {row} | {score} | {len(found)} | {seconds:.0f} |")
            if kind != "random":
                for row, score, source in PUBLISHED.get(name, []):
                    lines.append(f"| *{row}*, published by {SOURCES[source]} | {score} | | |")
            lines.append("")
    own = sum(cell["seconds"] for cell in done if cell["row"].startswith("Stepwell") and "forest" not in cell["row"])
    lines += [f"All runs of Stepwell's own rows took {own / 60:.0f} core-minutes together.", ""]
    return "\n".join(lines)


INTRODUCTION = (
    "This page compares Stepwell with fingerprints, forests and boosting on molecules. "
    "`python benchmarks/molecules.py` makes this page. All rows of a table are trained and tested on the same molecules. "
    "Scores are mean ± standard deviation over the runs. Core-seconds measure one run from SMILES to scores, on a busy "
    "machine.\n\n"
    "- *scaffold* is OGB's split, with rare scaffolds in the test part. All runs have the same split and differ in random "
    "weights or trees.\n"
    "- *random* is an 80 : 10 : 10 split, a new one for every run.\n\n"
    "Stepwell uses the feature set `default` and the preset `accurate`, with `metric` set to the metric of the table. It "
    "trains on the training and validation parts, as forests and boosting do, and chooses penalty, class weights and "
    "options by leave-one-out. Ridge on fingerprints chooses its penalty on the validation part. The forest has 500 trees "
    "and MOLTOP's settings (100 trees on Stepwell's vectors for Tox21 and Peptides-func); boosting runs 300 rounds at a "
    "rate of 0.05. Both are scikit-learn's. *Topological features* follow the description of MOLTOP."
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data/molecules"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("target/molecules.jsonl"))
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", choices=list(SETS), help="only this set (may be repeated)")
    kinds = sorted({kind for _, _, _, kinds in SETS.values() for kind in kinds})
    parser.add_argument("--split", action="append", choices=kinds, help="only this split (may be repeated)")
    parser.add_argument("--row", action="append", choices=list(ROWS), help="only this row (may be repeated)")
    parser.add_argument("--repeats", type=int, help="at most this many repeats of a cell")
    parser.add_argument("--only-page", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    finished = {(cell["set"], cell["split"], cell["row"], cell["repeat"]) for cell in done}
    table = None
    for cell in cells(given.set or SETS, given.split, given.row or ROWS) if not given.only_page else ():
        name, kind, row, repeat = cell
        if cell in finished or (given.repeats is not None and repeat >= given.repeats):
            continue
        if table is None or table.name != name:
            table = Table(given.data, name, given.threads)
        parts = table.split(kind, repeat)
        before = dict(table.seconds)
        start = time.process_time()
        values, features = ROWS[row](table, parts, repeat)
        spent = time.process_time() - start
        if table.seconds == before:  # features were computed for an earlier cell
            spent += features
        found = {"set": name, "split": kind, "row": row, "repeat": repeat}
        found |= {"score": table.score(parts[2], values), "seconds": round(spent, 2)}
        given.out.parent.mkdir(parents=True, exist_ok=True)
        with open(given.out, "a") as out:
            out.write(json.dumps(found) + "\n")
        done.append(found)
        print(f"{name} ({kind}) {row} {repeat}: {found['score']:.4f}, {spent:.0f} core-seconds", flush=True)
    text = page(done, list(ROWS))
    if given.page:
        given.page.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

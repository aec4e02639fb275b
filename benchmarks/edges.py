"""The gain of gates: the preset `accurate` with and without labels and attributes of edges.

usage: edges.py [--data FOLDER] [--molecules FOLDER] [--stepwell BINARY] [--runs FOLDER] [--threads N] [--page FILE]
                [NAME ...]

Evaluates each TU Dortmund dataset with ten folds and three draws of the weights, the same with
and without gates, and Weisfeiler–Lehman counts on the same folds. With `--molecules`, a folder
with hiv.csv.gz and hiv_split.json.gz, also evaluates ogbg-molhiv on its official split with ten
draws (this needs RDKit). The output of every command goes to a file in the runs folder, and
commands that have a file are not repeated. Prints the page docs/results/edges.md, or writes it
to --page.
"""

import argparse
import csv
import gzip
import json
import math
import pathlib
import subprocess

SETS = ["MUTAG", "Mutagenicity", "PTC_FR", "PTC_MM", "AIDS", "BZR_MD", "COX2_MD", "Fingerprint"]
CARRIED = {
    "MUTAG": "4 labels",
    "Mutagenicity": "3 labels",
    "PTC_FR": "4 labels",
    "PTC_MM": "4 labels",
    "AIDS": "3 labels",
    "BZR_MD": "5 labels, distance",
    "COX2_MD": "5 labels, distance",
    "Fingerprint": "2 attributes",
}
GATES = ["none", "signs", "uniform"]
DRAWS = 10


def answer(command, path):
    """The output of a command: from the file, or by running the command."""
    said = command[1:]  # for any binary
    if not path.exists() or json.loads(path.read_text())["command"] != said:
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        found["command"] = said
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return json.loads(path.read_text())


def mean_and_error(values):
    """The mean and its standard error."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def molecules(folder, path):
    """ogbg-molhiv as a file of rows: nine categories per atom and three per bond, as in OGB."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    split = json.loads(gzip.open(folder / "hiv_split.json.gz").read())
    part = {row: name for key, name in
            [("train", "train"), ("valid", "validation"), ("test", "test")] for row in split[key]}
    with gzip.open(folder / "hiv.csv.gz", "rt") as rows, open(path, "w") as out:
        for number, row in enumerate(csv.DictReader(rows)):
            molecule = Chem.MolFromSmiles(row["smiles"])
            if molecule is None:  # seven of them, which OGB keeps
                molecule = Chem.MolFromSmiles(row["smiles"], sanitize=False)
                molecule.UpdatePropertyCache(strict=False)
                Chem.FastFindRings(molecule)
            atoms = [
                [atom.GetAtomicNum(), int(atom.GetChiralTag()), atom.GetTotalDegree(), atom.GetFormalCharge(),
                 atom.GetTotalNumHs(), atom.GetNumRadicalElectrons(), int(atom.GetHybridization()),
                 int(atom.GetIsAromatic()), int(atom.IsInRing())]
                for atom in molecule.GetAtoms()
            ]
            bonds = list(molecule.GetBonds())
            labels = [[int(bond.GetBondType()), int(bond.GetStereo()), int(bond.GetIsConjugated())] for bond in bonds]
            out.write(json.dumps({
                "id": str(number), "num_nodes": len(atoms), "node_label": atoms,
                "src": [bond.GetBeginAtomIdx() for bond in bonds], "dst": [bond.GetEndAtomIdx() for bond in bonds],
                "edge_label": labels, "y": int(row["HIV_active"]), "split": part[number],
            }) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data/tud"))
    parser.add_argument("--molecules", type=pathlib.Path)
    parser.add_argument("--stepwell", default="target/release/stepwell")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("target/edges"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", default=SETS)
    given = parser.parse_args()

    lines = []
    for name in given.names or SETS:
        base = [given.stepwell, "evaluate", str(given.data / f"{name}.zip"), "--folds", "10", "--json", "-q"]
        folds = {}
        for gate in GATES:
            command = [*base, "--inits", "3", "--edge-gate", gate]
            folds[gate] = [fold["accuracy"] for fold in answer(command, given.runs / f"{name}-{gate}.json")["folds"]]
        counts = answer([*base, "--baseline", "wl"], given.runs / f"{name}-wl.json")
        cells = [f"{100 * mean_and_error(folds[gate])[0]:.1f}" for gate in GATES]
        for gate in GATES[1:]:
            gain, error = mean_and_error([a - b for a, b in zip(folds[gate], folds["none"])])
            cells.append(f"{100 * gain:+.1f} ± {100 * error:.1f}")
        lines.append([name, CARRIED.get(name, ""), *cells, f"{100 * counts['accuracy_mean']:.1f}"])
    page = f"""# What edges carry

This page shows how much labels and attributes of edges contribute. `python benchmarks/edges.py --molecules FOLDER` makes this page. The first table shows mean test accuracy in percent of the preset `accurate`, retrained in each of ten stratified folds with three draws of the reservoir weights. Folds and draws are the same with and without gates. *Gain* is the mean difference over the folds ± its standard error. *signs* is the preset's own setting. The last column is the baseline `wl`, which also uses edge labels.

We chose signs and the share of gated units, one half, on validation graphs (`--on-validation`). Gates on all units, on three quarters of them, or in the first block only had similar accuracy.

| set | edges carry | none | signs | uniform | gain of signs | gain of uniform | Weisfeiler–Lehman counts |
|---|---|--:|--:|--:|--:|--:|--:|
"""
    page += "".join("| " + " | ".join(line) + " |\n" for line in lines)
    if given.molecules:
        rows = given.runs / "hiv.jsonl"
        if not rows.exists():
            rows.parent.mkdir(parents=True, exist_ok=True)
            molecules(given.molecules, rows)
        page += f"""
The second table shows mean test ROC-AUC in percent on ogbg-molhiv ± its standard error over {DRAWS} draws of the reservoir weights. The dataset has 41,127 molecules, the official scaffold split, and OGB's nine atom and three bond categories. Models are trained on training and validation molecules.

| class weights | none | signs | gain of signs |
|---|--:|--:|--:|
"""
        for weights in ["none", "balanced"]:
            scores = {"none": [], "signs": []}
            for draw in range(1, DRAWS + 1):
                for gate, found in scores.items():
                    command = [given.stepwell, "evaluate", str(rows), "--inits", "1", "--seed", str(draw), "--edge-gate",
                               gate, "--class-weight", weights, "--threads", str(given.threads), "--json", "-q"]
                    path = given.runs / f"hiv-{weights}-{gate}-{draw}.json"
                    found.append(answer(command, path)["folds"][0]["auroc"])
            gains = [a - b for a, b in zip(scores["signs"], scores["none"])]
            cells = ["{:.1f} ± {:.1f}".format(*(100 * x for x in mean_and_error(scores[gate]))) for gate in scores]
            cells.append("{:+.1f} ± {:.1f}".format(*(100 * x for x in mean_and_error(gains))))
            page += f"| {weights} | " + " | ".join(cells) + " |\n"
    if given.page:
        given.page.write_text(page)
    else:
        print(page, end="")


if __name__ == "__main__":
    main()

"""The contribution of each part of the preset `accurate`, on validation graphs.

usage: ablation.py --splits FOLDER [--data FOLDER] [--stepwell BINARY] [--runs FOLDER] [--page FILE] [--jobs N] [--device D]

Each row changes one part of the preset. `stepwell evaluate --preset accurate --on-validation`
trains it on the training graphs of a fold and scores it on the validation graphs; test graphs
are not used. Small datasets have ten folds and large ones two, with one draw of the weights. A
row's difference to the preset is the mean over datasets of the means over folds, with its
standard error; folds are paired. Outputs go to files in the runs folder, and commands that
have a file are not repeated. The page is docs/results/ablation.md.
"""

import argparse
import concurrent.futures
import gzip
import json
import math
import pathlib

from fair import SETS, measured

#: The number of folds for the large datasets, where a fold takes seconds.
FEW = {"NCI1": 2, "DD": 2, "REDDIT-BINARY": 2, "COLLAB": 2}

#: The changes, as lines of an options file.
VARIANTS = {
    "the preset": "",
    "linear: no kernel, columns standardised": "landmarks = 0\nstandardize = true",
    "2000 random tanh units, no kernel": "landmarks = 0\nrandom_features = 2000",
    "states alone: no colours in the kernel": 'kernel = "states"',
    "colours alone: no states in the kernel": 'kernel = "wl-oa"',
    "no option chosen by leave-one-out": "choose = []",
    "500 landmarks": "landmarks = 500",
    "4000 landmarks": "landmarks = 4000",
    "degree alone where vertices carry nothing": 'bare_structure = ["degree"]',
    "local degree profile there": 'bare_structure = ["local-degree-profile"]',
    "log-degree and clustering everywhere": 'structure = ["log-degree", "clustering"]',
    "sum alone": 'aggregate = ["sum"]',
    "sum and mean": 'aggregate = ["sum", "mean"]',
    "max beside them": 'aggregate = ["sum", "mean", "std", "max"]',
    "last block alone": "concat = false",
    "two blocks": "blocks = 2",
    "one stack": "stacks = 1",
    "50 units": "units = 50",
    "one sweep": "fixed_sweeps = 1",
    "two sweeps": "fixed_sweeps = 2",
    "ten sweeps": "fixed_sweeps = 10",
    "radius 0.5": "spectral_radius = 0.5",
    "orthogonal W": 'recurrence = "orthogonal"',
    "adjacency not normalised": "normalize = false",
    "Graclus": 'pool = "graclus"',
    "Graclus, states added up, two sweeps": 'pool = "graclus"\nreduce = "sum"\nfixed_sweeps = 2',
    "Graclus before the last block alone, states added up, two sweeps": 'pool = "graclus"\npool_after = 2\nreduce = "sum"\nfixed_sweeps = 2',
    "NDP": 'pool = "ndp"',
}


def difference(row, preset):
    """Mean difference over datasets in points, and its standard error, with paired folds."""
    means, variances = [], []
    for name in SETS:
        pairs = zip(row[name]["folds"], preset[name]["folds"], strict=True)
        apart = [100 * (a["accuracy"] - b["accuracy"]) for a, b in pairs]
        mean = sum(apart) / len(apart)
        means.append(mean)
        variances.append(sum((each - mean) ** 2 for each in apart) / (len(apart) - 1) / len(apart))
    return sum(means) / len(means), math.sqrt(sum(variances)) / len(means)


def page(found, missing, device):
    line = lambda cells: "| " + " | ".join(cells) + " |"
    preset = found["the preset"]
    lines = [
        line(["", *SETS, "mean", "difference", "core s"]),
        line(["---", *["--:"] * (len(SETS) + 3)]),
    ]
    for title, row in found.items():
        shares = [f"{100 * row[name]['accuracy_mean']:.1f} ± {100 * row[name]['accuracy_std']:.1f}" for name in SETS]
        mean = sum(row[name]["accuracy_mean"] for name in SETS) / len(SETS)
        apart, error = difference(row, preset)
        against = "" if row is preset else f"{apart:+.2f} ± {error:.2f}"
        cost = sum(row[name]["core_seconds"] for name in SETS)
        lines.append(line([title, *shares, f"{100 * mean:.2f}", against, f"{cost:.0f}"]))
    on = "" if device == "cpu" else "; a GPU computed the states"
    few = ", ".join(f"{name} {count}" for name, count in FEW.items())
    return f"""# What each part of `accurate` is worth

This page shows which parts of the preset `accurate` matter. `python benchmarks/ablation.py` makes this page. The table shows accuracy in percent on the validation graphs of the fixed folds, mean ± standard deviation over the folds. Models are trained on the training graphs; test graphs are not used. Each dataset has ten folds, large ones fewer ({few}), and one draw of the reservoir weights.

*Difference* is the mean difference to the preset over the datasets ± its standard error, with paired folds. *Core s* are the core-seconds of the whole row{on}.

{chr(10).join(lines)}
{"" if not missing else f"{chr(10)}Still to be run: {'; '.join(missing)}.{chr(10)}"}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=pathlib.Path, required=True, help="folder of NAME_splits.json.gz")
    parser.add_argument("--data", help="folder of the datasets [STEPWELL_DATA]")
    parser.add_argument("--stepwell", default="target/release/stepwell", help="the binary")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/ablation"), help="folder of the outputs")
    parser.add_argument("--page", type=pathlib.Path, default=pathlib.Path("docs/results/ablation.md"))
    parser.add_argument("--done", action="store_true", help="run nothing; make the page from existing rows")
    parser.add_argument("--jobs", type=int, default=1, help="commands that run at a time, two threads each if several")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda to compute states on a GPU")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    source = ["--data-dir", options.data] if options.data else []
    source += ["--device", options.device] if options.device != "cpu" else []
    threads = ["--threads", "2"] if options.jobs > 1 else []
    commands, missing = {}, []
    for title, change in VARIANTS.items():
        stem = "".join(letter if letter.isalnum() else "-" for letter in title)
        if options.done and not all((options.runs / name / f"{stem}.json").exists() for name in SETS):
            missing.append(title)
            continue
        config = options.runs / f"{stem}.toml"
        config.write_text(change + "\n")
        for name in SETS:
            folds = json.loads(gzip.open(options.splits / f"{name}_splits.json.gz").read())[: FEW.get(name, 10)]
            splits = options.runs / f"{name}.json"
            splits.write_text(json.dumps(folds))
            model = ["--preset", "accurate", "--config", str(config), "--on-validation", "--inits", "1"]
            command = [options.stepwell, *threads, "evaluate", name, *source, "--splits", str(splits), *model, "--json"]
            commands[title, name] = (command, options.runs / name / f"{stem}.json")
    found = {}
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        results = pool.map(measured, *zip(*commands.values(), strict=True))
        for (title, name), result in zip(commands, results, strict=True):
            found.setdefault(title, {})[name] = result
            if len(found[title]) == len(SETS):
                mean = sum(each["accuracy_mean"] for each in found[title].values()) / len(SETS)
                print(f"{title}: {100 * mean:.2f}", flush=True)
    options.page.write_text(page(found, missing, options.device))


if __name__ == "__main__":
    main()

"""Transcribes the paper's Tables 1 to 4 from its LaTeX source.

usage: transcribe.py PAPER.tex table1 > table1.json
       transcribe.py PAPER.tex table4 > table4.json
       transcribe.py PAPER.tex results > results.json

Values are as printed, errors included (a decimal comma is read as a point). Table 4: N is the mean number of vertices, M of
"edges", rho the printed eigenvalue; null where the paper has a dash. Tables 2 and 3:
accuracy and its standard deviation in percent, seconds of training and of testing; null
where the paper has a memory error.
"""

import json
import re
import sys

# The names the datasets have everywhere else.
NAMES = {
    "B-easy": "b-easy", "B-hard": "b-hard", "Mutagenicity": "Mutagenicity", "Proteins": "PROTEINS",
    "Enzymes": "ENZYMES", "NCI1": "NCI1", "D\\&D": "DD", "IMDB-BINARY": "IMDB-BINARY", "IMDB-MULTI": "IMDB-MULTI",
    "COLLAB": "COLLAB", "Reddit-2K": "REDDIT-BINARY", "Reddit-5K": "REDDIT-MULTI-5K",
}  # fmt: skip


SHORT_NAMES = {**NAMES, "IMDB-BIN": "IMDB-BINARY", "IMDB-MUL": "IMDB-MULTI"}


def table1(text):
    table = text[text.index("\\label{tab:graph_dataset}") :]
    table = table[: table.index("\\end{tabular}")]
    rows = []
    for line in table.split("\\\\"):
        line = re.sub(r"\\cmidrule\[[^]]*\]\{[^}]*\}", "", line).strip()
        name = next((name for name in SHORT_NAMES if line.startswith(name)), None)
        if name is None:
            continue
        cells = [cell.strip() for cell in line[len(name) :].split("&")][1:]
        count = lambda cell: 0 if cell == "--" else int(cell.replace(",", ""))  # noqa: E731
        mean = lambda cell: float(re.sub(r",(?=\d\d$)", ".", cell).replace(",", ""))  # noqa: E731
        rows.append({
            "dataset": SHORT_NAMES[name], "graphs": count(cells[0]), "classes": count(cells[1]),
            "vertices": mean(cells[2]), "edges": mean(cells[3]), "attributes": count(cells[4]),
            "labels": cells[5] == "yes",
        })  # fmt: skip
    assert len(rows) == 12, len(rows)
    return rows


def results(text):
    names = SHORT_NAMES
    rows = []
    for label, blocks in (("tab:results2", 2), ("tab:results3", 3)):
        table = text[text.index(f"\\label{{{label}}}") :]
        table = table[: table.index("\\end{tabular}")]
        for line in table.split("\\\\"):
            line = re.sub(r"\\cmidrule\[[^]]*\]\{[^}]*\}", "", line).strip()
            first = line.split("&")[0].strip()
            # The name itself may contain the separator.
            name = next((name for name in names if line.startswith(name)), None)
            if name is None or not first:
                continue
            cells = line[len(name) :].replace("\\multicolumn{3}{c|}{Mem Err}", "- & - & -")
            cells = cells.replace("\\multicolumn{3}{c}{Mem Err}", "- & - & -")
            cells = [re.sub(r"\\textbf\{(.*?)\}", r"\1", cell).strip() for cell in cells.split("&")][1:]
            assert len(cells) == 12, line
            for pool, at in (("none", 0), ("graclus", 3), ("nmf", 6), ("ndp", 9)):
                accuracy = re.fullmatch(r"([\d.]+)\$\\pm\$([\d.]+)", cells[at])
                number = lambda cell: None if cell == "-" else float(cell)  # noqa: E731
                rows.append({
                    "dataset": names[name], "pool": pool, "blocks": blocks,
                    "accuracy": accuracy and float(accuracy[1]), "std": accuracy and float(accuracy[2]),
                    "train_seconds": number(cells[at + 1]), "test_seconds": number(cells[at + 2]),
                })  # fmt: skip
    assert len(rows) == 12 * 4 * 2, len(rows)
    return rows


def table4(text):
    table = text[text.index("\\label{tab:statistics_pooling}") :]
    table = table[: table.index("\\end{tabular}")]
    table = re.sub(r"\\cmidrule\[[^]]*\]\{[^}]*\}", "", table)
    rows, names = [], []
    for line in table.split("\\\\"):
        if "multicolumn" in line:
            names = [NAMES[name] for name in re.findall(r"multicolumn\{3\}\{c\}\{\\textbf\{(.*?)\}\}", line)]
        found = re.search(r"\\textbf\{(Original|(Graclus|NMF|NDP) l([12]))\}", line)
        if not found:
            continue
        cells = [cell.strip() for cell in line[found.end() :].split("&")][1:]
        numbers = [None if cell == "-" else float(cell) for cell in cells]
        assert len(numbers) == 9 and len(names) == 3, line
        pool, level = (found[2] or "none").lower(), int(found[3] or 0)
        for index, name in enumerate(names):
            n, m, rho = numbers[3 * index : 3 * index + 3]
            rows.append({"dataset": name, "pool": pool, "level": level, "vertices": n, "edges": m, "rho": rho})
    assert len(rows) == 12 * 7, len(rows)
    rows.sort(key=lambda row: (list(NAMES.values()).index(row["dataset"]), row["pool"], row["level"]))
    return rows


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    rows = {"table1": table1, "table4": table4, "results": results}[sys.argv[2]](text)
    print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")


if __name__ == "__main__":
    main()

"""Transcribes the paper's Table 4 (statistics of pooled graphs) from its LaTeX source.

usage: transcribe.py PAPER.tex > table4.json

Values are as printed, errors included: N is the mean number of vertices, M of "edges",
rho the printed eigenvalue; null where the paper has a dash.
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


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
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
    print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")


if __name__ == "__main__":
    main()

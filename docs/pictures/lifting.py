"""Labels vertices by their state: those with the same bits get the same label.

usage: lifting.py GRAPH.jsonl STATES.csv > LABELLED.jsonl
"""

import csv
import json
import sys

graph = json.loads(open(sys.argv[1]).readline())
states = {}
for row in csv.DictReader(open(sys.argv[2])):
    states[int(row["vertex"])] = tuple(value for name, value in row.items() if name not in ("graph", "block", "vertex"))
kinds = {}
graph["node_label"] = [kinds.setdefault(states[vertex], len(kinds)) for vertex in range(graph["num_nodes"])]
print(json.dumps(graph))

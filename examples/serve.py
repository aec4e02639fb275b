"""Save a model, load it again, and ask the same model over HTTP."""

import json
import subprocess
import urllib.request

from stepwell import PyramidalReservoirClassifier, load, make_benchmark

ds = make_benchmark("b-easy-small", random_state=0)
train = ds.split == "train"
PyramidalReservoirClassifier(n_jobs=-1).fit(ds.graphs[train], ds.y[train]).save("model.safetensors")

model = load("model.safetensors")
print("loaded:", model.predict(ds.graphs[:3]).tolist())

# A request is one JSON object per graph and line.
graph = ds.graphs[0]
ends = graph.adjacency.tocoo()
row = {"id": "a", "num_nodes": graph.num_nodes, "src": ends.row.tolist(), "dst": ends.col.tolist()}
row |= {"x": graph.features.ravel().tolist(), "x_dim": graph.features.shape[1]}

command = ["stepwell", "serve", "-m", "model.safetensors", "--listen", "127.0.0.1:0"]
service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
try:
    for line in service.stderr:  # the log: one JSON object per line
        entry = json.loads(line)
        if "address" in entry:
            break
    url = f"http://{entry['address']}/predict?proba=1"
    with urllib.request.urlopen(url, data=json.dumps(row).encode()) as response:
        print("served:", json.loads(response.read()))
finally:
    service.terminate()
    service.wait()

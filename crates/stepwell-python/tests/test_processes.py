"""Long work: it can be interrupted, leaves other threads alone, and survives a fork."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

from stepwell import PyramidalReservoirClassifier, make_benchmark

# Each would take very long. A thread beside it counts, for which it needs the
# interpreter's lock, and then presses Ctrl-C.
ENDLESS = """
import os, signal, threading, time
import networkx as nx
import numpy as np
import stepwell
from stepwell._stepwell import fit_values

random = nx.gnp_random_graph(400, 0.1, seed=0)
graphs = 50 * [stepwell.Graph(np.array(random.edges).T, np.ones((400, 2)), num_nodes=400)]
mesh = nx.convert_node_labels_to_integers(nx.grid_2d_graph(200, 200))
meshes = 50 * [stepwell.Graph(np.array(mesh.edges).T)]
y = np.arange(50)
endless = dict(fixed_sweeps=4_000_000_000)
reservoir = stepwell.PyramidalReservoir(**endless).fit(graphs)
x = np.random.default_rng(0).normal(size=(3000, 3000))

def press():
    for _ in range(20):
        time.sleep(0.01)
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

for name, work in {
    "embedding": lambda: reservoir.transform(graphs),
    "states": lambda: reservoir.transform_nodes(graphs),
    "classifier": lambda: stepwell.PyramidalReservoirClassifier(n_jobs=2, **endless).fit(graphs, y % 3),
    "pooling": lambda: stepwell.PyramidalReservoirRegressor(pool="ndp", blocks=5).fit(meshes, y),
    "coarsening": lambda: [stepwell.coarsen(meshes[0], "kmis", levels=1024, k=0) for _ in iter(int, 1)],
    "reading out": lambda: fit_values("{}", x, x[:, :1].copy(), None, 1),
}.items():
    pressed = []
    threading.Thread(target=press).start()
    try:
        work()
    except KeyboardInterrupt:
        print(f"{name} ended {time.monotonic() - pressed[0]:.2f} s after Ctrl-C", flush=True)
"""


def test_ctrl_c_ends_it_and_threads_go_on():
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=120)
    print(done.stdout)
    assert done.stdout.count("after Ctrl-C") == 6, done.stderr
    assert (done.returncode, done.stderr) == (0, "")


def fit_in_a_child(graphs, y):
    model = PyramidalReservoirClassifier(n_jobs=2, pool="ndp", units=10, spectral_radius=0.5, max_iter=200)
    return model.fit(graphs, y).decision_function(graphs)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
def test_a_forked_child_has_threads_of_its_own():
    dataset = make_benchmark("b-easy-small", graphs_per_class=8)
    graphs = list(dataset.graphs)
    here = fit_in_a_child(graphs, dataset.y)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        waiting = [pool.apply_async(fit_in_a_child, (graphs, dataset.y)) for _ in range(3)]
        assert all(np.array_equal(answer.get(timeout=60), here) for answer in waiting)

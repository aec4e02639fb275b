"""Generates pages with the program and opens them in a browser that records errors and requests."""

import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[4]
PROGRAM = ROOT / "target" / "release" / "stepwell"
#: The folder for screenshots, for inspection.
SHOTS = ROOT / "target" / "browser"

HOSTILE = ["\"'><script>alert(1)</script>", "x" * 10_000, "]]>&lt;\u202e", "<!-- ä中🐉 -->\n\t"]


def stepwell(*arguments):
    environment = {**os.environ, "STEPWELL_CACHE": str(ROOT / "target" / "browser-cache")}
    subprocess.run([PROGRAM, *map(str, arguments)], check=True, env=environment, stdout=subprocess.DEVNULL)


def served(*models):
    """The page of a running service."""
    command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", *(word for model in models for word in ("-m", model))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        address = json.loads(service.stderr.readline())["address"]
        with urllib.request.urlopen(f"http://{address}/") as answer:
            page = answer.read()
        service.terminate()
        assert service.wait() == 0
        return page


def hostile_rows(path):
    """Paths and rings with hostile ids and classes."""
    with path.open("w") as out:
        for index in range(40):
            n = 4 + index // 4
            name = HOSTILE[index % 4]
            ring = index % 2
            row = {"id": f"{name}{index}", "num_nodes": n, "src": list(range(n - 1 + ring)), "y": name}
            row["dst"] = [(v + 1) % n for v in row["src"]]
            out.write(json.dumps(row) + "\n")


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """All kinds of pages, by name."""
    folder = tmp_path_factory.mktemp("pages")
    rows, model = folder / "rows.jsonl", folder / "model.safetensors"
    hostile_rows(rows)
    stepwell("train", "b-easy-small", "-q", "-m", model, "--preset", "paper", "--pool", "graclus", "--concat", "--max-iter", 300)
    commands = {
        "lda": ["plot", "b-easy-small", "--max-iter", 300],
        "pca": ["plot", "b-hard-small", "--method", "pca", "--max-iter", 300],
        "points": ["plot", "points.jsonl", "--blocks", 1, "--units", 8, "--max-iter", 300],
        "hostile": ["plot", rows, "--max-iter", 300],
        "ndp": ["draw", "b-easy-small", "--graph", 5, "--pool", "ndp"],
        "graclus": ["draw", "grid:9x7", "--pool", "graclus"],
        "nmf": ["draw", "barabasi-albert:60:2", "--pool", "nmf"],
        "deep": ["draw", "b-hard-small", "--graph", 3, "--pool", "kmis", "--levels", 5],
        "alone": ["draw", "path:6"],
        "large": ["draw", "erdos-renyi:3000:0.0015", "--pool", "graclus"],
        "hostile-graph": ["draw", rows, "--graph", 0, "--pool", "graclus"],
        "explanation": ["explain", "b-easy-small", "--graph", 17, "-m", model],
    }
    # Five thousand small graphs of six classes.
    with (folder / "points.jsonl").open("w") as out:
        for index in range(5000):
            n, kind = 3 + index % 17, index % 6
            src = list(range(n - 1)) + list(range(0, n - 2, kind + 1))
            dst = list(range(1, n)) + [min(v + 2, n - 1) for v in range(0, n - 2, kind + 1)]
            out.write(f'{{"num_nodes": {n}, "src": {src}, "dst": {dst}, "y": "kind {kind}"}}\n')
    commands["points"][1] = folder / "points.jsonl"
    made = {}
    for name, command in commands.items():
        made[name] = folder / f"{name}.html"
        stepwell(*command, "-q", "-o", made[name])
    # Reports: of a dataset in the paper's tables, by its name, and of the benchmark.
    stepwell("convert", "-q", "b-hard-small", folder / "NCI1.jsonl")
    few = ["--configs", 2, "--inits", 1, "--folds", 3, "--units", 6, "-q"]
    sets = f"{folder / 'NCI1.jsonl'},b-easy-small"
    stepwell("reproduce", "--datasets", sets, *few, "--out", folder / "run")
    stepwell("evaluate", rows, "--preset", "paper", "--pool", "graclus", "--baselines", *few, "--out", folder / "mine")
    stepwell("demo", "-q", "--out", folder / "demo")
    made["report"] = folder / "run" / "report.html"
    made["evaluation"] = folder / "mine" / "report.html"
    made["demo"] = folder / "demo" / "demo.html"
    hostile = folder / "hostile.safetensors"
    stepwell("train", rows, "-q", "-m", hostile)
    made["service"] = folder / "service.html"
    made["service"].write_bytes(served(model, hostile))
    return made


@pytest.fixture(scope="session")
def browser():
    SHOTS.mkdir(parents=True, exist_ok=True)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as driver:
        # A new profile each time, which the driver discards.
        chromium = driver.chromium.launch(executable_path=os.environ["CHROMIUM"], args=flags)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser, pages):
    """Opens a page by name; any error message or network request of the page fails the test."""
    opened = []

    def open_page(name, width=1280, height=900, scheme="light"):
        path = pages[name]
        assert path.stat().st_size < 5_000_000
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        opened.append((context, said, asked, path.as_uri()))
        return page

    yield open_page
    for context, said, asked, address in opened:
        context.close()
        assert said == [], said
        assert set(asked) <= {address, "data:,"}, asked

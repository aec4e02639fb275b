"""Runs the example programs.

usage: examples.py FOLDER BINARIES

Every program of FOLDER runs in the same empty folder: NAME.py with this Python, NAME.rs as the
binary that cargo built in BINARIES. serve.rs needs a model and a graph, which are made first.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONGEST = 40
MODEL = "stepwell train b-easy-small --preset paper -m model.safetensors && stepwell convert b-easy-small graphs.jsonl"


def command(path, binaries):
    if path.suffix == ".py":
        return [sys.executable, "-W", "ignore", path]
    return [binaries / path.stem, *(["model.safetensors"] if path.stem == "serve" else [])]


def main(examples, binaries):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(MODEL, shell=True, check=True, cwd=folder, capture_output=True)
        for path in sorted(examples.iterdir()):
            start = time.monotonic()
            with open(Path(folder, "graphs.jsonl")) as graphs:
                run = command(path, binaries)
                done = subprocess.run(run, cwd=folder, stdin=graphs, capture_output=True, text=True)
            lines = len(path.read_text().splitlines())
            failed += done.returncode != 0 or lines > LONGEST or not done.stdout
            print(f"{path.name}: {lines} lines, exit {done.returncode}, {time.monotonic() - start:.1f} s", flush=True)
            print(done.stdout[:600] if not done.returncode else done.stdout + done.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*(Path(each).resolve() for each in sys.argv[1:])))

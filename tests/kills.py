"""Kills every command that writes at random moments, then resumes it: identical or refused, never
mixed.

    python tests/kills.py target/release/stepwell [kills]

Each command runs repeatedly on the same data and is killed (SIGKILL) each time. Then it runs with a
changed option: it must be refused while there is something to resume, or give the same output as
alone. Finally it runs to its end, and its output must be identical to that of a run that was never
killed. Only outputs may be left behind.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = sys.argv[1]
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 300


def run(folder, arguments):
    environment = {**os.environ, "STEPWELL_CACHE": str(folder / "cache")}
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def content(path):
    """All bytes of a file, or of every file under a folder."""
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    return path.read_bytes()


def left_over(folder):
    names = [name for name in folder.rglob("*") if name.name.startswith(".stepwell-") or name.suffix == ".partial"]
    return [str(name.relative_to(folder)) for name in names]


def commands(folder, data, model):
    """Yields the name, the arguments without the output, the output arguments, and options to
    change."""
    units = ["--preset", "paper", "--units", "30", "--threads", "1"]
    yield "embed", ["embed", data, *units, "--resume"], ["-o", "v.parquet"], [["--leak", "0.5"], ["--seed", "1"]]
    predict = ["predict", data, "-m", model, "--resume", "--threads", "1"]
    yield "predict", predict, ["-o", "p.csv"], [["--proba"], ["--part", "test"]]
    yield "train", ["train", data, *units], ["-m", "m.safetensors"], []
    yield "convert", ["convert", data], ["c.parquet"], []
    yield "coarsen", ["coarsen", data, "--pool", "graclus", "--no-cache"], ["--out", "levels"], []
    yield "plot", ["plot", data, "--units", "30"], ["-o", "points.svg"], []


def main():
    rng = random.Random(20220122)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model = folder / "data.jsonl", folder / "given.safetensors"
        with open(data, "wb") as file:
            text = subprocess.run([PROGRAM, "convert", "b-easy-small", "-"], capture_output=True, check=True).stdout
            file.write(text * 12)
        train = ["train", "b-easy-small", "--preset", "paper", "--units", "9", "-m", model]
        assert run(folder, train).wait() == 0
        all_commands = list(commands(folder, data, model))
        told = {}
        for name, arguments, output, changes in all_commands:
            target = folder / output[-1]
            out = [*output[:-1], target]
            clock = time.monotonic()
            assert run(folder, [*arguments, *out]).wait() == 0, name
            took = time.monotonic() - clock
            whole = content(target)

            def clear():
                subprocess.run(["rm", "-rf", target], check=True)

            killed = refused = 0
            clear()
            for _ in range(max(1, KILLS // len(all_commands))):
                child = run(folder, [*arguments, *out])
                time.sleep(rng.uniform(0, took))
                child.kill()
                killed += child.wait() != 0
                child.stderr.close()
                assert not target.exists() or content(target) == whole, f"{name}: half an output"
                clear()
                if changes and rng.random() < 0.3 and (folder / f"{output[-1]}.partial").exists():
                    child = run(folder, [*arguments, *rng.choice(changes), *out])
                    said = child.communicate()[1].decode()
                    assert child.returncode == 1 and "--restart" in said, f"{name}: {said}"
                    refused += 1
            child = run(folder, [*arguments, *out])
            said = child.communicate()[1].decode()
            assert child.returncode == 0, f"{name}: {said}"
            assert content(target) == whole, f"{name}: another output after being killed"
            assert not left_over(folder), f"{name}: {left_over(folder)}"
            told[name] = {"killed": killed, "refused": refused}
    print(json.dumps(told))


main()

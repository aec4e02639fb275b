"""The ``stepwell`` command that comes with the wheel."""

import json
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).with_name("stepwell")


def stepwell(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120)


def test_it_is_the_same_program():
    done = stepwell("stats", "b-easy-small", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["graphs"] == 300


def test_exit_codes():
    assert stepwell("--help").returncode == 0
    assert stepwell("no-such-command").returncode == 2
    failed = stepwell("stats", "./nowhere.jsonl")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "error: ./nowhere.jsonl: no such file or folder\n"

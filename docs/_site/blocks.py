"""Runs the code of Markdown pages.

usage: blocks.py PAGE.md ...

Every page gets an empty folder. bash runs its ```sh blocks, and this Python runs its
```python blocks in order, in one namespace. A block after a comment
<!-- not run: why --> is skipped. Lines that contain MUTAG need that dataset, and are
skipped if it is not on this machine.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

BLOCK = re.compile(r"(?P<skip><!-- not run: (?P<why>[^>]*) -->\n)?^```(?P<kind>sh|python)\n(?P<code>.*?)^```$", re.M | re.S)


def have(name):
    command = ["stepwell", "stats", name, "--offline", "--quiet"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def run(kind, code, names):
    """Its output, or an exception."""
    if kind == "sh":
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "<block>", "exec"), names)
    return said.getvalue()


def main(pages):
    pages = [Path(page).resolve() for page in pages]
    mutag = have("MUTAG")
    failed = 0
    for page in pages:
        text, names, counts = page.read_text(), {"__name__": page.stem}, {"run": 0, "left out": 0}
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block in BLOCK.finditer(text):
                line = text.count("\n", 0, block.start("kind")) + 1
                code = block["code"]
                if not mutag:
                    code = "".join(each for each in code.splitlines(keepends=True) if "MUTAG" not in each)
                if block["skip"] or not code.strip():
                    counts["left out"] += 1
                    continue
                try:
                    run(block["kind"], code, names)
                    counts["run"] += 1
                except Exception:
                    failed += 1
                    print(f"{page}:{line}: this block fails\n{code}\n{traceback.format_exc(limit=-2)}", file=sys.stderr)
            os.chdir("/")
        print(f"{page.name}: {counts['run']} blocks run, {counts['left out']} left out, {time.monotonic() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Makes the models of version 0.1.0 and what that version predicts with them.

    python testdata/models/make.py /path/to/stepwell-0.1.0

Later versions must read these files and predict the same.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def graphs():
    """Random graphs with labels and a number to predict, or a class."""
    draw = random.Random(1)
    for index in range(24):
        n = draw.randrange(4, 12)
        edges = sorted({tuple(sorted(draw.sample(range(n), 2))) for _ in range(2 * n)})
        src, dst = zip(*edges)
        label = [draw.randrange(3) for _ in range(n)]
        yield {"id": f"g{index}", "num_nodes": n, "src": src, "dst": dst, "node_label": label}


def main(program):
    rows = list(graphs())
    for name, y, options in [
        ("numbers", lambda row: len(row["src"]) / 4, ["--units", "4", "--landmarks", "9"]),
        ("classes", lambda row: 10 * (row["num_nodes"] // 4) - 12, ["--preset", "paper", "--units", "6", "--spectral-radius", "0.5"]),
    ]:
        data, model = HERE / f"{name}.jsonl", HERE / f"{name}-0.1.0.safetensors"
        data.write_text("".join(json.dumps({**row, "y": y(row)}) + "\n" for row in rows))
        subprocess.run([program, "train", data, "-m", model, *options], check=True)
        subprocess.run([program, "predict", data, "-m", model, "-o", HERE / f"{name}-0.1.0.csv"], check=True)


if __name__ == "__main__":
    main(sys.argv[1])

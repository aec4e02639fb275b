"""Small files that expand enormously, and options that ask for too much, under a memory budget.

    python tests/bombs.py target/release/stepwell [budget]

Each bomb is created and passed to the program with --memory (512M by default). The program must
either refuse it, with an error that gives the memory needed and the memory left, or read it within
the budget. The peak memory of the process must stay within 1.2 times the budget. The Parquet files
need pyarrow; without it they are skipped, with a message.
"""

import gzip
import importlib.util
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PROGRAM = sys.argv[1]
BUDGET = sys.argv[2] if len(sys.argv) > 2 else "512M"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BYTES = int(float(BUDGET[:-1]) * UNITS[BUDGET[-1]])
#: The peak memory allowed, as a multiple of the budget.
MOST = 1.2
SECONDS = 120


def run(arguments, folder):
    """Returns the exit code, the messages, and the peak memory in bytes."""
    said = folder / "said.txt"
    with open(said, "wb") as out:
        environment = {**os.environ, "STEPWELL_CACHE": str(folder / "cache")}
        command = [PROGRAM, "--memory", BUDGET, "--quiet", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=out, env=environment)

        def stop(*_):
            process.kill()

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(SECONDS)
        _, status, usage = os.wait4(process.pid, 0)
        signal.alarm(0)
    return os.waitstatus_to_exitcode(status), said.read_text(errors="replace").strip(), usage.ru_maxrss * 1024


def aside(make, *arguments):
    """Creates a bomb in another process, because a parent's memory counts towards its children's
    peak."""
    child = os.fork()
    if child == 0:
        make(*arguments)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(make.__name__)


# ---------------------------------------------------------------------------------- the bombs


def tud_zip(path, lines):
    """A TU Dortmund archive of one graph with very many vertices, all lines equal."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        # Incompressible data, so that the ratio of sizes looks ordinary.
        file.writestr("BOMB/README.txt", os.urandom(6 << 20))
        file.writestr("BOMB/BOMB_A.txt", "1, 2\n")
        with file.open("BOMB/BOMB_graph_indicator.txt", "w", force_zip64=True) as member:
            block = b"1\n" * (1 << 19)
            for _ in range(lines // (1 << 19)):
                member.write(block)


def edges_zip(path, lines):
    """The same with few vertices and one edge repeated."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("BOMB/README.txt", os.urandom(6 << 20))
        file.writestr("BOMB/BOMB_graph_indicator.txt", "1\n1\n")
        with file.open("BOMB/BOMB_A.txt", "w", force_zip64=True) as member:
            block = b"1,2\n" * (1 << 18)
            for _ in range(lines // (1 << 18)):
                member.write(block)


def npz(path, rows):
    """An .npz file whose arrays are all zeros."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 8), }" % rows
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("README", os.urandom(6 << 20))
        for part in ("tr", "val", "te"):
            for kind in ("adj", "feat", "class"):
                with file.open(f"{part}_{kind}.npy", "w", force_zip64=True) as member:
                    member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
                    for _ in range(rows // (1 << 14)):
                        member.write(bytes(1 << 20))


def long_line(path, megabytes):
    """A JSON line of one graph with very many edges."""
    with open(path, "wb") as file:
        file.write(b'{"num_nodes":3,"dst":[1],"src":[0')
        block = b",0" * (1 << 19)
        for _ in range(megabytes):
            file.write(block)
        file.write(b"]}\n")


def splits(path, megabytes):
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b'[{"test":[0')
        block = b",0" * (1 << 19)
        for _ in range(megabytes):
            file.write(block)
        file.write(b'],"model_selection":[{"train":[1],"validation":[2]}]}]')


def records(folder, megabytes):
    """A run's folder whose records unpack to very many bytes."""
    (folder / "records").mkdir(parents=True)
    with gzip.open(folder / "records" / "0.jsonl.gz", "wb", compresslevel=9) as file:
        for _ in range(megabytes):
            file.write(bytes(1 << 20))


def parquet_rows(path, edges, rows=1):
    """One row of very many equal edges among short rows: run lengths of a few bytes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    zeros = np.zeros(edges, dtype=np.int32)
    short = rows - 1
    offsets = np.concatenate([np.arange(short + 1), [short + edges]]).astype(np.int64)
    values = np.concatenate([np.zeros(short, dtype=np.int32), zeros])
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
    table = pa.table({"num_nodes": pa.array(np.full(rows, 2)), "src": lists, "dst": lists})
    pq.write_table(table, path, compression="zstd", compression_level=19, data_page_size=1 << 30)


def parquet_texts(path, rows):
    """Graphs whose id is a megabyte long, stored once in a dictionary."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["x" * (1 << 20)]))
    none = pa.array([[]] * rows, pa.list_(pa.int32()))
    table = pa.table({"num_nodes": pa.array(np.zeros(rows, dtype=np.int64)), "src": none, "dst": none, "id": ids})
    pq.write_table(table, path, use_dictionary=["id"], dictionary_pagesize_limit=1 << 24)


# ---------------------------------------------------------------------------------------- all


def cases(folder):
    """Yields the name and the arguments of each case."""
    small = folder / "small.jsonl"
    small.write_text("".join(f'{{"num_nodes":3,"src":[0,1],"dst":[1,2],"y":{n % 2}}}\n' for n in range(40)))
    scale = max(1, BYTES >> 29)  # bombs grow with the budget: each is several times as large

    tud_zip(folder / "vertices.zip", scale << 28)
    yield "zip of one long column", ["stats", folder / "vertices.zip"]
    edges_zip(folder / "edges.zip", scale << 27)
    yield "zip of one edge again and again", ["stats", folder / "edges.zip"]
    npz(folder / "zeros.npz", scale << 21)
    yield "npz of zeros", ["stats", folder / "zeros.npz"]
    long_line(folder / "line.jsonl", 400 * scale)
    yield "one line of JSON", ["embed", folder / "line.jsonl", "-o", folder / "v.npy"]
    splits(folder / "splits.json.gz", min(127, 100 * scale))
    yield "splits.json.gz", ["evaluate", small, "--splits", folder / "splits.json.gz"]
    records(folder / "run", 900 * scale)
    yield "records of a run", ["runs", folder / "run"]
    for device in ("zero", "urandom"):
        yield f"/dev/{device} as model", ["predict", small, "-m", f"/dev/{device}"]
    yield "/dev/zero as config", ["embed", small, "--config", "/dev/zero"]
    yield "/dev/zero as splits", ["evaluate", small, "--splits", "/dev/zero"]
    with open(folder / "sparse.safetensors", "wb") as file:
        file.truncate(1 << 38)
    yield "a sparse file as model", ["model", folder / "sparse.safetensors"]
    yield "--units 32768", ["embed", small, "--units", "32768"]
    yield "--units 8192", ["embed", small, "--units", "8192"]
    wide = ["--preset", "paper", "--random-features", "20000"]
    yield "--random-features 20000", ["train", small, "-m", folder / "m", *wide]
    yield "states of a large ring", ["embed", "ring:2000000", "--nodes", "--units", "64", "-o", folder / "s.csv"]
    yield "vectors of many units", ["embed", "ring:3000000", "--units", "200", "-o", folder / "w.npy"]
    yield "NMF of a large graph", ["coarsen", "erdos-renyi:12000:0.001", "--pool", "nmf", "--out", folder / "c"]
    if importlib.util.find_spec("pyarrow") is None:
        print("no pyarrow: the Parquet files are left out")
        return
    aside(parquet_rows, folder / "row.parquet", scale * 120_000_000)
    yield "Parquet, one row of many edges", ["stats", folder / "row.parquet"]
    aside(parquet_rows, folder / "among.parquet", scale * 120_000_000, 100_000)
    yield "Parquet, one long row among short ones", ["embed", folder / "among.parquet", "-o", folder / "a.npy"]
    aside(parquet_texts, folder / "texts.parquet", 5000 * scale)
    yield "Parquet, long texts by dictionary", ["embed", folder / "texts.parquet", "-o", folder / "t.npy"]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, arguments in cases(folder):
            code, said, held = run(arguments, folder)
            line = said.splitlines()[-1] if said else "(read)"
            within = held <= MOST * BYTES
            refused = code == 0 or code in (1, 2) and "panicked" not in said
            told = code == 0 or re.search(r"of memory, but only .* left|limit|more than|expected", said)
            good = within and refused and bool(told)
            failed += not good
            share = held / BYTES
            print(f"{'ok  ' if good else 'FAIL'} {what}: {share:.2f} of the budget, exit {code}: {line[:200]}", flush=True)
            for file in folder.iterdir():
                if file.is_file() and file.name not in ("small.jsonl", "said.txt"):
                    file.unlink()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

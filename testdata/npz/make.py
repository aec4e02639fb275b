"""Makes the fixtures of the npz reader: `python make.py`, with NumPy and SciPy.

`good/*.npz` hold the same six graphs in every spelling the reader knows;
`expected.json` holds them as dense matrices, as NumPy and SciPy load them.
`weighted.npz` and `expected-weighted.json` do the same for weights.
`broken/*.npz` are each wrong in one way, which the name says.

`python make.py --bench FOLDER` writes `bench.json`: what NumPy and SciPy find
in the benchmark files `easy_small.npz` and `hard_small.npz` of that folder.
"""

import io
import json
import pickle
import struct
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).parent
PARTS = {"tr": "train", "val": "validation", "te": "test"}

# Part, class, number of vertices, edges.
GRAPHS = [
    ("tr", 0, 4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    ("tr", 2, 3, [(0, 1), (1, 2), (0, 2)]),
    ("tr", 1, 5, [(0, 4), (1, 4), (2, 4)]),
    ("val", 1, 3, []),
    ("val", 0, 2, [(0, 1), (1, 1)]),
    ("te", 2, 4, [(0, 3), (1, 3), (2, 3), (0, 1)]),
]


def adjacency(n, edges):
    matrix = np.zeros((n, n), "f4")
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return sp.csr_matrix(matrix)


def features(n, shift):
    return ((np.arange(3 * n).reshape(n, 3) + shift) / 4).astype("f4")


def objects(values):
    array = np.empty(len(values), object)
    for index, value in enumerate(values):
        array[index] = value
    return array


def arrays(matrix=lambda m: m, feature=lambda x: x, classes=lambda c: np.eye(3, dtype="f4")[c]):
    """The nine arrays, each graph passed through the given functions."""
    members = {}
    for part in PARTS:
        mine = [(shift, *graph[1:]) for shift, graph in enumerate(GRAPHS) if graph[0] == part]
        members[part + "_adj"] = objects([matrix(adjacency(n, edges)) for _, _, n, edges in mine])
        members[part + "_feat"] = objects([feature(features(n, shift)) for shift, _, n, _ in mine])
        members[part + "_class"] = classes(np.array([c for _, c, _, _ in mine]))
    return members


OLD_NAMES = {
    "numpy._core.multiarray": "numpy.core.multiarray",
    "numpy._core.numeric": "numpy.core.numeric",
    "scipy.sparse._csr": "scipy.sparse.csr",
    "scipy.sparse._csc": "scipy.sparse.csc",
    "scipy.sparse._coo": "scipy.sparse.coo",
}


class Renaming(pickle._Pickler):
    """Writes other module names than today's."""

    def __init__(self, out, protocol, names):
        super().__init__(out, protocol)
        self.names = names

    def memoize(self, obj):
        # All empty bytes are one object, which trips the buffers of protocol 5.
        if id(obj) not in self.memo:
            super().memoize(obj)

    def save_global(self, obj, name=None):
        module, name = pickle.whichmodule(obj, name or obj.__qualname__), name or obj.__qualname__
        module = self.names.get(module, module)
        if self.proto < 3:
            module = {"builtins": "__builtin__"}.get(module, module)
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[types.FunctionType] = save_global

    def save_type(self, obj):
        self.save_global(obj)

    dispatch[type] = save_type


class Python2(Renaming):
    """Writes as Python 2 did: text and bytes alike, the memo counted from 1."""

    dispatch = dict(Renaming.dispatch)

    def save_string(self, obj):
        data = obj.encode() if isinstance(obj, str) else obj
        if len(data) < 256:
            self.write(pickle.SHORT_BINSTRING + struct.pack("<B", len(data)) + data)
        else:
            self.write(pickle.BINSTRING + struct.pack("<i", len(data)) + data)
        self.memoize(obj)

    dispatch[str] = dispatch[bytes] = save_string

    def memoize(self, obj):
        index = len(self.memo) + 1
        self.write(self.put(index))
        self.memo[id(obj)] = index, obj


def npy(array, protocol=4, pickler=Renaming, names=None, version=(1, 0)):
    out = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(array)
    text = repr(header).encode()
    size = struct.Struct("<H" if version == (1, 0) else "<I")
    padding = -(len(text) + 9 + size.size) % 64
    out.write(b"\x93NUMPY" + bytes(version) + size.pack(len(text) + padding + 1) + text + b" " * padding + b"\n")
    if array.dtype == object:
        (pickler(out, protocol, names) if names else pickle.Pickler(out, protocol)).dump(array)
    else:
        out.write(array.tobytes("F" if header["fortran_order"] else "C"))
    return out.getvalue()


def save(path, members, compression=zipfile.ZIP_STORED):
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = compression
            archive.writestr(info, data)


def good():
    def write(name, members, compression=zipfile.ZIP_STORED, **options):
        save(HERE / f"good/{name}.npz", {k: npy(v, **options) for k, v in members.items()}, compression)

    for protocol in range(2, 6):
        write(f"protocol-{protocol}", arrays(), protocol=protocol)
        write(f"protocol-{protocol}-old-names", arrays(), protocol=protocol, names=OLD_NAMES)
    write("python-2", arrays(), protocol=2, pickler=Python2, names=OLD_NAMES)
    write("deflated", arrays(), compression=zipfile.ZIP_DEFLATED)
    write("header-2", arrays(), version=(2, 0))
    write("header-3", arrays(), version=(3, 0))
    write("csc", arrays(sp.csc_matrix))
    write("coo", arrays(sp.coo_matrix), protocol=5)
    write("csr-array", arrays(sp.csr_array), protocol=2)
    write("arrays-module", arrays(sp.csr_array), names={"scipy.sparse._csr": "scipy.sparse._arrays"})

    def old_coo(m):
        m = sp.coo_matrix(m)
        row, col = m.__dict__.pop("coords")
        m.__dict__.update(row=row, col=col)
        return m

    write("coo-row-and-col", arrays(old_coo), protocol=2, names=OLD_NAMES)

    def retyped(data, index, feature, order, fill=False):
        def matrix(m):
            m.data, m.indices, m.indptr = m.data.astype(data), m.indices.astype(index), m.indptr.astype(index)
            if fill:
                # Room behind the last entry, and lengths that are NumPy's own integers.
                m.data = np.append(m.data, m.data[:1])
                m.indices = np.append(m.indices, m.indices[:1])
                m._shape = tuple(np.int64(n) for n in m._shape)
            return m

        return arrays(matrix, lambda x: np.array(x, dtype=feature, order=order))

    write("wide", retyped("i8", "i8", "f8", "F"), protocol=5)
    write("wide-2", retyped("i8", "i8", "f8", "F"), protocol=2)
    write("big-endian", retyped(">f4", ">i4", ">f8", "C"), protocol=3)
    write("booleans", retyped("?", "u2", "f4", "C"), protocol=5)
    write("spare-room", retyped("f8", "u4", "f4", "C", fill=True))
    write("class-numbers", arrays(classes=lambda c: c))
    write("class-column", arrays(classes=lambda c: np.asfortranarray(c.astype("f8").reshape(-1, 1))))
    write("one-hot-by-column", arrays(classes=lambda c: np.asfortranarray(np.eye(3, dtype=bool)[c])))
    stacked = arrays()
    stacked["te_feat"] = np.stack(list(stacked["te_feat"]))
    write("stacked-features", stacked)
    write("stacked-by-column", {**stacked, "te_feat": np.asfortranarray(stacked["te_feat"])})

    expected = dense(np.load(HERE / "good/protocol-4.npz", allow_pickle=True))
    dump("expected.json", expected)
    for path in sorted((HERE / "good").iterdir()):
        # Today's NumPy and SciPy read all but what needs an old SciPy.
        if path.stem in ["coo-row-and-col", "arrays-module", "python-2"]:
            continue
        loaded = dict(np.load(path, allow_pickle=True))
        if path.stem.startswith("class"):
            loaded.update({p + "_class": np.eye(3)[loaded[p + "_class"].ravel().astype(int)] for p in PARTS})
        assert dense(loaded) == expected, path


def dense(members):
    graphs = []
    for part, name in PARTS.items():
        for a, x, c in zip(members[part + "_adj"], members[part + "_feat"], members[part + "_class"]):
            a = a.toarray()
            a = np.maximum(a, a.T)
            graphs.append({"part": name, "class": int(c.argmax()), "adjacency": a.tolist(), "features": x.tolist()})
    return graphs


def dump(name, value):
    (HERE / name).write_text(json.dumps(value, indent=1) + "\n")


def weighted():
    """Weights: both directions, only one, listed twice, explicitly 0, and a self loop."""
    matrices = [
        sp.csr_matrix(np.array([[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]])),
        sp.csr_matrix(np.triu(np.array([[3, 0.5, 0], [0, 0, 2], [0, 0, 0]]))),
        sp.coo_matrix(([1.0, 1.0, 0.5, 0.5, 0.0], ([0, 0, 1, 2, 0], [1, 1, 2, 1, 2])), shape=(3, 3)),
        sp.csr_matrix(np.array([[0, 1], [1, 0]], "i8")),
    ]
    members = {}
    for part, mine in {"tr": matrices[:2], "val": matrices[2:3], "te": matrices[3:]}.items():
        members[part + "_adj"] = objects(mine)
        members[part + "_feat"] = objects([features(m.shape[0], 0) for m in mine])
        members[part + "_class"] = np.eye(2)[[0] * len(mine)]
    save(HERE / "weighted.npz", {k: npy(v) for k, v in members.items()})
    dump("expected-weighted.json", dense(np.load(HERE / "weighted.npz", allow_pickle=True)))


class Calls:
    """Pickles as a call of any function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def broken():
    import os

    def write(name, change={}, raw={}):
        members = {key: npy(value) for key, value in {**arrays(), **change}.items()}
        present = {key: value for key, value in {**members, **raw}.items() if value is not None}
        save(HERE / f"broken/{name}.npz", present, zipfile.ZIP_DEFLATED)

    def matrices(change):
        """The training matrices, the last of them changed."""
        array = arrays()["tr_adj"]
        change(array[-1])
        return {"tr_adj": array}

    first = arrays()
    header = npy(objects([None] * 3))[:128]
    write("os-system", raw={"tr_adj": header + b"cos\nsystem\n(U\x04trueltR."})
    call = [Calls(os.system, "true"), None, None]
    out = io.BytesIO()
    pickle.dump(objects(call), out, 4)
    write("posix-system", raw={"tr_adj": header + out.getvalue()})
    out = io.BytesIO()
    pickle.dump(objects([Calls(eval, "1"), None, None]), out, 2)
    write("eval", raw={"tr_feat": header + out.getvalue()})
    write("cut-pickle", raw={"tr_adj": npy(first["tr_adj"])[:-300]})
    write("cut-header", raw={"tr_adj": npy(first["tr_adj"])[:50]})
    write("cut-numbers", raw={"tr_class": npy(first["tr_class"])[:-5]})
    write("not-an-array", raw={"tr_adj": b"hello"})
    write("empty-member", raw={"tr_adj": b""})
    write("missing-member", raw={"val_feat": None})
    write("structured-type", raw={"tr_class": npy(np.zeros(3, [("a", "f4")]))})
    write("half-floats", {"tr_class": first["tr_class"].astype("f2")})
    write("dense-adjacency", {"tr_adj": objects([m.toarray() for m in first["tr_adj"]])})
    write("no-matrices", {"tr_adj": objects([None, None, None])})
    write("numbers-for-matrices", {"tr_adj": np.zeros(3)})
    write("fewer-features", {"tr_feat": first["tr_feat"][:2]})
    write("fewer-classes", {"tr_class": first["tr_class"][:2]})
    write("other-width", {"val_feat": objects([x[:, :2] for x in first["val_feat"]])})
    write("feature-rows", {"tr_feat": first["tr_feat"][::-1].copy()})
    write("feature-nan", {"tr_feat": objects([x * np.float32("nan") for x in first["tr_feat"]])})
    write("two-hot", {"tr_class": np.ones((3, 3))})
    write("class-fraction", {"tr_class": np.array([0, 0.5, 1])})
    write("class-columns", {"val_class": np.eye(2)})

    def attribute(name, value):
        return matrices(lambda m: m.__dict__.__setitem__(name, value))

    write("not-square", attribute("_shape", (5, 6)))
    write("negative-shape", attribute("_shape", (-5, -5)))
    write("no-shape", matrices(lambda m: m.__dict__.pop("_shape")))
    write("column-too-large", attribute("indices", np.array([4, 4, 4, 0, 1, 5], "i4")))
    write("column-negative", attribute("indices", np.array([4, 4, 4, 0, 1, -1], "i4")))
    write("indptr-short", attribute("indptr", np.array([0, 1, 2, 3, 6], "i4")))
    write("indptr-falls", attribute("indptr", np.array([0, 1, 3, 2, 3, 6], "i4")))
    write("indptr-late", attribute("indptr", np.array([1, 1, 2, 3, 3, 6], "i4")))
    write("indptr-beyond", attribute("indptr", np.array([0, 1, 2, 3, 3, 7], "i4")))
    write("data-short", attribute("data", np.ones(5, "f4")))
    write("data-square", attribute("data", np.ones((2, 3), "f4")))
    write("weight-negative", attribute("data", -np.ones(6, "f4")))
    write("weights-differ", attribute("data", np.arange(1, 7, dtype="f4")))
    (HERE / "broken/empty.npz").write_bytes(b"")
    (HERE / "broken/not-a-zip.npz").write_bytes(b"PK but not really, " * 10)
    whole = (HERE / "good/protocol-4.npz").read_bytes()
    (HERE / "broken/cut-archive.npz").write_bytes(whole[: len(whole) // 2])
    flipped = bytearray(whole)
    flipped[500] ^= 1
    (HERE / "broken/flipped-bit.npz").write_bytes(flipped)


def bench(folder):
    found = {}
    for name in ["easy_small", "hard_small"]:
        data = np.load(Path(folder) / f"{name}.npz", allow_pickle=True)
        found[name] = {}
        for part in PARTS:
            matrices, xs = data[part + "_adj"], data[part + "_feat"]
            entries = [a.tocoo() for a in matrices]
            found[name][PARTS[part]] = {
                "graphs": len(matrices),
                "classes": "".join(str(c.argmax()) for c in data[part + "_class"]),
                "vertices": sum(a.shape[0] for a in matrices),
                "undirected_edges": sum(int(sp.triu(a, 1).nnz) for a in matrices),
                "self_loops": sum(int((a.diagonal() != 0).sum()) for a in matrices),
                "ones": all((a.data == 1).all() for a in matrices),
                # Weighted by position, so that misplaced values show.
                "entries": sum((g + 1) * int(((e.row + 1) * (3 * e.col + 2)).sum()) for g, e in enumerate(entries)),
                "features": sum((g + 1) * float(x.ravel() @ np.arange(1.0, x.size + 1)) for g, x in enumerate(xs)),
            }
    dump("bench.json", found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bench"]:
        bench(sys.argv[2])
    else:
        good()
        weighted()
        broken()

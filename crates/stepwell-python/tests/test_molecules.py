"""Molecules as graphs, compared with OGB's files and RDKit itself."""

import csv
import gzip
import io
import json
import pickle
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import real_file
from rdkit import Chem
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from stepwell import (
    PyramidalReservoir,
    PyramidalReservoirClassifier,
    PyramidalReservoirRegressor,
    load,
    load_dataset,
    plot_explanation,
    plot_pyramid,
    save_dataset,
)
from stepwell.molecules import from_mols, from_smiles, read_csv, scaffold_split, scaffolds

SMILES = ["CCO", "c1ccccc1C(=O)O", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "F/C=C/Cl", "C#N", "C", "O=C1CCC(=O)N1"]


def real(name):
    return real_file("molecules", name)


def mapping():
    """The SMILES of OGB's molesol, and the dataset."""
    path = real("ogbg_molesol.zip")
    with zipfile.ZipFile(path) as archive:
        text = gzip.decompress(archive.read("ogbg_molesol/mapping/mol.csv.gz")).decode()
    return [row["smiles"] for row in csv.DictReader(io.StringIO(text))], load_dataset(path)


def test_ogb_features_are_those_of_ogb_on_every_atom_and_bond():
    smiles, published = mapping()
    molecules = from_smiles(smiles, features="ogb")
    assert len(molecules) == len(published) == 1128
    for mine, theirs in zip(molecules, published.graphs):
        assert mine == theirs  # atoms, bonds and all their columns, in OGB's order
    assert sum(graph.num_nodes for graph in molecules) == 14991
    assert sum(graph.num_edges for graph in molecules) == 15428


def test_the_scaffold_split_is_that_of_ogb():
    smiles, published = mapping()
    assert scaffold_split(scaffolds(smiles)).tolist() == published.split.tolist()


def test_the_scaffold_split_of_hiv_is_the_official_one():
    with gzip.open(real("hiv.csv.gz"), "rt") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    official = json.loads(gzip.open(real("hiv_split.json.gz")).read())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = scaffold_split(scaffolds(smiles, errors="keep", n_jobs=-1))
    for part, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        assert np.flatnonzero(found == part).tolist() == sorted(official[name]), part


def test_columns_are_what_rdkit_says():
    molecules = from_smiles(SMILES)
    for text, graph in zip(SMILES, molecules):
        molecule = Chem.MolFromSmiles(text)
        element, degree, charge, hydrogens, _, aromatic, ring, _ = graph.labels.T
        atoms = list(molecule.GetAtoms())
        assert element.tolist() == [atom.GetAtomicNum() for atom in atoms]
        assert degree.tolist() == [len(atom.GetNeighbors()) for atom in atoms]
        assert charge.tolist() == [atom.GetFormalCharge() for atom in atoms]
        assert hydrogens.tolist() == [atom.GetTotalNumHs() for atom in atoms]
        assert aromatic.tolist() == [atom.GetIsAromatic() for atom in atoms]
        assert ring.tolist() == [atom.IsInRing() for atom in atoms]
        assert (graph.adjacency.toarray() > 0).tolist() == (Chem.GetAdjacencyMatrix(molecule) > 0).tolist()
        orders = Chem.GetAdjacencyMatrix(molecule, useBO=True)
        rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.adjacency.indptr))
        if graph.num_edges:
            codes = [{1.0: 1, 2.0: 2, 3.0: 3, 1.5: 4}[order] for order in orders[rows, graph.adjacency.indices]]
            assert graph.edge_label[:, 0].tolist() == codes


def test_a_molecule_has_one_vector_however_it_is_written():
    texts = [text for text in SMILES if Chem.MolFromSmiles(text).GetNumAtoms() > 2]
    others = [Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(text), 3, randomSeed=7) for text in texts]
    model = PyramidalReservoir(units=20, spectral_radius=0.5, edge_gate="signs").fit(from_smiles(texts))
    expected = model.transform(from_smiles(texts))
    for written in zip(*others):
        np.testing.assert_allclose(model.transform(from_smiles(written)), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("pair", [("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"), ("F/C=C/Cl", "F/C=C\\Cl")])
def test_stereo_is_kept(pair):
    one, other = from_smiles(pair)
    assert one != other and one.num_nodes == other.num_nodes


def test_salts_are_one_graph_and_hydrogens_are_counted():
    salt, ammonia, written = from_smiles(["[Na+].[Cl-]", "N", "[H]N([H])[H]"])
    assert (salt.num_nodes, salt.num_edges) == (2, 0)
    assert ammonia == written and ammonia.labels[0, 3] == 3


def test_molecules_are_a_sequence():
    molecules = from_smiles(SMILES)
    assert len(molecules[2:5]) == 3 and molecules[2:5][0] == molecules[2]
    mask = np.arange(len(SMILES)) % 2 == 1
    assert molecules[mask].rows.tolist() == [1, 3, 5, 7]
    assert molecules[[3, 0]][1] == molecules[0] and molecules[-1] == molecules[7]
    assert molecules[::-1].rows.tolist() == list(range(8))[::-1]
    assert (molecules[1:].features, repr(molecules[1:])) == ("default", "<7 molecules>")
    with pytest.raises(IndexError):
        molecules[8]


def test_processes_change_nothing(monkeypatch):
    many = SMILES * 150
    monkeypatch.setattr("stepwell.molecules._read._PER_PROCESS", 500)
    one, two = from_smiles(many), from_smiles(many, n_jobs=2)
    assert len(two) == len(many) and list(two[:8]) == list(one[:8])
    assert all(mine == theirs for mine, theirs in zip(one[500:540], two[500:540]))
    assert all(two[position] == one[position % 8] for position in range(1000, 1200))


def test_few_molecules_start_no_process(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr("stepwell.molecules._read.Parallel", fail)
    assert len(from_smiles(SMILES * 500, n_jobs=2)) == 4000
    assert len(scaffolds(SMILES * 500, n_jobs=-1)) == 4000


def test_rdkits_molecules_are_the_same():
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    for features in ("default", "ogb"):
        assert from_mols(molecules, features=features) == list(from_smiles(SMILES, features=features))
    raw = Chem.MolFromSmiles("C[C@H](N)C1CC1", sanitize=False)
    assert from_mols([raw])[0].labels[:, [0, 1, 2, 3, 6, 7]].tolist() == (
        from_smiles(["C[C@H](N)C1CC1"])[0].labels[:, [0, 1, 2, 3, 6, 7]].tolist()
    )
    assert raw.NeedsUpdatePropertyCache(), "the caller's molecule stays as it is"
    explicit = Chem.AddHs(Chem.MolFromSmiles("O"))
    assert from_mols([explicit])[0].num_nodes == 3
    with pytest.raises(ValueError, match=r"molecules: 1 of 2 molecules cannot be read: row 1 \(None\)"):
        from_mols([explicit, None])
    with pytest.raises(TypeError, match="expected RDKit molecules, found str"):
        from_mols(["CCO"])


BAD = ["CCO", "c1ccc1c", "not a molecule", "", "CN(C)(C)(C)C", None]


def test_what_does_not_parse_is_named():
    with pytest.raises(ValueError) as raised:
        from_smiles(BAD)
    assert str(raised.value) == (
        "smiles: 5 of 6 molecules cannot be read: row 1 'c1ccc1c' (non-ring atom 4 marked aromatic); "
        "row 2 'not a molecule' (not valid SMILES); row 3 (empty); "
        "row 4 'CN(C)(C)(C)C' (Explicit valence for atom # 1 N, 5, is greater than permitted); row 5 (missing); "
        "errors='skip' drops them, errors='keep' keeps what RDKit can read"
    )


def test_what_does_not_parse_is_left_out_or_kept():
    with pytest.warns(UserWarning, match="they are skipped"):
        skipped = from_smiles(BAD, errors="skip")
    assert (len(skipped), skipped.rows.tolist()) == (1, [0])
    with pytest.warns(UserWarning, match="they are kept as far as RDKit can read them"):
        kept = from_smiles(BAD, errors="keep")
    assert [graph.num_nodes for graph in kept] == [3, 5, 0, 0, 6, 0]
    assert kept[4].num_edges == 5 and kept.rows.tolist() == list(range(6))


def test_wrong_arguments():
    for call, message in (
        (lambda: from_smiles("CCO"), "smiles: expected a sequence of SMILES, found str"),
        (lambda: from_smiles(["C"], features="ecfp"), "features: expected 'default' or 'ogb', found 'ecfp'"),
        (lambda: from_smiles(["C"], errors="no"), "errors: expected 'raise', 'skip' or 'keep', found 'no'"),
        (lambda: scaffold_split(["a"], (0.5, 0.5, 0.5)), "fractions: expected three shares that sum to 1"),
    ):
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        assert str(raised.value).startswith(message)


def test_no_molecules():
    assert len(from_smiles([])) == 0 and scaffolds([]) == [] and len(scaffold_split([])) == 0


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mols.csv"
    path.write_text(
        "name,smiles,toxic,logS,part\n"
        "ethanol,CCO,0,1.1,train\n"
        '"benzene, pure",c1ccccc1,1,,test\n'
        "broken,c1ccc1c,1,2,train\n"
        "water,O,,-0.5,validation\n"
    )
    return path


def test_tables(table):
    with pytest.raises(ValueError, match=r"mols.csv: 1 of 4 molecules cannot be read: row 2 'c1ccc1c'"):
        read_csv(table)
    with pytest.warns(UserWarning, match="skipped"):
        ds = read_csv(table, targets=["toxic", "logS"], ids="name", split="part", groups="scaffold", errors="skip")
    assert (ds.name, len(ds), ds.target_names) == ("mols", 3, ["toxic", "logS"])
    np.testing.assert_array_equal(ds.y, [[0, 1.1], [1, np.nan], [np.nan, -0.5]])
    assert ds.ids == ["ethanol", "benzene, pure", "water"]
    assert ds.split.tolist() == ["train", "test", "validation"]
    assert ds.groups.tolist() == ["", "c1ccccc1", ""]
    assert ds.graphs[1].num_nodes == 6


def test_one_target_keeps_its_type(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = lambda target: read_csv(table, targets=target, errors="keep").y  # noqa: E731
        np.testing.assert_array_equal(read("logS"), [1.1, np.nan, 2, -0.5])
        np.testing.assert_array_equal(read("toxic"), [0, 1, 1, np.nan])
        assert read("part").tolist() == ["train", "test", "train", "validation"]
        assert read_csv(table, errors="keep").y is None


def test_packed_tables_and_tabs(table):
    text = table.read_text().replace("c1ccc1c", "C")
    packed = table.with_name("packed.csv.gz")
    packed.write_bytes(gzip.compress(text.encode()))
    assert len(read_csv(packed)) == 4
    tabs = table.with_name("tabs.tsv")
    tabs.write_text("smiles\ty\nCCO\t1\nC,C\t2\n")
    with pytest.raises(ValueError, match=r"row 1 'C,C' \(not valid SMILES\)"):
        read_csv(tabs)


def test_wrong_tables(table):
    with pytest.raises(ValueError, match="expected a column 'SMILES', found 'name', 'smiles', 'toxic', 'logS', 'part'"):
        read_csv(table, smiles="SMILES")
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="row 0: expected a number in column 'name', found 'ethanol'"):
        read_csv(table, targets=["name"], errors="keep")
    table.write_text("smiles,y\nC,1\nC\n")
    with pytest.raises(ValueError, match="row 1: expected 2 values, as in the header, found 1"):
        read_csv(table)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"smiles,y\nC,1\nCC,M\xfcller\n", r"row 1: expected UTF-8 in column 'y', found b'M\\xfcller'; save the table as UTF-8"),
        ("smiles,y\nC,1\n".encode("utf-16"), r": expected column names in UTF-8, found b'\\xff\\xfe"),
        (b'smiles,y\nC,1\nC,"' + b"x" * 200_000 + b'"\n', r"row 1: expected a row of the table, found: field larger than field limit"),
        (b"smiles,y,smiles\nC,1,CC\n", r": expected one column 'smiles', found 2; rename all but one"),
        (b"smiles,y,y\nC,1,2\n", r": expected one column 'y', found 2; rename all but one"),
    ],
    ids=["latin-1", "utf-16", "long", "repeated", "repeated target"],
)
def test_errors_of_tables_name_the_file(table, content, message):
    packed = table.with_name("mols.csv.gz")
    packed.write_bytes(gzip.compress(content))
    table.write_bytes(content)
    for path in (table, packed):
        with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}(, )?{message}") as raised:
            read_csv(path, targets="y")
        assert type(raised.value) is ValueError


def test_columns_that_are_not_read_may_hold_anything(table):
    table.write_bytes(b"\xef\xbb\xbfsmiles,note,note,y\nC,M\xfcller,2,a\nCC,,,\xc3\xa4\n")
    assert read_csv(table, targets="y").y.tolist() == ["a", "ä"]


def test_packed_tables_that_are_cut(table):
    packed = table.with_name("mols.csv.gz")
    content = gzip.compress(("smiles,y\n" + "".join(f"{'C' * (n % 90 + 1)},{n}\n" for n in range(9999))).encode())
    for content in (content[:-9], content[: len(content) // 2], b"smiles,y\nC,1\n"):
        packed.write_bytes(content)
        with pytest.raises(ValueError, match=r"mols.csv.gz: expected a complete gzip file, found: "):
            read_csv(packed, targets="y")


@pytest.fixture(scope="module")
def solubility():
    """The first molecules of ESOL, and a file of them."""
    with gzip.open(real("delaney.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))[:150]
    return [row["smiles"] for row in rows], np.array([float(row["logp"]) for row in rows])


@pytest.mark.filterwarnings("ignore:.* a label that no training graph has")
@pytest.mark.parametrize("given, features", [("smiles", "default"), ("smiles:ogb", "ogb")])
def test_estimators_take_smiles(solubility, tmp_path, given, features):
    smiles, y = solubility
    model = PyramidalReservoirRegressor(input=given, units=30, random_state=0).fit(smiles, y)
    graphs = from_smiles(smiles, features=features)
    expected = PyramidalReservoirRegressor(units=30, random_state=0).fit(graphs, y).predict(graphs)
    np.testing.assert_array_equal(model.predict(smiles), expected)
    np.testing.assert_array_equal(model.predict(graphs), expected)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.input == given
    np.testing.assert_array_equal(again.predict(np.array(smiles)), expected)
    # A changed parameter takes effect at the next fit.
    np.testing.assert_array_equal(model.set_params(input="graphs").predict(smiles), expected)
    vectors = PyramidalReservoir(input=given, units=10, spectral_radius=0.5, edge_gate="signs")
    assert vectors.fit_transform(smiles[:20]).shape == (20, 10)
    assert cross_val_score(clone(again), smiles, y, cv=2).shape == (2,)


def test_estimators_say_what_they_take():
    with pytest.raises(ValueError, match="input: expected one of 'graphs', 'smiles', 'smiles:ogb', found 'inchi'"):
        PyramidalReservoir(input="inchi").fit(SMILES)
    with pytest.raises(TypeError, match="found str; convert SMILES with stepwell.molecules.from_smiles"):
        PyramidalReservoir().fit(SMILES)
    advice = r"\(not valid SMILES\); convert them first: stepwell.molecules.from_smiles\(…, errors='skip'\) drops"
    with pytest.raises(ValueError, match=f"smiles: 1 of 2 molecules cannot be read: row 1 'xx' {advice}"):
        PyramidalReservoir(input="smiles").fit(["CCO", "xx"])
    with pytest.raises(ValueError, match=r"from_smiles\(…, features='ogb', errors='skip'\)"):
        PyramidalReservoir(input="smiles:ogb").fit(["CCO", "xx"])


@pytest.fixture(scope="module")
def small():
    """A model of SMILES, its molecules and its predictions."""
    smiles = ["CCO", "CCCO", "CCCCO", "c1ccccc1", "Cc1ccccc1", "CCN"] * 2
    model = PyramidalReservoirRegressor(input="smiles", units=10).fit(smiles, np.arange(12.0))
    return model, smiles, model.predict(smiles)


def test_a_table_with_one_column_is_a_list_of_smiles(small):
    model, smiles, expected = small
    frame = pd.DataFrame({"C": smiles})  # the name of the column is a SMILES, too
    table = pa.table({"C": smiles})
    for given in (frame, frame["C"], frame.to_numpy(), table, table["C"], tuple(smiles)):
        np.testing.assert_array_equal(model.predict(given), expected)
    by_frame = cross_val_score(clone(model), frame, np.arange(12.0), cv=2)
    np.testing.assert_array_equal(by_frame, cross_val_score(clone(model), smiles, np.arange(12.0), cv=2))


def test_wider_tables_are_refused(small):
    model, smiles, _ = small
    frame = pd.DataFrame({"id": range(12), "Smiles": smiles})
    with pytest.raises(TypeError, match=r"found a table of 'id', 'Smiles'; pass df\['Smiles'\]"):
        model.predict(frame)
    with pytest.raises(TypeError, match=r"found a table of 'id', 'Smiles'; pass df\['Smiles'\]"):
        from_smiles(pa.Table.from_pandas(frame))
    for wrong in ({"smiles": smiles}, np.array([smiles, smiles])):
        with pytest.raises(TypeError, match="expected a sequence of SMILES"):
            model.predict(wrong)
    with pytest.raises(TypeError, match="expected columns num_nodes, src and dst, found 'Smiles'"):
        PyramidalReservoir().fit(frame[["Smiles"]])


def test_estimators_take_rdkits_molecules_and_pickled_graphs(small):
    model, smiles, expected = small
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    np.testing.assert_array_equal(model.predict(molecules), expected)
    np.testing.assert_array_equal(model.predict(pickle.loads(pickle.dumps(from_smiles(smiles)))), expected)
    with pytest.raises(ValueError, match=r"molecules: 1 of 13 .*from_mols\(…, errors='skip'\)"):
        model.predict([*molecules, None])
    with pytest.raises(TypeError, match="smiles: expected SMILES, found RDKit molecules; use from_mols"):
        from_smiles(molecules)
    picture = plot_explanation(model, molecules[0], name="CCO")
    assert picture.svg == plot_explanation(model, "CCO").svg


def test_a_list_with_invalid_entries_can_be_predicted(small):
    model, smiles, expected = small
    with pytest.warns(UserWarning, match="skipped"):
        valid = from_smiles(["xx", *smiles, None, float("nan")], errors="skip")
    predicted = np.full(15, np.nan)
    predicted[valid.rows] = model.predict(valid)
    np.testing.assert_array_equal(predicted, [np.nan, *expected, np.nan, np.nan])


def test_unknown_labels_are_named(small):
    model, _, _ = small
    with pytest.warns(UserWarning, match=r"^1 vertex has a label that no training graph has \(graph 1: element 35\)"):
        model.predict(["CC", "CBr", "CC"])
    with pytest.warns(UserWarning, match=r"^2 vertices have .* \(first in graph 1: element 35\); the model treats them"):
        model.predict(["CC", "CBr", "CBr"])


def test_names_of_targets_are_those_of_the_dataset(table, tmp_path):
    with pytest.warns(UserWarning, match="skipped"):
        ds = read_csv(table, targets=["toxic", "logS"], errors="skip")
    model = PyramidalReservoirRegressor(units=5, landmarks=0).fit(ds)
    assert model.target_names_ == ["toxic", "logS"]
    assert model.score(ds) == model.score(ds.graphs, ds.y)
    assert model.score(ds) == model.score(ds.graphs, pd.DataFrame(ds.y, columns=ds.target_names)[["logS", "toxic"]])
    with pytest.warns(UserWarning, match="skipped"):
        one = read_csv(table, targets="logS", errors="skip")
    known = ~np.isnan(one.y)
    alone = PyramidalReservoirRegressor(units=5, landmarks=0).fit(one.graphs[known], pd.DataFrame({"logS": one.y[known]}))
    assert alone.target_names_ == ["logS"]
    assert plot_explanation(alone, one.graphs[0]).title == "graph: prediction of logS"


def stepwell(*arguments, code=0):
    command = [Path(sys.executable).with_name("stepwell"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


def scores(path):
    with open(path) as file:
        return [row["prediction"] for row in csv.DictReader(file)]


def test_the_command_reads_tables_of_molecules(solubility, tmp_path):
    smiles, y = solubility
    table, graphs = tmp_path / "mols.csv", tmp_path / "mols.parquet"
    with open(table, "w", newline="") as file:
        csv.writer(file).writerows([("smiles", "logS"), *zip(smiles, map(repr, y.tolist()))])
    read = ("--smiles", "smiles")
    stepwell("convert", table, graphs, *read, "--target", "logS")
    ds = load_dataset(graphs)
    np.testing.assert_array_equal(ds.y, y)
    assert ds.graphs == list(from_smiles(smiles)) and ds.target_names == ["logS"]
    # Bit-identical predictions from SMILES, from the converted file and in Python.
    model = PyramidalReservoirRegressor(input="smiles").fit(smiles, y)
    model.save(tmp_path / "model")
    stepwell("predict", table, *read, "-m", tmp_path / "model", "-o", tmp_path / "a.csv")
    stepwell("predict", graphs, "-m", tmp_path / "model", "-o", tmp_path / "b.csv")
    found = scores(tmp_path / "a.csv")
    assert found == scores(tmp_path / "b.csv")
    assert [float(value) for value in found] == model.predict(smiles).tolist()
    # Training: the model's file records that it takes SMILES, and their feature set.
    stepwell("train", table, *read, "--smiles-features", "ogb", "--target", "logS", "-m", tmp_path / "ogb")
    assert load(tmp_path / "ogb").input == "smiles:ogb"
    stepwell("predict", table, *read, "-m", tmp_path / "ogb", "-o", tmp_path / "c.csv")
    assert [float(value) for value in scores(tmp_path / "c.csv")] == load(tmp_path / "ogb").predict(smiles).tolist()
    refused = stepwell("predict", table, *read, "--smiles-features", "default", "-m", tmp_path / "ogb", code=2)
    assert "--smiles-features default: the model was trained on 'ogb'" in refused.stderr


def test_the_command_splits_by_scaffold(solubility, tmp_path):
    smiles, y = solubility
    table = tmp_path / "mols.csv"
    table.write_text("smiles,logS,high\n" + "".join(f'"{text}",{v},{int(v > -2)}\n' for text, v in zip(smiles, y)))
    read = ("--smiles", "smiles")
    graphs = tmp_path / "mols.parquet"
    stepwell("convert", table, graphs, *read, "--target", "logS", "--smiles-split", "scaffold")
    assert load_dataset(graphs).split.tolist() == scaffold_split(scaffolds(smiles)).tolist()
    quick = ("--units", "10", "--stacks", "1", "--json")
    found = stepwell("evaluate", table, *read, "--target", "high", "--groups", "scaffold", "--folds", 5, *quick)
    assert json.loads(found.stdout)["dataset"] == "mols"
    rings = sum(scaffold != "" for scaffold in scaffolds(smiles))
    acyclic = f"the largest group (molecules without rings) has {len(smiles) - rings} of {len(smiles)} graphs"
    assert acyclic in found.stderr
    stepwell("evaluate", table, *read, "--target", "logS,high", "--smiles-split", "scaffold", *quick)
    for other in (("--groups", "scaffold"), ("--folds", 3)):
        both = ("--smiles-split", "scaffold", *other)
        refused = stepwell("evaluate", table, *read, "--target", "high", *both, *quick, code=2)
        assert f"--smiles-split cannot be combined with {other[0]}" in refused.stderr


def test_the_command_says_what_it_cannot_read(tmp_path):
    table = tmp_path / "mols.csv"
    table.write_text("smiles,y\nCCO,1\nc1ccc1c,0\nCCC,1\n")
    refused = stepwell("stats", table, "--smiles", "smiles", code=1)
    assert "1 of 3 molecules cannot be read: row 1 'c1ccc1c' (non-ring atom 4 marked aromatic)" in refused.stderr
    assert "--smiles-errors skip drops them" in refused.stderr and "errors='skip'" not in refused.stderr
    done = stepwell("stats", table, "--smiles", "smiles", "--smiles-errors", "skip", "--json")
    assert json.loads(done.stdout)["graphs"] == 2 and "they are skipped" in done.stderr
    lines = tmp_path / "mols.jsonl"
    stepwell("convert", table, lines, "--smiles", "smiles", "--smiles-errors", "skip", "--target", "y")
    assert [json.loads(line)["id"] for line in lines.read_text().splitlines()] == ["0", "2"]
    assert "expected a column 'mol', found 'smiles', 'y'" in stepwell("stats", table, "--smiles", "mol", code=1).stderr


@pytest.mark.filterwarnings("ignore:.* a label that no training graph has")
def test_a_colleague_without_rdkit_gets_the_same_bits(solubility, tmp_path):
    smiles, y = solubility
    soluble = np.where(y > -2.5, "yes", "no")
    model = PyramidalReservoirClassifier(input="smiles", random_state=3).fit(smiles[:100], soluble[:100])
    model.save(tmp_path / "model")
    save_dataset(tmp_path / "mols.parquet", from_smiles(smiles))
    # The command in a process without RDKit that has never seen these molecules.
    alone = "import sys; sys.modules['rdkit'] = None; from stepwell._command import main; main()"
    files = (tmp_path / "mols.parquet", "-m", tmp_path / "model", "--proba", "-o", tmp_path / "out.csv")
    subprocess.run([sys.executable, "-c", alone, "predict", *map(str, files)], check=True, timeout=300)
    with open(tmp_path / "out.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == model.predict(smiles).tolist()
    likely = model.predict_proba(smiles)
    for column, name in enumerate(model.classes_):
        found = [float(next(row[key] for key in row if "prob" in key and key.endswith(name))) for row in rows]
        assert found == likely[:, column].tolist()


DRAWN = "C[N+](C)(C)CC(=O)Oc1ccc2c(c1)C(=O)N(CC#N)[C@@H]2CC(=O)[O-]"


def drawn(picture):
    """The texts on atoms, and the numbers of solid and dashed lines."""
    root = ET.fromstring(picture.svg)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text") if "halo" in text.get("class", "")]
    lines = {path.get("class"): path.get("d").count("M") for path in root.iter("{http://www.w3.org/2000/svg}path")}
    return sorted(texts), lines["edge bond"], lines.get("edge bond dashed", 0)


@pytest.mark.parametrize("features", ["default", "ogb"])
def test_molecules_are_drawn_as_chemists_do(features):
    molecule = Chem.MolFromSmiles(DRAWN)
    small, large = "₀₁₂₃₄", {0: "", 1: "⁺", -1: "⁻"}
    names = [
        atom.GetSymbol() + ["", "H", f"H{small[2]}"][atom.GetTotalNumHs()] + large[atom.GetFormalCharge()]
        for atom in molecule.GetAtoms()
        if atom.GetSymbol() != "C"
    ]
    lines = {"SINGLE": (1, 0), "DOUBLE": (2, 0), "TRIPLE": (3, 0), "AROMATIC": (1, 1)}
    counts = np.sum([lines[bond.GetBondType().name] for bond in molecule.GetBonds()], axis=0)
    graph = from_smiles([DRAWN], features=features)[0]
    assert drawn(plot_pyramid(graph, name="a molecule")) == (sorted(names), *counts)
    # A single atom is labelled, and needs no bond.
    lone = plot_pyramid(from_smiles(["C"], features=features)[0]).svg
    assert "CH₄" in lone


@pytest.mark.filterwarnings("ignore:.* a label that no training graph has")
def test_explanations_are_drawn_on_molecules(solubility, tmp_path):
    smiles, y = solubility
    model = PyramidalReservoirRegressor(input="smiles").fit(smiles, y)
    picture = plot_explanation(model, DRAWN)
    assert picture.title == f"{DRAWN}: prediction"
    assert abs(picture.decision - model.predict([DRAWN])[0]) < 1e-6
    by_graph = plot_explanation(model, from_smiles([DRAWN])[0], name=DRAWN)
    assert by_graph.svg == picture.svg and "N⁺" in picture.svg and ">atom<" in picture.html
    # The command draws the same, from SMILES and from the converted file, which records the meaning
    # of the labels.
    table, graphs = tmp_path / "mols.csv", tmp_path / "mols.parquet"
    table.write_text(f"smiles\n{DRAWN}\n")
    stepwell("convert", table, graphs, "--smiles", "smiles")
    stepwell("draw", table, "--smiles", "smiles", "-o", tmp_path / "a.svg")
    stepwell("draw", graphs, "-o", tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()
    shown = plot_pyramid(load_dataset(graphs).graphs[0], name="graph 0 of mols").svg
    assert (tmp_path / "b.svg").read_text() == shown
    model.save(tmp_path / "model")
    stepwell("explain", table, "--smiles", "smiles", "-m", tmp_path / "model", "-o", tmp_path / "why.svg")
    assert "edge bond dashed" in (tmp_path / "why.svg").read_text()


def test_the_second_of_two_classes_is_explained(solubility, tmp_path):
    smiles, y = solubility
    active = np.where(y > 0, "yes", "no")  # rare
    model = PyramidalReservoirClassifier(input="smiles", units=20).fit(smiles, active)
    inactive = smiles[int(np.flatnonzero(model.predict(smiles) == "no")[0])]
    picture = plot_explanation(model, inactive)
    assert picture.title == f"{inactive}: toward class yes" and ">toward class yes</text>" in picture.svg
    assert abs(picture.decision - model.decision_function([inactive])[0]) < 1e-6
    other = plot_explanation(model, inactive, "no")
    np.testing.assert_allclose(other.vertices, -picture.vertices, atol=1e-9)
    # A long SMILES stays inside the picture, with its end.
    long = plot_explanation(model, "CCN" * 40 + "O")
    titles = [text.text for text in ET.fromstring(long.svg).iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "title"]
    assert len(titles) == 1 and len(titles[0]) < 50 and titles[0].startswith("CCNCCN") and titles[0].endswith("CCNO")
    # The command explains the same class, and converts only that row: the other one is invalid.
    model.save(tmp_path / "model")
    table = tmp_path / "mols.csv"
    table.write_text(f"smiles,kind\nxx,no\n{inactive},no\n")
    explain = ("explain", table, "--smiles", "smiles", "--target", "kind", "-m", tmp_path / "model", "--graph")
    found = json.loads(stepwell(*explain, 1, "--json").stdout)
    assert (found["graph"], found["prediction"], found["class"]) == ("1", "no", "yes")
    assert abs(found["decision"] - picture.decision) < 1e-6
    assert "graph 1 of mols: predicted no, known to be no" in stepwell(*explain, 1).stdout
    assert "row 0 'xx' (not valid SMILES); --smiles-errors skip" in stepwell(*explain, 0, code=1).stderr
    assert "expected a row from 0 to 1, found 2" in stepwell(*explain, 2, code=1).stderr
    stepwell("draw", table, "--smiles", "smiles", "--graph", 1, "-o", tmp_path / "drawn.svg")


def test_one_target_of_a_table_may_have_gaps(tmp_path):
    smiles = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "c1ccncc1"] * 4
    cells = ["1", "", "0", "NA", "1", "null"] * 4
    table = tmp_path / "gaps.csv"
    table.write_text("smiles,active,kind\n" + "".join(f"{s},{c},x{i % 2}\n" for i, (s, c) in enumerate(zip(smiles, cells))))
    ds = read_csv(table, targets="active")
    assert np.isnan(ds.y).sum() == 12
    assert np.nansum(ds.y) == 8
    model = tmp_path / "m.safetensors"
    command = ["train", table, "--smiles", "smiles", "--target", "active", "--units", "5", "--landmarks", "0", "-m", model]
    assert "12 graphs without a target" in stepwell(*command).stderr
    out = tmp_path / "p.csv"
    stepwell("predict", table, "--smiles", "smiles", "-m", model, "-o", out)
    assert len(out.read_text().splitlines()) == 1 + len(smiles)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.5", "2", ">3"], "row 2: expected a number in column 'y', found '>3'"),
    ],
)
def test_cells_that_are_neither_values_nor_missing_are_named(tmp_path, cells, expected):
    table = tmp_path / "cells.csv"
    table.write_text("smiles,y\n" + "".join(f"CCO,{cell}\n" for cell in cells))
    with pytest.raises(ValueError, match=re.escape(expected)):
        read_csv(table, targets="y")


def test_classes_with_gaps_are_skipped(tmp_path):
    """One target with empty cells: strings and integers stay classes, and columns stay the same."""
    import pyarrow.parquet as pq

    smiles = ["C" * n + "O" for n in range(1, 13)] + ["c1ccccc1" + "C" * n for n in range(12)]
    command = ("--smiles", "smiles", "--target", "y", "--units", "5", "--landmarks", "0")
    headers = {}
    for kind, names in {"string": ["alkyl", "aryl"], "integer": ["3", "7"], "binary": ["0", "1"]}.items():
        for gap in (False, True):
            table, model = tmp_path / f"{kind}.csv", tmp_path / "m.safetensors"
            cells = [names[at >= 12] if not gap or at % 5 else "" for at in range(24)]
            table.write_text("smiles,name,y\n" + "".join(f"{s},m{at},{cell}\n" for at, (s, cell) in enumerate(zip(smiles, cells))))
            told = stepwell("train", table, *command, "-m", model).stderr
            assert ("skipping 5 graphs without a target" in told) == gap
            new = ("predict", table, "--smiles", "smiles", "-m", model, "--proba", "--coverage", "0.8")
            rows = stepwell(*new).stdout.splitlines()
            headers.setdefault(kind, set()).add(rows[0])
            assert rows[0] == "id,prediction," + ",".join([f"probability_{name}" for name in names] + ["set"] + [f"score_{name}" for name in names])
            assert stepwell(*new, "--smiles-id", "name").stdout.splitlines()[1].startswith("m0,")
            # The converted file holds the same.
            stepwell("convert", table, tmp_path / "c.parquet", "--smiles", "smiles", "--target", "y", "--groups", "scaffold")
            other = tmp_path / "c.safetensors"
            told = stepwell("train", tmp_path / "c.parquet", "--target", "y", "--units", "5", "--landmarks", "0", "-m", other).stderr
            assert ("skipping 5 graphs without a target" in told) == gap
            assert stepwell("predict", tmp_path / "c.parquet", "-m", other).stdout == stepwell("predict", tmp_path / "c.parquet", "-m", model).stdout
            assert set(pq.read_table(tmp_path / "c.parquet")["scaffold"].to_pylist()) == {"", "c1ccccc1"}
    assert all(len(found) == 1 for found in headers.values())
    ds = read_csv(tmp_path / "string.csv", targets="y")
    assert ds.y[0] is None and ds.y[1] == "alkyl"


def test_rows_that_are_no_molecule_have_no_prediction(tmp_path):
    smiles = ["C" * n + "O" for n in range(1, 13)] + ["c1ccccc1" + "C" * n for n in range(12)]
    table, model, new = tmp_path / "t.csv", tmp_path / "m.safetensors", tmp_path / "new.csv"
    table.write_text("smiles,y\n" + "".join(f"{s},{int(at >= 12)}\n" for at, s in enumerate(smiles)))
    stepwell("train", table, "--smiles", "smiles", "--target", "y", "--units", "5", "-m", model)
    new.write_text("smiles\nCCO\nnot a molecule\nCCN\n")
    done = stepwell("predict", new, "--smiles", "smiles", "--smiles-errors", "keep", "-m", model, "--proba")
    rows = done.stdout.splitlines()
    assert rows[2] == "1,,,,," and ",," not in rows[1] + rows[3]
    assert "row 1 'not a molecule'" in done.stderr and "one graph has no vertices: its prediction is blank" in done.stderr

"""Ray with real worker processes: the same vectors, whatever happens to the workers."""

import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
from rows import (
    ACCURATE,
    TARGETS,
    Killer,
    OneWorker,
    assert_same,
    by_id,
    bytes_of,
    command,
    expected_by_id,
    make_table,
    trained_by_command,
    with_several,
    write_files,
)
from sklearn.exceptions import NotFittedError

import stepwell.ray
from stepwell import _cluster, _files
from stepwell import PyramidalReservoir, PyramidalReservoirClassifier, PyramidalReservoirRegressor

MODEL = dict(units=12, spectral_radius=0.5, max_iter=200, edge_gate="signs")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=200 << 20,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        configure_logging=False,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def as_table(dataset):
    blocks = [table for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow") if len(table)]
    return pa.concat_tables(blocks)


def test_files_and_datasets_give_the_vectors_of_one_machine(graphs, tmp_path):
    table, folder = graphs
    model = PyramidalReservoir(**MODEL, pool="ndp")
    expected = expected_by_id(table, model.fit_transform(table))
    data = ray.data.read_parquet(str(folder))
    ids, vectors = by_id(as_table(stepwell.ray.embed(data, PyramidalReservoir(**MODEL, pool="ndp"))))
    assert ids == expected[0] and np.array_equal(vectors, expected[1])
    # From files to files; fitted once, used repeatedly.
    fitted = stepwell.ray.fit([folder / f"part-{at}.parquet" for at in (2, 0, 1)], model)
    assert fitted.feature_map_ == model.feature_map_, "the same map to the bit"
    stepwell.ray.embed(str(folder), fitted).write_parquet(str(tmp_path / "out"))
    written = pq.read_table(tmp_path / "out")
    assert written.column_names == ["id", "y", "embedding"]
    ids, vectors = by_id(written)
    assert ids == expected[0] and np.array_equal(vectors, expected[1])


def test_the_command_line_gives_the_same_bits(tmp_path):
    table = make_table(150, 5)
    folder = write_files(tmp_path / "one", table, files=1, rows=80)
    command = [sys.executable, "-c", "from stepwell._command import main; main()", "embed"]
    options = ["--units", "12", "--spectral-radius", "0.5", "--max-iter", "200"]
    subprocess.run([*command, folder / "part-0.parquet", "-o", tmp_path / "out.parquet", *options], check=True)
    expected = by_id(pq.read_table(tmp_path / "out.parquet"))
    ids, vectors = by_id(as_table(stepwell.ray.embed(str(folder / "*.parquet"), PyramidalReservoir(**MODEL))))
    assert ids == expected[0] and np.array_equal(vectors, expected[1])


def test_rows_without_a_name_are_called_by_their_position(tmp_path):
    folder = write_files(tmp_path / "nameless", make_table(60, 6).drop_columns(["id", "y"]), rows=15)
    found = as_table(stepwell.ray.embed(str(folder), PyramidalReservoir(**MODEL), keep=["size"]))
    assert found.column_names == ["id", "size", "embedding"]
    assert sorted(found["id"].to_pylist(), key=int) == [str(at) for at in range(60)]


def dies_once(marker):
    def work(table):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return table
        os.kill(os.getpid(), signal.SIGKILL)

    return work


def test_a_killed_worker_changes_nothing(attributed, tmp_path):
    table, folder = attributed
    model = PyramidalReservoir(**MODEL).fit(table)
    marker = str(tmp_path / "died")
    data = ray.data.read_parquet(str(folder)).repartition(4).map_batches(dies_once(marker), batch_format="pyarrow")
    ids, vectors = by_id(as_table(stepwell.ray.embed(data, model)))
    assert os.path.exists(marker)
    expected = expected_by_id(table, model.transform(table))
    assert ids == expected[0] and np.array_equal(vectors, expected[1])


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": [0.01, 1.0, 100.0], "class_weight": "balanced"},
        {"alpha": 1.0, "random_features": 20, "standardize": True},
    ],
    ids=str,
)
def test_ridge_is_that_of_one_machine(attributed, options):
    table, folder = attributed
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, **options).fit(table, table["y"])
    found = stepwell.ray.train(str(folder), PyramidalReservoirClassifier.from_preset("paper", **MODEL, **options))
    assert found.classes_.tolist() == local.classes_.tolist() and found.alpha_ == local.alpha_
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.intercept_, local.intercept_, rtol=1e-8, atol=1e-8)
    assert found.predict(table).tolist() == local.predict(table).tolist()


def test_regression_and_features_to_fit(graphs):
    table, folder = graphs
    local = PyramidalReservoirRegressor.from_preset("paper", **MODEL, alpha="loo").fit(table, table["size"])
    found = stepwell.ray.train(ray.data.read_parquet(str(folder)), PyramidalReservoirRegressor.from_preset("paper", **MODEL), y="size")
    assert found.alpha_ == local.alpha_
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.isclose(found.intercept_, local.intercept_, rtol=1e-8, atol=1e-8)


def test_a_row_that_cannot_be_used_is_named_or_counted(broken):
    table, folder, bad = broken
    model = PyramidalReservoir(**MODEL)
    with pytest.raises(Exception, match=r"b.parquet, row (2 \(row group 0\)|56 \(row group 1\)): ") as error:
        as_table(stepwell.ray.embed(str(folder), model))
    assert "edge 0 joins vertex 99" in str(error.value) or "numbers in 'x'" in str(error.value)
    found = as_table(stepwell.ray.embed(str(folder), model, skip_bad=True))
    wrong = found.filter(pa.compute.is_valid(found["error"]))
    assert sorted(wrong["id"].to_pylist()) == sorted(table["id"][at].as_py() for at in bad)
    assert all(reason.startswith(str(folder / "b.parquet")) for reason in wrong["error"].to_pylist())
    good = table.filter([at not in bad for at in range(len(table))])
    ids, vectors = by_id(found.filter(pa.compute.is_null(found["error"])))
    expected = expected_by_id(good, model.fit_transform(good))
    assert ids == expected[0] and np.array_equal(vectors, expected[1])
    trained = stepwell.ray.train(str(folder), PyramidalReservoirClassifier.from_preset("paper", **MODEL, alpha=1.0), skip_bad=True)
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, alpha=1.0).fit(good, good["y"])
    assert trained.skipped_ == 2 and np.allclose(trained.coef_, local.coef_, rtol=1e-8, atol=1e-8)


def test_what_is_asked_for_wrongly(attributed, tmp_path):
    with pytest.raises(FileNotFoundError, match="expected Parquet files, found none"):
        stepwell.ray.embed(str(tmp_path))
    with pytest.raises(TypeError, match="data: expected a ray.data.Dataset or paths, found int"):
        stepwell.ray.embed(3)
    with pytest.raises(TypeError, match="model: expected a PyramidalReservoirClassifier"):
        stepwell.ray.train(str(attributed[1]), PyramidalReservoir())
    with pytest.raises(ValueError, match="y: expected a column 'z', found id, num_nodes"):
        stepwell.ray.train(str(attributed[1]), PyramidalReservoirRegressor(landmarks=0), y="z")


@pytest.mark.parametrize("landmarks", [0, 40])
def test_predictions_are_those_of_one_machine(attributed, broken, landmarks):
    table, folder = attributed
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL, landmarks=landmarks).fit(table, table["y"])
    found = as_table(stepwell.ray.predict(str(folder), model, keep=["size"])).sort_by("id")
    assert found.column_names == ["id", "y", "size", "prediction", "scores"]
    mine = table.sort_by("id")
    assert found["prediction"].to_pylist() == model.predict(mine).tolist()
    assert np.array_equal(np.array(found["scores"].to_pylist()).reshape(len(mine), -1), np.atleast_2d(model.decision_function(mine).T).T)
    table, folder, bad = broken
    skipped = as_table(stepwell.ray.predict(str(folder), model, skip_bad=True))
    assert skipped["prediction"].null_count == skipped["scores"].null_count == len(bad)
    with pytest.raises(TypeError, match="model: expected a PyramidalReservoirClassifier or PyramidalReservoirRegressor"):
        stepwell.ray.predict(str(folder), PyramidalReservoir())
    with pytest.raises(NotFittedError):
        stepwell.ray.predict(str(folder), PyramidalReservoirClassifier())


@pytest.mark.filterwarnings("ignore:.*without a target")
def test_several_targets_with_gaps_are_those_of_one_machine(tmp_path):
    table, folder = with_several(make_table(90, 9, x=True)), tmp_path / "several"
    write_files(folder, table)
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL, class_weight="auto")
    columns = [table[name].to_pylist() for name in ("high", "large")]
    y = np.array([[np.nan if value is None else value for value in row] for row in zip(*columns)])
    known = ~np.isnan(y).all(axis=1)
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, class_weight="auto").fit(table.filter(known), y[known])
    found = stepwell.ray.train(str(folder), model, y=["high", "large"])
    assert found.target_names_ == ["high", "large"]
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.predict_proba(table), local.predict_proba(table), atol=1e-6)
    # Through a file, and on all workers, bit-identical.
    found.save(tmp_path / "model")
    found = stepwell.load(tmp_path / "model")
    answers = pa.Table.from_pylist(stepwell.ray.predict(str(folder), found).take_all()).sort_by("id")
    scores = found.decision_function(table)[np.argsort(np.array(table["id"].to_pylist()))]
    assert np.array_equal(np.array(answers["scores"].to_pylist()), scores)
    assert np.array_equal(np.array(answers["prediction"].to_pylist()), (scores > 0).astype(int))


@pytest.fixture
def small_sums(monkeypatch):
    """Creates many sums to merge, of few graphs each."""
    monkeypatch.setattr(_files, "SUMMED_ROWS", 20)


@pytest.mark.filterwarnings("ignore:.*without a target")
@pytest.mark.parametrize("kind", TARGETS)
def test_the_default_model_is_that_of_one_machine(kind, tmp_path, small_sums):
    estimator, y, flags = TARGETS[kind]
    table = with_several(make_table(240, 11, labels=True, bonds=True))
    folder = write_files(tmp_path / "files", table, rows=20)
    found = stepwell.ray.train(str(folder), estimator(**ACCURATE), y=y)
    assert_same(found, stepwell.load(trained_by_command(table, tmp_path, *flags)), table)
    # The same bytes for any number of workers.
    assert bytes_of(_cluster.train(OneWorker(folder), estimator(**ACCURATE), y=y)) == bytes_of(found)
    assert bytes_of(stepwell.ray.train(str(folder), estimator(**ACCURATE), y=y, concurrency=1)) == bytes_of(found)
    # The same rows in other blocks and another order.
    data = ray.data.read_parquet(str(folder)).random_shuffle(seed=1).repartition(5)
    assert_same(stepwell.ray.train(data, estimator(**ACCURATE), y=y), found, table)


def test_a_worker_killed_in_training_changes_nothing(tmp_path, small_sums):
    table = make_table(240, 12, labels=True)
    folder = write_files(tmp_path / "files", table, rows=20)
    expected = _cluster.train(OneWorker(folder), PyramidalReservoirClassifier(**ACCURATE))
    with Killer("ray::_gather") as killer:
        found = stepwell.ray.train(str(folder), PyramidalReservoirClassifier(**ACCURATE))
    assert killer.killed is not None
    assert bytes_of(found) == bytes_of(expected)


def test_a_file_of_the_command_line_predicts_the_same_bits(tmp_path):
    table = make_table(150, 13, labels=True, bonds=True)
    model = trained_by_command(table, tmp_path)
    command("predict", tmp_path / "all.parquet", "-m", model, "-o", tmp_path / "expected.parquet")
    expected = pq.read_table(tmp_path / "expected.parquet").sort_by("id")
    folder = write_files(tmp_path / "files", table)
    found = as_table(stepwell.ray.predict(str(folder), stepwell.load(model))).sort_by("id")
    assert found["prediction"].to_pylist() == expected["prediction"].to_pylist()
    assert found["scores"].to_pylist() == expected["scores"].to_pylist()

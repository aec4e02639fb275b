"""Spark with real worker processes: the same vectors, whatever happens to the workers."""

import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rows import (
    ACCURATE,
    TARGETS,
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

import stepwell.spark
from stepwell import _cluster, _files
from stepwell import PyramidalReservoir, PyramidalReservoirClassifier, PyramidalReservoirRegressor

MODEL = dict(units=12, spectral_radius=0.5, max_iter=200, edge_gate="signs")


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2,4]")  # two workers, four attempts
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "60")
        .config("spark.sql.files.maxPartitionBytes", "20000")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_data_frames_give_the_vectors_of_one_machine(spark, graphs, tmp_path):
    table, folder = graphs
    model = PyramidalReservoir(**MODEL, pool="ndp")
    expected = expected_by_id(table, model.fit_transform(table))
    df = spark.read.parquet(str(folder))
    found = stepwell.spark.embed(df, PyramidalReservoir(**MODEL, pool="ndp"))
    assert found.columns == ["id", "y", "embedding"]
    ids, vectors = by_id(found.toArrow())
    assert ids == expected[0] and np.array_equal(vectors, expected[1])
    fitted = stepwell.spark.fit(df.repartition(5), model)
    assert fitted.feature_map_ == model.feature_map_, "the same map to the bit"
    stepwell.spark.embed(df, fitted, keep=["size"]).write.parquet(str(tmp_path / "out"))
    written = spark.read.parquet(str(tmp_path / "out"))
    assert written.columns == ["id", "y", "size", "embedding"]
    ids, vectors = by_id(written.toArrow())
    assert ids == expected[0] and np.array_equal(vectors, expected[1])


def test_files_that_workers_read_give_the_same(spark, graphs, broken):
    table, folder = graphs
    model = PyramidalReservoir(**MODEL, pool="ndp")
    expected = expected_by_id(table, model.fit_transform(table))
    found = stepwell.spark.embed(str(folder), PyramidalReservoir(**MODEL, pool="ndp"), keep=["size"])
    assert found.columns == ["id", "y", "size", "embedding"]
    ids, vectors = by_id(found.toArrow())
    assert ids == expected[0] and np.array_equal(vectors, expected[1])
    assert stepwell.spark.fit([folder / "part-1.parquet", folder / "part-*.parquet"], model).feature_map_
    bad_table, bad_folder, bad = broken
    with pytest.raises(Exception, match=r"b.parquet, row (2 \(row group 0\)|56 \(row group 1\)): "):
        stepwell.spark.embed(bad_folder, PyramidalReservoir(**MODEL)).toArrow()
    skipped = stepwell.spark.embed(bad_folder, PyramidalReservoir(**MODEL), skip_bad=True).where("error is not null")
    assert sorted(row.id for row in skipped.collect()) == sorted(bad_table["id"][at].as_py() for at in bad)
    with pytest.raises(FileNotFoundError, match="expected Parquet files, found none"):
        stepwell.spark.embed(str(folder / "nowhere"))
    with pytest.raises(TypeError, match="data: expected a pyspark.sql.DataFrame or paths, found int"):
        stepwell.spark.embed(5)


def fails_once(marker):
    def work(batches):
        for batch in batches:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield batch
            else:
                os._exit(1)

    return work


def test_a_failed_task_changes_nothing(spark, attributed, tmp_path):
    table, folder = attributed
    model = PyramidalReservoir(**MODEL).fit(table)
    marker = str(tmp_path / "failed")
    df = spark.read.parquet(str(folder)).repartition(6)
    df = df.mapInArrow(fails_once(marker), df.schema)
    ids, vectors = by_id(stepwell.spark.embed(df, model).toArrow())
    assert os.path.exists(marker)
    expected = expected_by_id(table, model.transform(table))
    assert ids == expected[0] and np.array_equal(vectors, expected[1])


def test_ridge_is_that_of_one_machine(spark, attributed):
    table, folder = attributed
    options = {"alpha": "loo", "class_weight": "balanced"}
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, **options).fit(table, table["y"])
    found = stepwell.spark.train(spark.read.parquet(str(folder)), PyramidalReservoirClassifier.from_preset("paper", **MODEL, **options))
    assert found.classes_.tolist() == local.classes_.tolist() and found.alpha_ == local.alpha_
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.intercept_, local.intercept_, rtol=1e-8, atol=1e-8)


def test_regression_in_double_precision(spark, attributed):
    table, folder = attributed
    model = PyramidalReservoirRegressor.from_preset("paper", **MODEL, precision="f64", alpha=0.1)
    local = PyramidalReservoirRegressor.from_preset("paper", **MODEL, precision="f64", alpha=0.1).fit(table, table["size"])
    df = spark.read.parquet(str(folder))
    found = stepwell.spark.train(df, model, y="size")
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    vectors = stepwell.spark.embed(df, found).toArrow().sort_by("id")
    assert vectors["embedding"].type.value_type == pa.float64()
    order = np.argsort(np.array(table["id"].to_pylist()))
    assert np.array_equal(np.array(vectors["embedding"].to_pylist()), local.transform(table)[order])


def test_a_row_that_cannot_be_used_is_named_or_counted(spark, broken):
    table, folder, bad = broken
    model = PyramidalReservoir(**MODEL)
    df = spark.read.parquet(str(folder))
    with pytest.raises(Exception, match=r"b.parquet, row (2 \(row group 0\)|56 \(row group 1\)): "):
        stepwell.spark.embed(df, model).toArrow()
    found = stepwell.spark.embed(df, model, skip_bad=True).toArrow()
    wrong = found.filter(pa.compute.is_valid(found["error"]))
    assert sorted(wrong["id"].to_pylist()) == sorted(table["id"][at].as_py() for at in bad)
    good = table.filter([at not in bad for at in range(len(table))])
    ids, vectors = by_id(found.filter(pa.compute.is_null(found["error"])))
    expected = expected_by_id(good, model.fit_transform(good))
    assert ids == expected[0] and np.array_equal(vectors, expected[1])
    # If Spark does not know the file, the row's id must suffice.
    with pytest.raises(Exception, match=r"row 'graph-3-(102|156)': "):
        stepwell.spark.embed(df.mapInArrow(lambda batches: batches, df.schema), model).toArrow()


def test_rows_from_anywhere(spark):
    rows = make_table(30, 8).select(["num_nodes", "src", "dst"]).to_pylist()
    df = spark.createDataFrame(rows, "num_nodes int, src array<int>, dst array<int>")
    found = stepwell.spark.embed(df, PyramidalReservoir(**MODEL))
    assert found.columns == ["embedding"]
    expected = PyramidalReservoir(**MODEL).fit_transform(pa.Table.from_pylist(rows)).astype(np.float32)
    found = np.array(found.toArrow()["embedding"].to_pylist(), dtype=np.float32)
    assert sorted(map(tuple, found)) == sorted(map(tuple, expected))


def test_predictions_are_those_of_one_machine(spark, attributed):
    table, folder = attributed
    mine = table.sort_by("id")
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL).fit(table, table["y"])
    for data in (str(folder), spark.read.parquet(str(folder))):
        found = stepwell.spark.predict(data, model)
        assert found.columns == ["id", "y", "prediction", "scores"]
        assert found.toArrow().sort_by("id")["prediction"].to_pylist() == model.predict(mine).tolist()
    numbers = PyramidalReservoirRegressor.from_preset("paper", **MODEL).fit(table, table["size"])
    found = stepwell.spark.predict(str(folder), numbers, keep=["size"], skip_bad=True)
    assert found.columns == ["id", "y", "size", "prediction", "error"]
    assert np.array_equal(found.toArrow().sort_by("id")["prediction"].to_numpy(), numbers.predict(mine))


@pytest.mark.filterwarnings("ignore:.*without a target")
def test_several_targets_with_gaps_are_those_of_one_machine(spark, tmp_path):
    table, folder = with_several(make_table(90, 9, x=True)), tmp_path / "several"
    write_files(folder, table)
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL, class_weight="auto")
    columns = [table[name].to_pylist() for name in ("high", "large")]
    y = np.array([[np.nan if value is None else value for value in row] for row in zip(*columns)])
    known = ~np.isnan(y).all(axis=1)
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, class_weight="auto").fit(table.filter(known), y[known])
    found = stepwell.spark.train(spark.read.parquet(str(folder)), model, y=["high", "large"])
    assert found.target_names_ == ["high", "large"]
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.predict_proba(table), local.predict_proba(table), atol=1e-6)
    # Through a file, and on all workers, bit-identical.
    found.save(tmp_path / "model")
    found = stepwell.load(tmp_path / "model")
    answers = stepwell.spark.predict(spark.read.parquet(str(folder)), found).toArrow().sort_by("id")
    scores = found.decision_function(table)[np.argsort(np.array(table["id"].to_pylist()))]
    assert np.array_equal(np.array(answers["scores"].to_pylist()), scores)
    assert np.array_equal(np.array(answers["prediction"].to_pylist()), (scores > 0).astype(int))


@pytest.fixture
def small_sums(monkeypatch):
    """Creates many sums to merge, of few graphs each."""
    monkeypatch.setattr(_files, "SUMMED_ROWS", 20)


@pytest.mark.filterwarnings("ignore:.*without a target")
@pytest.mark.parametrize("kind", TARGETS)
def test_the_default_model_is_that_of_one_machine(spark, kind, tmp_path, small_sums):
    estimator, y, flags = TARGETS[kind]
    table = with_several(make_table(240, 11, labels=True, bonds=True))
    folder = write_files(tmp_path / "files", table, rows=20)
    found = stepwell.spark.train(str(folder), estimator(**ACCURATE), y=y)
    assert_same(found, stepwell.load(trained_by_command(table, tmp_path, *flags)), table)
    # The same bytes for any number of workers.
    assert bytes_of(_cluster.train(OneWorker(folder), estimator(**ACCURATE), y=y)) == bytes_of(found)


def test_training_on_other_partitions_one_of_which_fails(spark, tmp_path):
    table = make_table(240, 12, labels=True)
    folder = write_files(tmp_path / "files", table, rows=20)
    expected = _cluster.train(OneWorker(folder), PyramidalReservoirClassifier(**ACCURATE))
    marker = str(tmp_path / "failed")
    df = spark.read.parquet(str(folder)).repartition(6)
    failing = df.mapInArrow(fails_once(marker), df.schema)
    found = stepwell.spark.train(failing, PyramidalReservoirClassifier(**ACCURATE))
    assert os.path.exists(marker)
    assert_same(found, expected, table)
    one = stepwell.spark.train(df.coalesce(1), PyramidalReservoirClassifier(**ACCURATE))
    assert_same(one, expected, table)


def test_a_file_of_the_command_line_predicts_the_same_bits(spark, tmp_path):
    table = make_table(150, 13, labels=True, bonds=True)
    model = trained_by_command(table, tmp_path)
    command("predict", tmp_path / "all.parquet", "-m", model, "-o", tmp_path / "expected.parquet")
    expected = pq.read_table(tmp_path / "expected.parquet").sort_by("id")
    folder = write_files(tmp_path / "files", table)
    for data in (str(folder), spark.read.parquet(str(folder))):
        found = stepwell.spark.predict(data, stepwell.load(model)).toArrow().sort_by("id")
        assert found["prediction"].to_pylist() == expected["prediction"].to_pylist()
        assert found["scores"].to_pylist() == expected["scores"].to_pylist()

"""The examples in the documentation work as printed."""

import doctest
import importlib
import pkgutil

import pytest

import stepwell

FOUND = pkgutil.walk_packages(stepwell.__path__, "stepwell.", onerror=lambda name: None)
MODULES = [module.name.removeprefix("stepwell.") for module in FOUND if module.name != "stepwell._stepwell"]


# Optional packages that some modules need.
EXTRAS = {"duckdb": "duckdb", "polars": "polars", "ray": "ray", "spark": "pyspark"}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    failed, _ = doctest.testmod(importlib.import_module(f"stepwell.{name}"))
    assert failed == 0


def test_there_are_some():
    finder = doctest.DocTestFinder()
    for name in ("PyramidalReservoir", "PyramidalReservoirClassifier", "PyramidalReservoirRegressor", "coarsen"):
        assert any(found.examples for found in finder.find(getattr(stepwell, name)))

"""Makes random examples reproducible, so that no failure is due to chance, and finds real
datasets."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from stepwell import load_dataset

settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same")

DATA = Path(os.environ.get("STEPWELL_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))


def real_file(*parts):
    """A real file or folder; without it, the test is skipped."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def real_dataset(name):
    """A dataset of the TU Dortmund collection; without it, the test is skipped."""
    return load_dataset(name, data_dir=real_file("tud"), download=False)

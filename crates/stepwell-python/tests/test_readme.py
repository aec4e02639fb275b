"""The Python example of the README works as printed."""

import re
from pathlib import Path

import pytest


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_example_runs(capsys):
    readme = Path(__file__).parents[3] / "README.md"
    (example,) = re.findall(r"```python\n(.*?)```", readme.read_text(), re.S)
    exec(compile(example, str(readme), "exec"), {})
    assert float(capsys.readouterr().out) > 0.9

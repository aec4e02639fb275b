"""The ``stepwell`` command of the package."""

import sys

from . import _stepwell


def main() -> None:
    sys.exit(_stepwell.run_command(["stepwell", *sys.argv[1:]]))

"""Progress on stderr, in one line."""

import sys
import time


class Progress:
    """Shows progress, if requested.

    On a terminal or in a notebook it shows a bar. Elsewhere, as in a log or a
    process of a grid search, it prints a line when the work is done.
    """

    def __init__(self, verbose, what, total):
        self._wanted = bool(verbose) and sys.stderr is not None
        self._what = what
        self._total = total
        self._shown = False

    def __enter__(self):
        self._start = time.perf_counter()
        self._live = self._wanted and _redraws(sys.stderr)
        return self._report if self._live else None

    def __exit__(self, kind, error, trace):
        if not self._wanted:
            return
        if kind is None:
            end = f"{self._what}: {self._total} graphs, {self._seconds():.1f} s"
            sys.stderr.write(f"\r{end:<70}\n" if self._shown else f"{end}\n")
        elif self._shown:
            sys.stderr.write("\n")
        sys.stderr.flush()

    def _report(self, done):
        filled = 30 * done // max(self._total, 1)
        line = f"{self._what}: [{'#' * filled:.<30}] {done}/{self._total}, {self._seconds():.1f} s"
        sys.stderr.write(f"\r{line:<70}")
        sys.stderr.flush()
        self._shown = True

    def _seconds(self):
        return time.perf_counter() - self._start


def _redraws(stream):
    """Whether a carriage return overwrites the line."""
    notebook = type(stream).__module__.partition(".")[0] == "ipykernel"
    return notebook or stream.isatty()

"""The same random examples every time: a failure is never luck."""

from hypothesis import settings

settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same")

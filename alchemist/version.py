"""The version of the compiler, for every module; `pyproject.toml` has the same (a test compares)."""

VERSION = "0.3.0"

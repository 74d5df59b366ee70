"""The old name of `python -m tools.bench.numerics`, kept for one release."""

__import__("runpy").run_module("tools.bench.numerics", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.bench.run`, kept for one release."""

__import__("runpy").run_module("tools.bench.run", run_name="__main__", alter_sys=True)

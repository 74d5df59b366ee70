"""The old name of `python -m tools.bench.against`, kept for one release."""

__import__("runpy").run_module("tools.bench.against", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.fuzz.run`, kept for one release."""

__import__("runpy").run_module("tools.fuzz.run", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.faults.run`, kept for one release."""

__import__("runpy").run_module("tools.faults.run", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.conformance.run`, kept for one release."""

__import__("runpy").run_module("tools.conformance.run", run_name="__main__", alter_sys=True)

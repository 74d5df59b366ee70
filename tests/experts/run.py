"""The old name of `python -m tools.experts.run`, kept for one release."""

__import__("runpy").run_module("tools.experts.run", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.lines`, kept for one release."""

__import__("runpy").run_module("tools.lines", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.experts.names`, kept for one release."""

__import__("runpy").run_module("tools.experts.names", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.mutation`, kept for one release."""

__import__("runpy").run_module("tools.mutation", run_name="__main__", alter_sys=True)

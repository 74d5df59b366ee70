"""The old name of `python -m tools.experts.unit_tests`, kept for one release."""

__import__("runpy").run_module("tools.experts.unit_tests", run_name="__main__", alter_sys=True)

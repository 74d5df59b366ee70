"""The old name of `python -m tools.zoo.lengths`, kept for one release."""

__import__("runpy").run_module("tools.zoo.lengths", run_name="__main__", alter_sys=True)

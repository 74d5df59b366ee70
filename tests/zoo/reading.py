"""The old name of `python -m tools.zoo.reading`, kept for one release."""

__import__("runpy").run_module("tools.zoo.reading", run_name="__main__", alter_sys=True)

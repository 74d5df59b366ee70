"""The old name of `python -m tools.zoo.run`, kept for one release."""

__import__("runpy").run_module("tools.zoo.run", run_name="__main__", alter_sys=True)

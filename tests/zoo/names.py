"""The old name of `python -m tools.zoo.names`, kept for one release."""

__import__("runpy").run_module("tools.zoo.names", run_name="__main__", alter_sys=True)

"""The old name of `python -m tools.zoo.document`, kept for one release."""

__import__("runpy").run_module("tools.zoo.document", run_name="__main__", alter_sys=True)

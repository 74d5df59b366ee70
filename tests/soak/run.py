"""The old name of `python -m tools.soak.run`, kept for one release."""

__import__("runpy").run_module("tools.soak.run", run_name="__main__", alter_sys=True)

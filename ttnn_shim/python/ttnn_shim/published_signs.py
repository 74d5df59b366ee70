"""Moved to `python -m tools.calibration.published_signs`; this name stays for one release."""

import runpy

runpy.run_module("tools.calibration.published_signs", run_name="__main__", alter_sys=True)

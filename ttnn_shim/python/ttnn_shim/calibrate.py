"""Moved to `python -m tools.calibration.calibrate`; this name stays for one release."""

import runpy

runpy.run_module("tools.calibration.calibrate", run_name="__main__", alter_sys=True)

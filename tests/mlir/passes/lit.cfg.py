"""`lit tests/mlir/passes` runs these files; pytest (test_passes.py) does the same without a process per file."""

import sys
from pathlib import Path

import lit.formats

config.name = "alchemist passes"  # noqa: F821 (lit gives `config`)
config.test_format = lit.formats.ShTest(False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.substitutions.append(("alchemist", f"{sys.executable} -m alchemist"))  # noqa: F821
config.substitutions.append(("filecheck", str(Path(sys.executable).with_name("filecheck"))))  # noqa: F821

"""Passes over TTIR and TTNN. `lower_to_ttnn` is the whole way; `PASSES` lists what runs alone: every class that a file of this folder registers."""

import importlib
import pkgutil

from alchemist.passes.registry import PASSES, Pass, configure
from alchemist.passes.stages import PIPELINES, Lowered, lower_to_ttnn

for _found in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_found.name}")

__all__ = ["PASSES", "PIPELINES", "Lowered", "Pass", "configure", "lower_to_ttnn"]

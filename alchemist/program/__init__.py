"""The emitted program as data: built here from TTNN IR, printed by `emit_py` and `emit_cpp`."""

from alchemist.program.build import build_program
from alchemist.program.model import Program

__all__ = ["Program", "build_program"]

"""Names of `ttnn` for the modules below it, which cannot import the package that offers them."""

from __future__ import annotations

import sys
from typing import Any


def named(name: str) -> Any:
    """`ttnn.<name>`, as the program has it now."""
    return getattr(sys.modules["ttnn"], name)

"""`ttxla_tools` for scripts written for tt-xla."""

from __future__ import annotations

import os

from alchemist.stand_ins.absent import getattr_of
from alchemist.stand_ins.artifacts import save_system_descriptor_to_disk

__all__ = ["is_compile_only", "save_system_descriptor_to_disk"]
__getattr__ = getattr_of("ttxla_tools")


def is_compile_only() -> bool:
    return os.environ.get("TT_COMPILE_ONLY_SYSTEM_DESC") is not None

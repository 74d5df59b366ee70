"""`torch_xla.runtime` of the stand-in."""

from __future__ import annotations

from typing import Any

from alchemist.errors import OptionError, quoted
from alchemist.stand_ins.absent import getattr_of

__getattr__ = getattr_of("torch_xla.runtime")


def set_device_type(kind: str) -> None:
    """Raises OptionError for another device than TT or the CPU."""
    if kind not in ("TT", "CPU"):
        raise OptionError("no such device type", expected="TT", got=quoted(kind))


def device_type() -> str:
    return "TT"


def global_runtime_device_count() -> int:
    return 1


addressable_runtime_device_count = world_size = process_count = global_runtime_device_count


def initialize_cache(path: str, readonly: bool = False) -> None:
    """Programs of torch_xla are not cached: there are none."""


def is_spmd() -> bool:
    return False


def global_ordinal() -> int:
    return 0


def runtime_device_attributes(device: str) -> dict[str, Any]:
    return {}

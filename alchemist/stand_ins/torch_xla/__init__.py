"""`torch_xla` for scripts written for tt-xla: the device is the CPU; `torch.compile(backend="tt")` runs on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alchemist.stand_ins.absent import getattr_of
from alchemist.stand_ins.request import SESSION, Request

__version__ = "0+alchemist"
__getattr__ = getattr_of("torch_xla")


def set_custom_compile_options(options: Mapping[str, Any]) -> None:
    """Options of every `torch.compile(backend="tt")` from here on. Raises: OptionError."""
    Request.of(options)
    SESSION.options = dict(options)


def device(index: int | None = None) -> Any:
    import torch

    return torch.device("cpu")


def devices() -> list[Any]:
    return [device()]


def sync(wait: bool = False) -> None:
    """Calls have ended when they return."""

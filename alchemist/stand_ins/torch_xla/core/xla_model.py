"""`torch_xla.core.xla_model` of the stand-in: tensors stay where the script makes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from alchemist.stand_ins.absent import getattr_of

__getattr__ = getattr_of("torch_xla.core.xla_model")


def xla_device(n: int | None = None, devkind: str | None = None) -> Any:
    import torch

    return torch.device("cpu")


def get_xla_supported_devices(devkind: str | None = None, max_devices: int | None = None) -> list[str]:
    return ["cpu"]


def mark_step(*args: Any, **kwargs: Any) -> None:
    """Calls have ended when they return."""


def wait_device_ops(devices: Iterable[Any] = ()) -> None:
    """Calls have ended when they return."""


def xla_device_hw(device: Any) -> str:
    return "TT"

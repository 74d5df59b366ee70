"""`torch_xla.distributed.spmd`: its names can be imported, and refuse."""

from __future__ import annotations

from alchemist.stand_ins.absent import getattr_of

__getattr__ = getattr_of("torch_xla.distributed.spmd")

"""Sub-devices: groups of cores that programs wait for apart from each other. Programs of the simulator run one after the other, so groups are
checked and kept, and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from ttnn_shim.errors import InvalidArgument

from ttnn._grid import CoreRangeSet
from ttnn._mesh import SubDeviceId


class SubDevice:
    """Tensix cores, as a list of one set."""

    __module__ = "ttnn"

    def __init__(self, cores: Sequence[CoreRangeSet]) -> None:
        if any(not isinstance(part, CoreRangeSet) for part in cores):
            raise InvalidArgument("cores: expected a list of CoreRangeSet, the Tensix cores first", op="ttnn.SubDevice")
        self._cores = tuple(cores)

    def __repr__(self) -> str:
        return f"SubDevice({', '.join(map(str, self._cores))})"


class SubDeviceManagerId(int):
    __module__ = "ttnn"

    def __repr__(self) -> str:
        return f"SubDeviceManagerId({int(self)})"


_numbers = count(1)  # 0 is the whole device


class SubDevices:
    """What `MeshDevice` has of sub-devices."""

    _managers: dict[int, tuple[SubDevice, ...]]
    _loaded: int | None

    def _of_managers(self) -> dict[int, tuple[SubDevice, ...]]:
        return self.__dict__.setdefault("_managers", {})  # type: ignore[no-any-return]

    def create_sub_device_manager(self, sub_devices: Sequence[SubDevice], local_l1_size: int) -> SubDeviceManagerId:
        """Throws InvalidArgument for groups that share cores or leave the grid."""
        grid: Any = self.compute_with_storage_grid_size()  # type: ignore[attr-defined]
        used_cores: set[tuple[int, int]] = set()
        for part in sub_devices:
            for box in part._cores[0].ranges() if part._cores else ():
                if box.end.x >= grid.x or box.end.y >= grid.y:
                    raise InvalidArgument(f"sub_devices: {box} is not on the grid of {grid.x} x {grid.y} cores", op="ttnn.create_sub_device_manager")
                cores = {(x, y) for x in range(box.start.x, box.end.x + 1) for y in range(box.start.y, box.end.y + 1)}
                if cores & used_cores:
                    raise InvalidArgument(f"sub_devices: {box} is in two of them", op="ttnn.create_sub_device_manager")
                used_cores |= cores
        number = SubDeviceManagerId(next(_numbers))
        self._of_managers()[number] = tuple(sub_devices)
        return number

    def load_sub_device_manager(self, sub_device_manager_id: SubDeviceManagerId) -> None:
        self._known(sub_device_manager_id)
        self._loaded = int(sub_device_manager_id)

    def clear_loaded_sub_device_manager(self) -> None:
        self._loaded = None

    def remove_sub_device_manager(self, sub_device_manager_id: SubDeviceManagerId) -> None:
        self._known(sub_device_manager_id)
        if self.__dict__.get("_loaded") == sub_device_manager_id:
            raise InvalidArgument("sub_device_manager_id: it is loaded; clear it first", op="ttnn.remove_sub_device_manager")
        del self._of_managers()[sub_device_manager_id]

    def set_sub_device_stall_group(self, sub_device_ids: Sequence[SubDeviceId]) -> None:
        """The groups that are waited for: here all programs have ended."""

    def reset_sub_device_stall_group(self) -> None:
        """All groups are waited for."""

    def _known(self, number: int) -> None:
        if number not in self._of_managers():
            raise InvalidArgument(f"sub_device_manager_id: {number!r} is not known", op="ttnn.load_sub_device_manager")

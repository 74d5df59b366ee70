"""The host around the one chip: device numbers, the cluster, the context of several hosts, and what is read from and written to `ttnn.CONFIG`."""

from __future__ import annotations

import enum
import itertools
import json
import os
import pathlib
import sys
import types
import weakref
from collections.abc import Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument, NotSupported
from ttnn_shim.machine import card_of, cards, systems

from ttnn import _core
from ttnn._binding import api_function
from ttnn._grid import CoreCoord, CoreRange, CoreRangeSet
from ttnn._mesh import PlacementShard, coordinates
from ttnn._state import CONFIG
from ttnn_shim import session

CONFIG_PATH: pathlib.Path | None = pathlib.Path(os.environ["TTNN_CONFIG_PATH"]) if os.environ.get("TTNN_CONFIG_PATH") else None
CONFIG_OVERRIDES: str | None = os.environ.get("TTNN_CONFIG_OVERRIDES")
_slow_dispatch: weakref.WeakSet[Any] = weakref.WeakSet()


class ClusterType(enum.Enum):
    """The cards that the real package tells apart; the simulator is N150 or P150."""

    INVALID = 0
    N150 = 1
    N300 = 2
    T3K = 3
    GALAXY = 4
    TG = 5
    P100 = 6
    P150 = 7
    P150_X2 = 8
    P150_X4 = 9
    SIMULATOR_WORMHOLE_B0 = 10
    SIMULATOR_BLACKHOLE = 11
    N300_2x2 = 12
    P150_X8 = 13
    BLACKHOLE_GALAXY = 14
    P300 = 15
    SIMULATOR_QUASAR = 16
    P300_X2 = 17
    CUSTOM = 18

    def __str__(self) -> str:
        return f"ClusterType.{self.name}"


_CLUSTERS = {"t3000": "T3K"}  # systems that the real package calls otherwise


def get_cluster_type() -> ClusterType:
    if session.settings.card in systems():
        return ClusterType[_CLUSTERS.get(session.settings.card, session.settings.card.upper())]
    return ClusterType[cards()[card_of(session.card()).architecture].name.upper()]


def serialize_cluster_descriptor() -> str:
    raise NotSupported("the simulator has no cluster descriptor", op="ttnn.cluster.serialize_cluster_descriptor", hint="ask ttnn.cluster.get_cluster_type()")


def cluster_module() -> types.ModuleType:
    """`ttnn.cluster`."""
    module = types.ModuleType("ttnn.cluster", "Which cards there are.")
    module.__dict__.update(ClusterType=ClusterType, get_cluster_type=get_cluster_type, serialize_cluster_descriptor=serialize_cluster_descriptor)
    sys.modules["ttnn.cluster"] = module
    return module


@api_function("ttnn.GetPCIeDeviceID")
def GetPCIeDeviceID(arg: int) -> int:
    return arg


@api_function("ttnn.distributed.get_num_pcie_devices")
def get_num_pcie_devices() -> int:
    return len(get_pcie_device_ids())


@api_function("ttnn.distributed.get_pcie_device_ids")
def get_pcie_device_ids() -> list[int]:
    """The chips that the host reaches by themselves: of a board with two Wormhole chips the first."""
    system = systems().get(session.settings.card)
    return list(range(system.pcie_chips if system else 1))


def _print_chips(title: str, texts: Sequence[str], columns: int) -> None:
    """A table with a cell a chip, in rows of `columns`."""
    width = max(len(text) for text in texts)
    line = "+" + f"{'-' * (width + 2)}+" * columns
    rows = [texts[first : first + columns] for first in range(0, len(texts), columns)]
    print(title)
    print("\n".join([part for row in rows for part in (line, "|" + "".join(f" {text:{width}} |" for text in row))] + [line]))


@api_function("ttnn.distributed.visualize_mesh_device")
def visualize_mesh_device(mesh_device: Any) -> None:
    """Prints the mesh, a cell per chip."""
    rows, columns = mesh_device.shape
    places = coordinates(mesh_device.shape)
    texts = [f"Dev. ID: {chip} ({', '.join(map(str, coordinate))})" for chip, coordinate in zip(mesh_device.get_device_ids(), places, strict=True)]
    _print_chips(f"MeshDevice(rows={rows}, cols={columns}):", texts, columns)


@api_function("ttnn.distributed.visualize_system_mesh")
def visualize_system_mesh() -> None:
    """Prints all chips of the run's system."""
    system = systems().get(session.settings.card)
    rows, columns = system.mesh if system else (1, 1)
    texts = [f"Dev. ID: {chip} ({', '.join(map(str, coordinate))})" for chip, coordinate in enumerate(coordinates((rows, columns)))]
    _print_chips(f"SystemMesh Global Shape: ({rows}, {columns}) | Local Shape: ({rows}, {columns})", texts, columns)


@api_function("ttnn.distributed.visualize_tensor")
def visualize_tensor(tensor: Any) -> None:
    """Prints which part of the tensor each chip of its mesh has, by what it was cut by: the same number means the same part."""
    topology = tensor.tensor_topology()
    placements, extents = topology.placements(), list(topology.distribution_shape())
    places = topology.mesh_coords()
    parts: dict[tuple[int, ...], int] = {}
    texts = []
    for at in itertools.product(*map(range, extents)):
        cut = tuple(place for place, placement in zip(at, placements, strict=True) if isinstance(placement, PlacementShard))
        texts.append(f"{list(tensor.shape)} part {parts.setdefault(cut, len(parts))}")
    _print_chips(f"Tensor: {placements} over {topology.distribution_shape()}", texts, max(index[-1] for index in places) + 1)


class _Number(int):
    """A rank or a size of the context of several hosts."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    __str__ = __repr__


class Rank(_Number):
    pass


class Size(_Number):
    pass


@api_function("ttnn.using_distributed_env")
def using_distributed_env() -> bool:
    return False


@api_function("ttnn.distributed_context_is_initialized")
def distributed_context_is_initialized() -> bool:
    return True


@api_function("ttnn.distributed_context_get_rank")
def distributed_context_get_rank() -> Rank:
    return Rank(0)


@api_function("ttnn.distributed_context_get_size")
def distributed_context_get_size() -> Size:
    return Size(1)


@api_function("ttnn.distributed_context_barrier")
def distributed_context_barrier() -> None:
    """One host waits for nobody."""


def init_distributed_context(*_: Any, **__: Any) -> None:
    """One host is a context of size 1, with or without this call."""


@api_function("ttnn.device.enable_asynchronous_slow_dispatch")
def enable_asynchronous_slow_dispatch(device: Any) -> None:
    """Kept and given back; programs of the simulator run one after the other."""
    _slow_dispatch.add(device)


@api_function("ttnn.device.disable_asynchronous_slow_dispatch")
def disable_asynchronous_slow_dispatch(device: Any) -> None:
    _slow_dispatch.discard(device)


@api_function("ttnn.device.is_asynchronous_slow_dispatch_enabled")
def is_asynchronous_slow_dispatch_enabled(device: Any) -> bool:
    return device in _slow_dispatch


@api_function("ttnn.core.num_cores_to_corerangeset_in_subcoregrids")
def num_cores_to_corerangeset_in_subcoregrids(
    start_core: CoreCoord, target_num_cores: int, sub_core_grids: CoreRangeSet, row_wise: bool = False
) -> CoreRangeSet:
    """The first cores of the grids from `start_core` on, by rows or by columns of each; runs of full rows or columns are one range."""
    name = "ttnn.core.num_cores_to_corerangeset_in_subcoregrids"
    lines: list[tuple[int, int, int, int]] = []  # (grid, line across, first, last)
    remaining, started = target_num_cores, False
    for index, grid in enumerate(sub_core_grids.ranges()):
        (x0, y0), (x1, y1) = (grid.start.x, grid.start.y), (grid.end.x, grid.end.y)
        (first, last), (low, high) = ((y0, y1), (x0, x1)) if row_wise else ((x0, x1), (y0, y1))
        start = (start_core.y, start_core.x) if row_wise else (start_core.x, start_core.y)
        inside = not started and first <= start[0] <= last and low <= start[1] <= high
        if not started and not inside:
            continue
        for line in range(start[0] if inside else first, last + 1):
            begin = start[1] if inside and line == start[0] else low
            count = min(remaining, high - begin + 1)
            if count <= 0:
                break
            lines.append((index, line, begin, begin + count - 1))
            remaining -= count
        started = True
    if not started:
        raise _core.error(InvalidArgument, f"start_core: {start_core} is in none of {sub_core_grids}", name)
    if remaining:
        raise _core.error(InvalidArgument, f"Failed to assign all {target_num_cores} requested cores: {sub_core_grids} has {remaining} too few", name)
    ranges: list[list[int]] = []
    for index, line, begin, end in lines:
        if ranges and ranges[-1][0] == index and ranges[-1][2] == line - 1 and ranges[-1][3:] == [begin, end]:
            ranges[-1][2] = line
        else:
            ranges.append([index, line, line, begin, end])
    corners = [((low, top), (high, bottom)) if row_wise else ((top, low), (bottom, high)) for _, top, bottom, low, high in ranges]
    return CoreRangeSet([CoreRange(CoreCoord(*start), CoreCoord(*end)) for start, end in corners])


@api_function("ttnn.load_config_from_dictionary")
def load_config_from_dictionary(config: dict[str, Any], from_file: bool = False) -> None:
    """Sets options of `ttnn.CONFIG`. Throws ValueError for an unknown one; from a file those are passed over with a warning."""
    for key, value in config.items():
        if key not in (*CONFIG.keys(), "report_path"):
            if not from_file:
                raise ValueError(f"Unknown configuration key: {key}")
            print(f"ttnn: unknown configuration key {key} in {CONFIG_PATH}", file=sys.stderr)
        elif key != "report_path":  # follows from the others
            old = getattr(CONFIG, key)
            setattr(CONFIG, key, value if old is None else type(old)(value))


@api_function("ttnn.load_config_from_json_file")
def load_config_from_json_file(json_path: Any) -> None:
    """Sets options of `ttnn.CONFIG` from a file; a file that cannot be read is a warning."""
    try:
        load_config_from_dictionary(json.loads(pathlib.Path(json_path).read_text(encoding="utf-8")), from_file=True)
    except (OSError, ValueError) as error:
        print(f"ttnn: cannot load the configuration from {json_path}: {error}", file=sys.stderr)


@api_function("ttnn.save_config_to_json_file")
def save_config_to_json_file(json_path: Any) -> None:
    """Writes all options of `ttnn.CONFIG`."""
    values = {key: getattr(CONFIG, key) for key in CONFIG.keys()}
    text = json.dumps({key: str(value) if isinstance(value, pathlib.Path) else value for key, value in values.items()}, indent=4)
    pathlib.Path(json_path).write_text(text, encoding="utf-8")


def read_configuration() -> None:
    """At import: the file that TTNN_CONFIG_PATH names (written where it is not there), then the JSON text of TTNN_CONFIG_OVERRIDES."""
    if CONFIG_PATH is not None and CONFIG_PATH.exists():
        load_config_from_json_file(CONFIG_PATH)
    elif CONFIG_PATH is not None:
        CONFIG_PATH.parent.mkdir(parents=True, exist_ok=True)
        save_config_to_json_file(CONFIG_PATH)
    if CONFIG_OVERRIDES:
        load_config_from_dictionary(json.loads(CONFIG_OVERRIDES))

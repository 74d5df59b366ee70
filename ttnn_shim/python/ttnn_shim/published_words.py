"""Parses published configurations: sizes, data types, memories, grids; and creates tensors without values from them.

Rules: a memory that is not stated is the library's default (interleaved in DRAM); a comment in brackets ("bfloat16 (inferred)") is dropped; scalars
that do not change the time are filled in; everything else that is missing leaves the row out with a reason (`Unreadable`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Config = Mapping[str, Any]
Call = Callable[[], Any]
TILE = 32
DTYPES = (
    (r"bfloat16|\bbf16", "bfloat16"),
    (r"bfloat8_b|\bbfp8", "bfloat8_b"),
    (r"bfloat4_b|\bbfp4", "bfloat4_b"),
    (r"float32|\bfp32\b", "float32"),
    (r"uint32", "uint32"),
    (r"uint16", "uint16"),
    (r"int32", "int32"),
)


ACROSS_CHIPS = "a collective or a part of one"
"""In the reason of a row whose time depends on other chips."""


class Unreadable(Exception):
    """An incomplete configuration, or an op without a call: the row is left out."""


def plain(value: Any) -> str:
    """Text without comments in brackets."""
    return re.sub(r"\([^()]*\)", " ", str(value or "")).strip().lower()


def known(value: Any) -> bool:
    """Whether a cell has a value."""
    text = plain(value)
    return bool(text) and not re.match(r"(not stated|not recorded|default|none|auto|nullopt|generic)\b", text)


def integers(value: Any, key: str) -> list[int]:
    """A list of integers from a list or the first [..] of a text; 1x48x160 too."""
    if isinstance(value, list) and value and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        return [int(v) for v in value]
    if isinstance(value, str):
        if found := re.match(r"\s*\[([\d,\s]+)\]", value):
            return [int(v) for v in found[1].split(",")]
        if found := re.match(r"\s*(\d+(?:x\d+)+)", value):
            return [int(v) for v in found[1].split("x")]
    raise Unreadable(f"config: {key} is not a list of integers")


def number(config: Config, *keys: str) -> int:
    """The first of `keys` that holds an integer ("5376 (inferred)" too)."""
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and (found := re.match(r"\s*(\d+)\b(?!x)", value)):
            return int(found[1])
    raise Unreadable(f"config: {' or '.join(keys)} is not stated")


def dtype_name(*values: Any) -> str:
    """The first data type named; Unreadable where none is."""
    for value in values:
        text = str((value or {}).get("dtype") if isinstance(value, Mapping) else value or "").lower()
        found = [(match.start(), name) for pattern, name in DTYPES if (match := re.search(pattern, text))]
        if found:
            return min(found)[1]
    raise Unreadable("config: no data type is stated")


@dataclass(frozen=True)
class Machine:
    """`ttnn`, an open device without values, its grid and the largest tensors that are built."""

    ttnn: Any
    device: Any
    grid: tuple[int, int]
    most_bytes: int

    def rows_of_cores(self, cores: int) -> tuple[int, int]:
        """`cores` as full rows of the grid, as wide as they come."""
        for x in range(min(self.grid[0], cores), 0, -1):
            if cores % x == 0 and cores // x <= self.grid[1]:
                return x, cores // x
        raise Unreadable(f"config: {cores} cores are no rectangle of {self.grid[0]} x {self.grid[1]}")

    def memory(self, value: Any, shape: Sequence[int], layout: str = "tile") -> Any:
        """A memory configuration from "dram interleaved", "l1 height sharded 64 cores", {"mem", "cores", "grid", "shard"}."""
        ttnn = self.ttnn
        spec = value if isinstance(value, Mapping) else {}
        text = plain(spec.get("mem") if spec else value).replace("_", " ")
        if "sharded" not in text:
            if "l1" in text:
                return ttnn.L1_MEMORY_CONFIG
            if text and "dram" not in text and "default" not in text and "interleaved" not in text and text != "not stated":
                raise Unreadable(f"config: memory {text[:40]!r} is not understood")
            return ttnn.DRAM_MEMORY_CONFIG
        where = f"{text} {plain(spec.get('grid'))}" if spec else text
        unit = TILE if layout == "tile" else 1
        rows = math.prod(shape[:-2]) * (-(-shape[-2] // unit) * unit if len(shape) > 1 else 1)
        width = -(-shape[-1] // unit) * unit
        box = re.search(r"\b(\d+)x(\d+)\b", where)
        count = re.search(r"\b(\d+) cores", where)
        cores = int(spec["cores"]) if spec.get("cores") else int(count[1]) if count else int(box[1]) * int(box[2]) if box else 0
        bracket = re.search(r"\[(\d+),\s*(\d+)\]", str(value))
        if not cores and bracket and ("width" in text or "height" in text):  # shards of a stated size along one dimension
            cores = -(-width // int(bracket[2])) if "width" in text else -(-rows // int(bracket[1]))
        if not cores:
            raise Unreadable("config: the cores of a sharded tensor are not stated")
        if cores > self.grid[0] * self.grid[1]:
            raise Unreadable(f"config: {cores} cores, the grid has {self.grid[0]} x {self.grid[1]}")
        kind = next((k for k in ("height", "width", "block") if k in text), "")
        if not kind:
            raise Unreadable(f"config: memory {text[:40]!r} does not say how it is sharded")
        if spec.get("shard"):
            shard = integers(spec["shard"], "shard")
        elif bracket:
            shard = [int(bracket[1]), int(bracket[2])]
        elif kind == "height":
            shard = [-(-rows // unit // cores) * unit, width]
        elif kind == "width":
            shard = [rows, -(-width // unit // cores) * unit]
        elif box:
            shard = [-(-rows // TILE // int(box[2])) * TILE, -(-width // TILE // int(box[1])) * TILE]
        else:
            raise Unreadable("config: the grid of a block sharded tensor is not stated")
        if box and int(box[1]) * int(box[2]) == cores and int(box[1]) <= self.grid[0] and int(box[2]) <= self.grid[1]:
            grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(int(box[1]) - 1, int(box[2]) - 1))})
        else:
            first = int(spec.get("first_core") or 0)
            places = [ttnn.CoreCoord((first + i) % self.grid[0], (first + i) // self.grid[0]) for i in range(cores)]
            whole = ttnn.num_cores_to_corerangeset(cores, ttnn.CoreCoord(*self.grid), True)
            grid = ttnn.CoreRangeSet({ttnn.CoreRange(place, place) for place in places}) if first else whole
        layouts = {"height": "HEIGHT_SHARDED", "width": "WIDTH_SHARDED", "block": "BLOCK_SHARDED"}
        return ttnn.MemoryConfig(
            getattr(ttnn.TensorMemoryLayout, layouts[kind]), ttnn.BufferType.L1, ttnn.ShardSpec(grid, shard, ttnn.ShardOrientation.ROW_MAJOR)
        )

    def tensor(self, shape: Sequence[int], dtype: str, mem: Any = None, layout: str = "tile") -> Any:
        """A tensor without values."""
        ttnn = self.ttnn
        if math.prod(shape) * (4 if "32" in dtype else 2) > self.most_bytes:
            raise Unreadable("config: the tensors are too large")
        kind = ttnn.ROW_MAJOR_LAYOUT if "row" in plain(layout) else ttnn.TILE_LAYOUT
        memory = self.memory(mem, shape, "row" if "row" in plain(layout) else "tile")
        return ttnn.empty(list(shape), getattr(ttnn, dtype), kind, self.device, memory)

    def on_host(self, shape: Sequence[int]) -> Any:
        """A row-major bfloat16 tensor on the host (weights of a convolution)."""
        ttnn = self.ttnn
        if math.prod(shape) * 2 > self.most_bytes // 32:
            raise Unreadable("config: the tensors are too large")
        return ttnn.zeros(list(shape), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)

    def compute(self, config: Config) -> Any:
        """A compute kernel configuration where a fidelity is stated, else None (the op's own choice). What it does not say has the constructor's value."""
        found = re.search(r"LoFi|HiFi[234]", str(config.get("fidelity") or ""))
        if not found:
            return None
        return self.ttnn.WormholeComputeKernelConfig(
            math_fidelity=getattr(self.ttnn.MathFidelity, found[0]),
            math_approx_mode=bool(config.get("math_approx", False)),
            fp32_dest_acc_en=bool(config.get("fp32_dest_acc", False)),
            packer_l1_acc=bool(config.get("packer_l1_acc", False)),
        )

    def out_memory(self, value: Any, shape: Sequence[int]) -> Any:
        """None where the output's memory is not stated."""
        text = plain(value.get("mem") if isinstance(value, Mapping) else value)
        if not text or "as input" in text or text == "auto":
            return None
        if "sharded" in text and not re.search(r"\d", text) and not (isinstance(value, Mapping) and value.get("cores")):
            layout = "WIDTH" if "width" in text else "HEIGHT" if "height" in text else "BLOCK"
            return getattr(self.ttnn, f"L1_{layout}_SHARDED_MEMORY_CONFIG")
        return self.memory(value, shape)


def grid_text(value: Any) -> tuple[int, int] | None:
    """(x, y) of "10x8 (x by y)"; None where none is named."""
    found = re.search(r"\b(\d+)x(\d+)\b", str(value or ""))
    return (int(found[1]), int(found[2])) if found else None

"""Shapes and core grids: Shape, CoreCoord, CoreRange, CoreRangeSet, CoreGrid. All are immutable."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from ttnn_shim.errors import InvalidArgument

from ttnn._binding import api_class
from ttnn._convert import MISMATCH, check_int, checker, encode_ints, register_class
from ttnn._keyed import Keyed

_U32 = range(2**32)


@api_class("ttnn.Shape")
class Shape:
    """A tensor's shape. Negative indexes count from the end."""

    __slots__ = ("_dims",)

    def __init__(self, shape: Sequence[int] = (), arg: Sequence[int] = ()) -> None:
        self._dims = tuple(shape) + tuple(arg)
        if any(dim not in _U32 for dim in self._dims):
            raise TypeError(f"Shape(): expected dimensions in [0, 2**32), got {list(self._dims)}")

    @classmethod
    def _of(cls, dims: tuple[int, ...]) -> Shape:
        shape = object.__new__(cls)
        shape._dims = dims
        return shape

    @property
    def rank(self) -> int:
        return len(self._dims)

    def to_rank(self, arg: int) -> Shape:
        """Adds or removes leading ones."""
        extra = len(self._dims) - arg
        if extra > 0 and any(dim != 1 for dim in self._dims[:extra]):
            raise InvalidArgument(f"cannot bring {self} to rank {arg}: leading dimensions are not 1", op="ttnn.Shape.to_rank")
        return Shape._of((1,) * -extra + self._dims[max(extra, 0) :])

    def __getitem__(self, arg: int) -> int:
        rank = len(self._dims)
        if not -max(rank, 4) <= arg < rank:
            raise InvalidArgument(f"ShapeBase[] index out of range. {arg} not in [{-max(rank, 4)}, {rank})", op="ttnn.Shape")
        return 1 if arg < -rank else self._dims[arg]

    def __iter__(self) -> Iterator[int]:
        return iter(self._dims)

    def __len__(self) -> int:
        return len(self._dims)

    def __eq__(self, arg: object) -> bool:
        if isinstance(arg, Shape):
            return self._dims == arg._dims
        return isinstance(arg, list | tuple) and self._dims == tuple(arg)

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"Shape({list(self._dims)})"

    def _encode(self) -> bytes:
        return encode_ints(self._dims)


def _shape_from(value: Any) -> Any:
    dims = checker("Sequence[int]")(value, True)
    if dims is MISMATCH or any(dim not in _U32 for dim in dims):
        return MISMATCH
    return Shape._of(dims)


register_class("Shape", Shape, _shape_from)


@api_class("ttnn.CoreCoord")
class CoreCoord(Keyed):
    """A core's logical column x and row y."""

    __slots__ = ("x", "y")
    x: int
    y: int

    def __init__(self, arg0: int = 0, arg1: int = 0, arg: tuple[int, int] | None = None) -> None:
        x, y = (arg0, arg1) if arg is None else arg
        if x < 0 or y < 0:
            raise TypeError(f"__init__(): incompatible function arguments: CoreCoord takes non-negative integers, got {x}, {y}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"property '{name}' of 'CoreCoord' object has no setter")

    def _key(self) -> Any:
        return (self.x, self.y)

    def __eq__(self, arg: object) -> bool:
        """Pairs of integers count as coordinates."""
        return super().__eq__(_coord_from(arg) if isinstance(arg, tuple | list) else arg)

    __hash__ = Keyed.__hash__

    def __repr__(self) -> str:
        return f"{self.x}-{self.y}"

    def to_json(self) -> str:
        return json.dumps({"x": self.x, "y": self.y}, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> CoreCoord:
        data = json.loads(text)
        return CoreCoord(data["x"], data["y"])

    def _encode(self) -> bytes:
        return struct.pack("<cIqq", b"I", 2, self.x, self.y)


def _coord_from(value: Any) -> Any:
    if isinstance(value, tuple | list) and len(value) == 2:
        x, y = check_int(value[0], True), check_int(value[1], True)
        if x is not MISMATCH and y is not MISMATCH and x >= 0 and y >= 0:
            return CoreCoord(x, y)
    return MISMATCH


register_class("CoreCoord", CoreCoord, _coord_from)


@api_class("ttnn.CoreRange")
class CoreRange(Keyed):
    """All cores from start to end, both included."""

    __slots__ = ("end", "start")
    start: CoreCoord
    end: CoreCoord

    def __init__(self, start: CoreCoord, end: CoreCoord) -> None:
        if end.x < start.x or end.y < start.y:
            raise InvalidArgument(f"Invalid core range for start_coord: {start}, end_coord: {end}", op="ttnn.CoreRange")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"property '{name}' of 'CoreRange' object has no setter")

    def _corners(self) -> tuple[int, int, int, int]:
        return (self.start.x, self.start.y, self.end.x, self.end.y)

    def _key(self) -> Any:
        return self._corners()

    def __repr__(self) -> str:
        return f"[{self.start} - {self.end}]"

    def grid_size(self) -> CoreCoord:
        return CoreCoord(self.end.x - self.start.x + 1, self.end.y - self.start.y + 1)

    def contains(self, core: CoreCoord | None = None, core_range: CoreRange | None = None, core_range_set: CoreRangeSet | None = None) -> bool:
        if core is not None:
            return self.start.x <= core.x <= self.end.x and self.start.y <= core.y <= self.end.y
        if core_range is not None:
            return self.contains(core_range.start) and self.contains(core_range.end)
        assert core_range_set is not None
        return all(self.contains(part.start) and self.contains(part.end) for part in core_range_set.ranges())

    def to_json(self) -> str:
        return json.dumps(self._json(), separators=(",", ":"))

    def _json(self) -> dict[str, dict[str, int]]:
        return {"end": {"x": self.end.x, "y": self.end.y}, "start": {"x": self.start.x, "y": self.start.y}}

    @staticmethod
    def from_json(text: str) -> CoreRange:
        return _range_of(json.loads(text))

    def _spec(self) -> str:
        """As the real package prints it inside a ShardSpec."""
        x0, y0, x1, y1 = self._corners()
        return f'{{"start":{{"x":{x0},"y":{y0}}},"end":{{"x":{x1},"y":{y1}}}}}'


def _range_of(data: dict[str, dict[str, int]]) -> CoreRange:
    return CoreRange(CoreCoord(data["start"]["x"], data["start"]["y"]), CoreCoord(data["end"]["x"], data["end"]["y"]))


# The real package converts a tuple of coordinates to a CoreRange nowhere: no implicit conversion.
register_class("CoreRange", CoreRange)


@api_class("ttnn.CoreRangeSet")
class CoreRangeSet:
    """Disjoint ranges of cores, in the order given."""

    __slots__ = ("_blob", "_ranges")

    def __init__(self, core_ranges: Sequence[CoreRange]) -> None:
        self._ranges = tuple(core_ranges)
        self._blob: bytes | None = None
        for i, core_range in enumerate(self._ranges):
            for other in self._ranges[:i]:
                if _overlap(core_range, other):
                    raise InvalidArgument(
                        f"Cannot create CoreRangeSet with specified core ranges because core ranges {other} and {core_range} overlap!",
                        op="ttnn.CoreRangeSet",
                    )

    def ranges(self) -> list[CoreRange]:
        return list(self._ranges)

    def size(self) -> int:
        return len(self._ranges)

    def empty(self) -> bool:
        return not self._ranges

    def num_cores(self) -> int:
        return sum(core_range.grid_size().x * core_range.grid_size().y for core_range in self._ranges)

    def bounding_box(self) -> CoreRange:
        if not self._ranges:
            raise InvalidArgument("Cannot get bounding_box of an empty CoreRangeSet!", op="ttnn.CoreRangeSet")
        x0, y0, x1, y1 = zip(*(core_range._corners() for core_range in self._ranges), strict=True)
        return CoreRange(CoreCoord(min(x0), min(y0)), CoreCoord(max(x1), max(y1)))

    def contains(self, core: CoreCoord | None = None, core_range: CoreRange | None = None, core_range_set: CoreRangeSet | None = None) -> bool:
        if core is not None:
            return any(part.contains(core) for part in self._ranges)
        cores = _cores(CoreRangeSet([core_range])) if core_range is not None else _cores(core_range_set or CoreRangeSet([]))
        return cores <= _cores(self)

    def merge(self, other: CoreRangeSet) -> CoreRangeSet:
        """The union, as few rectangles: rows of cores joined, equal rows stacked."""
        return _from_cores(_cores(self) | _cores(other))

    def subtract(self, arg: CoreRangeSet) -> CoreRangeSet:
        """What is left, as the real package cuts it: left and right of each hole in full height, then above and below."""
        left = list(self._ranges)
        for hole in arg._ranges:
            left = [part for core_range in left for part in _cut(core_range, hole)]
        return CoreRangeSet(left)

    def __eq__(self, arg: object) -> bool:
        return isinstance(arg, CoreRangeSet) and (self._ranges == arg._ranges or _cores(self) == _cores(arg))

    def __ne__(self, arg: object) -> bool:
        return not self.__eq__(arg)

    def __hash__(self) -> int:
        return hash(frozenset(_cores(self)))

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self._ranges)) + "}"

    def to_json(self) -> str:
        return json.dumps([core_range._json() for core_range in self._ranges], separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> CoreRangeSet:
        return CoreRangeSet([_range_of(row) for row in json.loads(text)])

    def _spec(self) -> str:
        return "[" + ", ".join(core_range._spec() for core_range in self._ranges)

    def _encode(self) -> bytes:
        if self._blob is None:
            self._blob = encode_ints([corner for core_range in self._ranges for corner in core_range._corners()])
        return self._blob


def _overlap(a: CoreRange, b: CoreRange) -> bool:
    return a.start.x <= b.end.x and b.start.x <= a.end.x and a.start.y <= b.end.y and b.start.y <= a.end.y


def _cut(area: CoreRange, hole: CoreRange) -> list[CoreRange]:
    if not _overlap(area, hole):
        return [area]
    (ax, ay, bx, by), (hx, hy, kx, ky) = area._corners(), hole._corners()
    corners = ((ax, ay, hx - 1, by), (kx + 1, ay, bx, by), (max(ax, hx), ay, min(bx, kx), hy - 1), (max(ax, hx), ky + 1, min(bx, kx), by))
    return [CoreRange(CoreCoord(x0, y0), CoreCoord(x1, y1)) for x0, y0, x1, y1 in corners if x0 <= x1 and y0 <= y1]


def _cores(ranges: CoreRangeSet) -> set[tuple[int, int]]:
    return {(x, y) for r in ranges._ranges for y in range(r.start.y, r.end.y + 1) for x in range(r.start.x, r.end.x + 1)}


def _from_cores(cores: set[tuple[int, int]]) -> CoreRangeSet:
    open_: dict[tuple[int, int], int] = {}  # (x0, x1) -> first row of a rectangle that reaches the previous row
    done: list[CoreRange] = []
    last = max((y for _, y in cores), default=-1)
    for y in range(last + 2):
        runs = _runs(sorted(x for x, row in cores if row == y))
        for run in [run for run in open_ if run not in runs]:
            done.append(CoreRange(CoreCoord(run[0], open_.pop(run)), CoreCoord(run[1], y - 1)))
        for run in runs:
            open_.setdefault(run, y)
    return CoreRangeSet(done)


def _runs(xs: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for x in xs:
        if runs and runs[-1][1] == x - 1:
            runs[-1] = (runs[-1][0], x)
        else:
            runs.append((x, x))
    return runs


register_class("CoreRangeSet", CoreRangeSet)


@api_class("ttnn.CoreGrid")
class CoreGrid(Keyed):
    """x columns by y rows of cores from the origin."""

    __slots__ = ("x", "y")
    x: int
    y: int

    def __init__(self, x: int, y: int) -> None:
        if x < 0 or y < 0:
            raise TypeError(f"__init__(): incompatible function arguments: CoreGrid takes non-negative integers, got x={x}, y={y}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"property '{name}' of 'CoreGrid' object has no setter")

    @property
    def num_cores(self) -> int:
        return self.x * self.y

    def _key(self) -> Any:
        return (self.x, self.y)

    def __repr__(self) -> str:
        return f"ttnn.CoreGrid(x={self.x}, y={self.y})"

    def _encode(self) -> bytes:
        return struct.pack("<cIqq", b"I", 2, self.x, self.y)


register_class("CoreGrid", CoreGrid)

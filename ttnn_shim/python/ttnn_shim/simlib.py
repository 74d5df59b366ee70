"""The tile simulator's C interface through cffi: price op configurations, read and set machine constants."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from ttnn_shim import blobs
from ttnn_shim.errors import ShimError
from ttnn_shim.native import MARKS, library_path

HERE = Path(__file__).resolve().parent
BOUNDS = ("latency", "compute", "reader", "writer", "dram", "noc")


class SimulatorError(ShimError):
    """The simulator refused a card, a configuration or a constant; the message names it and the reason."""

    title = "simulator"


@dataclass(frozen=True)
class Priced:
    """Prediction for one op configuration (times in ns)."""

    ns: float
    math_ns: float
    wall_ns: float
    cycles: int
    cores: int
    grid: tuple[int, int]
    factory: str
    l1_bytes: int
    modelled: bool
    bound: str
    busy_ns: dict[str, float]
    dram_ns: float
    noc_ns: float
    fpu_utilisation: float
    dram_utilisation: float
    noc_utilisation: float
    ns_error: float = 0.0
    """Relative band of `ns`: four of five published times of this operation lie within it (`error_bands`)."""


def header_text() -> str:
    """The marked region of sim_abi.h, from the installed package or the source tree."""
    for root in (HERE, *HERE.parents[:4]):
        for path in (root / "include" / "ttnn_shim" / "sim_abi.h", root / "ttnn_shim" / "include" / "ttnn_shim" / "sim_abi.h"):
            if path.is_file():
                return path.read_text(encoding="utf-8").split(MARKS[0])[1].split(MARKS[1])[0]
    raise SimulatorError("ttnn_shim/sim_abi.h is not beside the package; reinstall ttnn_shim")


def simulator_library() -> Path:
    """The shared library with the simulator: $TTSIM_LIBRARY, else the one that the package uses."""
    if given := os.environ.get("TTSIM_LIBRARY") or os.environ.get("TTNN_SHIM_LIBRARY"):
        path = Path(given)
        return path / "libttnn_shim.so" if path.is_dir() else path
    if found := library_path():
        return found
    raise SimulatorError("the core of ttnn_shim is not built: install the package, or build ttnn_shim/src/sim/CMakeLists.txt and set TTSIM_LIBRARY")


class Simulator:
    """One loaded library with its handles. Archs are shared by key, configurations by their bytes."""

    def __init__(self, library: Path | None = None) -> None:
        self.ffi: Any = cffi.FFI()
        self.ffi.cdef(header_text())
        self.lib: Any = self.ffi.dlopen(str(library or simulator_library()))
        self.archs: dict[tuple[str, int, int, int], int] = {}
        self.configs: dict[bytes, int] = {}
        self._kept: dict[int, list[float]] | None = None  # within `restoring_constants`

    def _fail(self) -> SimulatorError:
        return SimulatorError(self.ffi.string(self.lib.ttsim_error()).decode())

    def arch(self, card: str, grid: tuple[int, int] = (0, 0), dram_banks: int = 0) -> int:
        """Handle of a machine; grid (0, 0) and 0 banks mean the card's own."""
        key = (card, *grid, dram_banks)
        if key not in self.archs:
            handle = int(self.lib.ttsim_arch_new(str(card).encode("utf-8", "backslashreplace"), *grid, dram_banks))
            if handle < 0:
                raise self._fail()
            self.archs[key] = handle
            self._keep(handle)
        return self.archs[key]

    def config(self, config: Mapping[str, Any]) -> int:
        """Handle of an op configuration. Raises: TypeError or ValueError for a value that is not plain data."""
        try:
            blob = blobs.fields(config)
        except (OverflowError, struct.error) as error:
            raise SimulatorError(f"op configuration: {error}") from None
        if blob not in self.configs:
            handle = int(self.lib.ttsim_config_new(blob, len(blob)))
            if handle < 0:
                raise self._fail()
            self.configs[blob] = handle
        return self.configs[blob]

    def price(self, arch: int, config: int) -> Priced:
        """Plan and price one configuration; SimulatorError when no program fits."""
        out = self.ffi.new("ttsim_result*")
        if self.lib.ttsim_price(arch, config, out) != 0:
            raise self._fail()
        names = ("reader", "compute", "writer", "sender")
        return Priced(
            ns=out.ns,
            math_ns=out.math_ns,
            wall_ns=out.wall_ns,
            cycles=out.cycles,
            cores=out.cores,
            grid=(out.grid_x, out.grid_y),
            factory=self.ffi.string(out.factory).decode(),
            l1_bytes=out.l1_bytes,
            modelled=bool(out.modelled),
            bound=BOUNDS[out.bound],
            busy_ns=dict(zip(names, list(out.busy_ns), strict=True)),
            dram_ns=out.dram_ns,
            noc_ns=out.noc_ns,
            fpu_utilisation=out.fpu_utilisation,
            dram_utilisation=out.dram_utilisation,
            noc_utilisation=out.noc_utilisation,
        )

    def price_many(self, archs: Sequence[int], configs: Sequence[int]) -> list[tuple[float, float, float]]:
        """(ns, math_ns, wall_ns) per pair; NaN where no program fits."""
        n = len(archs)
        out = self.ffi.new("double[]", 3 * n)
        if self.lib.ttsim_price_many(n, self.ffi.new("int[]", list(archs)), self.ffi.new("int[]", list(configs)), out) != 0:
            raise self._fail()
        flat = self.ffi.unpack(out, 3 * n) if n else []
        return [(flat[3 * i], flat[3 * i + 1], flat[3 * i + 2]) for i in range(n)]

    def constant_names(self) -> list[str]:
        """All machine constants."""
        return str(self.ffi.string(self.lib.ttsim_constant_names()).decode()).split("\n")

    def get(self, arch: int, name: str) -> float:
        """A machine constant."""
        value = self.ffi.new("double*")
        if self.lib.ttsim_get_constant(arch, name.encode(), value) != 0:
            raise self._fail()
        return float(value[0])

    def set(self, archs: Iterable[int], name: str, value: float) -> None:
        """Set a machine constant on the given archs."""
        if not math.isfinite(value):
            raise SimulatorError(f"constant {name}: {value} is not finite")
        for arch in archs:
            if self.lib.ttsim_set_constant(arch, name.encode(), value) != 0:
                raise self._fail()

    @contextmanager
    def restoring_constants(self) -> Iterator[None]:
        """Context manager: afterwards all machines have their earlier constants, or those of their creation."""
        names = self.constant_names()
        outer, self._kept = self._kept, {}
        for arch in self.archs.values():
            self._keep(arch)
        try:
            yield
        finally:
            for arch, values in self._kept.items():
                for name, value in zip(names, values, strict=True):
                    self.set([arch], name, value)
            self._kept = outer

    def _keep(self, arch: int) -> None:
        if self._kept is not None and arch not in self._kept:
            self._kept[arch] = [self.get(arch, name) for name in self.constant_names()]


@cache
def simulator() -> Simulator:
    """The process-wide simulator."""
    return Simulator()

"""System descriptors (`.ttsys`): schemas of every age, which card one describes, and a descriptor for each card that is modelled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alchemist.errors import OptionError, UserError
from alchemist.toolchain import flatbuffer
from alchemist.toolchain.flatbuffer import TEXT, TTSYS, U32, U64, Ages, Kind, Record, Scalar, Struct, Table, Vector
from alchemist.version import VERSION

VERSION_STRUCT = Struct("HHI", 4, ("major", "minor", "patch"))
DIM2D = Struct("ii", 4, ("y", "x"))
DATA_TYPES = tuple("f32 f16 bf16 bfp_f8 bfp_bf8 bfp_f4 bfp_bf4 bfp_f2 bfp_bf2 u32 u16 u8 si32 f64 si64 u64 si16 si8 i1".split())
_TYPES, _TILES = ("supported_data_types", Vector(Scalar("H", DATA_TYPES))), ("supported_tile_sizes", Vector(DIM2D))
_BASES = tuple((name, U32) for name in ("l1_unreserved_base", "erisc_l1_unreserved_base", "dram_unreserved_base", "dram_unreserved_end"))
_DRAM: tuple[tuple[str, Kind], ...] = (("num_dram_channels", U32), ("dram_channel_size", U64))
_ALIGN = tuple((f"{name}_address_align_bytes", U32) for name in ("noc_l1", "pcie", "noc_dram"))
_HEAD, _L1 = (("arch", U32), ("grid_size", DIM2D)), ("l1_size", U64)
_OLD_CHIP: tuple[tuple[str, Kind | None], ...] = (*_HEAD, _L1, *_DRAM, *_ALIGN)
_CHIP = Ages("ChipDesc", (  # slots up to which a chip is of that age: 2024-08, 2024-09 to 2025-05, 2025-06 on
    (9, Table("ChipDesc", (*_OLD_CHIP, ("physical_cores", None)))),
    (16, Table("ChipDesc", (*_OLD_CHIP, *_BASES, ("physical_cores", None), _TYPES, _TILES, ("num_cbs", U32)))),
    (22, Table("ChipDesc", (
        *_HEAD, ("coord_translation_offsets", DIM2D), _L1, *_DRAM, *_ALIGN, *_BASES, _TYPES, _TILES,
        *((name, U32) for name in ("dst_physical_size_tiles", "num_cbs", "num_compute_threads", "num_datamovement_threads")),
        ("dram_grid_size", DIM2D), ("dram_bank_to_logical_worker_noc0", Vector(DIM2D)), ("dram_bank_to_logical_worker_noc1", Vector(DIM2D)),
    ))),
))  # fmt: skip
_CPU = ("cpu_descs", Vector(Table("CPUDesc", (("role", Scalar("B", ("host", "device"))), ("target_triple", TEXT)))))
_COORDS = ("chip_coords", Vector(Struct("IIII", 4, ("rack", "shelf", "y", "x"))))
_CHIPS = (
    ("chip_descs", Vector(_CHIP)), ("chip_desc_indices", Vector(U32)), ("chip_capabilities", Vector(U32)), _COORDS,
    ("chip_channels", Vector(Struct("IiiIii", 4, ("device_id0", "y0", "x0", "device_id1", "y1", "x1")))),
)  # fmt: skip
SYSTEM_DESC = Ages("SystemDesc", ((5, Table("SystemDesc", (*_CHIPS[:-1], ("chip_channels", None)))), (6, Table("SystemDesc", (_CPU, *_CHIPS)))))
ROOT = Ages("SystemDescRoot", (
    (4, Table("SystemDescRoot", (("version", VERSION_STRUCT), ("ttmlir_git_hash", TEXT), ("product_identifier", TEXT), ("system_desc", SYSTEM_DESC)))),
    (5, Table("SystemDescRoot", (
        ("version", VERSION_STRUCT), ("schema_hash", TEXT), ("ttmlir_git_hash", TEXT), ("product_identifier", TEXT), ("system_desc", SYSTEM_DESC),
    ))),
))  # fmt: skip

# --- Facts of captured descriptors (tt-xla, tests/cpu_compile_only/system_descs, 2026-08) -------------------------------------

_SHARED: dict[str, Any] = {
    "supported_data_types": DATA_TYPES[:13], "supported_tile_sizes": tuple((y, x) for x in (16, 32) for y in (4, 16, 32)),
    "dst_physical_size_tiles": 16, "num_cbs": 64, "num_compute_threads": 1, "num_datamovement_threads": 2,
}  # fmt: skip
_N150_WORKERS = ((7, 3), (0, 0), (4, 0), (5, 0), (0, 4), (7, 7), (1, 4), (6, 4), (3, 6), (2, 4), (4, 4), (5, 4))
_N300_WORKERS = ((7, 3), (0, 0), (3, 0), (4, 0), (0, 4), (7, 7), (1, 4), (6, 4), (5, 4), (2, 4), (3, 4), (4, 4))
_P150_WORKERS = ((9, 0), (0, 0), (7, 0), (3, 0), (9, 6), (1, 6), (6, 6), (4, 6))


def _wormhole(workers: tuple[tuple[int, int], ...], dram_end: int) -> dict[str, Any]:
    return _chip(0, (8, 8), (18, 18), 1499136, (12, 1 << 30), (16, 32, 32), (103776, 98304, 1920032, dram_end), workers)


def _blackhole(banks: int) -> dict[str, Any]:
    return _chip(1, (10, 11), (2, 1), 1572864, (banks, 4278190080), (16, 64, 64), (111104, 87872, 4800064, 4276440192), _P150_WORKERS[:banks])


def _chip(arch: int, grid: Any, offsets: Any, l1: int, dram: Any, align: Any, bases: Any, workers: Any) -> dict[str, Any]:
    values = {"arch": arch, "grid_size": grid, "coord_translation_offsets": offsets, "l1_size": l1}
    values |= dict(zip((name for name, _ in (*_DRAM, *_ALIGN, *_BASES)), (*dram, *align, *bases), strict=True))
    chip = values | _SHARED | {"dram_grid_size": (1, dram[0])}
    return chip | {f"dram_bank_to_logical_worker_noc{noc}": workers for noc in (0, 1)}


_CARDS = {  # chips of each modelled card; of a p100 no descriptor was captured: a p150's with seven banks of DRAM
    "n150": [_wormhole(_N150_WORKERS, 1073119168)],
    "n300": [_wormhole(_N300_WORKERS, 1073162400), _wormhole(_N150_WORKERS, 1073171040)],
    "p100": [_blackhole(7)],
    "p150": [_blackhole(8)],
}
_BY_CHANNELS = {12: "wormhole_b0", 8: "blackhole", 7: "blackhole"}


# --- Reading ----------------------------------------------------------------------------------------------------------------


def read_descriptor(path: str | Path) -> Record:
    """The root table. Raises: FileError; FlatbufferError: another kind of file, or a damaged one."""
    return flatbuffer.read_file(path, {TTSYS: ROOT})[1]


def architecture(chip: Mapping[str, Any]) -> str:
    """By the chip's DRAM: the number of an architecture changed its meaning on 2026-02-07 (1 was Wormhole, and is Blackhole).

    Raises:
        UserError: a chip without a model.
    """
    name = _BY_CHANNELS.get(chip.get("num_dram_channels", 0))
    if name is None:
        got = f"architecture number {chip.get('arch', 0)}, {chip.get('num_dram_channels', 0)} DRAM channels"
        raise UserError("the simulator has no model of this chip", expected=", ".join(_CARDS), got=got, hint="choose one of these cards with --card")
    return name


def card_of(system: Mapping[str, Any]) -> tuple[str, int]:
    """The modelled card with such chips, and the number of chips. Raises: UserError."""
    chips = system.get("chip_descs", ())
    count = len(system.get("chip_desc_indices", chips)) or len(chips)
    if not chips:
        raise UserError("a system descriptor without chips", expected="one chip or more", got="none")
    if architecture(chips[0]) == "wormhole_b0":
        return ("n150" if count == 1 else "n300"), count
    return ("p100" if chips[0].get("num_dram_channels") == 7 else "p150"), count


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """What keeps a program for one system from another one, a line each: number of chips, architecture, and every number of a chip."""
    lines = []
    left, right = first.get("chip_descs", ()), second.get("chip_descs", ())
    if len(left) != len(right):
        lines.append(f"chips: {len(left)} != {len(right)}")
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if architecture(a) != architecture(b):
            lines.append(f"chip {index}: architecture: {architecture(a)} != {architecture(b)}")
        common = [name for name in a if name in b and name != "arch" and not name.startswith("dram_bank_to")]
        lines += [f"chip {index}: {name}: {a[name]} != {b[name]}" for name in common if a[name] != b[name]]
    return lines


# --- Writing ----------------------------------------------------------------------------------------------------------------


def system_of(card: str) -> dict[str, Any]:
    """The system descriptor of a modelled card, as captured ones have it. Raises: OptionError."""
    if card not in _CARDS:
        raise OptionError("unknown card", expected=", ".join(_CARDS), got=card[:60])
    chips = _CARDS[card]
    return {
        "cpu_descs": [{"role": "host", "target_triple": "x86_64-pc-linux"}], "chip_descs": chips, "chip_desc_indices": list(range(len(chips))),
        "chip_capabilities": [1, 0][: len(chips)], "chip_coords": [(0, 0, 0, 0)], "chip_channels": [(0, 9, 0, 1, 1, 0)] if len(chips) > 1 else [],
    }  # fmt: skip


def descriptor(card: str, template: Mapping[str, Any] | None = None) -> bytes:
    """A `.ttsys` of a card. template: root of a real file, whose schema hash, git hash, version and product its build then accepts. Raises: OptionError."""
    base = template or {}
    values = {
        "version": base.get("version", tuple(int(part) for part in VERSION.split(".")[:3])), "schema_hash": base.get("schema_hash", "alchemist"),
        "ttmlir_git_hash": base.get("ttmlir_git_hash", f"alchemist {VERSION}"), "product_identifier": base.get("product_identifier", "unknown"),
        "system_desc": system_of(card),
    }  # fmt: skip
    return flatbuffer.write(ROOT.tables[-1][1], values, TTSYS)

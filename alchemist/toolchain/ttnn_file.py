"""`.ttnn` files: the module's text, programs with their tensors, versions; both envelopes of tt-mlir.

Only the ids of the root, of programs and of tensors are used: they are stable, the tables of ops are not (131 kinds of ops, at
other numbers every few weeks). The text in the file has everything that the ops' tables have. A file that we write has the
text, programs, tensors and debug strings, but no tables of ops and a schema hash of our own: a real runtime refuses it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from alchemist.errors import FlatbufferError, UserError, quoted
from alchemist.source_text import read_bytes
from alchemist.toolchain import flatbuffer
from alchemist.toolchain.descriptors import DATA_TYPES, DIM2D, SYSTEM_DESC, VERSION_STRUCT
from alchemist.toolchain.flatbuffer import BOOL, I32, TEXT, TTNN, U8, U16, U32, U64, Ages, Record, Scalar, Struct, Table, Vector

# --- Schemas: fields by id (Facts: tt-mlir's include/ttmlir/Target/{Common,TTNN}/*.fbs, 2024-08 to 2026-08) -------------------

_CORE_RANGES = Table("CoreRangeSet", (("core_ranges", Vector(Struct("QQQQ", 8, ("start_x", "start_y", "end_x", "end_y")))),))
_SHARD = (("core_range_set", _CORE_RANGES), ("shape", Vector(I32)), ("orientation", Scalar("I", ("row_major", "col_major"))))
_MEMORY_CONFIG = Table("MemoryConfig", (
    ("tensor_memory_layout", Scalar("H", ("interleaved", "height_sharded", "width_sharded", "block_sharded", "nd_sharded"))),
    ("buffer_type", Scalar("H", ("dram", "l1", "system_memory", "l1_small", "trace"))),
    ("shard_spec", Table("ShardSpec", _SHARD)),
    ("nd_shard_spec", Table("NDShardSpec", (*_SHARD, ("distribution_strategy", U32)))),
))  # fmt: skip
_TENSOR = Table("TensorRef", (("global_id", U32), ("desc", Table("TensorDesc", (
    ("shape", Vector(I32)), ("mesh_shape", Vector(I32)),
    ("layout", Table("LayoutDesc", (("oob_val", U16), ("memory_desc", Table("MemoryDesc", (
        ("storage_type", Scalar("H", ("host", "device"))), ("tile_shape", DIM2D), ("data_type", Scalar("H", DATA_TYPES)), ("memory_config", _MEMORY_CONFIG),
    )))))),
    ("shard_status", Scalar("I", ("presharded", "unsharded"))), ("local_shape", Vector(I32)),
)))))  # fmt: skip
_OLD_MEMORY = (
    ("shape", Vector(I32)), ("tile_shape", DIM2D), ("data_type", Scalar("H", DATA_TYPES)),
    ("memory_space", Scalar("H", ("system", "mmio", "dram", "l1"))),
    ("memory_layout", Scalar("H", ("", "interleaved", "single_bank", "height_sharded", "width_sharded", "block_sharded"))), ("size", U64),
)  # fmt: skip
_OLD_MEMORY_DESC = Ages("MemoryDesc", ((5, Table("MemoryDesc", (*_OLD_MEMORY[:4], _OLD_MEMORY[5]))), (6, Table("MemoryDesc", _OLD_MEMORY))))
_OLD_LAYOUT = Table("LayoutDesc", (("stride", Vector(I32)), ("oob_val", U32), ("core_range_set", None), ("memory_desc", _OLD_MEMORY_DESC)))
_OLD_DESC = Table("TensorDesc", (("shape", Vector(I32)), ("layout", _OLD_LAYOUT)))
_OLD_TENSOR = Table("TensorRef", (("global_id", U32), ("address", U64), ("size", U64), ("desc", _OLD_DESC)))
_MLIR = Table("MLIR", (("name", TEXT), ("source", TEXT)))
_DYLIB = Table("DynamicLib", (("dylib_id", U32), ("raw_file", Vector(U8))))
_OP = Table("Operation", (("type_type", None), ("type", None), ("debug_info", TEXT), ("loc_info", TEXT)))
_DEBUG = Table("DebugInfo", (("cpp", TEXT), ("mlir_stages", Vector(_MLIR)), ("golden_info", None)))
_OLD_DEBUG = Table("DebugInfo", (("mlir", _MLIR), ("cpp", TEXT)))


def _program(tensor: Table | None, debug: Table, *between: tuple[str, Any]) -> Table:
    tensors = None if tensor is None else Vector(tensor)
    head = (("name", TEXT), ("inputs", tensors), ("outputs", tensors), ("operations", Vector(_OP) if tensor else None))
    return Table("Program", (*head, *between, ("debug_info", debug), ("private", BOOL), ("mesh_shape", DIM2D), ("semaphore_inputs", None)))


def _root(with_tensors: bool) -> Ages:
    """with_tensors: False leaves out what only some commands need, and what differs most between ages."""
    dylibs = ("dylibs", Vector(_DYLIB) if with_tensors else None)
    old = _OLD_TENSOR if with_tensors else None
    old_program = Ages("Program", ((5, _program(old, _OLD_DEBUG)), (9, _program(old, _OLD_DEBUG, dylibs))))
    head = (("version", VERSION_STRUCT), ("schema_hash", TEXT), ("ttmlir_git_hash", TEXT))
    new_program = _program(_TENSOR if with_tensors else None, _DEBUG, dylibs)
    return Ages("TTNNBinary", (
        (4, Table("TTNNBinary", (head[0], head[2], ("system_desc", SYSTEM_DESC if with_tensors else None), ("programs", Vector(old_program))))),
        (6, Table("TTNNBinary", (*head, ("system_desc", SYSTEM_DESC if with_tensors else None), ("mlir", _MLIR), ("programs", Vector(new_program))))),
    ))  # fmt: skip


_WHOLE, _TEXT_ONLY = _root(True), _root(False)
BINARY = _WHOLE.tables[-1][1]
"""The schema that files are written by."""


# --- Reading ----------------------------------------------------------------------------------------------------------------


def read_ttnn(source: str | Path | bytes, name: str = "", *, text_only: bool = False) -> Record:
    """The root table; files of before June 2025 get its field `mlir` from their first program.

    text_only: without tensors, ops and libraries, whose tables differ most between ages.

    Raises:
        FileError: cannot be read. FlatbufferError: another kind of file, a damaged one, or one without a module's text.
    """
    data = source if isinstance(source, bytes) else read_bytes(source)
    name = name or (str(source) if not isinstance(source, bytes) else "<bytes>")
    _, root = flatbuffer.read(data, name, {TTNN: _TEXT_ONLY if text_only else _WHOLE})
    if "mlir" not in root:
        stored = [program["debug_info"]["mlir"] for program in root.get("programs", ()) if "mlir" in program.get("debug_info", {})]
        if stored:
            root["mlir"] = stored[0]
    if "source" not in root.get("mlir", {}):
        raise FlatbufferError("the binary has no module text", location=f"{name}: byte {root.at}", hint="compile the model again, without stripping debug info")
    return root


def read_module_text(source: str | Path | BinaryIO) -> str:
    """MLIR text: a file of it, or what a `.ttnn` holds. `-` streams too. Bytes that are no UTF-8 become U+FFFD.

    Raises:
        FileError: not there, not readable, too large. FlatbufferError: a damaged `.ttnn`, or a binary without a module.
    """
    data = read_bytes(source)
    name = str(source) if isinstance(source, str | Path) else "<stdin>"
    if flatbuffer.identifier(data) or name.endswith((".ttnn", ".ttm", ".ttb", ".ttsys")):
        return str(read_ttnn(data, name, text_only=True)["mlir"]["source"])
    return data.decode("utf-8", "replace")


def check_one_chip(path: Path, entry: str = "") -> None:
    """Raises UserError for a binary whose program runs on several chips."""
    for program in read_ttnn(path)["programs"]:
        rows, columns = program.get("mesh_shape", (1, 1))
        if rows * columns > 1 and entry in ("", program.get("name")):
            raise UserError(
                f"the program is for {rows * columns} chips", location=f"{path}: program {quoted(program.get('name'))}", expected="mesh 1x1",
                got=f"mesh {rows}x{columns}", hint="compile the model for one chip; read, check and opt take this file",
            )  # fmt: skip

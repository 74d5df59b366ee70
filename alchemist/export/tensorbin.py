"""Writes and reads `.tensorbin`, the real ttnn package's tensor file, without the shim.

Layout of a file: u64 header size H, a flatbuffer (root table `Tensor`) zero padded so that 8 + H is a multiple of 64, then the
data of the shards: one, or that of each chip of a mesh, where chips with the same part share it. Row-major data is the logical shape
in C order; tile data is 32x32 tiles of four 16x16 faces with the last two dimensions padded. The C++ core has its own writer; a test
compares the two.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flatbuffers
import ml_dtypes
import numpy as np

from alchemist.errors import FlatbufferError, TensorFileError
from alchemist.export.shared import Twins, clone_twin
from alchemist.frontends.base import ONE_CHIP, Mesh, Placement
from alchemist.ir.layout import TILE_EDGE, tile_padded
from alchemist.mesh.placements import parts
from alchemist.toolchain.flatbuffer import U8, U32, Boxed, Struct, Table, Vector, read_root

FACE_EDGE = 16
_ALIGNMENT_BYTES = 64
_BUFFER_INLINE_FILE_STORAGE = 1
_PAGE_ROW_MAJOR, _PAGE_TILE = 1, 2

# ttnn DataType code -> numpy dtype. Block formats (3 bfloat8_b, 4 bfloat4_b) are written by the core only.
DTYPE_CODES: dict[str, int] = {"bfloat16": 0, "float32": 1, "uint32": 2, "uint8": 5, "uint16": 6, "int32": 7}
_NUMPY_DTYPES: dict[int, np.dtype[Any]] = {code: np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name) for name, code in DTYPE_CODES.items()}


@dataclass(frozen=True, slots=True)
class WrittenTensor:
    """File size and SHA-256 of a written file, for the manifest."""

    size_bytes: int
    sha256: str


def write_tensor(
    path: Path,
    values: np.ndarray[Any, Any],
    *,
    tiled: bool = False,
    shared: Twins | None = None,
    mesh: Mesh = ONE_CHIP,
    placement: Placement = (None, None),
) -> WrittenTensor:
    """Writes `values` (any shape; bfloat16, float32, uint32, int32, uint16 or uint8) as a host tensor.

    shared: files that `path` may become a clone of if the contents are equal. placement: how it is sharded over the mesh.

    Raises:
        TensorFileError: the dtype has no TTNN form.
    """
    code = DTYPE_CODES.get(values.dtype.name)
    if code is None:
        raise TensorFileError(f"dtype {values.dtype.name} cannot be stored", expected=", ".join(DTYPE_CODES), got=values.dtype.name)
    chips = parts(values, placement, mesh)
    payloads: list[Any] = []
    places: dict[int, tuple[int, int]] = {}  # id of a part -> where it is in the data region, in bytes
    end = 0
    for part in {id(part): part for part in chips}.values():
        data = np.ascontiguousarray(_to_tiles(part) if tiled else part)
        payloads += [bytes(-end % _ALIGNMENT_BYTES), data.reshape(-1).view(np.uint8) if data.size else b""]
        start = end + len(payloads[-2])
        places[id(part)], end = (start, data.nbytes), start + data.nbytes
    header = _header(chips[0].shape, code, tiled, [places[id(part)] for part in chips], mesh.extents, placement)
    digest = hashlib.sha256(header)
    size_bytes = len(header) + end

    def hash_data(into: Any) -> None:
        for payload in payloads:
            into.update(payload)

    if shared and any(size == size_bytes for size, _ in shared):
        hash_data(digest)
        twin = shared.get((size_bytes, digest.hexdigest()))
        if twin is not None and clone_twin(twin, path):
            return WrittenTensor(size_bytes, digest.hexdigest())
        digest = hashlib.sha256(header)
    hashing = threading.Thread(target=hash_data, args=(digest,))  # beside the writing: both leave Python for large data
    hashing.start()
    try:
        with open(path, "wb") as file:
            file.write(header)
            file.writelines(payloads)
    finally:
        hashing.join()
    return WrittenTensor(size_bytes, digest.hexdigest())


def read_tensor(path: Path) -> np.ndarray[Any, Any]:
    """Reads a file that `write_tensor` can write back.

    Raises:
        TensorFileError: truncated or malformed file, or a dtype outside `DTYPE_CODES`.
    """
    size_bytes = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(8)
        header_bytes = int.from_bytes(head, "little")
        if len(head) < 8 or header_bytes > size_bytes - 8 or header_bytes < 8:
            raise TensorFileError("header is longer than the file", location=str(path), got=f"{size_bytes} bytes")
        header = file.read(header_bytes)
        try:
            shape, code, tiled, offset, nbytes = _parse_header(header)
        except (FlatbufferError, KeyError, ValueError) as error:
            raise TensorFileError("malformed header", location=str(path)) from error
        dtype = _NUMPY_DTYPES.get(code)
        if dtype is None:
            raise TensorFileError(f"unsupported data type code {code}", location=str(path))
        stored = tile_padded(shape) if tiled else shape
        count = 1
        for extent in stored:
            count *= extent
        if nbytes != count * dtype.itemsize or 8 + header_bytes + offset + nbytes > size_bytes:
            raise TensorFileError(
                "the data region does not match the file size",
                location=str(path),
                expected=f"{count * dtype.itemsize} bytes",
                got=f"{size_bytes - 8 - header_bytes} bytes",
            )
        file.seek(8 + header_bytes + offset)
        flat = np.frombuffer(file.read(nbytes), dtype=dtype)
    return _from_tiles(flat.reshape(stored), shape) if tiled else flat.reshape(shape)


def _to_tiles(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    padded_shape = tile_padded(values.shape)
    full = values.reshape((1,) * (2 - values.ndim) + values.shape)
    widths = [(0, to - have) for have, to in zip(full.shape, padded_shape, strict=True)]
    padded = np.pad(full, widths) if any(after for _, after in widths) else full
    *lead, rows, columns = padded_shape
    split = padded.reshape(*lead, rows // TILE_EDGE, 2, FACE_EDGE, columns // TILE_EDGE, 2, FACE_EDGE)
    n = len(lead)
    return split.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2, n + 5)


def _from_tiles(stored: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    *lead, rows, columns = stored.shape
    n = len(lead)
    tiles = stored.reshape(*lead, rows // TILE_EDGE, columns // TILE_EDGE, 2, 2, FACE_EDGE, FACE_EDGE)
    padded = tiles.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3, n + 5).reshape(stored.shape)
    full = (1,) * (2 - len(shape)) + tuple(shape)
    return np.ascontiguousarray(padded[tuple(slice(0, extent) for extent in full)]).reshape(shape)


def _u32_vector(builder: Any, values: tuple[int, ...]) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, dtype=np.uint32)))


def _u32_list(b: Any, values: tuple[int, ...]) -> int:
    """A table with one vector of u32 in field 0: MeshShape, MeshCoordinate."""
    vector = _u32_vector(b, values)
    b.StartObject(1)
    b.PrependUOffsetTRelativeSlot(0, vector, 0)
    return int(b.EndObject())


def _tables(b: Any, tables: Sequence[int]) -> int:
    """A vector of tables."""
    b.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        b.PrependUOffsetTRelative(table)
    return int(b.EndVector())


def _header(
    shape: tuple[int, ...], code: int, tiled: bool, places: Sequence[tuple[int, int]], extents: tuple[int, int] = (1, 1), placement: Placement = (None, None)
) -> bytes:
    """places: offset and size of each chip's part.

    The u64 size and the padded flatbuffer. Slot numbers are the schema's field ids; tables and slots come in the order in which
    the real package writes them, so that a header is the same bytes as its own (a test compares)."""
    b = flatbuffers.Builder(512)

    dimensions = _u32_vector(b, shape)
    alignment = _u32_vector(b, (TILE_EDGE, TILE_EDGE) if tiled else (1,))
    if tiled:
        b.StartObject(3)
        b.PrependUint32Slot(1, TILE_EDGE, 0)
        b.PrependUint32Slot(0, TILE_EDGE, 0)
        tile = b.EndObject()
        b.StartObject(1)
        b.PrependUOffsetTRelativeSlot(0, tile, 0)
    else:
        b.StartObject(0)
    page_config = b.EndObject()
    b.StartObject(4)  # MemoryConfig: interleaved, DRAM (both the schema's defaults)
    memory_config = b.EndObject()
    b.StartObject(5)
    b.PrependUOffsetTRelativeSlot(4, alignment, 0)
    b.PrependUOffsetTRelativeSlot(3, memory_config, 0)
    b.PrependUOffsetTRelativeSlot(2, page_config, 0)
    b.PrependUint8Slot(1, _PAGE_TILE if tiled else _PAGE_ROW_MAJOR, 0)
    b.PrependUint8Slot(0, code, 0)
    layout = b.EndObject()
    b.StartObject(2)
    b.PrependUOffsetTRelativeSlot(1, layout, 0)
    b.PrependUOffsetTRelativeSlot(0, dimensions, 0)
    spec = b.EndObject()

    coordinates = [(row, column) for row in range(extents[0]) for column in range(extents[1])]
    shards = []
    for position, (offset, nbytes) in zip(coordinates, places, strict=True):
        coordinate = _u32_list(b, position)
        b.Prep(8, 16)  # InlineFileStorage is a bare struct {u64 offset, u64 size}, pointed at by the union
        b.PrependUint64(nbytes)
        b.PrependUint64(offset)
        storage = b.Offset()
        b.StartObject(3)
        b.PrependUOffsetTRelativeSlot(2, coordinate, 0)
        b.PrependUOffsetTRelativeSlot(1, storage, 0)
        b.PrependUint8Slot(0, _BUFFER_INLINE_FILE_STORAGE, 0)
        shards.append(b.EndObject())
    shard_table = _tables(b, shards)
    mesh_shape = _u32_list(b, extents)

    alone = extents == (1, 1)
    distribution = _u32_list(b, (1,) if alone else extents)  # TensorTopology
    cuts = []
    for dim in placement[:1] if alone else placement:
        b.StartObject(2)
        b.PrependInt32Slot(1, -1 if dim is None else dim, 0)
        b.PrependUint8Slot(0, int(dim is not None), 0)
        cuts.append(b.EndObject())
    placements = _tables(b, cuts)
    mesh_coordinates = _tables(b, [_u32_list(b, coordinate) for coordinate in coordinates])
    b.StartObject(3)
    b.PrependUOffsetTRelativeSlot(2, mesh_coordinates, 0)
    b.PrependUOffsetTRelativeSlot(1, placements, 0)
    b.PrependUOffsetTRelativeSlot(0, distribution, 0)
    topology = b.EndObject()

    b.StartObject(4)
    b.PrependUOffsetTRelativeSlot(3, topology, 0)
    b.PrependUOffsetTRelativeSlot(2, shard_table, 0)
    b.PrependUOffsetTRelativeSlot(1, mesh_shape, 0)
    b.PrependUOffsetTRelativeSlot(0, spec, 0)
    b.Finish(b.EndObject())

    buffer = bytes(b.Output())
    padded_bytes = -(-(8 + len(buffer)) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES - 8
    return padded_bytes.to_bytes(8, "little") + buffer.ljust(padded_bytes, b"\0")


def _parse_header(buffer: bytes) -> tuple[tuple[int, ...], int, bool, int, int]:
    """(shape, data type code, tiled, data offset, data size in bytes). Raises: FlatbufferError, ValueError."""
    tensor = read_root(buffer, "header", _TENSOR)
    shape, layout = tensor["spec"].get("shape", ()), tensor["spec"]["layout"]
    if len(shape) > _MAX_RANK:
        raise ValueError(f"rank over {_MAX_RANK}")
    (shard,) = tensor["shards"]
    if shard.get("buffer_type") != _BUFFER_INLINE_FILE_STORAGE:
        raise ValueError("shard without inline storage")
    offset, nbytes = shard["buffer"]
    return shape, layout.get("data_type", 0), layout.get("page_type", 0) == _PAGE_TILE, offset, nbytes


_MAX_RANK = 64
_SHARD = Table("Shard", (("buffer_type", U8), ("buffer", Boxed(Struct("QQ", 8, ("offset", "size"))))))
_SPEC = Table("TensorSpec", (("shape", Vector(U32)), ("layout", Table("TensorLayout", (("data_type", U8), ("page_type", U8))))))
_TENSOR = Table("Tensor", (("spec", _SPEC), ("mesh_shape", None), ("shards", Vector(_SHARD))))

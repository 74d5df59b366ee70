"""Tensors of the core: made, and their memory configs read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ttnn_shim.errors import NotSupported, OutOfMemory

from ttnn import _core, _events
from ttnn._convert import encode_fields, encode_ints, name_prefix
from ttnn._decode import decode_blob
from ttnn._enums import ShardDistributionStrategy, ShardOrientation, TensorMemoryLayout
from ttnn._memory import MemoryConfig, NdShardSpec, ShardSpec, Tile, core_ranges

ffi, lib = _core.ffi, _core.lib


def new_handle(
    device: Any,
    dtype: Any,
    layout: Any,
    shape: Sequence[int],
    memory_config: MemoryConfig | None,
    array: np.ndarray[Any, Any] | None,
    source: Any,
    tile: Tile | None = None,
) -> Any:
    """A new tensor of the core, owned by the returned object."""
    if len(shape) > 16:
        raise _core.error(NotSupported, f"tensors have at most 16 dimensions, got {len(shape)}", "ttnn.Tensor")
    fields = [] if memory_config is None else [(name_prefix("memory_config"), memory_config._encode())]
    if tile is not None and tile != Tile([32, 32]):
        fields.append((name_prefix("tile"), encode_ints([*tile.tile_shape, int(tile.transpose_of_faces)])))
    attrs = _core.attrs_of(encode_fields(fields)) if fields else ffi.NULL
    dims = ffi.new("uint32_t[]", list(shape) or [0])
    data = ffi.NULL if array is None or array.size == 0 else ffi.from_buffer(array)
    out = ffi.new("shim_tensor **")
    handle = ffi.NULL if device is None else device._handle
    if device is not None and data != ffi.NULL:
        _events.writes("ttnn.Tensor")
    size = 0 if array is None else array.nbytes
    try:
        status = lib.shim_tensor_new(handle, dtype.value, layout.value, len(shape), dims, attrs, data, size, source.value, out)
    except MemoryError as no_memory:
        raise _core.error(OutOfMemory, f"the host has no memory for a tensor of shape {list(shape)}", "ttnn.Tensor") from no_memory
    _core.check(status, "ttnn.Tensor")
    owned = ffi.gc(out[0], lib.shim_tensor_free)
    if device is not None:
        for watcher in _events.on_allocate.watchers:
            watcher(owned)
    return owned


def read_memory_config(handle: Any, buffer_type: Any) -> MemoryConfig:
    """Decodes the blob that the core gives for a sharded tensor."""
    size = ffi.new("size_t *", 4096)
    blob = ffi.new("char[]", 4096)
    _core.check(lib.shim_tensor_memory_config(handle, blob, size))
    record = decode_blob(bytes(ffi.buffer(blob, size[0])))["memory_config"]
    layout = TensorMemoryLayout[record["memory_layout"]]
    if "nd_shard_spec" in record and "shard_spec" not in record:
        nd = record["nd_shard_spec"]
        strategy = ShardDistributionStrategy[nd["shard_distribution_strategy"]]
        spec = NdShardSpec(nd["shard_shape"], core_ranges(nd["grid"]), ShardOrientation[nd["orientation"]], strategy)
        return MemoryConfig(buffer_type=buffer_type, nd_shard_spec=spec)
    shard = record["shard_spec"]
    pieces = ShardSpec(core_ranges(shard["grid"]), shard["shape"], ShardOrientation[shard["orientation"]])
    return MemoryConfig(layout, buffer_type, pieces).as_of_tensor()


def memory_config_of(shape: Sequence[int], dtype: Any, layout: Any, memory_config: MemoryConfig, tile: Tile) -> MemoryConfig:
    """The memory config of a tensor of this spec."""
    return read_memory_config(new_handle(None, dtype, layout, shape, memory_config, None, dtype, tile), memory_config.buffer_type)

"""`ttnn.Tensor`: a handle to a tensor of the core. Its memory goes back with the last reference, as in the real package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from ttnn_shim.errors import InvalidArgument

from ttnn import _core, _numpy, _places, _print
from ttnn._binding import api_class
from ttnn._convert import register_class
from ttnn._dtypes import BLOCK_FLOATS, L1_ALIGNMENT_BYTES, element_size, tile_bytes
from ttnn._enums import BufferType, DataType, Layout, StorageType, TensorMemoryLayout
from ttnn._events import on_read
from ttnn._grid import Shape
from ttnn._handles import new_handle, read_memory_config
from ttnn._memory import MemoryConfig, Tile
from ttnn._mesh import TensorTopology, coordinates, cuts, spread
from ttnn._names import named
from ttnn._spec import TensorSpec
from ttnn._state import dram_alignment, latest

ffi, lib = _core.ffi, _core.lib
TILE_SIZE = 32
_LAYOUTS = {member.value: member for member in Layout}
_DTYPES = {member.value: member for member in DataType}
_MEMORY_LAYOUTS = {member.value: member for member in TensorMemoryLayout}
_BUFFER_TYPES = {member.value: member for member in BufferType}


def _operator(name: str, reflected: bool = False) -> Any:
    def forward(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return named(name)(self, *args, **kwargs)

    def backward(self: Tensor, other: Any, *args: Any, **kwargs: Any) -> Any:
        return named(name)(other, self, *args, **kwargs)

    return backward if reflected else forward


@api_class("ttnn.Tensor")
class Tensor:
    """See `ttnn.Tensor` of the real package: `Tensor(array, dtype, device, layout)`, `Tensor(list, shape, dtype, layout, device)`."""

    __slots__ = ("__weakref__", "_device", "_handle", "_pad_value", "_padded_values", "_static", "_tensor_id")
    _padded_values: np.ndarray  # of a host tensor that `pad` made
    _pad_value: float  # of the padding of a tensor made here; no program reads padding
    _device: Any
    _handle: Any
    _static: Any
    _tensor_id: int | None

    def __init__(
        self,
        arg: Any = None,
        data: Sequence[Any] | None = None,
        shape: Sequence[int] = (),
        data_type: Any = None,
        layout: Any = None,
        device: Any = None,
        memory_config: MemoryConfig | None = None,
        tile: Tile | None = None,
        pad_value: float | None = None,
        tensor: Any = None,
        mem_config: MemoryConfig | None = None,
        cq_id: Any = None,
        mesh_mapper: Any = None,
        preserve_nan_values: bool = False,
        col_tilize: bool = False,
        enable_bfloat_opt: bool = False,
    ) -> None:
        self._static = None
        self._tensor_id = None
        self._device = device
        self._pad_value = pad_value or 0.0
        if arg is not None:
            self._pad_value = arg._pad_value
            out = ffi.new("shim_tensor **")
            _core.check(lib.shim_tensor_clone_handle(arg._handle, out), "ttnn.Tensor")
            self._handle = ffi.gc(out[0], lib.shim_tensor_free)
            self._device = arg._device
            return
        if tensor is not None:
            array, source = _numpy.as_numpy(tensor, data_type)
        else:
            array, source = _list_array(data or (), shape, data_type)
        dtype = data_type or source
        layout = layout or (Layout.TILE if dtype in BLOCK_FLOATS else Layout.ROW_MAJOR)
        if dtype in BLOCK_FLOATS and layout is not Layout.TILE:
            raise _core.error(InvalidArgument, "Layout must be Layout::TILE for bfloat8_b or bfloat4_b!", "ttnn.Tensor")
        if col_tilize:  # exponents are shared along columns: the values are transposed before they are packed
            if dtype not in BLOCK_FLOATS or array.ndim < 2:
                message = "col_tilize=True requires BFP dtype (bfloat8_b or bfloat4_b) and two dimensions or more"
                raise _core.error(InvalidArgument, message, "ttnn.Tensor")
            array = np.ascontiguousarray(array.swapaxes(-1, -2))
        if enable_bfloat_opt and source is not DataType.FLOAT32:
            raise _core.error(InvalidArgument, "enable_bfloat_opt expects float32 values", "ttnn.Tensor")
        memory, cut = memory_config or mem_config, cuts(mesh_mapper)
        self._handle = new_handle(None if cut else device, dtype, layout, array.shape, memory, array, source, tile)
        if cut:
            parts = spread(self, mesh_mapper)
            self._handle = (parts if device is None else parts.to(device, memory or MemoryConfig()))._handle
            self._static = None

    @classmethod
    def _adopt(cls, handle: Any) -> Tensor:
        """Takes ownership of a `shim_tensor *`."""
        tensor = object.__new__(cls)
        tensor._handle = ffi.gc(handle, lib.shim_tensor_free)
        tensor._static = None
        tensor._tensor_id = None
        tensor._device = None
        tensor._pad_value = 0.0
        return tensor

    # --- facts ---

    def _info(self) -> Any:
        info = ffi.new("shim_tensor_info *")
        _core.check(lib.shim_tensor_get_info(self._handle, info))
        return info

    def _fixed(self) -> Any:
        """Facts that never change, asked once."""
        if self._static is None:
            self._static = self._info()
        return self._static

    def _device_info(self, method: str) -> Any:
        info = self._info()
        if not info.on_device:
            raise _core.error(InvalidArgument, f"StorageType::HOST doesn't support {method} method", f"ttnn.Tensor.{method}")
        if not info.allocated:
            raise _core.error(InvalidArgument, "Buffer is not allocated", f"ttnn.Tensor.{method}")
        return info

    @property
    def shape(self) -> Shape:
        info = self._fixed()
        return Shape._of(tuple(ffi.unpack(info.shape, info.rank)) if info.rank else ())

    @property
    def padded_shape(self) -> Shape:
        if hasattr(self, "_padded_values"):
            return Shape._of(self._padded_values.shape)
        info = self._fixed()
        return Shape._of(tuple(ffi.unpack(info.padded_shape, info.padded_rank)) if info.padded_rank else ())

    @property
    def dtype(self) -> Any:
        return _DTYPES[self._fixed().dtype]

    @property
    def layout(self) -> Any:
        return _LAYOUTS[self._fixed().layout]

    @property
    def tile(self) -> Tile:
        return Tile(list(self._fixed().tile))

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec._of(self.shape, self.dtype, self.layout, self.memory_config(), self.tile)

    @property
    def tensor_id(self) -> int:
        return int(self._fixed().id) if self._tensor_id is None else self._tensor_id

    @tensor_id.setter
    def tensor_id(self, value: int) -> None:
        self._tensor_id = value

    def get_dtype(self) -> Any:
        return self.dtype

    def get_layout(self) -> Any:
        return self.layout

    def get_tile(self) -> Tile:
        return self.tile

    def storage_type(self) -> Any:
        return StorageType.DEVICE if self._fixed().on_device else StorageType.HOST

    def device(self) -> Any:
        """The device that holds the tensor; None on the host and after deallocation."""
        if not self._fixed().on_device or not self.is_allocated():
            return None
        return self._device or latest()

    def devices(self) -> list[Any]:
        device = self.device()
        return [] if device is None else [device]

    def device_coords(self) -> list[Any]:
        return coordinates(self._fixed().mesh)

    def tensor_topology(self) -> Any:
        out = ffi.new("char **")
        _core.check(lib.shim_tensor_topology(self._handle, out), "ttnn.Tensor.tensor_topology")
        return TensorTopology._of(**json.loads(_core.text(ffi.gc(out[0], lib.shim_string_free))))

    def volume(self) -> int:
        """Elements with padding."""
        total = 1
        for dim in self.padded_shape:
            total *= dim
        return total

    def logical_volume(self) -> int:
        return int(self._fixed().volume)

    def element_size(self) -> int:
        """Bytes of an element."""
        return element_size(self.dtype)

    def memory_config(self) -> MemoryConfig:
        info = self._fixed()
        layout, buffer_type = _MEMORY_LAYOUTS[info.memory_layout], _BUFFER_TYPES[info.buffer_type]
        if not info.sharded or info.sharded == 3:
            return MemoryConfig(layout, buffer_type)
        return read_memory_config(self._handle, buffer_type)

    def is_sharded(self) -> bool:
        return bool(self._fixed().sharded)

    def is_allocated(self) -> bool:
        return bool(self._info().allocated)

    def is_per_core_allocated(self) -> bool:
        return False

    def is_range_lockstep_allocated(self) -> bool:
        return False

    def buffer_address(self) -> int:
        """Address in every bank."""
        return int(self._device_info("buffer_address").address)

    def buffer_page_size(self) -> int:
        return int(self._device_info("buffer_page_size").page_bytes)

    def buffer_aligned_page_size(self) -> int:
        info = self._device_info("buffer_aligned_page_size")
        align = L1_ALIGNMENT_BYTES if _BUFFER_TYPES[info.buffer_type] is not BufferType.DRAM else dram_alignment(self.device())
        return -(-int(info.page_bytes) // align) * align

    def buffer_num_pages(self) -> int:
        info = self._device_info("buffer_num_pages")
        bytes_ = self.volume() // 1024 * tile_bytes(self.dtype) if self.layout is Layout.TILE else self.volume() * self.element_size()
        return -(-bytes_ // max(int(info.page_bytes), 1))

    def buffer_unique_id(self) -> int | None:
        info = self._info()
        return int(info.buffer_id) if info.on_device else None

    # --- values ---

    def _read(self, dtype: Any = None) -> np.ndarray[Any, Any]:
        """Logical values as numpy, of `dtype` (a DataType) or of the tensor's own."""
        kind, core_dtype = _numpy.numpy_dtype(dtype or self.dtype)
        for watcher in on_read.watchers:
            if (seen := watcher(self, kind)) is not None:
                return np.asarray(seen)
        array = np.empty(tuple(self.shape), kind)
        if array.size:
            _core.check(lib.shim_tensor_read(self._handle, core_dtype.value, ffi.from_buffer(array), array.nbytes), "ttnn.Tensor.to_numpy")
        return array

    def to_numpy(self, mesh_composer: Any = None) -> np.ndarray[Any, Any]:
        """Logical values. bfloat16 comes as ml_dtypes.bfloat16, or as uint16 bit patterns without ml_dtypes; block floats as float32."""
        return self._whole(mesh_composer)._read()

    def _whole(self, mesh_composer: Any) -> Tensor:
        """The tensor, its parts joined by a composer where one is given."""
        return self if mesh_composer is None else named("aggregate_tensor")(self, mesh_composer)

    def to_torch(self, mesh_composer: Any = None) -> Any:
        return _numpy.to_torch(self._whole(mesh_composer)._read(), self.dtype)

    def to_torch_with_padded_shape(self) -> Any:
        array = self._read()
        pads = [(0, padded - dim) for padded, dim in zip(self.padded_shape, (1,) * (len(self.padded_shape) - array.ndim) + array.shape, strict=True)]
        padded = np.pad(array.reshape((1,) * (len(pads) - array.ndim) + array.shape), pads, constant_values=self._pad_value)
        return _numpy.to_torch(padded, self.dtype)

    def to_list(self) -> Any:
        floating = self.dtype.name in ("BFLOAT16", "FLOAT32", "BFLOAT8_B", "BFLOAT4_B")
        return self._read(DataType.FLOAT32 if floating else None).tolist()

    def item(self) -> Any:
        if self.logical_volume() != 1:
            message = f"tensor.item() requires tensor to have exactly one element, but got {self.logical_volume()} elements"
            raise _core.error(InvalidArgument, message, "ttnn.Tensor.item")
        values = self.to_list()
        while isinstance(values, list):
            values = values[0]
        return values

    # --- moves ---

    def cpu(self, blocking: bool = True, cq_id: Any = None) -> Any:
        return self if self._info().on_device == 0 else named("from_device")(self)

    def to(self, device: Any = None, mem_config: MemoryConfig | None = None, cq_id: Any = None, target_layout: Any = None) -> Any:
        if target_layout is not None:
            return named("to_layout")(self, target_layout)
        return named("to_device")(self, device, memory_config=mem_config or self.memory_config())

    def deallocate(self, force: bool = False) -> None:
        """Gives device memory back now (with force also while other tensors share it). A host tensor is left alone."""
        if self._info().on_device:
            named("deallocate")(self, force)

    def reshape(self, arg0: int = 0, arg1: int = 0, arg2: int = 0, arg3: int = 0, arg: Any = None) -> Any:
        return named("reshape")(self, list(arg) if arg is not None else [arg0, arg1, arg2, arg3])

    def pad(self, arg0: Sequence[int], arg1: Sequence[int], arg2: float) -> Tensor:
        """Host tensors, row-major: values at arg1 of shape arg0. Only the padded shape grows, so the logical values are those of the first corner."""
        self._need_host("pad")
        shape = tuple(self.shape)
        if len(arg0) != len(shape) or any(start + dim > out for start, dim, out in zip(arg1, shape, arg0, strict=True)):
            raise _core.error(InvalidArgument, f"cannot pad {shape} to {list(arg0)} at {list(arg1)}", "ttnn.Tensor.pad")
        array = np.full(tuple(arg0), arg2, dtype=np.float32).astype(self._read().dtype)
        array[tuple(slice(start, start + dim) for start, dim in zip(arg1, shape, strict=True))] = self._read()
        result = Tensor(array[tuple(map(slice, shape))], self.dtype)
        result._padded_values = array
        return result

    def unpad(self, arg0: Sequence[int], arg1: Sequence[int]) -> Tensor:
        """Host tensors: the part from arg0 to arg1 (not included), with the values of the padding."""
        self._need_host("unpad")
        whole = self.padded_shape if self.layout == Layout.ROW_MAJOR else self.shape
        if len(arg0) != len(whole) or any(not 0 <= a < b <= dim for a, b, dim in zip(arg0, arg1, whole, strict=True)):
            raise _core.error(InvalidArgument, f"cannot take [{list(arg0)}, {list(arg1)}) of {whole}", "ttnn.Tensor.unpad")
        values = self._padded_values if hasattr(self, "_padded_values") else self._read()
        return Tensor(values[tuple(slice(a, b) for a, b in zip(arg0, arg1, strict=True))], self.dtype)

    def pad_to_tile(self, arg: float) -> Tensor:
        """Host tensors: padded to whole tiles; the logical tensor is unchanged."""
        self._need_host("pad_to_tile")
        if self.layout == Layout.TILE:
            return Tensor(self)
        shape = tuple(self.shape)
        return self.pad([*shape[:-2], *(-(-extent // TILE_SIZE) * TILE_SIZE for extent in shape[-2:])], [0] * len(shape), arg)

    def unpad_from_tile(self, arg: Sequence[int]) -> Tensor:
        self._need_host("unpad_from_tile")
        if self.layout != Layout.ROW_MAJOR:
            raise _core.error(InvalidArgument, f"expected layout ROW_MAJOR, got {self.layout}; use to_layout", "ttnn.Tensor.unpad_from_tile")
        if any(extent % TILE_SIZE for extent in list(self.padded_shape)[-2:]):
            message = f"expected a padded shape of whole tiles, got {self.padded_shape}; use pad_to_tile"
            raise _core.error(InvalidArgument, message, "ttnn.Tensor.unpad_from_tile")
        return self.unpad([0] * len(arg), arg)

    def host_buffer(self) -> Any:
        self._need_host("host_buffer")
        return _places.DistributedHostBuffer(self._read())

    def extract_shard(self, core_id: int) -> Tensor:
        result: Tensor = _places.extract_shard(self, core_id)
        return result

    def _need_host(self, method: str) -> None:
        if self._info().on_device:
            raise _core.error(InvalidArgument, "expected a host tensor, got StorageType::DEVICE: use from_device", f"ttnn.Tensor.{method}")

    # --- operators ---

    __add__ = _operator("add")
    __radd__ = _operator("add", reflected=True)
    __sub__ = _operator("subtract")
    __rsub__ = _operator("subtract", reflected=True)
    __mul__ = _operator("multiply")
    __rmul__ = _operator("multiply", reflected=True)
    __truediv__ = _operator("divide")
    __rtruediv__ = _operator("rdiv")
    __matmul__ = _operator("matmul")
    __eq__ = _operator("eq")
    __ne__ = _operator("ne")
    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, index: Any) -> Any:
        """Integers, slices, `...`; a slice op, then a reshape where integers drop dimensions. Bounds are not clamped: the slice op refuses them."""
        on_device = self._info().on_device
        starts, ends, steps, kept_dims = _indices(index, tuple(self.shape), on_device=on_device)
        if on_device:
            part = named("slice")(self, starts, ends, steps)
            return part if len(kept_dims) == len(starts) else named("reshape")(part, [part.shape[i] for i in kept_dims])
        # As in the real package, a stop beyond the end gives values that no one wrote.
        extents = [end - start for start, end in zip(starts, ends, strict=True)]
        source = self._read()[tuple(slice(*bounds) for bounds in zip(starts, ends, strict=True))]
        cut = np.zeros(extents, source.dtype)
        cut[tuple(slice(extent) for extent in source.shape)] = source
        part = Tensor(cut.reshape([extents[i] for i in kept_dims]), self.dtype)
        return part if part.layout == self.layout else named("to_layout")(part, self.layout)

    def __iter__(self) -> Any:
        """The parts along the first dimension."""
        return (self[i] for i in range(self.shape[0] if len(self.shape) else 0))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        info = self._info()
        facts = f"shape={self.shape}, dtype=DataType::{self.dtype.name}, layout=Layout::{self.layout.name}"
        if info.on_device and not info.allocated:
            return f"ttnn.Tensor(<buffer is not allocated>, {facts})"
        if not info.has_values and info.volume:
            return f"ttnn.Tensor(<no values: estimate mode>, {facts})"
        floating = self.dtype.name in ("BFLOAT16", "FLOAT32", "BFLOAT8_B", "BFLOAT4_B", "FP8_E4M3")
        if info.mesh[0] * info.mesh[1] > 1:
            return "\n".join(f"device {coordinate}: {part!r}" for coordinate, part in zip(self.device_coords(), named("get_device_tensors")(self), strict=True))
        return f"ttnn.Tensor({_print.values_text(self._read(DataType.FLOAT32 if floating else None))}, {facts})"


def _indices(index: Any, shape: tuple[int, ...], *, on_device: bool) -> tuple[list[int], list[int], list[int], list[int]]:
    """(starts, ends, steps, dimensions kept) of an indexing expression. Negative bounds count from the end."""
    items = list(index) if isinstance(index, tuple | list) else [index]
    dots = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise ValueError("Only one ellipsis ('...') is allowed in a slice.")
    if dots:
        items[dots[0] : dots[0] + 1] = [slice(None)] * (len(shape) - len(items) + 1)
    masked = isinstance(index, Tensor) and len(index.shape) > 0 and index.shape[0] > len(shape)  # its rows count as indices
    if masked or len(items) > len(shape):
        hint = " (a tensor is no index: use ttnn.where, ttnn.gather or ttnn.embedding)" if masked else ""
        raise IndexError(f"Too many indices for tensor of dimension {len(shape)}{hint}")
    items += [slice(None)] * (len(shape) - len(items))
    starts, ends, steps, kept_dims = [], [], [], []
    for dim, (item, size) in enumerate(zip(items, shape, strict=True)):
        if isinstance(item, slice):
            start, stop, step = (item.start or 0), (size if item.stop is None else item.stop), (1 if item.step is None else item.step)
            if not on_device and step != 1:
                raise _core.error(InvalidArgument, "host tensors cannot be accessed with a stride; move the tensor to a device", "ttnn.Tensor.__getitem__")
            if not on_device and (start < 0 or stop < 0):
                raise TypeError("ttnn.Tensor.__getitem__(): host tensors take no negative bounds; move the tensor to a device")
            start, stop = (bound + size if bound < 0 else bound for bound in (start, stop))
            if step < 1 or start < 0 or stop < start:
                reason = f"the step must be at least 1, got {step}" if step < 1 else f"end {stop} must be greater than or equal to start {start}"
                message = f"slice [{item.start}:{item.stop}:{item.step}] of dimension {dim} (size {size}): {reason}"
                raise _core.error(InvalidArgument, message, "ttnn.Tensor.__getitem__")
            kept_dims.append(dim)
        elif isinstance(item, int):
            if not -size <= item < size:
                raise IndexError(f"Index {item} is out of bounds for dimension {dim} of size {size}")
            start, step = item % size, 1
            stop = start + 1
        else:
            raise TypeError(f"Invalid slice type: ttnn.Tensor indices are integers, slices or ellipsis, got {type(item).__name__}")
        starts.append(start)
        ends.append(stop)
        steps.append(step)
    return starts, ends, steps, kept_dims


def _list_array(data: Sequence[Any], shape: Sequence[int], dtype: Any) -> tuple[np.ndarray[Any, Any], Any]:
    """Values given as a flat list."""
    _numpy.check_source("float32" if not data or isinstance(data[0], float) else "int", dtype)
    floating = (bool(data) and isinstance(data[0], float)) or dtype.name not in ("UINT8", "INT8", "UINT16", "UINT32", "INT32")
    volume = 1
    for dim in shape:
        volume *= dim
    if len(data) != volume:
        message = f"Buffer size {len(data)} doesn't match the shape {list(shape)}: expected {volume} values"
        raise _core.error(InvalidArgument, message, "ttnn.Tensor")
    if floating:
        return np.asarray(data, np.float32).reshape(tuple(shape)), DataType.FLOAT32
    # Integers wrap as they do in C.
    return (np.asarray(data, np.int64) & 0xFFFFFFFF).astype(np.uint32).reshape(tuple(shape)), DataType.UINT32


def empty_handle(device: Any, dtype: Any, layout: Any, shape: Sequence[int], memory_config: MemoryConfig | None) -> Tensor:
    """A tensor of zeros."""
    tensor = object.__new__(Tensor)
    tensor._pad_value = 0.0
    tensor._handle = new_handle(device, dtype, layout, shape, memory_config, None, DataType.FLOAT32)
    tensor._static, tensor._tensor_id, tensor._device = None, None, device
    return tensor


register_class("Tensor", Tensor)

"""Host-side functions: torch and numpy in and out, tensor files, sharding helpers, run-time options."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ttnn_shim.errors import InvalidArgument, NotSupported, TensorFileError

from ttnn import _core, _events, _print
from ttnn._binding import api_function
from ttnn._configs import config_class
from ttnn._dtypes import BLOCK_FLOATS, TILE_SIDE, tile_bytes
from ttnn._enums import BufferType, DataType, Layout, ShardOrientation, ShardStrategy, StorageType, TensorMemoryLayout, enum_class
from ttnn._grid import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from ttnn._memory import MemoryConfig, ShardSpec
from ttnn._mesh import ReplicateTensorToMeshWrapper, core_call
from ttnn._names import named
from ttnn._tensor import Tensor, empty_handle

ffi, lib = _core.ffi, _core.lib


@api_function("ttnn.from_torch")
def from_torch(tensor: Any = None, spec: Any = None, cq_id: int | None = None, **options: Any) -> Tensor | None:
    """A tensor from a torch tensor (or array), on the host or on `device`. A host tensor keeps `memory_config` for `Tensor.to(device)`."""
    if tensor is None:
        return None
    if isinstance(tensor, Tensor):
        raise TypeError("ttnn.from_torch(): expected a torch tensor or an array, got a ttnn.Tensor; to move it use ttnn.to_device")
    if spec is not None:
        if any(options.get(name) is not None for name in ("dtype", "layout", "memory_config")):
            raise _core.error(InvalidArgument, "give spec, or dtype, layout and memory_config, not both", "ttnn.from_torch")
        if tuple(tensor.shape) != tuple(spec.shape):
            raise _core.error(InvalidArgument, f"expected shape {spec.shape} as in spec, got {list(tensor.shape)}", "ttnn.from_torch")
        options |= {"dtype": spec.dtype, "layout": spec.layout, "memory_config": spec.memory_config}
        if spec.layout == Layout.TILE:
            options["tile"] = spec.tile
    if isinstance(mapper := options.get("mesh_mapper"), ReplicateTensorToMeshWrapper):
        options["mesh_mapper"] = mapper.unwrap()
    own_names = {"dtype": "data_type", "memory_config": "mem_config"}
    return Tensor(tensor, **{own_names.get(name, name): value for name, value in options.items() if value is not None})


@api_function("ttnn.to_torch")
def to_torch(tensor: Tensor, dtype: Any = None, torch_rank: int | None = None, mesh_composer: Any = None, device: Any = None, cq_id: int | None = None) -> Any:
    """Logical values as a torch tensor; leading ones are squeezed down to `torch_rank`."""
    result = tensor.to_torch(mesh_composer=mesh_composer)
    if torch_rank is not None:
        while result.dim() > torch_rank:
            if result.shape[0] != 1:
                raise _core.error(InvalidArgument, "Unable to squeeze to desired rank!", "ttnn.to_torch")
            result = result.squeeze(0)
    return result if dtype is None else result.to(dtype=dtype)


@api_function("ttnn.pearson_correlation_coefficient")
def pearson_correlation_coefficient(expected: Any, actual: Any) -> float:
    """PCC of two tensors over the values that are finite in both; `actual` may be on a device. Equal constants correlate fully."""
    expected_values, actual_values = ((value.to_torch() if isinstance(value, Tensor) else value).double().flatten().numpy() for value in (expected, actual))
    if expected_values.shape != actual_values.shape:
        message = f"expected tensors of one size, got {expected_values.size} and {actual_values.size} values"
        raise _core.error(InvalidArgument, message, "ttnn.pearson_correlation_coefficient")
    lost = ~np.isfinite(expected_values), ~np.isfinite(actual_values)
    if lost[0].all() or lost[1].all():
        return float(lost[0].all() == lost[1].all())
    both = ~(lost[0] | lost[1])
    expected_values, actual_values = expected_values[both], actual_values[both]
    if expected_values.size < 2 or np.ptp(expected_values) == 0 or np.ptp(actual_values) == 0:
        return float(np.array_equal(expected_values, actual_values))
    return float(np.clip(np.corrcoef(expected_values, actual_values)[0, 1], -1.0, 1.0))


@api_function("ttnn.as_tensor")
def as_tensor(
    tensor: Any,
    dtype: Any = None,
    layout: Any = Layout.ROW_MAJOR,
    device: Any = None,
    memory_config: Any = None,
    cache_file_name: str | None = None,
    preprocess: Callable[[Any], Any] | None = None,
    mesh_mapper: Any = None,
    cache_dump_mode: Any = None,
) -> Any:
    """Like from_torch; with `cache_file_name` the converted tensor is kept in a file beside dtype and layout in its name."""
    if device is not None and memory_config is None:
        raise _core.error(InvalidArgument, "memory_config must be specified when device is specified", "ttnn.as_tensor")

    def convert() -> Any:
        return from_torch(tensor if preprocess is None else preprocess(tensor), dtype, layout=layout, mesh_mapper=mesh_mapper)

    def place(host: Any) -> Any:
        return host if device is None else named("to_device")(host, device, memory_config=memory_config)

    if cache_file_name is None:
        return place(convert())
    name = dtype.name if dtype is not None else "None"
    path = pathlib.Path(f"{cache_file_name}_dtype_{name}_layout_{layout.name if layout is not None else 'None'}.tensorbin")
    if path.exists():
        with contextlib.suppress(TensorFileError):
            cached = load_tensor(path)
            if mesh_mapper is not None or cached.shape == tuple(tensor.shape):
                return place(cached)
    host = convert()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    dump_tensor(temporary, host)
    os.replace(temporary, path)
    return place(host)


@api_function("ttnn.load_tensor")
def load_tensor(file_name: str, device: Any = None) -> Tensor:
    """Reads a .tensorbin file, onto `device` when one is given."""
    if not os.path.exists(file_name):
        raise _core.error(TensorFileError, f"cannot open {file_name!r}: no such file", "ttnn.load_tensor")
    if device is not None:
        _events.writes("ttnn.load_tensor")
    out = ffi.new("shim_tensor **")
    handle = ffi.NULL if device is None else device._handle
    _core.check(lib.shim_tensor_load(os.fsencode(file_name), handle, out), "ttnn.load_tensor")
    tensor = Tensor._adopt(out[0])
    tensor._device = device
    return tensor


@api_function("ttnn.dump_tensor")
def dump_tensor(file_name: str, tensor: Tensor, mode: Any = None) -> None:
    """Writes a .tensorbin file. With one device all modes write the same bytes."""
    if pathlib.Path(file_name).suffix not in (".tensorbin", ".tmp"):
        raise _core.error(InvalidArgument, f"expected a file name that ends in .tensorbin, got {file_name!r}", "ttnn.dump_tensor")
    host = tensor.cpu()
    _core.check(lib.shim_tensor_dump(host._handle, os.fsencode(file_name)), "ttnn.dump_tensor")


@api_function("ttnn.get_device_tensors")
def get_device_tensors(tensor: Tensor) -> list[Tensor]:
    """A tensor of each chip, in row-major order of their coordinates; they hold what the chips' parts hold now."""
    info = tensor._info()
    return [tensor] if info.mesh[0] * info.mesh[1] == 1 else core_call("mesh.get_device_tensors", [tensor])


@api_function("ttnn.allocate_tensor_on_device")
def allocate_tensor_on_device(mesh_device: Any = None, tensor_spec: Any = None, **given: Any) -> Tensor:
    """A device tensor without values of its own."""
    names = ("dtype", "layout", "shape", "memory_config")
    dtype, layout, shape, config = (given.get(name) if tensor_spec is None else getattr(tensor_spec, name) for name in names)
    return empty_handle(mesh_device, dtype, layout, list(shape or ()), config)


@api_function("ttnn.allocate_tensor_on_host")
def allocate_tensor_on_host(mesh_device: Any = None, **given: Any) -> Tensor:
    """A host tensor for copy_device_to_host_tensor."""
    return allocate_tensor_on_device.__wrapped__(None, **given)  # type: ignore[attr-defined, no-any-return]


# --- facts about tensors ---


@api_function("ttnn.core.get_memory_config")
def get_memory_config(arg: Tensor) -> MemoryConfig | None:
    return arg.memory_config() if is_tensor_storage_on_device(arg) and arg.is_allocated() else None


def is_sharded(tensor: Tensor) -> bool:
    return tensor.is_sharded()


def has_tile_padding(tensor: Tensor, *, dim: int | None = None) -> bool:
    """Whether the last two dimensions (or `dim`) are padded."""
    shape, padded = tuple(tensor.shape), tuple(tensor.padded_shape)
    if dim is not None:
        return shape[dim] != padded[dim]
    return len(shape) > 1 and shape[-2:] != padded[-2:]


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    return tensor.storage_type() is StorageType.DEVICE


def has_storage_type_of(tensor: Tensor, storage_type: Any) -> bool:
    return tensor.storage_type() is storage_type


def divup(a: int, b: int) -> int:
    return (a + b - 1) // b


def roundup(a: int, b: int) -> int:
    return divup(a, b) * b


def ttnn_dtype_to_torch_dtype(dtype: Any) -> Any:
    """The torch dtype that holds the values of a DataType; KeyError for those without one."""
    import torch

    names = {"UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "INT8": "int8", "INT32": "int32", "FLOAT32": "float32",
             "BFLOAT16": "bfloat16", "BFLOAT8_B": "float32", "BFLOAT4_B": "float32"}  # fmt: skip
    return getattr(torch, names[dtype.name])


@api_function("ttnn.tile_size")
def tile_size(dtype: Any) -> int:
    """Bytes of a 32 x 32 tile."""
    return tile_bytes(dtype)


def get_conv_output_dim(input: int, window: int, stride: int = 1, pad: int = 0, dilation: int = 1) -> int:
    """Output size of a convolution along one dimension."""
    return (input + 2 * pad - dilation * (window - 1) - 1) // stride + 1


# --- sharding ---


@api_function("ttnn.core.create_sharded_memory_config")
def create_sharded_memory_config(
    shape: Any, core_grid: Any, strategy: Any, orientation: Any = None, use_height_and_width_as_shard_shape: bool = False
) -> MemoryConfig:
    """An L1 memory config that deals a tensor of `shape` to `core_grid`, or shards of `shape` with the last flag."""
    orientation = orientation or ShardOrientation.ROW_MAJOR
    if isinstance(core_grid, CoreGrid):
        grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(core_grid.x - 1, core_grid.y - 1))])
        across, down = core_grid.x, core_grid.y
    else:
        grid = core_grid
        if not use_height_and_width_as_shard_shape:
            raise _core.error(InvalidArgument, "height and width must be shard shape with CoreRangeSet", "ttnn.create_sharded_memory_config")
        across = down = 0
    *leading, height, width = (int(dim) for dim in shape)
    layout = TensorMemoryLayout[f"{strategy.name}_SHARDED"]
    if use_height_and_width_as_shard_shape:
        shard = [width, height] if orientation is ShardOrientation.COL_MAJOR else [height, width]
    else:
        for dim in leading:
            height *= dim
        if orientation is ShardOrientation.COL_MAJOR:
            across, down = down, across
        cores = across * down
        parts = {"BLOCK": (down, across), "HEIGHT": (cores, 1), "WIDTH": (1, cores)}[strategy.name]
        for name, side, count in (("height", height, parts[0]), ("width", width, parts[1])):
            if side % count:
                raise _core.error(InvalidArgument, f"Invalid sharding core_grid: {name} {side} is not divisible by {count} cores",
                                  "ttnn.create_sharded_memory_config")  # fmt: skip
        shard = [height // parts[0], width // parts[1]]
    return MemoryConfig(layout, BufferType.L1, ShardSpec(grid, shard, orientation))


@api_function("ttnn.core.create_sharded_memory_config_")
def create_sharded_memory_config_(
    shape: Any,
    core_grid: Any,
    strategy: Any,
    orientation: Any,
    use_height_and_width_as_shard_shape: bool = False,
    tile_layout: bool = False,
) -> MemoryConfig:
    """Like create_sharded_memory_config, rounding shards up instead of refusing remainders.

    tile_layout: as in the real package, heights are rounded up to what the cores hold in whole tiles (block) or evenly (height), and a shard
    needs one side of whole tiles. Raises: InvalidArgument where neither is.
    """
    layout = TensorMemoryLayout[f"{strategy.name}_SHARDED"] if isinstance(strategy, ShardStrategy) else strategy
    if isinstance(core_grid, CoreGrid):
        grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(core_grid.x - 1, core_grid.y - 1))])
    else:
        grid = core_grid
    *leading, height, width = (int(dim) for dim in shape)
    if not use_height_and_width_as_shard_shape:
        for dim in leading:
            height *= dim
        size = grid.bounding_box().grid_size()
        across, down = (size.x, size.y) if orientation is ShardOrientation.ROW_MAJOR else (size.y, size.x)
        cores = grid.num_cores()
        parts = {"BLOCK_SHARDED": (down, across), "HEIGHT_SHARDED": (cores, 1), "WIDTH_SHARDED": (1, cores)}[layout.name]
        if tile_layout and layout is not TensorMemoryLayout.WIDTH_SHARDED:
            height = roundup(height, parts[0] * (TILE_SIDE if layout is TensorMemoryLayout.BLOCK_SHARDED else 1))
        height, width = divup(height, parts[0]), divup(width, parts[1])
    elif orientation is ShardOrientation.COL_MAJOR:
        height, width = width, height
    if tile_layout and height % TILE_SIDE and width % TILE_SIDE:
        message = f"Incorrect tensor shape: tile layout needs shards with a side of whole tiles, not {height}x{width}"
        raise _core.error(InvalidArgument, message, "ttnn.create_sharded_memory_config_")
    return MemoryConfig(layout, BufferType.L1, ShardSpec(grid, [height, width], orientation))


def _walk(grid: CoreCoord, row_wise: bool, start: int, count: int) -> CoreRangeSet:
    """`count` cores of a grid, from the `start`-th, by rows or by columns, as rectangles."""
    major, minor = (grid.x, grid.y) if row_wise else (grid.y, grid.x)

    def rectangle(first: int, line: int, last: int, last_line: int) -> CoreRange:
        a, b = ((first, line), (last, last_line)) if row_wise else ((line, first), (last_line, last))
        return CoreRange(CoreCoord(*a), CoreCoord(*b))

    ranges, position, left = [], start, count
    assert start + count <= major * minor
    if position % major and left:
        take = min(left, major - position % major)
        ranges.append(rectangle(position % major, position // major, position % major + take - 1, position // major))
        position, left = position + take, left - take
    if left >= major:
        lines = left // major
        ranges.append(rectangle(0, position // major, major - 1, position // major + lines - 1))
        position, left = position + lines * major, left - lines * major
    if left:
        ranges.append(rectangle(0, position // major, left - 1, position // major))
    return CoreRangeSet(ranges)


def num_cores_to_corerangeset(target_num_cores: int, grid_size: Any, row_wise: bool = False) -> CoreRangeSet:
    """The first cores of a grid."""
    grid = grid_size if isinstance(grid_size, CoreCoord) else CoreCoord(*grid_size)
    if not 0 < target_num_cores <= grid.x * grid.y:
        message = f"expected 1 to {grid.x * grid.y} cores of a {grid.x} x {grid.y} grid, got {target_num_cores}"
        raise _core.error(InvalidArgument, message, "ttnn.num_cores_to_corerangeset")
    return _walk(grid, row_wise, 0, target_num_cores)


@api_function("ttnn.core.grid_to_cores")
def grid_to_cores(
    num_cores: int = 0,
    grid_size_x: int = 0,
    grid_size_y: int = 0,
    row_wise: bool = False,
    start: CoreCoord | None = None,
    end: CoreCoord | None = None,
) -> list[CoreCoord]:
    """Cores of a grid in order."""
    if start is not None and end is not None:
        return corerange_to_cores(CoreRangeSet([CoreRange(start, end)]), None, row_wise)  # type: ignore[no-any-return]
    if num_cores > grid_size_x * grid_size_y:
        message = f"expected at most {grid_size_x * grid_size_y} cores, got {num_cores}"
        raise _core.error(InvalidArgument, message, "ttnn.grid_to_cores")
    if row_wise:
        return [CoreCoord(i % grid_size_x, i // grid_size_x) for i in range(num_cores)]
    return [CoreCoord(i // grid_size_y, i % grid_size_y) for i in range(num_cores)]


@api_function("ttnn.corerange_to_cores")
def corerange_to_cores(core_range_set: CoreRangeSet, max_cores: int | None = None, row_wise: bool = False) -> list[CoreCoord]:
    """Cores of a set in order."""
    cores: list[CoreCoord] = []
    for core_range in core_range_set.ranges():
        xs, ys = range(core_range.start.x, core_range.end.x + 1), range(core_range.start.y, core_range.end.y + 1)
        cores += [CoreCoord(x, y) for y in ys for x in xs] if row_wise else [CoreCoord(x, y) for x in xs for y in ys]
    return cores[:max_cores]


@api_function("ttnn.core.split_work_to_cores")
def split_work_to_cores(
    units_to_divide: int, grid_size: CoreCoord | None = None, core_grid: CoreRangeSet | None = None, row_wise: bool = False
) -> tuple[int, CoreRangeSet, CoreRangeSet, CoreRangeSet, int, int]:
    """(cores used, all of them, those with one unit more, the others, units of the first group, of the second)."""
    grid = grid_size if grid_size is not None else _rectangle(core_grid)
    limit = grid.x * grid.y
    cores = min(limit, units_to_divide)
    none = CoreRangeSet([])
    if cores == 0:
        return 0, none, none, none, 0, 0
    per_core, more = divmod(units_to_divide, cores)
    whole = _walk(grid, row_wise, 0, cores)
    if not more:
        return cores, whole, whole, none, per_core, 0
    return cores, whole, _walk(grid, row_wise, 0, more), _walk(grid, row_wise, more, cores - more), per_core + 1, per_core


def _rectangle(grid: CoreRangeSet | None) -> CoreCoord:
    assert grid is not None
    box = grid.bounding_box()
    size = box.grid_size()
    if (box.start.x, box.start.y) != (0, 0) or size.x * size.y != grid.num_cores():
        raise _core.error(NotSupported, "only a rectangle of cores from the origin is implemented", "ttnn.split_work_to_cores")
    return size


set_printoptions = _print.set_printoptions


# --- default configs ---


def _compute_config(**values: Any) -> Any:
    return config_class("ttnn.WormholeComputeKernelConfig")(**values)


@api_function("ttnn.layernorm_default_compute_config")
def layernorm_default_compute_config(arch: Any) -> Any:
    return _compute_config(math_fidelity=enum_class("ttnn.MathFidelity").HiFi4, math_approx_mode=False, fp32_dest_acc_en=True, packer_l1_acc=False)


def rmsnorm_default_compute_config(arch: Any) -> Any:
    return _compute_config(math_fidelity=enum_class("ttnn.MathFidelity").HiFi4, math_approx_mode=True, fp32_dest_acc_en=False, packer_l1_acc=False)


@api_function("ttnn.create_layernorm_program_config")
def create_layernorm_program_config(shard_spec: ShardSpec | None = None, tile_height: int = 32, tile_width: int = 32) -> Any:
    """The default config, or the sharded one that fits a shard spec; subblocks are one tile wide, as in the real package (asked: ttnn 0.81.1)."""
    if shard_spec is None:
        return config_class("ttnn.LayerNormDefaultProgramConfig")()
    size = shard_spec.grid.bounding_box().grid_size()
    block_h, block_w = shard_spec.shape[0] // tile_height, shard_spec.shape[1] // tile_width
    return config_class("ttnn.LayerNormShardedMultiCoreProgramConfig")(
        compute_with_storage_grid_size=size, subblock_w=1, block_h=block_h, block_w=block_w, inplace=False
    )


def global_avg_pool2d(input_tensor: Tensor, *, memory_config: MemoryConfig | None = None, dtype: Any = None) -> Tensor:
    """Mean over height and width of an NHWC tensor: [N, 1, 1, C]. Rank 3 is one image, rank 2 one image of one channel."""
    shape = list(input_tensor.shape)
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"global_avg_pool2d expects rank 2, 3, or 4 input, got rank {len(shape)}")
    if input_tensor.is_sharded():
        interleaved = MemoryConfig(TensorMemoryLayout.INTERLEAVED, input_tensor.memory_config().buffer_type)
        input_tensor = named("to_memory_config")(input_tensor, interleaved)
    if len(shape) < 4:
        input_tensor = named("reshape")(input_tensor, [1, *shape, 1] if len(shape) == 2 else [1, *shape])
    batch, height, width, channels = input_tensor.shape
    pooled = named("avg_pool2d")(
        input_tensor=input_tensor,
        batch_size=batch,
        input_h=height,
        input_w=width,
        channels=channels,
        kernel_size=[height, width],
        stride=[1, 1],
        padding=[0, 0],
        memory_config=memory_config,
        dtype=DataType.BFLOAT16 if dtype is None else dtype,
        output_layout=Layout.TILE,
    )
    return named("reshape")(pooled, [batch, 1, 1, channels])  # type: ignore[no-any-return]


def from_buffer(buffer: Sequence[Any], shape: Any, dtype: Any, device: Any, layout: Any = None, memory_config: Any = None) -> Any:
    """A device tensor of `shape` with the values of a flat list."""
    if dtype in BLOCK_FLOATS:
        raise _core.error(InvalidArgument, f"expected a dtype of single values, got {dtype}", "ttnn.from_buffer")
    extents = [int(size) for size in shape]
    volume = 1
    for size in extents:
        volume *= size
    if len(buffer) != volume:
        raise _core.error(InvalidArgument, f"Buffer size {len(buffer)} differs from shape volume {volume}", "ttnn.from_buffer")
    kind = "float32" if dtype.name in ("BFLOAT16", "FLOAT32") else {"INT32": "int32", "UINT32": "uint32", "UINT16": "uint16"}.get(dtype.name, "uint8")
    array = np.asarray(buffer, dtype=kind).reshape(extents)
    return Tensor(array, dtype, device=device, layout=layout or Layout.ROW_MAJOR, mem_config=memory_config)

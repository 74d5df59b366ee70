"""What ops looked like before: the table by date. A row is applied to an op of its name until none applies any more.

`until` is the day on which tt-mlir's main took the old spelling away, from its history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from xdsl.ir import Operation

from alchemist.toolchain import rewrites as to
from alchemist.toolchain.edits import Edits

Action = Callable[["Edits", Operation], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """ops: names that the row looks at. action: changes the op and tells whether it did; None: the op has no successor, `new` says what replaced it."""

    until: str
    ops: tuple[str, ...]
    old: str
    new: str
    action: Action | None


def _renamed(until: str, old: str, new: str) -> Row:
    return Row(until, (old,), old, new, partial(to.rename, new))


def _gone(until: str, ops: str, instead: str) -> Row:
    return Row(until, tuple(ops.split()), ops, instead, None)


_PADDING = ("padding_top", "padding_left", "padding_bottom", "padding_right")


def _window(until: str, ops: str, what: str, today: str, padding: tuple[str, ...]) -> list[Row]:
    """Rows that gather `kernel_height = 2 : si32, kernel_width = 2 : si32` and its likes into one array."""
    named = {what: ("kernel_height", "kernel_width"), "stride": ("stride_height", "stride_width"), "dilation": ("dilation_height", "dilation_width")}
    parts = {key: value for key, value in (named | {"padding": padding}).items() if key}
    return [Row(until, tuple(ops.split()), f"{', '.join(old)} of {ops}", new, partial(to.gather_attributes, new, old)) for new, old in parts.items()]


ROWS: tuple[Row, ...] = (
    Row("2024-09-08", ("ttnn.open_device",), "ttnn.open_device", "ttnn.get_device", to.open_device),
    Row("2024-09-08", ("ttnn.close_device",), "ttnn.close_device", "", to.erase),
    Row("2024-09-18", ("ttnn.empty",), "ttnn.empty without shape", "shape", to.shape_of_2024),
    Row("2024-10-30", ("ttnn.composite_to_layout", "ttnn.to_layout", "ttnn.to_memory_config"), "a conversion that takes a device or the tensor it fills",
        "ttnn.to_tensor_spec", to.conversion),
    Row("2024-10-28", ("ttnn.to_device", "ttnn.from_device"), "a move of a tensor whose type was there already", "", to.move_nowhere),
    _renamed("2024-11-13", "ttnn.dealloc", "ttnn.deallocate"),
    Row("2024-12-16", ("*",), "operand_constraints", "", partial(to.drop_attributes, ("operand_constraints",))),
    Row("2025-01-09", ("ttir.broadcast",), "dimension", "broadcast_dimensions", to.broadcast),
    Row("2026-07-29", ("ttir.update_cache", "ttir.fill_cache", "ttir.paged_update_cache", "ttir.paged_fill_cache"),
        "the result of a cache in TTIR", "the cache itself", to.in_place),
    Row("2024-12-05", ("ttnn.update_cache", "ttnn.fill_cache"), "a cache's result", "the cache itself", to.in_place),
    Row("2024-12-06", ("ttnn.full",), "fillValue", "fill_value", partial(to.rename_attribute, "fillValue", "fill_value")),
    Row("2024-10-28", ("ttnn.alloc",), "memory_space", "buffer_type", to.buffer_type),
    Row("2025-05-23", ("ttnn.full",), "ttnn.full without shape", "shape", to.shape_attribute),
    *_window("2025-02-25", "ttir.conv2d", "", "stride", _PADDING),
    *_window("2025-02-25", "ttnn.conv2d", "kernel_size", "stride", ("padding_height", "padding_width")),
    *_window("2025-04-30", "ttnn.max_pool2d", "kernel_size", "stride", ("padding_height", "padding_width")),
    *_window("2025-07-30", "ttir.max_pool2d ttir.avg_pool2d", "kernel", "stride", _PADDING),
    Row("2025-02-28", ("ttir.max_pool2d",), "original_height, original_width", "flattened_compat_info", to.flattened),
    Row("2025-02-25", ("ttnn.conv2d", "ttnn.max_pool2d"), "images of ttnn.conv2d, ttnn.max_pool2d as they are", "images in one row, reshaped around the op",
        to.flatten_images),
    Row("2025-02-25", ("ttir.sum", "ttir.mean", "ttir.max"), "keep_dim of a result of lower rank", "keep_dim by the result's rank", to.dropped_dimension),
    _renamed("2025-03-18", "ttnn.div", "ttnn.divide"),
    _renamed("2025-03-26", "ttir.clamp", "ttir.clamp_scalar"),
    _renamed("2025-03-26", "ttnn.clamp", "ttnn.clamp_scalar"),
    _renamed("2025-04-01", "ttir.power", "ttir.pow"),
    Row("2025-04-23", ("ttir.fill",), "ttir.fill", "ttir.full", to.fill),
    _renamed("2025-05-07", "ttnn.construct_tensor", "ttnn.empty"),
    _renamed("2025-06-23", "ttir.select", "ttir.index_select"),
    _renamed("2025-08-19", "ttir.slice", "ttir.slice_static"),
    _renamed("2025-08-19", "ttnn.slice", "ttnn.slice_static"),
    Row("2025-08-11", ("ttnn.prepare_conv2d_weights", "ttnn.prepare_conv2d_bias"), "weights without input_dtype", "input_dtype", to.input_dtype),
    Row("2025-10-09", ("ttnn.pow",), "ttnn.pow", "ttnn.pow_tensor", partial(to.rename, "ttnn.pow_tensor")),
    Row("2025-10-17", ("ttir.batch_norm", "ttnn.batch_norm"), "batch_norm", "batch_norm_inference, batch_norm_training", to.batch_norm),
    Row("2025-11-26", ("ttnn.max_pool2d", "ttnn.avg_pool2d", "ttnn.max_pool2d_with_indices"), "in_place_halo", "reallocate_halo_output",
        partial(to.drop_attributes, ("in_place_halo",))),
    Row("2025-11-27", ("*",), "operands that results are written to", "", to.destinations),
    Row("2025-11-28", ("ttir.scatter_in_dim",), "ttir.scatter_in_dim", "ttir.scatter", partial(to.rename, "ttir.scatter")),
    Row("2025-11-28", ("ttir.scatter",), "ttir.scatter with update_window_dims", "ttir ops by StableHLO's rule", partial(to.stablehlo, "stablehlo.scatter")),
    Row("2025-12-15", ("ttir.scatter", "ttnn.scatter"), "scatter without scatter_reduce_type", "scatter_reduce_type", to.reduce_type),
    Row("2026-01-21", ("ttir.convolution",), "ttir.convolution", "ttir.conv2d and permutes", partial(to.stablehlo, "stablehlo.convolution")),
    Row("2026-02-02", ("ttir.pooling",), "ttir.pooling", "ttir.max_pool2d, ttir.avg_pool2d and permutes", to.pooling),
    Row("2026-02-12", ("ttnn.to_dtype",), "ttnn.to_dtype", "ttnn.typecast", partial(to.rename, "ttnn.typecast")),
    _renamed("2026-03-18", "ttnn.moreh_cumsum", "ttnn.cumsum"),
    Row("2026-03-19", ("ttnn.argmax",), "keep_dim of another result than ttnn.argmax has", "keep_dim by the result's rank", to.kept_dimension),
    Row("2026-04-03", ("ttir.gather",), "ttir.gather with offset_dims", "ttir ops by StableHLO's rule", partial(to.stablehlo, "stablehlo.gather")),
    _renamed("2026-04-21", "ttir.gather_dim", "ttir.gather"),
    Row("2026-05-28", ("ttnn.mesh_shard",), "ttnn.mesh_shard over one chip", "nothing on one chip", to.one_chip),
    Row("2026-05-16", ("*",), "a device operand", "", to.device_operand),
    Row("2026-05-16", ("*",), "memory_config, layout, dtype beside the result's layout", "the layout", to.drop_derived),
    Row("2026-05-20", ("ttir.sparse_matmul", "ttnn.sparse_matmul"), "nnz = 0", "", to.drop_zero_count),  # the day of pull request 8501
    Row("2026-06-02", ("ttir.rand",), "dtype of ttir.rand", "the result's element", partial(to.drop_attributes, ("dtype",))),
    Row("2026-06-19", ("ttnn.argmax",), "use_multicore", "", partial(to.drop_attributes, ("use_multicore",))),
    _gone("2025-02-20", "ttir.yield", "a region of the d2m dialect"),
    _gone("2025-08-01", "ttir.kernel", "named ops of ttir"),
    _gone("2025-09-25", "ttir.generic ttir.stream_layout ttir.view_layout", "the d2m dialect, which lowers to TTMetal"),
    _gone("2025-07-21", "ttnn.trace", "ttnn.capture_or_execute_trace"),
    _gone("2025-12-18", "ttnn.collective_permute", "ttnn.point_to_point, over several chips"),
)  # fmt: skip


@cache
def rows_of() -> dict[str, tuple[Row, ...]]:
    """Op name -> its rows in order; "*" for those of every op."""
    names = dict.fromkeys(name for row in ROWS for name in row.ops)
    return {name: tuple(row for row in ROWS if name in row.ops) for name in names}


@cache
def retired_ops() -> frozenset[str]:
    """Ops that a row knows and today's tables do not."""
    from alchemist.ir.dialects import op_classes

    return frozenset(name for name in rows_of() if name not in op_classes() and name != "*")


def unfinished(op: str) -> Row | None:
    """The row of an op that stands in an upgraded module although today's tables do not have it: no row could give it a successor."""
    return rows_of()[op][-1] if op in retired_ops() else None

"""Every row of the table of older spellings: an own text in it, what becomes of it, and that the result is today's."""

from __future__ import annotations

from pathlib import Path

import pytest

from alchemist.cli import main
from alchemist.codegen import mlir_sources
from alchemist.errors import AlchemistError
from alchemist.frontends.mlir import load
from alchemist.frontends.mlir.read import read_module
from alchemist.ir.text import print_module
from alchemist.toolchain.changes import ROWS, Row
from alchemist.toolchain.spellings import BODIES, Applied, BodyRow

_TILES = "#tt.layout<(d0, d1) -> (d0, d1), undef, <1x1>, memref<1x2x!tt.tile<32x32, bf16>, #tt.memory_space<dram>>, interleaved>"
_HOST = "#tt.layout<(d0, d1) -> (d0, d1), undef, <1x1>, memref<32x64xbf16, #tt.memory_space<system>>>"
_L1 = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <interleaved>>"


def _one(op: str, arguments: str, result: str, before: str = "") -> str:
    names = ", ".join(f"%{chr(97 + index)}: {type_}" for index, type_ in enumerate(arguments.split("; ")))
    return f"func.func @f({names}) -> {result} {{\n  {before}%0 = {op}\n  return %0 : {result}\n}}"


def _unary(name: str, attributes: str, source: str, result: str) -> str:
    return _one(f'"{name}"(%a) <{{{attributes}}}> : ({source}) -> {result}', source, result)


_DEVICE = '%d = "ttnn.get_device"() : () -> !ttnn.device\n  '
_SQUARE = "tensor<32x64xbf16>"
_IMAGES = "tensor<1x8x8x32xbf16>"
_POOL = "stride_height = 2 : si32, stride_width = 2 : si32, dilation_height = 1 : si32, dilation_width = 1 : si32"
_WINDOW = f"kernel_height = 2 : si32, kernel_width = 2 : si32, {_POOL}"
_SIDES = "padding_left = 0 : si32, padding_right = 0 : si32, padding_top = 1 : si32, padding_bottom = 2 : si32"
_CONV = _one(
    f'"ttir.conv2d"(%a, %b) <{{{_POOL}, {_SIDES}, groups = 1 : si32}}> : ({_IMAGES}, tensor<16x32x3x3xbf16>) -> tensor<1x5x3x16xbf16>',
    f"{_IMAGES}; tensor<16x32x3x3xbf16>", "tensor<1x5x3x16xbf16>",
)  # fmt: skip
_NN_WINDOW = "batch_size = 1 : i32, input_height = 8 : i32, input_width = 8 : i32"
_NN_CONV = _one(
    f'"ttnn.conv2d"(%a, %b, %d) <{{in_channels = 32 : i32, out_channels = 16 : i32, {_NN_WINDOW}, kernel_height = 3 : i32, kernel_width = 3 : i32, '
    "stride_height = 1 : i32, stride_width = 1 : i32, padding_height = 1 : i32, padding_width = 1 : i32, dilation_height = 1 : i32, "
    f"dilation_width = 1 : i32, groups = 1 : i32}}> : ({_IMAGES}, tensor<16x32x3x3xbf16>, !ttnn.device) -> tensor<1x8x8x16xbf16>",
    f"{_IMAGES}; tensor<16x32x3x3xbf16>", "tensor<1x8x8x16xbf16>", _DEVICE,
)  # fmt: skip
_NN_POOL = _unary(
    "ttnn.max_pool2d",
    f"{_NN_WINDOW.replace('i32', 'si32')}, channels = 32 : si32, {_WINDOW}, padding_height = 0 : si32, padding_width = 0 : si32, ceil_mode = false",
    _IMAGES, "tensor<1x4x4x32xbf16>",
)  # fmt: skip
_STEPS = "begins = [0 : i32, 0 : i32], ends = [32 : i32, 32 : i32], step = [1 : i32, 1 : i32]"
_ROWS32 = "tensor<32x32xbf16>"
_CLAMP = "min = 0.0 : f32, max = 6.0 : f32"
_NORM = "tensor<1x32x8x8xbf16>; tensor<32xbf16>; tensor<32xbf16>; tensor<32xbf16>; tensor<32xbf16>"
_GATHER = (
    "offset_dims = array<i64: 1>, collapsed_slice_dims = array<i64: 0>, operand_batching_dims = array<i64>, start_indices_batching_dims = array<i64>, "
    "start_index_map = array<i64: 0>, index_vector_dim = 1 : si64, slice_sizes = array<i64: 1, 64>, indices_are_sorted = false"
)
_SCATTER = (
    "update_window_dims = array<i32: 1>, inserted_window_dims = array<i32: 0>, input_batching_dims = array<i32>, scatter_indices_batching_dims = array<i32>, "
    "scatter_dims_to_operand_dims = array<i32: 0>, index_vector_dim = 1 : i32, indices_are_sorted = false, unique_indices = true"
)
_LAYOUT = (
    "#ttir<convolution_layout input_batch = 0, input_feature = 1, input_spatial_dimensions = 2x3, kernel_output_feature = 0, kernel_input_feature = 1, "
    "kernel_spatial_dimensions = 2x3, output_batch = 0, output_feature = 1, output_spatial_dimensions = 2x3>"
)

TEXTS = {
    "ttnn.open_device": (_one(f'"ttnn.zeros"(%d) <{{shape = #ttnn.shape<32x64>}}> : (!tt.device<[0]>) -> {_SQUARE}', _SQUARE, _SQUARE,
                              '%d = "ttnn.open_device"() <{device_ids = [0]}> : () -> !tt.device<[0]>\n  '), '"ttnn.get_device"() :'),
    "ttnn.close_device": (_one('"ttnn.abs"(%a) : (tensor<2xbf16>) -> tensor<2xbf16>', "tensor<2xbf16>", "tensor<2xbf16>",
                               _DEVICE + '"ttnn.close_device"(%d) : (!ttnn.device) -> ()\n  '), "ttnn.abs"),
    "a conversion that takes a device or the tensor it fills": (
        _one(f'"ttnn.to_layout"(%a, %d) <{{layout = #ttnn.layout<tile>}}> : (tensor<32x64xbf16, {_HOST}>, !ttnn.device) -> tensor<32x64xbf16, {_TILES}>',
             f"tensor<32x64xbf16, {_HOST}>", f"tensor<32x64xbf16, {_TILES}>", _DEVICE), "ttnn.to_tensor_spec"),
    "a move of a tensor whose type was there already": (
        _one(f'"ttnn.to_device"(%a, %d) : (tensor<32x64xbf16, {_TILES}>, !ttnn.device) -> tensor<32x64xbf16, {_TILES}>',
             f"tensor<32x64xbf16, {_TILES}>", f"tensor<32x64xbf16, {_TILES}>", _DEVICE), "return %arg0"),
    "ttnn.dealloc": (_one(f'"ttnn.abs"(%a) : ({_SQUARE}) -> {_SQUARE}\n  "ttnn.dealloc"(%a) : ({_SQUARE}) -> ()', _SQUARE, _SQUARE), "ttnn.deallocate"),
    "operand_constraints": (_unary("ttir.abs", "operand_constraints = [#tt.operand_constraint<dram|l1>]", _SQUARE, _SQUARE), '"ttir.abs"(%arg0) :'),
    "dimension": (_unary("ttir.broadcast", "dimension = [0]", "tensor<1x64xbf16>", _SQUARE), "broadcast_dimensions = array<i64: 32, 1>"),
    "a cache's result": (
        _one('"ttnn.fill_cache"(%a, %b) <{batch_offset = 0 : i32}> : (tensor<1x8x64x64xbf16>, tensor<1x8x32x64xbf16>) -> tensor<1x8x64x64xbf16>',
             "tensor<1x8x64x64xbf16>; tensor<1x8x32x64xbf16>", "tensor<1x8x64x64xbf16>"), "return %arg0"),
    "the result of a cache in TTIR": (
        _one('"ttir.fill_cache"(%a, %b) <{batch_offset = 0 : i32}> : (tensor<1x8x64x64xbf16>, tensor<1x8x32x64xbf16>) -> tensor<1x8x64x64xbf16>',
             "tensor<1x8x64x64xbf16>; tensor<1x8x32x64xbf16>", "tensor<1x8x64x64xbf16>"), "return %arg0"),
    "keep_dim of another result than ttnn.argmax has": (
        _one('"ttnn.argmax"(%a) <{dim = 1 : i32}> : (tensor<32x64xf32>) -> tensor<32x1xui32>', "tensor<32x64xf32>", "tensor<32x1xui32>"), "keep_dim = true"),
    "fillValue": (_one(f'"ttnn.full"(%d) <{{fillValue = 1.0 : f32}}> : (!ttnn.device) -> {_SQUARE}', _SQUARE, _SQUARE, _DEVICE), "fill_value = 1.0"),
    "memory_space": (_one(f'"ttnn.alloc"() <{{address = 64 : i64, memory_space = #tt.memory_space<l1>, size = 64 : i64}}> : () -> {_SQUARE}', _SQUARE, _SQUARE),
                     "buffer_type = #"),
    "ttnn.full without shape": (_one(f'"ttnn.full"(%d) <{{fill_value = 1.0 : f32}}> : (!ttnn.device) -> {_SQUARE}', _SQUARE, _SQUARE, _DEVICE),
                                "shape = #ttnn.shape<32x64>"),
    "ttnn.empty without shape": (_one(f'"ttnn.empty"(%d) : (!ttnn.device) -> tensor<32x64xbf16, {_TILES}>', _SQUARE, f"tensor<32x64xbf16, {_TILES}>", _DEVICE),
                                 "shape = #ttnn.shape<32x64>"),
    "stride_height, stride_width of ttir.conv2d": (_CONV, "stride = array<i32: 2, 2>"),
    "dilation_height, dilation_width of ttir.conv2d": (_CONV, "dilation = array<i32: 1, 1>"),
    "padding_top, padding_left, padding_bottom, padding_right of ttir.conv2d": (_CONV, "padding = array<i32: 1, 0, 2, 0>"),
    "kernel_height, kernel_width of ttnn.conv2d": (_NN_CONV, "kernel_size = array<i32: 3, 3>"),
    "stride_height, stride_width of ttnn.conv2d": (_NN_CONV, "stride = array<i32: 1, 1>"),
    "dilation_height, dilation_width of ttnn.conv2d": (_NN_CONV, "dilation = array<i32: 1, 1>"),
    "padding_height, padding_width of ttnn.conv2d": (_NN_CONV, "padding = array<i32: 1, 1>"),
    "kernel_height, kernel_width of ttnn.max_pool2d": (_NN_POOL, "kernel_size = array<i32: 2, 2>"),
    "stride_height, stride_width of ttnn.max_pool2d": (_NN_POOL, "stride = array<i32: 2, 2>"),
    "dilation_height, dilation_width of ttnn.max_pool2d": (_NN_POOL, "dilation = array<i32: 1, 1>"),
    "padding_height, padding_width of ttnn.max_pool2d": (_NN_POOL, "padding = array<i32: 0, 0>"),
    "images of ttnn.conv2d, ttnn.max_pool2d as they are": (_NN_POOL, "tensor<1x1x64x32xbf16>"),
    **{f"{old} of ttir.max_pool2d ttir.avg_pool2d": (
        _unary("ttir.max_pool2d", f"{_WINDOW}, {_SIDES}, ceil_mode = false", _IMAGES, "tensor<1x5x4x32xbf16>"), new)
       for old, new in (("kernel_height, kernel_width", "kernel = array<i32: 2, 2>"), ("stride_height, stride_width", "stride = array<i32: 2, 2>"),
                        ("dilation_height, dilation_width", "dilation = array<i32: 1, 1>"),
                        ("padding_top, padding_left, padding_bottom, padding_right", "padding = array<i32: 1, 0, 2, 0>"))},
    "keep_dim of a result of lower rank": (
        _one('"ttir.sum"(%a, %e) <{dim_arg = [-1 : i32], keep_dim = true}> : (tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<32xbf16>',
             "tensor<32x64xbf16>", "tensor<32xbf16>", "%e = tensor.empty() : tensor<32xbf16>\n  "), "keep_dim = false"),
    "original_height, original_width": (
        _unary("ttir.max_pool2d", f"{_WINDOW}, {_SIDES.replace('1', '0').replace('2', '0')}, ceil_mode = false, original_height = 8 : si32, "
               "original_width = 8 : si32", "tensor<1x1x64x32xbf16>", "tensor<1x1x16x32xbf16>"), "batch_size = 1, input_height = 8, input_width = 8"),
    "ttnn.div": (_one(f'"ttnn.div"(%a, %a) : ({_SQUARE}, {_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE), "ttnn.divide"),
    "ttir.clamp": (_unary("ttir.clamp", _CLAMP, _SQUARE, _SQUARE), "ttir.clamp_scalar"),
    "ttnn.clamp": (_unary("ttnn.clamp", _CLAMP, _SQUARE, _SQUARE), "ttnn.clamp_scalar"),
    "ttir.power": (_one(f'"ttir.power"(%a, %a) : ({_SQUARE}, {_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE), "ttir.pow"),
    "ttir.fill": (_one(f'"ttir.fill"(%a) <{{value = dense<1.0> : {_SQUARE}}}> : ({_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE), "ttir.constant"),
    "ttnn.construct_tensor": (_one(f'"ttnn.construct_tensor"(%d) <{{shape = #ttnn.shape<32x64>}}> : (!ttnn.device) -> {_SQUARE}', _SQUARE, _SQUARE, _DEVICE),
                              "ttnn.empty"),
    "ttir.select": (_unary("ttir.select", "dim = 1 : si32, begin = 0 : si32, length = 32 : si32, stride = 0 : si32", _SQUARE, _ROWS32), "ttir.index_select"),
    "ttir.slice": (_unary("ttir.slice", _STEPS, _SQUARE, _ROWS32), "ttir.slice_static"),
    "ttnn.slice": (_unary("ttnn.slice", _STEPS, _SQUARE, _ROWS32), "ttnn.slice_static"),
    "weights without input_dtype": (
        _one('"ttnn.prepare_conv2d_weights"(%a, %d) <{input_memory_config = #ttnn.memory_config<#ttnn.buffer_type<dram>, <interleaved>>, '
             'input_tensor_layout = #ttnn.layout<tile>, weights_format = "OIHW", in_channels = 32 : i32, out_channels = 32 : i32, batch_size = 1 : i32, '
             "input_height = 8 : i32, input_width = 8 : i32, kernel_size = array<i32: 3, 3>, stride = array<i32: 1, 1>, padding = array<i32: 1, 1>, "
             "dilation = array<i32: 1, 1>, has_bias = false, groups = 1 : i32}> : (tensor<32x32x3x3xbf16>, !ttnn.device) -> tensor<1x1x288x32xbf16>",
             "tensor<32x32x3x3xbf16>", "tensor<1x1x288x32xbf16>", _DEVICE), "input_dtype = #ttcore.supportedDataTypes<bf16>"),
    "ttnn.pow": (_one(f'"ttnn.pow"(%a, %a) : ({_SQUARE}, {_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE), "ttnn.pow_tensor"),
    "batch_norm": (
        _one('"ttir.batch_norm"(%a, %b, %c, %d, %e) <{dimension = 1 : i32, epsilon = 1.0e-05 : f32, training = false}> : '
             f"({_NORM.replace('; ', ', ')}) -> tensor<1x32x8x8xbf16>", _NORM, "tensor<1x32x8x8xbf16>"), "ttir.batch_norm_inference"),
    "in_place_halo": (
        _unary("ttnn.max_pool2d", "batch_size = 1 : si32, input_height = 8 : si32, input_width = 8 : si32, channels = 32 : si32, kernel_size = array<i32: 2, 2>, "
               "stride = array<i32: 2, 2>, padding = array<i32: 0, 0>, dilation = array<i32: 1, 1>, ceil_mode = false, in_place_halo = true",
               "tensor<1x1x64x32xbf16>", "tensor<1x1x16x32xbf16>"), "dilation = array<i32: 1, 1>, input_height"),
    "operands that results are written to": (
        _one(f'"ttir.add"(%a, %a, %o) <{{operandSegmentSizes = array<i32: 2, 1>}}> : ({_SQUARE}, {_SQUARE}, {_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE,
             f"%o = tensor.empty() : {_SQUARE}\n  "), '"ttir.add"(%arg0, %arg0) :'),
    "ttir.scatter_in_dim": (_one('"ttir.scatter_in_dim"(%a, %b, %c) <{dim = 0 : i32}> : (tensor<8x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<8x4xf32>',
                                 "tensor<8x4xf32>; tensor<2x4xi32>; tensor<2x4xf32>", "tensor<8x4xf32>"), "ttir.scatter"),
    "scatter without scatter_reduce_type": (
        _one('"ttir.scatter"(%a, %b, %c) <{dim = 0 : i32}> : (tensor<8x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<8x4xf32>',
             "tensor<8x4xf32>; tensor<2x4xi32>; tensor<2x4xf32>", "tensor<8x4xf32>"), "scatter_reduce_type = #ttcore.reduce_type<invalid>"),
    "ttir.scatter with update_window_dims": (
        _one(f'"ttir.scatter"(%a, %b, %c) <{{{_SCATTER}}}> : (tensor<8x4xf32>, tensor<1x1xi32>, tensor<1x4xf32>) -> tensor<8x4xf32>',
             "tensor<8x4xf32>; tensor<1x1xi32>; tensor<1x4xf32>", "tensor<8x4xf32>"), "ttir."),
    "ttir.convolution": (
        _one('"ttir.convolution"(%a, %b) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, input_dilation = array<i64: 1, 1>, '
             "weight_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>, "
             f"padding = array<i64: 1, 1, 1, 1>, convolution_layout = {_LAYOUT}}}> : (tensor<1x32x8x8xbf16>, tensor<16x32x3x3xbf16>) -> tensor<1x16x8x8xbf16>",
             "tensor<1x32x8x8xbf16>; tensor<16x32x3x3xbf16>", "tensor<1x16x8x8xbf16>"), "ttir.conv2d"),
    "ttir.pooling": (
        _one('"ttir.pooling"(%a) <{pooling_method = #ttir<pooling_method Max>, window_dimensions = array<i64: 1, 1, 2, 2>, '
             "window_strides = array<i64: 1, 1, 2, 2>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, "
             "padding = array<i64: 0, 0, 0, 0, 0, 0, 0, 0>}> : (tensor<1x32x8x8xbf16>) -> tensor<1x32x4x4xbf16>",
             "tensor<1x32x8x8xbf16>", "tensor<1x32x4x4xbf16>"), "ttir.max_pool2d"),
    "ttnn.to_dtype": (_unary("ttnn.to_dtype", "dtype = #ttcore.supportedDataTypes<f32>", _SQUARE, "tensor<32x64xf32>"), "ttnn.typecast"),
    "ttnn.moreh_cumsum": (_unary("ttnn.moreh_cumsum", "dim = 0 : i64", _SQUARE, _SQUARE), "ttnn.cumsum"),
    "ttir.gather with offset_dims": (
        _one(f'"ttir.gather"(%a, %b) <{{{_GATHER}}}> : (tensor<8x64xf32>, tensor<4x1xi32>) -> tensor<4x64xf32>',
             "tensor<8x64xf32>; tensor<4x1xi32>", "tensor<4x64xf32>"), "ttir.embedding"),
    "ttir.gather_dim": (_one('"ttir.gather_dim"(%a, %b) <{dim = 0 : i32}> : (tensor<8x4xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>',
                             "tensor<8x4xf32>; tensor<2x4xi32>", "tensor<2x4xf32>"), "ttir.gather"),
    "ttnn.mesh_shard over one chip": (
        _one(f'"ttnn.mesh_shard"(%a, %d) <{{shard_type = #ttcore.shard_type<identity>, shard_direction = #ttcore.shard_direction<full_to_shard>, '
             f"shard_shape = array<i64: 1>, shard_dims = array<i64: -1>}}> : ({_SQUARE}, !ttnn.device) -> {_SQUARE}", _SQUARE, _SQUARE, _DEVICE), "return %arg0"),
    "a device operand": (_one(f'"ttnn.typecast"(%a, %d) : ({_SQUARE}, !ttnn.device) -> tensor<32x64xf32>', _SQUARE, "tensor<32x64xf32>", _DEVICE),
                         '"ttnn.typecast"(%arg0) :'),
    "memory_config, layout, dtype beside the result's layout": (
        _one(f'"ttnn.to_memory_config"(%a) <{{memory_config = #ttnn.memory_config<#ttnn.buffer_type<l1>, <interleaved>>}}> : ({_SQUARE}) -> '
             f"tensor<32x64xbf16, {_L1}>", _SQUARE, f"tensor<32x64xbf16, {_L1}>"), '"ttnn.to_memory_config"(%arg0) :'),
    "dtype of ttir.rand": (_one('"ttir.rand"() <{size = [32 : i32, 64 : i32], dtype = bf16}> : () -> tensor<32x64xbf16>', _SQUARE, _SQUARE), "ttir.rand"),
    "nnz = 0": (
        _one('"ttir.sparse_matmul"(%a, %b, %c) <{is_input_a_sparse = false, is_input_b_sparse = true, nnz = 0 : i64}> : '
             "(tensor<2x4x32x64xbf16>, tensor<1x4x64x96xbf16>, tensor<2x4x1x4xbf16>) -> tensor<2x4x1x4x32x96xbf16>",
             "tensor<2x4x32x64xbf16>; tensor<1x4x64x96xbf16>; tensor<2x4x1x4xbf16>", "tensor<2x4x1x4x32x96xbf16>"), "is_input_b_sparse = true}"),
    "use_multicore": (_unary("ttnn.argmax", "dim = 1 : i32, keep_dim = true, use_multicore = false", _SQUARE, "tensor<32x1xui32>"), "keep_dim = true}"),
}  # fmt: skip


def _moved(config: str) -> str:
    result = f"tensor<32x64xbf16, {_L1}>"
    return _one(f'"ttnn.to_memory_config"(%a) <{{memory_config = #ttnn.memory_config<{config}>}}> : ({_SQUARE}) -> {result}', _SQUARE, result)


BODY_TEXTS = {
    "<<interleaved>, <dram>>": (_moved("<interleaved>, <dram>"), "to_memory_config"),
    "<<dram>, <<32x32>>, <interleaved>>": (_moved("<dram>, <<32x32>>, <interleaved>"), "to_memory_config"),
    "<<system_memory>, <<32x32>>>": (_moved("<system_memory>, <<32x32>>"), "to_memory_config"),
    "<<dram>, <interleaved>>": (_moved("<dram>, <interleaved>"), "to_memory_config"),
    "<32 x 32, bf16>": (_one("\"ttnn.abs\"(%a) : (T) -> T".replace("T", f"tensor<32x64xbf16, {_TILES.replace('32x32', '32 x 32')}>"),
                             f"tensor<32x64xbf16, {_TILES.replace('32x32', '32 x 32')}>", f"tensor<32x64xbf16, {_TILES.replace('32x32', '32 x 32')}>"), "ttnn.abs"),
    "in_place = false": ("module attributes {x = #ttnn.conv2d_config<weights_dtype = bf16, in_place = false>} {}", "weights_dtype = bf16>"),
    "dtype = bf16": ("module attributes {x = #ttnn.conv2d_config<dtype = bf16, weights_dtype = bf16, enable_split_reader = false>} {}", "<weights_dtype = bf16>"),
    'activation = ""': ('module attributes {x = #ttnn.conv2d_config<\n dtype = bf16,\n activation = "",\n weights_dtype = bf16>} {}', "<weights_dtype = bf16>"),
    "<..., <physical>>": (
        "module attributes {x = #ttnn.memory_config<#ttnn.buffer_type<l1>, <width_sharded>, "
        "#ttnn.shard_spec<<[#ttnn.core_range<(0,0), (7,0)>]>, <32x128>, <row_major>, <physical>>>} {}", "<32x128>, <row_major>>>",
    ),
    "<identity>": ("module attributes {x = #ttcore.shard_type<identity>} {}", "<replicate>"),
}  # fmt: skip
_HOST_GRID = "tensor<64x128xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<8x16xf32, #ttnn.buffer_type<system_memory>>>>"
KEPT_TEXTS = {
    "a grid of a tensor on the host or interleaved in DRAM": (_one(f'"ttnn.abs"(%a) : ({_HOST_GRID}) -> {_HOST_GRID}', _HOST_GRID, _HOST_GRID), "<1x1>, memref<64x128xf32"),
    "<systolic>": ("module attributes {x = #ttcore.iterator_type<systolic>} {}", "systolic"),
    "<8x8, (d0, d1) -> (0, d0, d1)>": (
        _one("\"ttnn.abs\"(%a) : (T) -> T".replace("T", (grid := f"tensor<32x64xbf16, {_L1.replace('<1x1>', '<1x2, (d0, d1) -> (0, d0, d1)>').replace('1x2x!', '1x1x!')}>")),
             grid, grid), "memref<1x2x!"),
}  # fmt: skip


def _upgraded(text: str) -> tuple[str, Applied]:
    applied = Applied()
    return print_module(read_module(text, "x.mlir", applied)), applied


@pytest.mark.parametrize("row", [row for row in ROWS if row.action is not None], ids=lambda row: row.old)
def test_a_row_of_an_op(row: Row) -> None:
    text, wanted = TEXTS[row.old]
    printed, applied = _upgraded(text)
    assert any(key[:2] == (row.until, row.old) for key in applied.counts), applied.report()
    assert wanted in printed
    again, nothing = _upgraded(printed)
    assert (again, nothing.counts) == (printed, {})


@pytest.mark.parametrize("row", BODIES, ids=lambda row: f"{row.name}{row.old}")
def test_a_row_of_an_attribute(row: BodyRow) -> None:
    text, wanted = (BODY_TEXTS if row.today else KEPT_TEXTS)[row.old]
    printed, applied = _upgraded(text)
    assert wanted in printed
    assert not row.today or any(key[0] == row.until for key in applied.counts)
    assert _upgraded(printed)[0] == printed


@pytest.mark.parametrize("row", [row for row in ROWS if row.action is None], ids=lambda row: row.old)
def test_an_op_without_successor_is_printed_and_refused(row: Row, tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(_one(f'"{row.ops[0]}"(%a) : ({_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE), encoding="utf-8")
    assert row.ops[0] in _upgraded(path.read_text(encoding="utf-8"))[0]
    with pytest.raises(AlchemistError, match=row.until) as error:
        mlir_sources(path)
    assert row.new in error.value.hint
    assert error.value.op == row.ops[0]


@pytest.mark.parametrize(
    ("shape", "layout", "expected"),
    [
        ("32x64", "(d0, d1, d2) -> (d0 * 64 + d1, d2), undef, <1x1>, memref<32x64xbf16, #tt.memory_space<l1>>", "map has 3 dimensions, the tensor 2"),
        ("32x64", "(d0, d1) -> (d0, d1), undef, <2x2>, memref<32x64xbf16, #tt.memory_space<l1>>", "holds 16x32 elements, the layout's memref says 32x64"),
        ("53x63", "(d0, d1) -> (d0, d1), undef, <3x2>, memref<2x1x!tt.tile<32x32, bf16>, #tt.memory_space<l1>>", "holds 1x1 tiles"),
        ("32x64", "2048x64, undef, <1x1>, memref<32x64xbf16, #tt.memory_space<l1>>", "2 strides"),
        ("32x64", "(d0, d1) -> (d0, d1), undef, <1x1>, memref<32x64xbf16, #tt.memory_space<l3>>", "memory_space has no case l3"),
        ("32x64", "(d0, d1) -> (d0, d1), undef, <0x1>, memref<32x64xbf16, #tt.memory_space<l1>>", "grid is empty"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(shape: str, layout: str, expected: str) -> None:
    type_ = f"tensor<{shape}xbf16, #tt.layout<{layout}>>"
    with pytest.raises(AlchemistError, match=expected):
        _upgraded(f"func.func @f(%a: {type_}) -> {type_} {{\n  return %a : {type_}\n}}")


def test_a_layout_with_strides_is_the_one_with_a_map() -> None:
    form = "func.func @f(%a: tensor<64x128xf32, #tt.layout<{}, undef, <1x1>, memref<64x128xf32, #tt.memory_space<l1>>>>) {{\n  return\n}}"
    assert _upgraded(form.format("8192x128x1"))[0] == _upgraded(form.format("(d0, d1) -> (d0, d1)"))[0]


def test_an_operand_that_a_result_is_written_to_may_have_any_maker() -> None:
    """In a text that makes such tensors, an operand too many is one, whatever its op; elsewhere it is an error."""
    add = _one(
        f'"ttir.add"(%a, %a, %n) : ({_SQUARE}, {_SQUARE}, {_SQUARE}) -> {_SQUARE}', _SQUARE, _SQUARE, f'%n = "ttir.neg"(%a) : ({_SQUARE}) -> {_SQUARE}\n  '
    )
    filled = f'%e = ttir.empty() : {_SQUARE}\n  %m = "ttir.abs"(%a, %e) : ({_SQUARE}, {_SQUARE}) -> {_SQUARE}\n  %n ='
    assert '"ttir.add"(%arg0, %arg0)' in _upgraded(add.replace("%n =", filled, 1))[0]
    with pytest.raises(AlchemistError, match="operands do not match"):
        _upgraded(add)


def test_results_may_be_written_to_arguments() -> None:
    """Each op has one operand more than today, and no other op reads it. A warning tells the reader: a text of today can have the same mistake."""
    add = _one(f'"ttir.add"(%a, %b, %c) : ({_SQUARE}, {_SQUARE}, {_SQUARE}) -> {_SQUARE}', "; ".join([_SQUARE] * 3), _SQUARE)
    with pytest.warns(UserWarning, match=r"ttir\.add: the last operand is a tensor that the result is written to"):
        printed, applied = _upgraded(add)
    assert '"ttir.add"(%arg0, %arg1)' in printed
    assert any(until == "2025-11-27" for until, _, _ in applied.counts)
    read = add.replace("%0 =", f'%1 = "ttir.neg"(%b) : ({_SQUARE}) -> {_SQUARE}\n  %0 =')
    for text in (read, add.replace("(%a, %b, %c)", "(%a, %c, %c)"), add.replace("ttir.add", "ttir.where")):
        if "where" in text:
            assert '"ttir.where"(%arg0, %arg1, %arg2)' in _upgraded(text)[0]
            continue
        with pytest.raises(AlchemistError, match="operands do not match"):
            _upgraded(text)


def test_a_gather_of_one_element_had_rank_one() -> None:
    sizes = (
        _GATHER.replace("offset_dims = array<i64: 1>", "offset_dims = array<i64>").replace("index_vector_dim = 1", "index_vector_dim = 0").replace("1, 64", "1")
    )
    text = _one(f'"ttir.gather"(%a, %b) <{{{sizes}}}> : (tensor<6xbf16>, tensor<1xi32>) -> tensor<1xbf16>', "tensor<6xbf16>; tensor<1xi32>", "tensor<1xbf16>")
    assert "-> tensor<1xbf16>" in _upgraded(text)[0]
    with pytest.raises(AlchemistError, match="do not fit its slices"):
        _upgraded(text.replace("operand_batching_dims = array<i64>", "operand_batching_dims = array<i64: 0>"))


def test_an_op_over_several_chips_keeps_its_device() -> None:
    operation = f'"ttnn.aggregate_tensor"(%a, %d) <{{composer_config = #ttnn.mesh_composer_config<dims = [1 : i64]>}}> : ({_SQUARE}, !ttnn.device) -> {_SQUARE}'
    printed, applied = _upgraded(_one(operation, _SQUARE, _SQUARE, _DEVICE))
    assert '"ttnn.aggregate_tensor"(%arg0, %0)' in printed
    assert not applied.counts


def test_a_move_that_does_nothing_is_deallocated_once() -> None:
    """The text deallocates the tensor that was moved before the moved one is read; both are one tensor."""
    type_ = f"tensor<32x64xbf16, {_TILES}>"
    move = (
        f'"ttnn.to_device"(%m, %d) : ({type_}, !ttnn.device) -> {type_}\n  "ttnn.deallocate"(%m) : ({type_}) -> ()\n'
        f'  %1 = "ttnn.abs"(%0) : ({type_}) -> {type_}\n  "ttnn.deallocate"(%0) : ({type_}) -> ()'
    )
    text = _one(move, type_, type_, f'{_DEVICE}%m = "ttnn.neg"(%a) : ({type_}) -> {type_}\n  ').replace("return %0", "return %1")
    printed = _upgraded(text)[0]
    assert "to_device" not in printed
    assert printed.count("ttnn.deallocate") == 1
    assert printed.index("ttnn.abs") < printed.index("ttnn.deallocate")


def test_the_command_prints_todays_text_and_says_what_it_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.mlir"
    path.write_text(TEXTS["ttir.slice"][0], encoding="utf-8")
    assert main(["opt", "--upgrade", str(path)]) == 0
    printed = capsys.readouterr()
    assert "ttir.slice_static" in printed.out
    assert "until 2025-08-19: ttir.slice -> ttir.slice_static" in printed.err


def test_a_tensor_over_several_chips_is_read_and_refused_as_a_program(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    text = TEXTS["ttnn.mesh_shard over one chip"][0].replace(f"({_SQUARE}, !ttnn.device) -> {_SQUARE}", f"({_SQUARE}, !ttnn.device) -> tensor<16x64xbf16>")
    path.write_text(
        text.replace(f"return %0 : {_SQUARE}", "return %0 : tensor<16x64xbf16>").replace(f"-> {_SQUARE} {{", "-> tensor<16x64xbf16> {"), encoding="utf-8"
    )
    assert "ttnn.mesh_shard" in _upgraded(path.read_text(encoding="utf-8"))[0]
    with pytest.raises(AlchemistError, match="2026-05-28") as error:
        mlir_sources(path)
    assert error.value.op == "ttnn.mesh_shard"


def test_tiled_weights_of_a_convolution_reach_the_host_in_rows() -> None:
    tiled = "tensor<16x32x3x3xbf16, #tt.layout<(d0, d1, d2, d3) -> (d0 * 96 + d1 * 3 + d2, d3), undef, <1x1>, memref<48x1x!tt.tile<32x32, bf16>, "
    module = load(_NN_CONV.replace("tensor<16x32x3x3xbf16>", tiled + "#tt.memory_space<dram>>, interleaved>>")).module
    conv = next(op for op in module.walk() if op.name == "ttnn.conv2d")
    assert [conv.operands[1].owner.name, conv.operands[1].owner.operands[0].owner.name] == ["ttnn.to_layout", "ttnn.from_device"]

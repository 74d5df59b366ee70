"""What the real compiler's verifiers refuse: valid uses of ops with one thing changed, each with the error it gets."""

from __future__ import annotations

import re

import pytest

from alchemist.driver import mlir_files
from alchemist.errors import ParseError, VerifyError
from tests.mlir.op_uses import uses
from tests.tables import table

TEXTS = {use.name: use.text for dialect in ("ttir", "ttnn") for use in uses(dialect)}
_WEIGHT = re.search(r"%a0: (tensor<.*?>>>>), ", TEXTS["ttnn.prepare_moe_compute_w0_w1_weights"])[1]  # type: ignore[index]
_TILES = re.search(r"%o: (tensor<.*?>>>)\)", TEXTS["ttnn.capture_or_execute_trace"])[1]  # type: ignore[index]
_FLAT = "flattened_compat_info = #ttir<flattened_compat batch_size = 1, input_height = 8, input_width = 8>"
_POOL = "kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = false"
_CONV = "stride = 1 : i32, padding = 0 : i32, dilation = 1 : i32, groups = 1 : i32"
_CONV_3D = re.search(r"<\{(in_channels.*?)\}>", TEXTS["ttnn.conv3d"])[1]  # type: ignore[index]
_ID = "tensor<ui32, #ttnn.trace_id>"
SPOILT = [
    ("ttir.index", "end = 32", "end = 65", "end must be in"),
    ("ttir.slice_static", "begins = [0 : i32", "begins = [-9 : i32", "begin must be in"),
    ("ttir.slice_static", "16 : i32], step", "17 : i32], step", "end must be in"),
    ("ttir.index_select", "stride = 4", "stride = 9", "stride must be at most"),
    ("ttir.linear", "tensor<128xbf16>", "tensor<127xbf16>", "cannot be added"),
    ("ttir.linear", "tensor<128xbf16>", "tensor<bf16>", "at least one dimension"),
    ("ttir.rms_norm", "array<i64: 128>", "array<i64>", "cannot be empty"),
    ("ttir.sparse_matmul", "is_input_b_sparse = true", "is_input_b_sparse = false", "must be sparse"),
    ("ttnn.sparse_matmul", "is_input_b_sparse = true", "is_input_b_sparse = true, nnz = -1 : i64", "nnz"),
    ("ttir.quantize", "<i8:f32, 0.1>", "<i8:f32:4, {0.1}>", "axis 4 is out of range"),
    ("ttir.quantize", "<i8:f32, 0.1>", "<i8:f32:1, {0.1, 0.2}>", "2 scales for the 3 elements"),
    ("ttir.requantize", "<i8:f32, 0.2:3>", "<i8:f32, 0.2:300>", "zero point 300"),
    ("ttir.requantize", "<i8:f32, 0.2:3>", "<i8:f32:1, {0.2, 0.2, 0.2}>", "both along an axis"),
    ("ttir.topk_router_gpt", "k = 4", "k = 0", "k must be positive"),
    ("ttir.topk_router_gpt", "num_experts = 128", "num_experts = 64", "num_experts 64"),
    ("ttir.sampling", "tensor<1xui32>", "tensor<2xui32>", "k shape"),
    ("ttir.paged_fill_cache", "tensor<1xi64>", "tensor<2xi64>", "batch_idx_tensor must have 1"),
    ("ttir.paged_fill_cache", "tensor<1xi64>", "tensor<1xf32>", "must hold integers"),
    ("ttir.scaled_dot_product_attention", "is_causal = false", "is_causal = true", "takes no mask"),
    ("ttir.scaled_dot_product_attention", "1x1x64x64", "1x3x64x64", "does not broadcast to the scores"),
    ("ttir.chunked_scaled_dot_product_attention", "tensor<1x4xi32>", "tensor<2x4xi32>", "has 2 users"),
    ("ttir.chunked_scaled_dot_product_attention", "tensor<1xi32>", "tensor<2xi32>", r"shape \[1\]"),
    ("ttir.paged_flash_multi_latent_attention_decode", "1x1x2048x64", "1x2x2048x64", "single head"),
    ("ttir.tt_lang_op", '"in,out"', '"in,in"', "at least one output"),
    ("ttir.tt_lang_op", '"in,out"', '"out,in"', "before the first output"),
    ("ttir.tt_lang_op", '"in,out"', '"in,in,out"', "names 3 operands of 2"),
    ("ttir.moe_compute", "intermediate_size = 384", "intermediate_size = 383", "multiple of 32"),
    ("ttir.moe_compute", "1x32x384xbf16", "1x32x383xbf16", "the hidden size must be a positive multiple of 32"),
    ("ttir.moe_gpt", "12x1x4x4x2880x128xbf16", "12x1x4x4x2880x64xbf16", "must be 128"),
    ("ttir.all_to_all_combine", "num_devices = 2 : i64", "num_devices = 2 : i64, output_shard_dim = 3 : i64", "output_shard_dim"),
    ("ttnn.conv2d", "batch_size = 1", "batch_size = 2", "flattened dimension of the input"),
    ("ttnn.conv2d", "stride = array<i32: 1, 1>", "stride = array<i32: 1, 1, 1>", "must have 2 values"),
    ("ttnn.conv2d", "stride = array<i32: 1, 1>", "stride = array<i32: 1, -1>", "at least 1"),
    ("ttnn.conv2d", "groups = 1", "groups = 3", "a group of in_channels"),
    ("ttnn.conv2d", "dilation = array<i32: 1, 1>", "dilation = array<i32: 99, 1>", "the kernel spans"),
    ("ttnn.conv3d", "groups = 1", "groups = 0", "groups must be at least 1"),
    ("ttnn.conv3d", "groups = 1", "groups = 5", "not divisible by 5 groups"),
    ("ttnn.conv3d", "kernel_size = array<i32: 3, 3, 3>", "kernel_size = array<i32: 3, 3>", "must have 3 values"),
    ("ttnn.prepare_conv2d_weights", '"OIHW"', '"HWIO"', "weights_format"),
    ("ttnn.prepare_conv2d_weights", "out_channels = 64", "out_channels = 128", "64 output channels"),
    ("ttnn.rand", "low = 0.0", "low = 2.0", "low must be less"),
    ("ttnn.pow_scalar", "rhs = 2.0 : f32", "rhs = -2 : i32", "at least 0"),
    ("ttnn.reduce_scatter", "reduce_type<sum>", "reduce_type<max>", "sums only"),
    ("ttnn.begin_trace_capture", "cq_id = 0", "cq_id = 5", "command queue 5"),
    ("ttnn.execute_trace", "tensor<ui32, #ttnn.trace_id>", "tensor<ui32>", "encoding"),
    ("ttnn.end_trace_capture", "tensor<ui32, #ttnn.trace_id>", "tensor<1xui32, #ttnn.trace_id>", "scalar"),
    ("ttnn.end_trace_capture", "tensor<ui32, #ttnn.trace_id>", "tensor<i32, #ttnn.trace_id>", "unsigned"),
    ("ttnn.capture_or_execute_trace", "execute_callee = @execute", "execute_callee = @nothing", "@nothing is not a function"),
    ("ttnn.capture_or_execute_trace", "execute_callee = @execute", "execute_callee = @trace", "one trace id"),
    ("ttnn.capture_or_execute_trace", "capture_callee = @capture", "capture_callee = @slots", "must take 2 arguments"),
    ("ttnn.capture_or_execute_trace", f"func.call @trace(%a, %o) : ({_TILES}, {_TILES}) -> ()", "", "calls no function to trace"),
    (
        "ttnn.capture_or_execute_trace",
        f"@slots(%a: {_TILES}) -> ({_TILES}, {_TILES}) {{ return %a, %a : {_TILES}, {_TILES} }}",
        f"@slots(%a: {_TILES}) -> {_TILES} {{ return %a : {_TILES} }}",
        "must return 2 slots, got 1",
    ),
    (
        "ttnn.capture_or_execute_trace",
        f"@slots(%a: {_TILES}) -> ({_TILES}, {_TILES}) {{ return %a, %a : {_TILES}, {_TILES} }}",
        f"@slots(%a: {_TILES}, %b: tensor<1xf32>) -> ({_TILES}, {_TILES}) {{ return %a, %a : {_TILES}, {_TILES} }}",
        "take the inputs that are on the device",
    ),
    (
        "ttnn.capture_or_execute_trace",
        f"@slots(%a: {_TILES}) -> ({_TILES}, {_TILES}) {{ return %a, %a : {_TILES}, {_TILES} }}",
        f"@slots(%a: {_TILES}, %b: tensor<1xf32>) -> ({_TILES}, tensor<1xf32>) {{ return %a, %b : {_TILES}, tensor<1xf32> }}",
        "take the inputs",
    ),
    ("ttnn.capture_or_execute_trace", f"@execute(%t: {_ID}) {{", f"@execute(%t: {_ID}, %u: {_ID}) {{", "one trace id, got 2"),
    ("ttnn.capture_or_execute_trace", f"@execute(%t: {_ID}) {{", "@execute(%t: tensor<ui32>) {", "execute function must take a trace id"),
    ("ttnn.load_tensor", "weights.tensorbin", "weights.bin", "must end in .tensorbin"),
    ("ttnn.point_to_point", "receiver_coord = array<i64: 0, 1>", "receiver_coord = array<i64: 0, 0>", "send to itself"),
    ("ttnn.flash_mla_prefill", "head_dim_v = 64", "head_dim_v = 256", "exceeds the key's head size"),
    ("ttir.chunked_scaled_dot_product_attention", "128x12x32x64", "128x12x33x64", "block size 33"),
    ("ttir.chunked_scaled_dot_product_attention", "128x12x32x64", "128x5x32x64", "12 query heads are not divisible by 5"),
    ("ttir.chunked_scaled_dot_product_attention", "128x12x32x64", "128x0x32x64", "not divisible by 0 key heads"),
    ("ttnn.flash_mla_prefill", "1x1x32x128xbf16", "1x5x32x128xbf16", "16 query heads are not divisible by 5"),
    ("ttir.sampling", "1x32x", "2x3x1x32x", "leading dimensions"),
    ("ttir.sampling", "1x32x", "33x32x", r"batch size must be in \[1, 32\], got 33"),
    ("ttir.sampling", "1x32x", "0x32x", "batch size must be in"),
    ("ttir.tt_lang_op", '"in,out"', '"in,both"', 'arg_roles holds "in" and "out"'),
    ("ttir.tt_lang_op", '"in,out"', '"out,out"', "names 2 outputs, the op has 1 results"),
    ("ttir.tt_lang_op", 'kernel_id = "pkg.softmax::v1"', 'kernel_id = ""', "kernel_id must not be empty"),
    ("ttir.tt_lang_op", 'version_tag = "1.0"', 'version_tag = ""', "version_tag must not be empty"),
    ("ttir.reduce_scatter", "scatter_dim = 0", "scatter_dim = 2", "scatter_dim"),
    ("ttir.reduce_scatter", "reduce_type<sum>", "reduce_type<std>", "cannot reduce by std"),
    ("ttir.all_reduce", "reduce_type<sum>", "reduce_type<var>", "cannot reduce by var"),
    ("ttir.collective_broadcast", "dense<[[0, 1]]> : tensor<1x2xi64>", "dense<[0, 1]> : tensor<2xi64>", "must be a 2D array, got rank 1"),
    ("ttir.collective_broadcast", "[[0, 1]]", "[[0, 2]]", "must name the chips 0 to 1"),
    ("ttir.collective_broadcast", "[[0, 1]]", "[[0, -1]]", "must name the chips 0 to 1"),
    ("ttir.collective_broadcast", "[[0, 1]]", "[[0, 0]]", "names a chip twice"),
    ("ttir.collective_permute", "dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>", "dense<[[0, 1, 2]]> : tensor<1x3xi64>", "list of pairs"),
    ("ttir.collective_permute", "[[0, 1], [1, 0]]", "[[0, 1], [0, 2]]", "named twice"),
    ("ttir.collective_permute", "[[0, 1], [1, 0]]", "[[0, 1], [2, 1]]", "named twice"),
    ("ttir.moe_gpt", "128x4xui16", "128xui16", "at least 2 dimensions"),
    ("ttir.moe_gpt", "128x4xbf16", "128xbf16", "at least 2 dimensions"),
    ("ttir.moe_gpt", "12x1x4x2x2880x128", "12x1x5x2x2880x128", "same cores and experts"),
    (
        "ttnn.prepare_moe_compute_w0_w1_weights",
        "(%a0, %a1, %a2) <{hidden_size = 384 : ui32, intermediate_size = 384 : ui32, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}> : (",
        f"(%a0, %a1, %a0, %a2) <{{hidden_size = 384 : ui32, intermediate_size = 384 : ui32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}}> : ({_WEIGHT}, ",
        "come together",
    ),
    ("ttnn.constant", "memref<2x2xf32, #ttnn.buffer_type<system_memory>>>", "memref<2x2xf32, #ttnn.buffer_type<dram>>, <interleaved>>", "takes a device"),
    (
        "ttnn.copy",
        "memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>",
        "memref<32x32xf32, #ttnn.buffer_type<system_memory>>>",
        "source must be on the device",
    ),
    ("ttnn.write_tensor", "cq_id = 0", "cq_id = 2", "command queue 2"),
    ("ttnn.write_tensor", "#ttnn.buffer_type<system_memory>>>", "#ttnn.buffer_type<dram>>, <interleaved>>", "host_tensor must be on the host"),
    ("ttnn.write_tensor", "#ttnn.buffer_type<dram>>, <interleaved>>", "#ttnn.buffer_type<system_memory>>>", "device_tensor must be on the device"),
    ("ttnn.end_trace_capture", "cq_id = 0", "cq_id = 2", "command queue 2"),
    ("ttnn.end_trace_capture", "tensor<ui32, #ttnn.trace_id>", "tensor<ui16, #ttnn.trace_id>", "32 bits"),
    ("ttir.sparse_matmul", "1x4x32x256", "4x32x256", "at least 4 dimensions"),
    ("ttir.batch_norm_inference", "4x8xf32", "8xf32", "2 to 5 dimensions, got rank 1"),
    ("ttir.batch_norm_inference", "4x8xf32", "1x1x1x1x4x8xf32", "2 to 5 dimensions, got rank 6"),
    ("ttir.rearrange", '"z y x -> (y z) x"', '"z y x -> (y z) w"', "the same dimensions on both sides"),
    ("ttir.rearrange", '"z y x -> (y z) x"', '"z y x"', "the same dimensions on both sides"),
    ("ttir.rearrange", '"z y x -> (y z) x"', '"z y y -> (y z) y"', "the same dimensions on both sides"),
    ("ttir.rearrange", '"z y x -> (y z) x"', '"(z y) x w -> z y x w"', "names 4 dimensions"),
    ("ttir.index", "begin = 0", "begin = 64", "begin must be in"),
    ("ttir.index", "begin = 0", "begin = -65", "begin must be in"),
    ("ttir.index", "end = 32", "end = -65", "end must be in"),
    ("ttir.slice_dynamic", "[1 : i32]", "[1 : i32, 1 : i32]", "step must have 1 elements, got 2"),
    ("ttir.reshape", "[3 : i32, 4 : i32]", "[-1 : i32, -1 : i32]", "one -1"),
    ("ttir.reshape", "[3 : i32, 4 : i32]", "[-2 : i32, 4 : i32]", "no other negative number"),
    ("ttir.reshape", "[3 : i32, 4 : i32]", "[3 : i32, 4 : i32, 1 : i32]", r"expected result shape \[3, 4, 1\]"),
    ("ttir.broadcast", "array<i64: 32, 1>", "array<i64: 32>", "must have 2 entries, got 1"),
    ("ttir.embedding", "10x16xf32", "16xf32", "at least 2 dimensions, got rank 1"),
    ("ttir.embedding", "10x16xf32", "2x10x16xf32", "must be a matrix"),
    ("ttir.bitcast_convert", "32x32xui32", "32x32xui16", "the same width, got 16 and 32 bits"),
    ("ttir.bitcast_convert", "32x32xui32", "32x32x!quant.uniform<i8:f32, 0.1>", "integers or floats"),
    ("ttnn.roll", "shifts = [3 : i32]", "shifts = [3 : i32, 1 : i32]", "one shift for each dimension"),
    ("ttir.conv2d", "stride = array<i32: 1, 1>", "stride = array<i32: 1, 1, 1>", "stride: expected an integer or a pair"),
    ("ttir.conv2d", "padding = array<i32: 1, 1, 1, 1>", "padding = array<i32: 1, 1, 1>", "padding: expected an integer, a pair or four"),
    ("ttir.conv2d", "dilation = 1 : i32", "dilation = 17 : i32", "the kernel spans"),
    ("ttir.conv2d", "groups = 1 : i32", "groups = 3 : i32", "64 input channels are not divisible by 3"),
    ("ttir.conv2d", "groups = 1 : i32", "groups = 1 : i32, batch_dim = 1 : i64", "dimensions must be 0..3"),
    ("ttir.conv_transpose2d", "groups = 1 : i32", "groups = 3 : i32", "256 input channels are not divisible by 3"),
    ("ttir.conv_transpose2d", "padding = 0 : i32, output", "padding = 5 : i32, output", r"the result would have height and width \[0, 0\]"),
    ("ttir.max_pool2d", "kernel = array<i32: 2, 2>", "kernel = array<i32: 2, 129>", "the kernel spans"),
    ("ttir.upsample2d", '"nearest"', '"cubic"', "mode must be"),
    ("ttir.grid_sample", '"bilinear"', '"nearest"', "mode must be"),
    ("ttir.grid_sample", '"zeros"', '"border"', "padding_mode must be"),
    ("ttir.grid_sample", "4x5x7x2xf32", "4x5x7x3xf32", r"grid must be \[4, H, W, 2\]"),
    ("ttir.grid_sample", "4x5x7x2xf32", "1x5x7x2xf32", r"grid must be \[4, H, W, 2\]"),
    ("ttir.grid_sample", "4x5x7x2xf32", "4x7x2xf32", "got rank 3"),
    ("ttir.grid_sample", "4x5x7x3xbf16", "4x5x7x4xbf16", "4x5x7x3|4, 5, 7, 3"),
    ("ttir.global_avg_pool2d", "1x32x32x64", "32x64", "at least 3 dimensions"),
    ("ttir.conv3d", "groups = 1 : i32", "groups = 1 : i32, channel_dim = 5 : i64", "channel dimension must be 0..4"),
    ("ttir.conv3d", "groups = 1 : i32", "groups = 3 : i32", "32 output channels are not divisible by 3"),
    ("ttnn.nlp_concat_heads_decode", "num_heads = 12", "num_heads = 33", "exceeds the input's 32"),
]


@table(("name", "old", "new", "message"), SPOILT, ids=lambda value: value if isinstance(value, str) and value.startswith("tt") else "")
def test_spoilt_use_is_refused(name: str, old: str, new: str, message: str) -> None:
    assert old in TEXTS[name]
    with pytest.raises(VerifyError, match=message) as error:
        mlir_files.read(mlir_files.Chunk(TEXTS[name].replace(old, new), "use.mlir"))
    assert error.value.op == name
    assert error.value.location.startswith("use.mlir:")


# Forms of ops that their uses do not have: name, operands, attributes, result; what is refused, "" for none.
RARE_FORMS = [
    ("ttir.paged_fill_cache", "8x4x32x64xbf16 1x4x32x64xbf16 1x8xi32", "", "", ""),
    ("ttir.paged_fill_cache", "8x4x32x64xbf16 2x4x32x64xbf16 1x8xi32", "", "", "batch size must be statically 1, got 2"),
    ("ttnn.flash_mla_prefill", "1x4x32x64xbf16 1x1x32x64xbf16 1x1x32x16xbf16", "head_dim_v = 16 : ui32, @ 1 1 1 0", "1x4x32x16xbf16", ""),
    ("ttnn.flash_mla_prefill", "1x4x32x64xbf16 1x1x32x64xbf16 1x1x32x32xbf16", "head_dim_v = 16 : ui32, @ 1 1 1 0", "1x4x32x16xbf16", "expected value shape"),
    ("ttnn.flash_mla_prefill", "1x4x32x64xbf16 1x1x32x64xbf16 1x1x32x16xf32", "head_dim_v = 16 : ui32, @ 1 1 1 0", "1x4x32x16xbf16", "query and value"),
    ("ttir.paged_flash_multi_latent_attention_decode", "1x1x4x64xbf16 8x1x32x64xbf16 8x1x32x64xbf16 1x8xui32", "head_dim_v = 64 : ui32, @ 1 1 1 1 0 0 0",
     "1x1x4x64xbf16", ""),
    ("ttir.paged_flash_multi_latent_attention_decode", "1x1x4x64xbf16 8x1x32x64xbf16 8x2x32x64xbf16 1x8xui32", "head_dim_v = 64 : ui32, @ 1 1 1 1 0 0 0",
     "1x1x4x64xbf16", "the value must have a single head, got 2"),
    ("ttnn.layer_norm_pre_all_gather", "1x1x32x128xbf16 1x1x32x128xbf16", "@ 1 1 0", "1x1x32x64xbf16", ""),
    ("ttnn.layer_norm_pre_all_gather", "1x1x32x128xbf16 1x1x32x64xbf16", "@ 1 1 0", "1x1x32x64xbf16", "expected residual shape"),
    ("ttir.max_pool2d", "1x1x64x8xf32", f"{_POOL}, {_FLAT}", "1x1x16x8xf32", ""),
    ("ttir.max_pool2d", "1x1x63x8xf32", f"{_POOL}, {_FLAT}", "1x1x16x8xf32", "flattened dimension is 63, expected 64"),
    ("ttir.max_pool2d", "1x1x64x8xf32", f"{_POOL}, {_FLAT}", "1x1x32x8xf32", r"expected result shape \[1, 1, 16, 8\], got \[1, 1, 32, 8\]"),
    ("ttir.conv2d", "1x1x64x8xf32 16x8x3x3xf32", f"{_CONV}, {_FLAT}", "1x1x36x16xf32", ""),
    ("ttir.conv2d", "1x1x65x8xf32 16x8x3x3xf32", f"{_CONV}, {_FLAT}", "1x1x36x16xf32", "flattened dimension is 65, expected 64"),
    ("ttir.conv2d", "1x1x64x8xf32 16x8x3x3xf32", f"{_CONV}, {_FLAT}", "1x1x64x16xf32", r"expected result shape \[1, 1, 36, 16\], got \[1, 1, 64, 16\]"),
    ("ttir.conv2d", "1x8x8x8xf32 15x4x3x3xf32", _CONV.replace("groups = 1", "groups = 2"), "1x6x6x15xf32", "15 output channels are not divisible by 2"),
    ("ttir.conv_transpose2d", "1x8x8x4xf32 4x3x3x3xf32", f"{_CONV}, output_padding = 0 : i32".replace("groups = 1", "groups = 2"), "1x10x10x5xf32",
     r"expected result shape \[1, 10, 10, 6\], got \[1, 10, 10, 5\]"),
    ("ttnn.conv3d", "1x4x8x8x32xbf16 864x32xbf16 1x32xbf16", f"{_CONV_3D}, @ 1 1 1 1", "1x2x6x6x32xbf16", ""),
    ("ttnn.conv3d", "1x4x8x8x32xbf16 864x32xbf16 2x32xbf16", f"{_CONV_3D}, @ 1 1 1 1", "1x2x6x6x32xbf16", "first dimension of the bias must be 1, got 2"),
    ("ttnn.conv3d", "1x4x8x8x32xbf16 864x32xbf16 1x1x32xbf16", f"{_CONV_3D}, @ 1 1 1 1", "1x2x6x6x32xbf16", "bias must be a 2D tensor"),
    ("ttnn.conv3d", "1x4x8x8x32xbf16 864x32xbf16 1x31xbf16", f"{_CONV_3D}, @ 1 1 1 1", "1x2x6x6x32xbf16", "the bias has 31 channels"),
]  # fmt: skip


@table(("name", "operands", "attributes", "result", "message"), RARE_FORMS)
def test_rare_form_is_taken_or_refused(name: str, operands: str, attributes: str, result: str, message: str) -> None:
    types = [f"tensor<{of}>" for of in operands.split()]
    names = [f"%a{number}" for number in range(len(types))]
    if name == "ttnn.conv3d":
        types, names = [*types, "!ttnn.device"], [*names, "%d"]
    attributes = re.sub(r"@ ([\d ]+)", lambda sizes: f"operandSegmentSizes = array<i32: {', '.join(sizes[1].split())}>", attributes)
    made = f"tensor<{result}>" if result else "()"
    text = (
        f"func.func @f({', '.join(f'{a}: {of}' for a, of in zip(names, types, strict=True))}) -> {made} {{\n  "
        f'{"%r = " if result else ""}"{name}"({", ".join(names)}) <{{{attributes}}}> : ({", ".join(types)}) -> {made}\n'
        f"  return{f' %r : {made}' if result else ''}\n}}\n"
    )
    if not message:
        assert mlir_files.read(mlir_files.Chunk(text, "use.mlir"))
        return
    with pytest.raises(VerifyError, match=message) as error:
        mlir_files.read(mlir_files.Chunk(text, "use.mlir"))
    assert error.value.op == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#ttnn.core_range<(0,-1), (2,2)>", "non-negative"),
        (
            "tensor<64x64xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1xf32, #ttnn.buffer_type<dram>>, <interleaved>>>",
            "1x1 unless it is sharded",
        ),
        ("tensor<64x64xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x4>, memref<1x1xf32, #ttnn.buffer_type<system_memory>>>>", "1x1 unless it is sharded"),
        ("#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<2x2xf32, #ttnn.buffer_type<dram>>, <block_sharded>>", "cannot be block-sharded"),
    ],
)
def test_layout_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        mlir_files.read(mlir_files.Chunk(f"module attributes {{a = {text}}} {{}}", "x.mlir"))

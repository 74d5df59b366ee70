"""What the real compiler's verifiers refuse: valid uses of ops with one thing changed, each with the error it gets."""

from __future__ import annotations

import pytest

from alchemist.driver import mlir_files
from alchemist.errors import ParseError, VerifyError
from tests.mlir import changed_uses
from tests.mlir.op_uses import uses

TEXTS = {use.name: use.text for dialect in ("ttir", "ttnn") for use in uses(dialect)}
SPOILT = [
    ("ttir.index", "end = 32", "end = 65", "end must be in"),
    ("ttir.slice_static", "begins = [0 : i32", "begins = [-9 : i32", "begin must be in"),
    ("ttir.slice_static", "16 : i32], step", "17 : i32], step", "end must be in"),
    ("ttir.index_select", "stride = 4", "stride = 9", "stride must be at most"),
    ("ttir.linear", "tensor<128xbf16>", "tensor<127xbf16>", "cannot be added"),
    ("ttir.linear", "tensor<128xbf16>", "tensor<bf16>", "at least one dimension"),
    ("ttir.rms_norm", "array<i64: 128>", "array<i64>", "cannot be empty"),
    ("ttir.sparse_matmul", "is_input_b_sparse = true", "is_input_b_sparse = false", "must be sparse"),
    ("ttnn.sparse_matmul", "is_input_b_sparse = true", "is_input_b_sparse = true, nnz = 0 : i64", "nnz"),
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
    ("ttnn.load_tensor", "weights.tensorbin", "weights.bin", "must end in .tensorbin"),
    ("ttnn.point_to_point", "receiver_coord = array<i64: 0, 1>", "receiver_coord = array<i64: 0, 0>", "send to itself"),
    ("ttnn.flash_mla_prefill", "head_dim_v = 64", "head_dim_v = 256", "exceeds the key's head size"),
    ("ttnn.nlp_concat_heads_decode", "num_heads = 12", "num_heads = 33", "exceeds the input's 32"),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), SPOILT, ids=lambda value: value if isinstance(value, str) and value.startswith("tt") else "")
def test_spoilt_use_is_refused(name: str, old: str, new: str, message: str) -> None:
    assert old in TEXTS[name]
    with pytest.raises(VerifyError, match=message) as error:
        mlir_files.read(mlir_files.Chunk(TEXTS[name].replace(old, new), "use.mlir"))
    assert error.value.op == name
    assert error.value.location.startswith("use.mlir:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#ttnn.core_range<(0,-1), (2,2)>", "non-negative"),
        ("#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1xf32, #ttnn.buffer_type<dram>>, <interleaved>>", "1x1 unless it is sharded"),
        ("#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x4>, memref<1x1xf32, #ttnn.buffer_type<system_memory>>>", "1x1 unless it is sharded"),
        ("#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, memref<2x2xf32, #ttnn.buffer_type<dram>>, <block_sharded>>", "cannot be block-sharded"),
    ],
)
def test_layout_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        mlir_files.read(mlir_files.Chunk(f"module attributes {{a = {text}}} {{}}", "x.mlir"))


def test_what_may_change_in_a_valid_use() -> None:
    """A rule that takes less or more than before shows here; whether it should is for the reader of the difference: `python -m tests.mlir.changed_uses`."""
    noted = dict(row.split(" ", 1) for row in changed_uses.FILE.read_text(encoding="utf-8").splitlines())
    found = dict(row.split(" ", 1) for row in changed_uses.rows())
    assert found.keys() == noted.keys()
    assert not {name: f"{noted[name]}  ->  {row}" for name, row in found.items() if row != noted[name]}

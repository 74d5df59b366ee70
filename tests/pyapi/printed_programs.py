"""Programs in the style of tt-alchemist's printer: every argument written out, values named by op and number, inputs made by a function beside
`forward`, the device from `utils.DeviceGetter`. Only what differs between programs is listed here; `printed()` writes the rest."""

from __future__ import annotations

from dataclasses import dataclass

DEVICE = "utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)"
ABBREVIATIONS = {
    "$block": "ttnn.MemoryConfig(ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(ttnn.CoreRangeSet(["
    "ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 3))]), [64, 128], ttnn.ShardOrientation.ROW_MAJOR))",
    "$dram": "ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)",
    "$bf16": "ttnn.DataType.BFLOAT16",
    "$hifi4": "ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True)",
    "$plain": "transpose_a=False, transpose_b=False, memory_config=$dram, dtype=$bf16, program_config=None",
    "$window": "in_channels=16, out_channels=32, batch_size=1, input_height=32, input_width=32, kernel_size=[3, 3], stride=[1, 1], "
    "padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, device=device_0",
    "$prepared": "input_memory_config=$dram, input_layout=ttnn.Layout.ROW_MAJOR, input_dtype=$bf16, output_dtype=$bf16, compute_config=None, "
    "conv_config=ttnn.Conv2dConfig(weights_dtype=$bf16, config_tensors_in_dram=True), slice_config=$whole",
    "$whole": "ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dL1Full, num_slices=0)",
    "$blocks": "ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=ttnn.CoreCoord(4, 4), in0_block_w=4, out_subblock_h=1, "
    "out_subblock_w=4, out_block_h=2, out_block_w=4, per_core_M=2, per_core_N=4, transpose_mcast=False, "
    "fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), fuse_batch=True)",
}


@dataclass(frozen=True)
class Input:
    """A tensor of ones. On the host where the printer leaves weights for the library to prepare."""

    shape: list[int]
    dtype: str = "BFLOAT16"
    layout: str = "TILE"
    on_device: bool = True

    def call(self) -> str:
        place = "device=device_1, memory_config=$dram" if self.on_device else "device=None, memory_config=None"
        return f"ttnn.ones(shape=ttnn.Shape({self.shape}), dtype=ttnn.DataType.{self.dtype}, layout=ttnn.Layout.{self.layout}, {place})"


@dataclass(frozen=True)
class Printed:
    """statements: of `forward`, in which arg_0, arg_1 ... are the inputs and `del x` stands for deallocate; results: names of its values."""

    inputs: list[Input]
    statements: list[str]
    results: str


HEADS = Input([1, 8, 64, 64])
ROWS = "ROW_MAJOR"
PROGRAMS = {
    "attention": Printed(
        [HEADS, HEADS, HEADS, Input([1, 1, 64, 64])],
        [
            "context_0 = ttnn.transformer.scaled_dot_product_attention(arg_0, arg_1, arg_2, attn_mask=arg_3, is_causal=False, scale=0.125, "
            "sliding_window_size=None, memory_config=$dram)",
            "ttnn_transformer_concatenate_heads_0 = ttnn.transformer.concatenate_heads(context_0, memory_config=$dram)",
            "del context_0",
        ],
        "ttnn_transformer_concatenate_heads_0",
    ),
    "cache": Printed([Input([1, 8, 128, 64]), Input([1, 8, 32, 64]), Input([1], "INT32", ROWS)], ["ttnn.fill_cache(arg_0, arg_1, 0)"], "arg_0"),
    "conv": Printed(
        [Input([1, 32, 32, 16], layout=ROWS), Input([32, 16, 3, 3], layout=ROWS, on_device=False), Input([1, 1, 1, 32], layout=ROWS, on_device=False)],
        [
            f"device_0 = {DEVICE}",
            "weight_0 = ttnn.prepare_conv_weights(weight_tensor=arg_1, weights_format='OIHW', has_bias=True, $window, $prepared)",
            "bias_0 = ttnn.prepare_conv_bias(bias_tensor=arg_2, $window, $prepared)",
            "ttnn_reshape_0 = ttnn.reshape(arg_0, [1, 1, 1024, 16], memory_config=$dram)",
            "ttnn_conv2d_0 = ttnn.conv2d(input_tensor=ttnn_reshape_0, weight_tensor=weight_0, bias_tensor=bias_0, $window, dtype=$bf16, compute_config=None, "
            "conv_config=ttnn.Conv2dConfig(weights_dtype=$bf16, deallocate_activation=True, config_tensors_in_dram=True), slice_config=$whole, "
            "memory_config=$dram)",
            "ttnn_to_layout_0 = ttnn.to_layout(ttnn_conv2d_0, ttnn.Layout.ROW_MAJOR, None, memory_config=None)",
            "del ttnn_conv2d_0",
            "ttnn_max_pool2d_0 = ttnn.max_pool2d(ttnn_to_layout_0, 1, 32, 32, 32, [2, 2], [2, 2], [0, 0], [1, 1], ceil_mode=False, memory_config=$dram, "
            "applied_shard_scheme=None, reallocate_halo_output=False, config_tensor_in_dram=True)",
            "del ttnn_to_layout_0",
        ],
        "ttnn_max_pool2d_0",
    ),
    "eltwise": Printed(
        [Input([64, 128]), Input([64, 128])],
        [
            "ttnn_add_0 = ttnn.add(arg_0, arg_1, dtype=$bf16, memory_config=$dram)",
            "del arg_0",
            "del arg_1",
            "ttnn_relu_0 = ttnn.relu(ttnn_add_0, memory_config=$dram)",
            "del ttnn_add_0",
            "ttnn_multiply_0 = ttnn.multiply(ttnn_relu_0, 0.5, dtype=$bf16, memory_config=$dram)",
            "del ttnn_relu_0",
        ],
        "ttnn_multiply_0",
    ),
    "heads": Printed(
        [Input([32, 768]), Input([768, 2304])],
        [
            "ttnn_matmul_0 = ttnn.matmul(arg_0, arg_1, $plain, activation=None, compute_kernel_config=None)",
            "ttnn_reshape_0 = ttnn.reshape(ttnn_matmul_0, [1, 32, 2304], memory_config=$dram)",
            "del ttnn_matmul_0",
            "v_0, v_1, v_2 = ttnn.transformer.split_query_key_value_and_split_heads(ttnn_reshape_0, None, num_heads=12, num_kv_heads=None, "
            "transpose_key=False, memory_config=$dram)",
            "del ttnn_reshape_0",
            "ttnn_transpose_0 = ttnn.transpose(v_1, -2, -1, memory_config=$dram, pad_value=0.0)",
            "ttnn_matmul_1 = ttnn.matmul(v_0, ttnn_transpose_0, $plain, activation=None, compute_kernel_config=None)",
            "del ttnn_transpose_0",
            "ttnn_softmax_0 = ttnn.softmax(ttnn_matmul_1, 3, numeric_stable=True, memory_config=$dram)",
            "del ttnn_matmul_1",
            "ttnn_matmul_2 = ttnn.matmul(ttnn_softmax_0, v_2, $plain, activation=None, compute_kernel_config=None)",
            "del ttnn_softmax_0",
            "ttnn_transformer_concatenate_heads_0 = ttnn.transformer.concatenate_heads(ttnn_matmul_2, memory_config=$dram)",
            "del ttnn_matmul_2",
        ],
        "ttnn_transformer_concatenate_heads_0",
    ),
    "mlp": Printed(
        [Input([32, 784]), Input([784, 256]), Input([1, 256]), Input([256, 10]), Input([1, 10])],
        [
            "ttnn_linear_0 = ttnn.linear(arg_0, arg_1, bias=arg_2, $plain, activation='relu', compute_kernel_config=$hifi4)",
            "del arg_0",
            "ttnn_linear_1 = ttnn.linear(ttnn_linear_0, arg_3, bias=arg_4, $plain, activation=None, compute_kernel_config=$hifi4)",
            "del ttnn_linear_0",
            "ttnn_softmax_0 = ttnn.softmax(ttnn_linear_1, 1, numeric_stable=True, memory_config=$dram, compute_kernel_config=$hifi4)",
            "del ttnn_linear_1",
        ],
        "ttnn_softmax_0",
    ),
    "moves": Printed(
        [Input([1, 32], "UINT32", ROWS), Input([128, 64], layout=ROWS)],
        [
            "ttnn_embedding_0 = ttnn.embedding(arg_0, arg_1, layout=ttnn.Layout.TILE, dtype=$bf16, memory_config=$dram)",
            "ttnn_slice_0 = ttnn.slice(ttnn_embedding_0, [0, 0, 0], [1, 32, 32], [1, 1, 1], memory_config=$dram)",
            "ttnn_slice_1 = ttnn.slice(ttnn_embedding_0, [0, 0, 32], [1, 32, 64], [1, 1, 1], memory_config=$dram)",
            "del ttnn_embedding_0",
            "ttnn_neg_0 = ttnn.neg(ttnn_slice_1, memory_config=$dram)",
            "del ttnn_slice_1",
            "ttnn_concat_0 = ttnn.concat([ttnn_neg_0, ttnn_slice_0], 2, memory_config=$dram)",
            "del ttnn_neg_0",
            "del ttnn_slice_0",
            "ttnn_permute_0 = ttnn.permute(ttnn_concat_0, [0, 2, 1], memory_config=$dram, pad_value=0.0)",
            "del ttnn_concat_0",
            "ttnn_reshape_0 = ttnn.reshape(ttnn_permute_0, [64, 32], memory_config=$dram)",
            "del ttnn_permute_0",
        ],
        "ttnn_reshape_0",
    ),
    "norm": Printed(
        [Input([1, 32, 512]), Input([512]), Input([512])],
        [
            "ttnn_layer_norm_0 = ttnn.layer_norm(arg_0, epsilon=9.9999997473787516e-06, weight=arg_1, bias=arg_2, residual_input_tensor=None, "
            "memory_config=$dram, program_config=None)",
            "ttnn_rms_norm_0 = ttnn.rms_norm(ttnn_layer_norm_0, epsilon=9.9999997473787516e-06, weight=arg_1, bias=None, residual_input_tensor=None, "
            "memory_config=$dram, program_config=None, compute_kernel_config=None)",
            "del ttnn_layer_norm_0",
        ],
        "ttnn_rms_norm_0",
    ),
    "reductions": Printed(
        [Input([4, 32, 64])],
        [
            "ttnn_mean_0 = ttnn.mean(arg_0, [1], True, memory_config=$dram)",
            "ttnn_max_0 = ttnn.max(arg_0, [2], False, memory_config=$dram)",
            "ttnn_sum_0 = ttnn.sum(arg_0, [0], False, memory_config=$dram)",
            "ttnn_to_layout_0 = ttnn.to_layout(arg_0, ttnn.Layout.ROW_MAJOR, None, memory_config=None)",
            "ttnn_argmax_0 = ttnn.argmax(ttnn_to_layout_0, 2, False, sub_core_grids=None, memory_config=$dram)",
            "del ttnn_to_layout_0",
        ],
        "ttnn_mean_0, ttnn_max_0, ttnn_sum_0, ttnn_argmax_0",
    ),
    "sharded_matmul": Printed(
        [Input([1, 1, 256, 512]), Input([512, 512])],
        [
            "ttnn_to_memory_config_0 = ttnn.to_memory_config(arg_0, $block)",
            "ttnn_matmul_0 = ttnn.matmul(ttnn_to_memory_config_0, arg_1, transpose_a=False, transpose_b=False, memory_config=$block, dtype=$bf16, "
            "program_config=$blocks, activation=None, compute_kernel_config=$hifi4)",
            "del ttnn_to_memory_config_0",
            "ttnn_to_memory_config_1 = ttnn.to_memory_config(ttnn_matmul_0, $dram)",
            "del ttnn_matmul_0",
        ],
        "ttnn_to_memory_config_1",
    ),
    "topk": Printed(
        [Input([1, 1, 32, 64])],
        [
            "v_0, v_1 = ttnn.topk(arg_0, 32, 3, True, True, memory_config=$dram)",
            "del v_0",
            "ttnn_typecast_0 = ttnn.typecast(v_1, ttnn.DataType.INT32, memory_config=$dram)",
        ],
        "ttnn_typecast_0",
    ),
    "where": Printed(
        [Input([1, 1, 64, 64]), Input([1, 1, 64, 64])],
        [
            f"device_0 = {DEVICE}",
            "ttnn_full_0 = ttnn.full(shape=ttnn.Shape([1, 1, 64, 64]), fill_value=0.0, dtype=$bf16, layout=ttnn.Layout.TILE, device=device_0, "
            "memory_config=$dram)",
            "ttnn_gt_0 = ttnn.gt(arg_0, ttnn_full_0, dtype=$bf16, memory_config=$dram)",
            "ttnn_where_0 = ttnn.where(ttnn_gt_0, arg_0, arg_1, memory_config=$dram)",
            "del ttnn_gt_0",
            "ttnn_typecast_0 = ttnn.typecast(ttnn_where_0, ttnn.DataType.FLOAT32, memory_config=$dram)",
            "del ttnn_where_0",
        ],
        "ttnn_typecast_0",
    ),
}


def printed(program: Printed) -> str:
    """The program's whole text."""
    arguments = [f"arg_{i} = arg[{i}]" for i in range(len(program.inputs))]
    statements = [f"ttnn.deallocate({line[4:]}, False)" if line.startswith("del ") else line for line in program.statements]
    inputs = [f"ttnn_ones_{i} = {tensor.call()}" for i, tensor in enumerate(program.inputs)]
    names = ", ".join(f"ttnn_ones_{i}" for i in range(len(program.inputs)))
    functions = {
        "forward(arg)": [*arguments, *statements, f"return [{program.results}]"],
        "create_inputs_for_forward()": [f"device_1 = {DEVICE}", *inputs, f"return [{names}]"],
        "main()": [
            "create_inputs_for_forward_0 = create_inputs_for_forward()",
            "forward_0 = forward(create_inputs_for_forward_0)",
            "const0_0 = 0",
            "return const0_0",
        ],
    }
    bodies = [f"def {name}:\n" + "".join(f"    {line}\n" for line in lines) for name, lines in functions.items()]
    text = "\n\n".join(["import ttnn\nimport utils\n", *bodies, 'if __name__ == "__main__":\n    main()\n'])
    while any(short in text for short in ABBREVIATIONS):
        for short in sorted(ABBREVIATIONS, key=len, reverse=True):
            text = text.replace(short, ABBREVIATIONS[short])
    return text

import ttnn
import utils


def forward(arg):
    arg_0 = arg[0]
    arg_1 = arg[1]
    ttnn_matmul_0 = ttnn.matmul(
        arg_0,
        arg_1,
        transpose_a=False,
        transpose_b=False,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
        dtype=ttnn.DataType.BFLOAT16,
        program_config=None,
        activation=None,
        compute_kernel_config=None,
    )
    ttnn_reshape_0 = ttnn.reshape(
        ttnn_matmul_0, [1, 32, 2304], memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)
    )
    ttnn.deallocate(ttnn_matmul_0, False)
    v_0, v_1, v_2 = ttnn.transformer.split_query_key_value_and_split_heads(
        ttnn_reshape_0,
        None,
        num_heads=12,
        num_kv_heads=None,
        transpose_key=False,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn.deallocate(ttnn_reshape_0, False)
    ttnn_transpose_0 = ttnn.transpose(
        v_1, -2, -1, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None), pad_value=0.0
    )
    ttnn_matmul_1 = ttnn.matmul(
        v_0,
        ttnn_transpose_0,
        transpose_a=False,
        transpose_b=False,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
        dtype=ttnn.DataType.BFLOAT16,
        program_config=None,
        activation=None,
        compute_kernel_config=None,
    )
    ttnn.deallocate(ttnn_transpose_0, False)
    ttnn_softmax_0 = ttnn.softmax(
        ttnn_matmul_1, 3, numeric_stable=True, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)
    )
    ttnn.deallocate(ttnn_matmul_1, False)
    ttnn_matmul_2 = ttnn.matmul(
        ttnn_softmax_0,
        v_2,
        transpose_a=False,
        transpose_b=False,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
        dtype=ttnn.DataType.BFLOAT16,
        program_config=None,
        activation=None,
        compute_kernel_config=None,
    )
    ttnn.deallocate(ttnn_softmax_0, False)
    ttnn_transformer_concatenate_heads_0 = ttnn.transformer.concatenate_heads(
        ttnn_matmul_2, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)
    )
    ttnn.deallocate(ttnn_matmul_2, False)
    return [ttnn_transformer_concatenate_heads_0]


def create_inputs_for_forward():
    utils_DeviceGetter_get_device_1 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_ones_0 = ttnn.ones(
        shape=ttnn.Shape([32, 768]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.TILE,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_ones_1 = ttnn.ones(
        shape=ttnn.Shape([768, 2304]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.TILE,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    return [ttnn_ones_0, ttnn_ones_1]


def main():
    create_inputs_for_forward_0 = create_inputs_for_forward()
    forward_0 = forward(create_inputs_for_forward_0)
    const0_0 = 0
    return const0_0


if __name__ == "__main__":
    main()

import ttnn
import utils


def forward(arg):
    arg_0 = arg[0]
    arg_1 = arg[1]
    ttnn_embedding_0 = ttnn.embedding(
        arg_0,
        arg_1,
        layout=ttnn.Layout.TILE,
        dtype=ttnn.DataType.BFLOAT16,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_slice_0 = ttnn.slice(
        ttnn_embedding_0, [0, 0, 0], [1, 32, 32], [1, 1, 1], memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)
    )
    ttnn_slice_1 = ttnn.slice(
        ttnn_embedding_0, [0, 0, 32], [1, 32, 64], [1, 1, 1], memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)
    )
    ttnn.deallocate(ttnn_embedding_0, False)
    ttnn_neg_0 = ttnn.neg(ttnn_slice_1, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn.deallocate(ttnn_slice_1, False)
    ttnn_concat_0 = ttnn.concat([ttnn_neg_0, ttnn_slice_0], 2, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn.deallocate(ttnn_neg_0, False)
    ttnn.deallocate(ttnn_slice_0, False)
    ttnn_permute_0 = ttnn.permute(
        ttnn_concat_0, [0, 2, 1], memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None), pad_value=0.0
    )
    ttnn.deallocate(ttnn_concat_0, False)
    ttnn_reshape_0 = ttnn.reshape(ttnn_permute_0, [64, 32], memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn.deallocate(ttnn_permute_0, False)
    return [ttnn_reshape_0]


def create_inputs_for_forward():
    utils_DeviceGetter_get_device_1 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_ones_0 = ttnn.ones(
        shape=ttnn.Shape([1, 32]),
        dtype=ttnn.DataType.UINT32,
        layout=ttnn.Layout.ROW_MAJOR,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_ones_1 = ttnn.ones(
        shape=ttnn.Shape([128, 64]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.ROW_MAJOR,
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

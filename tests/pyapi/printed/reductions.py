import ttnn
import utils


def forward(arg):
    arg_0 = arg[0]
    ttnn_mean_0 = ttnn.mean(arg_0, [1], True, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn_max_0 = ttnn.max(arg_0, [2], False, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn_sum_0 = ttnn.sum(arg_0, [0], False, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn_to_layout_0 = ttnn.to_layout(arg_0, ttnn.Layout.ROW_MAJOR, None, memory_config=None)
    ttnn_argmax_0 = ttnn.argmax(
        ttnn_to_layout_0, 2, False, sub_core_grids=None, memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None)
    )
    ttnn.deallocate(ttnn_to_layout_0, False)
    return [ttnn_mean_0, ttnn_max_0, ttnn_sum_0, ttnn_argmax_0]


def create_inputs_for_forward():
    utils_DeviceGetter_get_device_1 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_ones_0 = ttnn.ones(
        shape=ttnn.Shape([4, 32, 64]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.TILE,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    return [ttnn_ones_0]


def main():
    create_inputs_for_forward_0 = create_inputs_for_forward()
    forward_0 = forward(create_inputs_for_forward_0)
    const0_0 = 0
    return const0_0


if __name__ == "__main__":
    main()

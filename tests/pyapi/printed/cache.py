import ttnn
import utils


def forward(arg):
    arg_0 = arg[0]
    arg_1 = arg[1]
    arg_2 = arg[2]
    ttnn.fill_cache(arg_0, arg_1, 0)
    return [arg_0]


def create_inputs_for_forward():
    utils_DeviceGetter_get_device_1 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_ones_0 = ttnn.ones(
        shape=ttnn.Shape([1, 8, 128, 64]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.TILE,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_ones_1 = ttnn.ones(
        shape=ttnn.Shape([1, 8, 32, 64]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.TILE,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_ones_2 = ttnn.ones(
        shape=ttnn.Shape([1]),
        dtype=ttnn.DataType.INT32,
        layout=ttnn.Layout.ROW_MAJOR,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    return [ttnn_ones_0, ttnn_ones_1, ttnn_ones_2]


def main():
    create_inputs_for_forward_0 = create_inputs_for_forward()
    forward_0 = forward(create_inputs_for_forward_0)
    const0_0 = 0
    return const0_0


if __name__ == "__main__":
    main()

import ttnn
import utils


def forward(arg):
    arg_0 = arg[0]
    arg_1 = arg[1]
    arg_2 = arg[2]
    utils_DeviceGetter_get_device_0 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_prepare_conv_weights_0 = ttnn.prepare_conv_weights(
        weight_tensor=arg_1,
        input_memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
        input_layout=ttnn.Layout.ROW_MAJOR,
        weights_format="OIHW",
        in_channels=16,
        out_channels=32,
        batch_size=1,
        input_height=32,
        input_width=32,
        kernel_size=[3, 3],
        stride=[1, 1],
        padding=[1, 1, 1, 1],
        dilation=[1, 1],
        has_bias=True,
        groups=1,
        device=utils_DeviceGetter_get_device_0,
        input_dtype=ttnn.DataType.BFLOAT16,
        output_dtype=ttnn.DataType.BFLOAT16,
        conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.DataType.BFLOAT16, config_tensors_in_dram=True),
        compute_config=None,
        slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dL1Full, num_slices=0),
    )
    ttnn_prepare_conv_bias_0 = ttnn.prepare_conv_bias(
        bias_tensor=arg_2,
        input_memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
        input_layout=ttnn.Layout.ROW_MAJOR,
        in_channels=16,
        out_channels=32,
        batch_size=1,
        input_height=32,
        input_width=32,
        kernel_size=[3, 3],
        stride=[1, 1],
        padding=[1, 1, 1, 1],
        dilation=[1, 1],
        groups=1,
        device=utils_DeviceGetter_get_device_0,
        input_dtype=ttnn.DataType.BFLOAT16,
        output_dtype=ttnn.DataType.BFLOAT16,
        conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.DataType.BFLOAT16, config_tensors_in_dram=True),
        compute_config=None,
        slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dL1Full, num_slices=0),
    )
    ttnn_reshape_0 = ttnn.reshape(arg_0, [1, 1, 1024, 16], memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn_conv2d_0 = ttnn.conv2d(
        input_tensor=ttnn_reshape_0,
        weight_tensor=ttnn_prepare_conv_weights_0,
        device=utils_DeviceGetter_get_device_0,
        in_channels=16,
        out_channels=32,
        batch_size=1,
        input_height=32,
        input_width=32,
        kernel_size=[3, 3],
        stride=[1, 1],
        padding=[1, 1, 1, 1],
        dilation=[1, 1],
        groups=1,
        bias_tensor=ttnn_prepare_conv_bias_0,
        dtype=ttnn.DataType.BFLOAT16,
        conv_config=ttnn.Conv2dConfig(weights_dtype=ttnn.DataType.BFLOAT16, deallocate_activation=True, config_tensors_in_dram=True),
        compute_config=None,
        slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dL1Full, num_slices=0),
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_to_layout_0 = ttnn.to_layout(ttnn_conv2d_0, ttnn.Layout.ROW_MAJOR, None, memory_config=None)
    ttnn.deallocate(ttnn_conv2d_0, False)
    ttnn_max_pool2d_0 = ttnn.max_pool2d(
        ttnn_to_layout_0,
        1,
        32,
        32,
        32,
        [2, 2],
        [2, 2],
        [0, 0],
        [1, 1],
        ceil_mode=False,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
        applied_shard_scheme=None,
        reallocate_halo_output=False,
        config_tensor_in_dram=True,
    )
    ttnn.deallocate(ttnn_to_layout_0, False)
    return [ttnn_max_pool2d_0]


def create_inputs_for_forward():
    utils_DeviceGetter_get_device_1 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_ones_0 = ttnn.ones(
        shape=ttnn.Shape([1, 32, 32, 16]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.ROW_MAJOR,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_ones_1 = ttnn.ones(shape=ttnn.Shape([32, 16, 3, 3]), dtype=ttnn.DataType.BFLOAT16, layout=ttnn.Layout.ROW_MAJOR, device=None, memory_config=None)
    ttnn_ones_2 = ttnn.ones(shape=ttnn.Shape([1, 1, 1, 32]), dtype=ttnn.DataType.BFLOAT16, layout=ttnn.Layout.ROW_MAJOR, device=None, memory_config=None)
    return [ttnn_ones_0, ttnn_ones_1, ttnn_ones_2]


def main():
    create_inputs_for_forward_0 = create_inputs_for_forward()
    forward_0 = forward(create_inputs_for_forward_0)
    const0_0 = 0
    return const0_0


if __name__ == "__main__":
    main()

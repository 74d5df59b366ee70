import ttnn
import utils


def forward(arg):
    arg_0 = arg[0]
    arg_1 = arg[1]
    ttnn_to_memory_config_0 = ttnn.to_memory_config(
        arg_0,
        ttnn.MemoryConfig(
            ttnn.TensorMemoryLayout.BLOCK_SHARDED,
            ttnn.BufferType.L1,
            ttnn.ShardSpec(ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 3))]), [64, 128], ttnn.ShardOrientation.ROW_MAJOR),
        ),
    )
    ttnn_matmul_0 = ttnn.matmul(
        ttnn_to_memory_config_0,
        arg_1,
        transpose_a=False,
        transpose_b=False,
        memory_config=ttnn.MemoryConfig(
            ttnn.TensorMemoryLayout.BLOCK_SHARDED,
            ttnn.BufferType.L1,
            ttnn.ShardSpec(ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 3))]), [64, 128], ttnn.ShardOrientation.ROW_MAJOR),
        ),
        dtype=ttnn.DataType.BFLOAT16,
        program_config=ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
            compute_with_storage_grid_size=ttnn.CoreCoord(4, 4),
            in0_block_w=4,
            out_subblock_h=1,
            out_subblock_w=4,
            out_block_h=2,
            out_block_w=4,
            per_core_M=2,
            per_core_N=4,
            transpose_mcast=False,
            fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU),
            fuse_batch=True,
        ),
        activation=None,
        compute_kernel_config=ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True),
    )
    ttnn.deallocate(ttnn_to_memory_config_0, False)
    ttnn_to_memory_config_1 = ttnn.to_memory_config(ttnn_matmul_0, ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None))
    ttnn.deallocate(ttnn_matmul_0, False)
    return [ttnn_to_memory_config_1]


def create_inputs_for_forward():
    utils_DeviceGetter_get_device_1 = utils.DeviceGetter.get_device((1, 1), fabric_config=ttnn.FabricConfig.DISABLED)
    ttnn_ones_0 = ttnn.ones(
        shape=ttnn.Shape([1, 1, 256, 512]),
        dtype=ttnn.DataType.BFLOAT16,
        layout=ttnn.Layout.TILE,
        device=utils_DeviceGetter_get_device_1,
        memory_config=ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, ttnn.BufferType.DRAM, None),
    )
    ttnn_ones_1 = ttnn.ones(
        shape=ttnn.Shape([512, 512]),
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

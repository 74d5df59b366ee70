"""Which module has what `ttnn` offers besides the ops and enums of the table."""

from __future__ import annotations

# Where hand-written things live; ops and enums come from the table.
HOME: dict[str, tuple[str, ...]] = {
    "_tensor": ("Tensor",),
    "_grid": ("Shape", "CoreCoord", "CoreRange", "CoreRangeSet", "CoreGrid"),
    "_dtypes": ("element_size",),
    "_state": ("Config", "CONFIG", "manage_config"),
    "_spec": ("TensorSpec",),
    "_memory": ("ShardSpec", "NdShardSpec", "MemoryConfig", "Tile"),
    "_fabric": ("MeshMapperConfig", "MeshComposerConfig", "set_fabric_config", "get_fabric_config", "ShardTensor2dMesh",
                "ConcatMesh2dToTensor", "create_mesh_mapper", "create_mesh_composer", "create_global_semaphore", "create_global_circular_buffer",
                "get_global_semaphore_address",
                "reset_global_semaphore_value", "command_queue"),
    "_mesh": ("MeshShape", "MeshCoordinate", "QueueId", "SubDeviceId", "MeshEvent", "TensorTopology", "PlacementReplicate", "PlacementShard",
              "CppTensorToMesh", "CppMeshToTensor", "ReplicateTensorToMeshWrapper", "ReplicateTensorToMesh", "ShardTensorToMesh",
              "ConcatMeshToTensor", "replicate_tensor_to_mesh_mapper", "shard_tensor_to_mesh_mapper", "concat_mesh_to_tensor_composer",
              "distribute_tensor", "from_host_shards", "combine_device_tensors", "aggregate_tensor", "distribute"),
    "_configs": ("UnaryWithParam",),
    "ttnn_extras.golden": ("attach_golden_function", "decorators.get_golden_function", "decorators.get_fallback_function"),
    "ttnn_extras.hooks": ("decorators.register_pre_operation_hook", "decorators.register_post_operation_hook"),
    "_graph": tuple(f"graph.{name}" for name in (
        "begin_graph_capture", "end_graph_capture", "end_graph_capture_to_file", "full_graph_capture", "is_graph_capture_active", "extract_calltrace",
        "extract_peak_L1_memory_usage", "extract_resource_usage_per_core", "extract_output_tensors", "extract_output_info",
        "count_intermediate_and_output_tensors", "pretty_format", "pretty_print",
    )),
    "_perf_data": ("ReadDeviceProfiler", "get_latest_programs_perf_data", "get_all_programs_perf_data"),
    "_system": (
        "GetPCIeDeviceID", "using_distributed_env", "load_config_from_dictionary", "load_config_from_json_file", "save_config_to_json_file",
        *(f"distributed.{name}" for name in ("get_num_pcie_devices", "get_pcie_device_ids")),
        *(f"distributed.visualize_{name}" for name in ("mesh_device", "system_mesh", "tensor")),
        *(f"distributed_context_{name}" for name in ("barrier", "get_rank", "get_size", "is_initialized")),
        *(f"device.{name}_asynchronous_slow_dispatch" for name in ("enable", "disable")), "device.is_asynchronous_slow_dispatch_enabled",
        "core.num_cores_to_corerangeset_in_subcoregrids",
    ),
    "ttnn_extras.complex_tensors": tuple(
        "complex_tensor real imag angle is_imag is_real conj polar abs reciprocal real_bw imag_bw conj_bw angle_bw polar_bw".split()
    ),
    "ttnn_extras.composed": (
        "topk", "prod", "ema", "moe", "sparse_matmul",
        *(f"experimental.{name}" for name in ("dit_minimal_matmul_addcmul_fused", "attn_matmul", "complex_mul")),
        "transformer.flash_mla_prefill", "transformer.chunked_flash_mla_prefill",
    ),
    "ttnn_extras.moreh": tuple(f"moreh_{name}" for name in (
        "sum mean sum_backward dot dot_backward matmul bmm linear softmax softmin logsoftmax softmax_backward softmin_backward logsoftmax_backward "
        "abs_pow norm arange mean_backward layer_norm sgd adam adamw"
    ).split()),
    "_norm_parameters": (
        "determine_expected_group_norm_sharded_config_and_grid_size", "get_group_norm_cores_across_channel",
        "create_group_norm_input_mask", "create_group_norm_input_negative_mask", "create_group_norm_weight_bias_rm",
    ),
    "_trace": ("MeshTraceId", "begin_trace_capture", "end_trace_capture", "execute_trace", "release_trace", "device.is_trace_capture_active"),
    "_device": (
        "Device", "DispatchCoreConfig", "CreateDevice", "CreateDevices", "CloseDevice", "CloseDevices", "GetDefaultDevice", "SetDefaultDevice",
        "GetNumAvailableDevices", "GetNumPCIeDevices", "close_device", "close_mesh_device", "create_mesh_device",
        "get_arch_name", "record_event", "wait_for_event", "event_synchronize",
        *(f"device.{name}" for name in (
            "open_device", "manage_device", "synchronize_device", "get_memory_view", "dump_device_memory_state", "get_l1_alignment",
            "get_dram_alignment", "get_max_worker_l1_unreserved_size", "init_device_compute_kernel_config", "is_wormhole_b0", "is_blackhole",
        )),
        *(f"distributed.{name}" for name in ("open_mesh_device", "get_num_devices", "get_device_ids")),
    ),
    "_host": (
        "from_torch", "to_torch", "as_tensor", "load_tensor", "dump_tensor", "get_device_tensors", "allocate_tensor_on_device",
        "allocate_tensor_on_host", "tile_size", "get_conv_output_dim", "corerange_to_cores",
        "layernorm_default_compute_config", "create_layernorm_program_config", "global_avg_pool2d",
        "pearson_correlation_coefficient",
        "operations.normalization.rmsnorm_default_compute_config",
        *(f"core.{name}" for name in (
            "create_sharded_memory_config", "create_sharded_memory_config_", "num_cores_to_corerangeset", "grid_to_cores", "split_work_to_cores",
            "get_memory_config", "is_sharded", "has_tile_padding", "is_tensor_storage_on_device", "has_storage_type_of", "divup", "roundup",
            "ttnn_dtype_to_torch_dtype", "set_printoptions",
        )),
    ),
}  # fmt: skip
# Names that are not in the table: ranges of a mesh, groups of cores, and values that are read at import.
UNLISTED = {f"ttnn.{name}": home for home, names in {
    "_mesh": ("MeshCoordinateRange",),
    "_graph": ("graph.REPORT_VERSION", "graph.TensorInfo", *(f"graph.{name}" for name in (
        "enable_python_stack_traces", "disable_python_stack_traces", "is_python_stack_trace_enabled",
    ))),
    "ttnn_extras.graph_report": ("graph.import_report",),
    "ttnn_extras.graph_durations": tuple(f"{place}.{name}" for place in ("graph", "graph_report") for name in (
        "extract_operation_durations", "extract_total_duration_from_graph",
    )),
    "ttnn_extras.graph_levels": ("graph.extract_levelized_graph", "graph.visualize", "graph.visualize_node", "graph.visualize_edge"),
    "ttnn_extras.python_operations": tuple(f"{place}{name}" for place in ("", "decorators.") for name in (
        "register_python_operation", "query_registered_operations", "dump_operations",
    )),
    "ttnn_extras.backward": tuple(f"{name}_bw" for name in (
        "acos acosh asin asinh atan atanh ceil cosh deg2rad digamma erf erfc erfinv exp2 expm1 fill_zero floor frac hardsigmoid hardswish i0 lgamma "
        "log10 log1p log2 log_sigmoid logit multigammaln rad2deg relu6 round selu sign sinh softsign tan tanhshrink trunc atan2 hypot ldexp "
        "logaddexp2 logaddexp max min squared_difference xlogy addcdiv addcmul celu elu clamp clip fmod remainder hardshrink softshrink addalpha "
        "assign bias_gelu concat div_no_nan fill hardtanh leaky_relu lerp logiteps polygamma pow prod rdiv reciprocal repeat rpow rsub softplus "
        "subalpha threshold where "
    ).split()),
    "_host": ("from_buffer",),
    "_places": ("FabricNodeId", "TensorAccessorArgs", "get_optimal_worker_cores_for_sharded_tensor"),
    "_sub_devices": ("SubDevice", "SubDeviceManagerId"),
    "_system": ("CONFIG_OVERRIDES", "CONFIG_PATH", "init_distributed_context"),
    "ttnn_extras.golden": ("operations.activations.get_golden_function_for_activation",),
    "ttnn_extras.golden_windows": tuple(f"operations.pool.golden_{name}" for name in (
        "maxpool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "global_avg_pool2d", "upsample", "grid_sample",
    )),
    "_norm_parameters": (
        "create_layer_norm_reciprocals", "dram_group_norm_params_from_torch", "determine_expected_group_norm_dram_grid_size",
        "operations.normalization.dram_group_norm_virtual_columns",
    ),
}.items() for name in names}  # fmt: skip

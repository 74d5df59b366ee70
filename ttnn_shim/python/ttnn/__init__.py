"""TT-NN on the simulator: the names, signatures and behaviour of the real `ttnn` (0.81.1) for inference on one device.

Names are made on first use from `_signatures.json`. A name that the real package has and this one does not raises an
AttributeError that says so. `ttnn._operation.ops_without_kernel()` lists ops that are offered but not computed yet.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from functools import partial
from typing import Any

from ttnn._facts import absent, facts, offered, resolve_alias
from ttnn_shim import session as _session  # noqa: F401  programs tell the simulator from a card by this module

__version__ = facts()["version"]

# Where hand-written things live; ops and enums come from the table.
_HOME = {
    "_tensor": ("Tensor",),
    "_grid": ("Shape", "CoreCoord", "CoreRange", "CoreRangeSet", "CoreGrid"),
    "_memory": ("ShardSpec", "NdShardSpec", "MemoryConfig", "Tile", "TensorSpec"),
    "_fabric": ("PlacementShard", "MeshMapperConfig", "MeshComposerConfig", "set_fabric_config", "get_fabric_config", "ShardTensor2dMesh",
                "ConcatMesh2dToTensor", "create_mesh_mapper", "create_mesh_composer", "create_global_semaphore", "get_global_semaphore_address",
                "reset_global_semaphore_value", "command_queue"),
    "_mesh": ("MeshShape", "MeshCoordinate", "QueueId", "SubDeviceId", "MeshEvent", "TensorTopology", "PlacementReplicate",
              "CppTensorToMesh", "CppMeshToTensor", "ReplicateTensorToMeshWrapper", "ReplicateTensorToMesh", "ShardTensorToMesh",
              "ConcatMeshToTensor", "replicate_tensor_to_mesh_mapper", "shard_tensor_to_mesh_mapper", "concat_mesh_to_tensor_composer",
              "from_host_shards", "combine_device_tensors", "aggregate_tensor", "distribute"),
    "_configs": ("UnaryWithParam",),
    "_golden": ("attach_golden_function", "decorators.get_golden_function", "decorators.get_fallback_function"),
    "_hooks": ("decorators.register_pre_operation_hook", "decorators.register_post_operation_hook"),
    "_graph": tuple(f"graph.{name}" for name in (
        "begin_graph_capture", "end_graph_capture", "end_graph_capture_to_file", "full_graph_capture", "is_graph_capture_active", "extract_calltrace",
        "extract_peak_L1_memory_usage", "extract_resource_usage_per_core", "extract_output_tensors", "extract_output_info",
        "count_intermediate_and_output_tensors", "pretty_format", "pretty_print",
    )),
    "_perf_data": ("get_latest_programs_perf_data", "get_all_programs_perf_data"),
    "_system": (
        "GetPCIeDeviceID", "using_distributed_env", "load_config_from_dictionary", "load_config_from_json_file", "save_config_to_json_file",
        *(f"distributed.{name}" for name in ("get_num_pcie_devices", "get_pcie_device_ids", "visualize_mesh_device")),
        *(f"distributed_context_{name}" for name in ("barrier", "get_rank", "get_size", "is_initialized")),
        *(f"device.{name}_asynchronous_slow_dispatch" for name in ("enable", "disable")), "device.is_asynchronous_slow_dispatch_enabled",
        "core.num_cores_to_corerangeset_in_subcoregrids",
    ),
    "_norm_parameters": (
        "get_group_norm_cores_across_channel", "create_group_norm_input_mask", "create_group_norm_input_negative_mask", "create_group_norm_weight_bias_rm",
    ),
    "_trace": ("MeshTraceId", "begin_trace_capture", "end_trace_capture", "execute_trace", "release_trace", "device.is_trace_capture_active"),
    "_device": (
        "Device", "DispatchCoreConfig", "CreateDevice", "CreateDevices", "CloseDevice", "CloseDevices", "GetDefaultDevice", "SetDefaultDevice",
        "GetNumAvailableDevices", "GetNumPCIeDevices", "ReadDeviceProfiler", "close_device", "close_mesh_device", "create_mesh_device",
        "get_arch_name", "record_event", "wait_for_event", "event_synchronize", "element_size",
        *(f"device.{name}" for name in (
            "open_device", "manage_device", "synchronize_device", "get_memory_view", "dump_device_memory_state", "get_l1_alignment",
            "get_dram_alignment", "get_max_worker_l1_unreserved_size", "init_device_compute_kernel_config", "is_wormhole_b0", "is_blackhole",
        )),
        *(f"distributed.{name}" for name in ("open_mesh_device", "get_num_devices", "get_device_ids")),
    ),
    "_host": (
        "from_torch", "to_torch", "as_tensor", "load_tensor", "dump_tensor", "get_device_tensors", "allocate_tensor_on_device",
        "allocate_tensor_on_host", "tile_size", "get_conv_output_dim", "corerange_to_cores", "Config", "CONFIG", "manage_config",
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
_UNLISTED = {f"ttnn.{name}": home for home, names in {
    "_mesh": ("MeshCoordinateRange",),
    "_graph": ("graph.REPORT_VERSION", "graph.TensorInfo", *(f"graph.{name}" for name in (
        "enable_python_stack_traces", "disable_python_stack_traces", "is_python_stack_trace_enabled",
    ))),
    "graph_report": ("graph.import_report",),
    "_graph_durations": tuple(f"{place}.{name}" for place in ("graph", "graph_report") for name in (
        "extract_operation_durations", "extract_total_duration_from_graph",
    )),
    "_graph_levels": ("graph.extract_levelized_graph", "graph.visualize", "graph.visualize_node", "graph.visualize_edge"),
    "_python_operations": tuple(f"{place}{name}" for place in ("", "decorators.") for name in (
        "register_python_operation", "query_registered_operations", "dump_operations",
    )),
    "_sub_devices": ("SubDevice", "SubDeviceManagerId"),
    "_system": ("CONFIG_OVERRIDES", "CONFIG_PATH", "init_distributed_context"),
    "_golden": ("operations.activations.get_golden_function_for_activation",),
    "_golden_windows": tuple(f"operations.pool.golden_{name}" for name in (
        "maxpool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "global_avg_pool2d", "upsample", "grid_sample",
    )),
    "_norm_parameters": (
        "create_layer_norm_reciprocals", "dram_group_norm_params_from_torch", "determine_expected_group_norm_dram_grid_size",
        "operations.normalization.dram_group_norm_virtual_columns",
    ),
}.items() for name in names}  # fmt: skip
# How a caller describes kernels of its own; names that end in Descriptor belong to it too.
_OF_OWN_KERNELS = ("generic_op", "RuntimeArgs", "get_cb_address", "cb_descriptor_from_sharded_tensor", "merge_program_descriptors")
_OWN_KERNELS = ": kernels in source need a card's processors; call a TT-NN op that computes the same, or run on a card (./run --device)"
_RENAMED = {"Device": "MeshDevice"}
_PLACES = {f"ttnn.{name}": home for home, names in _HOME.items() for name in names}
_SUBMODULES = ("transformer", "experimental", "kv_cache", "device", "core", "types", "distributed", "operations", "decorators", "graph", "profiler")
_DEEPER = {"operations": ("activations", "conv2d", "matmul", "losses", "normalization", "pool", "transformer", "reduction", "embedding", "moreh")}


def _make(name: str) -> Any:
    """The object behind a full name of the table."""
    name = resolve_alias(name)
    table = facts()
    if name in _PLACES:
        short = name.rsplit(".", 1)[-1]
        return getattr(importlib.import_module(f"ttnn.{_PLACES[name]}"), _RENAMED.get(short, short))
    if name in table["enums"]:
        from ttnn._enums import enum_class

        return enum_class(name)
    if name in table["classes"]:
        return _config(name)
    if name in table["values"]:
        return _value(*table["values"][name])
    if name in table["functions"]:
        from ttnn._operation import Operation

        return Operation(name)
    raise KeyError(name)


def _config(name: str) -> Any:
    from ttnn import _configs

    if name in _configs.MARKERS:
        return _configs.marker_class(name)
    made: Any = _configs.config_class(name)
    if name == "ttnn.Conv2dSliceConfig":
        made.SliceTypeEnum = _make("ttnn.Conv2dSliceConfig.SliceTypeEnum")
    return made


def _value(type_: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    from ttnn import _convert

    if type_ == "MemoryConfig":
        _make("ttnn.MemoryConfig")
    if type_ == "Op2DSliceConfig":
        return _make("ttnn.Conv2dSliceConfig")(slice_type=_make("ttnn.Conv2dL1Full"), num_slices=0)
    return _convert.default_value(value, type_)


_made: dict[str, Any] = {}


def _lookup(module: str, name: str) -> Any:
    """Attribute `name` of `ttnn` or one of its modules."""
    full = f"{module}.{name}"
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if module == "ttnn.operations.moreh":  # the same ops under shorter names
        return _lookup("ttnn", f"moreh_{name}")
    if name in offered(module):
        canonical = resolve_alias(full)
        try:
            if canonical not in _made:
                _made[canonical] = _make(canonical)
        except KeyError:
            pass
        else:
            return _made[canonical]
    if full in _UNLISTED:
        return getattr(importlib.import_module(f"ttnn.{_UNLISTED[full]}"), name)
    if full in ("ttnn.tracer", "ttnn.graph_report", "ttnn.graph_tracer_utils", "ttnn._ttnn"):
        return importlib.import_module(full)
    if full == "ttnn.cluster":
        return importlib.import_module("ttnn._system").cluster_module()
    if absent(full):
        from ttnn_shim.errors import NotOffered

        why = _OWN_KERNELS if name in _OF_OWN_KERNELS or name.endswith("Descriptor") else _similar(module, name)
        raise NotOffered(f"{full} exists in ttnn {__version__} but not in the simulator{why}", name=name)
    from ttnn_shim.errors import UnknownName

    raise UnknownName(module, name, partial(_near, module, name))


def _near(module: str, name: str) -> list[str]:
    """Names of the module that look like it; else the same name in another module."""
    import difflib

    elsewhere = (full for full in facts()["functions"] if full.rpartition(".")[2] == name)
    return difflib.get_close_matches(name, offered(module), 4, 0.6) or sorted(elsewhere)[:4]


def _similar(module: str, name: str) -> str:
    close = _near(module, name)
    return f"; it has {', '.join(close)}" if close else ""


class _Module(types.ModuleType):
    """A submodule whose names come from the table."""

    def __getattr__(self, name: str) -> Any:
        value = _lookup(self.__name__, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *offered(self.__name__)})


def _add_submodule(parent: Any, name: str) -> _Module:
    full = f"{parent.__name__}.{name}"
    module = _Module(full, f"Part of TT-NN on the simulator; see `dir({full})`.")
    module.__path__ = []
    sys.modules[full] = module
    setattr(parent, name, module)
    for deeper in _DEEPER.get(name, ()):
        _add_submodule(module, deeper)
    return module


for _name in _SUBMODULES:
    _add_submodule(sys.modules[__name__], _name)


if {"TTNN_CONFIG_PATH", "TTNN_CONFIG_OVERRIDES"} & set(os.environ):
    importlib.import_module("ttnn._system").read_configuration()


def __getattr__(name: str) -> Any:
    value = _lookup("ttnn", name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *offered("ttnn")})

"""Writes ttnn/_signatures.json: the part of the real package's public surface that the simulator offers.

    python ttnn_shim/python/make_signatures.py            # from tests/data
    python ttnn_shim/python/make_signatures.py --check    # exit 1 when it is stale

`ttnn_api.json.gz` holds names, parameters, enums and classes of ttnn 0.81.1. The output keeps what inference on one chip can touch, with equal
type strings, parameters and overload sets stored once, and the names of the rest, so that their use gives a precise error.
`ttnn_int_kinds.json` holds what the real package's "int" and "Sequence[int]" parameters were seen to accept: `function#overload.parameter` ->
width and sign (`i8`, `i32`, `u32`, `i64`), `!` when it takes a plain int only, `[2,4]` the lengths of a fixed-length sequence.
`ttnn_cpp_symbols.tsv.gz` has the C++ functions that the real library exports (mangled, demangled): the parameter types of those that stand
behind a function of the output are kept by name.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from ttnn_shim.paths import split_outside_brackets

OUTPUT = Path(__file__).resolve().parent / "ttnn" / "_signatures.json"

# Not offered: training, several chips, tools of the real runtime, vendor specials.
ABSENT = re.compile(
    r"_bw$|moreh|quasar|deepseek|\.kda\.|moe|(?<!norm_pre_)(?<!norm_post_)all_gather|all_reduce|reduce_scatter|all_to_all|all_broadcast|point_to_point|mesh_partition|"
    r"fabric|[pP]refetch|test_|reduce_to_root|ring_|_async|wan_|_direct|dit_|llama_rs|llama_reduce|neighbor_pad|halo|msda|golden|sparse_|"
    r"indexer|topk_router|fft|_msa|matmul_1d|generic_op|composite_example|^ttnn\.tools\.|graph_report|operation_tracer|"
    r"stack_trace_source|config_serialization|\.reload\.|layer_completion|comparison|experimental_loader|reflection|profiler|"
    r"gated_delta|mla|adamw|l1_loss|mse_loss|dram_prefetcher|apply_twiddles|gdn|GDN|[sS]ocket|D2D|D2H|H2D|Mcast|Gdn|ComplexTensor|"
    r"complex|conj$|ttnn\.(real|imag|is_real|is_imag|angle|polar|broadcast|from_buffer|ema|bernoulli)$|"
    r"distributed_context|Distributed|Replay|light_metal|create_mesh_composer|create_mesh_mapper|distribute|attach_|register_|program_desc|"
    r"DeviceOperation|ProgramFactory|Inputs$|Params$|Descriptor|ttnn\.(operations\.ccl|graph)\.|decorators\.|fused_rms_minimal|hc_sum|"
    r"selective_reduce|pearson|device_delay|mgd|Fabric|prefix_scan|attn_matmul|yuv|YUV|rgb|RGB|SemaphoreDesc|semaphore|"
    r"_w0_|_w2_|expert|EXPERT|Expert|get_weight|quantize_weights|SparseKV|MMSignal|Dispatch[A]|WorkerMode|IndexerScore|"
    r"_SQL|SCHEMA|SIDECAR|REPORT|MOE|TRACE_ALLOC|UNGATED|RECORDS|InterProcess|LayerAck|Overlapped|RuntimeArgs|TensorAccessor|CounterChannel"
)
# What is offered although its name is of a kind that is not: collectives, and names of several chips that programs for one chip use as well.
KEPT = {f"ttnn.{name}" for name in """FabricConfig FabricReliabilityMode FabricTensixConfig FabricUDMMode FabricManagerMode PlacementReplicate PlacementShard
MeshMapperConfig MeshComposerConfig FabricRouterConfig graph.RunMode all_gather all_reduce reduce_scatter mesh_partition broadcast all_broadcast point_to_point
experimental.all_to_all_async_generic experimental.deepseek_moe_post_combine_tilize""".split()}  # fmt: skip
CLASSES_ABSENT = re.compile(
    r"distributed\.|graph\.|device\.Program|Placement|MeshMapper|MeshComposer|MeshSocket|MeshId|"
    r"MeshCoordinateRange|SubDevice$|SubDeviceManagerId|SubcontextId|Rank|Size$|MeshCoreCoord|FaceGeometry|Paged|Qkv"
)
FUNCTIONS = """CreateDevice CreateDevices CloseDevice CloseDevices GetDefaultDevice SetDefaultDevice GetNumAvailableDevices GetNumPCIeDevices
ReadDeviceProfiler close_device close_mesh_device create_mesh_device device.open_device device.manage_device device.synchronize_device
device.get_memory_view device.dump_device_memory_state device.get_l1_alignment device.get_dram_alignment
device.get_max_worker_l1_unreserved_size device.init_device_compute_kernel_config device.is_wormhole_b0 device.is_blackhole
device.get_allocator_base_address
distributed.open_mesh_device distributed.get_num_devices distributed.get_device_ids manage_config core.set_printoptions get_arch_name
core.create_sharded_memory_config core.create_sharded_memory_config_ core.num_cores_to_corerangeset core.grid_to_cores core.split_work_to_cores
core.get_memory_config core.is_sharded core.has_tile_padding core.is_tensor_storage_on_device core.has_storage_type_of core.divup core.roundup
core.ttnn_dtype_to_torch_dtype corerange_to_cores element_size tile_size get_conv_output_dim global_avg_pool2d
operations.conv2d.prepare_conv_weights operations.conv2d.prepare_conv_bias operations.conv2d.prepare_conv_transpose2d_weights
operations.conv2d.prepare_conv_transpose2d_bias operations.pool.prepare_grid_sample_grid get_device_tensors
ReplicateTensorToMesh ShardTensorToMesh ConcatMeshToTensor replicate_tensor_to_mesh_mapper shard_tensor_to_mesh_mapper
concat_mesh_to_tensor_composer distribute_tensor from_host_shards combine_device_tensors aggregate_tensor
layernorm_default_compute_config operations.normalization.rmsnorm_default_compute_config create_layernorm_program_config
create_group_norm_input_mask create_group_norm_input_negative_mask create_group_norm_weight_bias_rm get_group_norm_cores_across_channel
record_event wait_for_event event_synchronize set_fabric_config get_fabric_config ShardTensor2dMesh ConcatMesh2dToTensor create_mesh_mapper
create_mesh_composer create_global_semaphore get_global_semaphore_address reset_global_semaphore_value command_queue distribute
begin_trace_capture end_trace_capture execute_trace release_trace device.is_trace_capture_active
abs_bw add_bw cos_bw div_bw embedding_bw exp_bw gelu_bw log_bw mul_bw neg_bw relu_bw rsqrt_bw sigmoid_bw silu_bw sin_bw sqrt_bw square_bw
sub_bw tanh_bw moreh_cumsum moreh_cumsum_backward l1_loss mse_loss alt_complex_rotate90 pearson_correlation_coefficient
moreh_full moreh_full_like bernoulli core.num_cores_to_corerangeset_in_subcoregrids decorators.get_golden_function decorators.get_fallback_function
attach_golden_function using_distributed_env
distributed_context_barrier distributed_context_get_rank distributed_context_get_size distributed_context_is_initialized
distributed.get_num_pcie_devices distributed.get_pcie_device_ids GetPCIeDeviceID load_config_from_json_file load_config_from_dictionary
save_config_to_json_file device.enable_asynchronous_slow_dispatch device.disable_asynchronous_slow_dispatch
device.is_asynchronous_slow_dispatch_enabled distributed.visualize_mesh_device
distributed.visualize_system_mesh distributed.visualize_tensor decorators.register_pre_operation_hook
decorators.register_post_operation_hook graph.begin_graph_capture graph.end_graph_capture graph.end_graph_capture_to_file
graph.full_graph_capture graph.is_graph_capture_active graph.extract_calltrace graph.extract_peak_L1_memory_usage graph.extract_resource_usage_per_core
graph.extract_output_tensors graph.extract_output_info graph.count_intermediate_and_output_tensors graph.pretty_format graph.pretty_print
get_latest_programs_perf_data get_all_programs_perf_data determine_expected_group_norm_sharded_config_and_grid_size
create_global_circular_buffer""".split()
# Ops that `ttnn_extras` composes of others in Python: the core has no program and no arguments for them.
COMPOSED = {f"ttnn.{name}" for name in """complex_tensor real imag angle is_imag is_real conj polar real_bw imag_bw conj_bw angle_bw polar_bw ema moe
sparse_matmul experimental.dit_minimal_matmul_addcmul_fused experimental.attn_matmul experimental.complex_mul transformer.flash_mla_prefill
transformer.chunked_flash_mla_prefill moreh_sum moreh_mean moreh_sum_backward moreh_dot moreh_dot_backward moreh_matmul moreh_bmm moreh_linear
moreh_softmax moreh_softmin moreh_logsoftmax moreh_softmax_backward moreh_softmin_backward moreh_logsoftmax_backward moreh_abs_pow moreh_norm
moreh_arange moreh_mean_backward moreh_layer_norm moreh_sgd moreh_adam moreh_adamw""".split()}  # fmt: skip
# C++ functions behind the real package's `*args, **kwargs` wrappers: their own signatures.
_CONV = """input_memory_config: MemoryConfig, input_layout: Layout, {weights}in_channels: int, out_channels: int, batch_size: int, input_height: int,
input_width: int, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int] | Sequence[int], {extra}dilation: Sequence[int],
{bias}groups: int, device: MeshDevice, input_dtype: DataType, output_dtype: DataType | None = None, conv_config: Conv2dConfig | None = None,
compute_config: WormholeComputeKernelConfig | None = None, {slice}: Op2DSliceConfig | None = None"""
WRAPPED = {
    "ttnn.operations.conv2d.prepare_conv_weights": "weight_tensor: Tensor, "
    + _CONV.format(weights="weights_format: str, ", extra="", bias="has_bias: bool, ", slice="slice_config"),
    "ttnn.operations.conv2d.prepare_conv_bias": "bias_tensor: Tensor, " + _CONV.format(weights="", extra="", bias="", slice="slice_config"),
    "ttnn.operations.conv2d.prepare_conv_transpose2d_weights": "weight_tensor: Tensor, "
    + _CONV.format(weights="weights_format: str, ", extra="output_padding: Sequence[int] = [0, 0], ", bias="has_bias: bool, ", slice="dram_slice_config")
    + ", mirror_kernel: bool = True",
    "ttnn.operations.conv2d.prepare_conv_transpose2d_bias": "bias_tensor: Tensor, " + _CONV.format(weights="", extra="", bias="", slice="dram_slice_config"),
    "ttnn.operations.pool.prepare_grid_sample_grid": "grid: Tensor, input_shape: Sequence[int], mode: str = bilinear, padding_mode: str = zeros, "
    "align_corners: bool = False, output_dtype: DataType | None = None",
}
_POSITIONAL = ("grid", "input_shape")


class Table:
    """Values stored once, by index."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._index: dict[str, int] = {}

    def add(self, item: Any) -> int:
        key = json.dumps(item)
        if key not in self._index:
            self._index[key] = len(self.items)
            self.items.append(item)
        return self._index[key]


def wrapped_signature(text: str) -> dict[str, Any]:
    params: list[list[Any]] = []
    for part in re.split(r",\s+(?=\w+:)", " ".join(text.split())):
        name, rest = part.split(": ", 1)
        kind, _, default = rest.partition(" = ")
        value: Any = {"None": None, "True": True, "False": False}.get(default, default)
        params.append([name, "" if name in _POSITIONAL else "K", kind] + ([value] if default else []))
    return {"p": params, "r": "Tensor"}


def cpp_functions(symbols: Path, offered: set[str], types: Table) -> dict[str, list[list[int]]]:
    """Name with dots -> overloads, each its parameter types as indices, of the free functions named as a function of the package."""
    shorts = {name.rpartition(".")[2] for name in offered} | {"load_tensor_flatbuffer", "dump_tensor_flatbuffer"}
    found: dict[str, list[list[int]]] = {}
    for line in gzip.decompress(symbols.read_bytes()).decode().splitlines():
        match = re.fullmatch(r"(ttnn(?:::[a-z]\w*)+)(?:\[abi:\w+\])?\((.*)\)", line.partition("\t")[2])
        if match and match[1].rpartition("::")[2] in shorts:
            found.setdefault(match[1].replace("::", "."), []).append([types.add(part) for part in split_outside_brackets(match[2], ",") if part])
    return found


def text_of(source: Path, kinds: Path, symbols: Path) -> str:
    """The table as it is written."""
    raw = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    entries: dict[str, dict[str, Any]] = json.loads(raw)["entries"]
    types, params, sets = Table(), Table(), Table()

    def overload_set(overloads: list[dict[str, Any]]) -> int:
        rows = []
        for one in overloads:
            if "raw" not in one:
                indices = [params.add([p[0], p[1], types.add(p[2]), *p[3:]]) for p in one["p"]]
                rows.append([types.add(one.get("r")), *indices])
        return sets.add(rows)

    out: dict[str, dict[str, Any]] = {"functions": {}, "wrapped": {}, "classes": {}, "enums": {}, "values": {}, "aliases": {}}
    absent: list[str] = []
    wanted = {"ttnn." + name for name in FUNCTIONS}
    for name, entry in entries.items():
        kind = entry["k"]
        if kind in ("op", "func"):
            if (kind == "op" and (name in KEPT or not ABSENT.search(name))) or name in wanted or name in COMPOSED:
                out["functions"][name] = [overload_set(entry["ov"]), "composed" if name in COMPOSED else "op" if kind == "op" else "func"]
                if name in WRAPPED:
                    out["wrapped"][name] = overload_set([wrapped_signature(WRAPPED[name])])
            else:
                absent.append(name)
        elif kind == "enum":
            if ABSENT.search(name) and name not in KEPT:
                absent.append(name)
            else:
                out["enums"][name] = [entry["of"], entry["m"]]
        elif kind == "class":
            if name not in KEPT and (ABSENT.search(name) or CLASSES_ABSENT.search(name)):
                absent.append(name)
                continue
            methods = {m: overload_set(d["ov"]) for m, d in entry.get("methods", {}).items() if d["ov"]}
            row: dict[str, Any] = {"of": entry["of"], "props": entry.get("props", {}), "methods": methods}
            if "init" in entry:
                row["init"] = overload_set(entry["init"])
            out["classes"][name] = row
        elif kind == "value":
            if name.count(".") == 1 and not ABSENT.search(name) and name not in ("ttnn.name", "ttnn.ispkg"):
                out["values"][name] = [entry["type"], entry["v"]]
            elif name.count(".") == 1:
                absent.append(name)
    offered = set(out["functions"]) | set(out["classes"]) | set(out["enums"]) | set(out["values"])
    for name, entry in entries.items():
        if entry["k"] == "alias":
            if entry["to"] in offered and not re.search(r"operations\.ccl\.|\.decorators\.", name):
                out["aliases"][name] = entry["to"]
            elif name.count(".") == 1 or "transformer" in name or "experimental" in name:
                absent.append(name)
        elif entry["k"] == "value" and name.count(".") == 2 and name.split(".")[1] in ("types", "device", "core"):
            short = "ttnn." + name.rsplit(".", 1)[1]
            if short in offered:
                out["aliases"][name] = short
            elif not ABSENT.search(name):
                out["values"][name] = [entry["type"], entry["v"]]
    document = {
        "version": "0.81.1",
        "types": types.items,
        "params": params.items,
        "sets": sets.items,
        **out,
        "absent": sorted(a.removeprefix("ttnn.") for a in absent),
    }
    int_kinds: dict[str, dict[str, dict[str, str]]] = {}
    for key, kind in json.loads(kinds.read_text(encoding="utf-8")).items():
        name, rest = key.split("#")
        index, parameter = rest.split(".", 1)
        int_kinds.setdefault(name, {}).setdefault(index, {})[parameter] = kind
    document["int_kinds"] = int_kinds
    cpp_types = Table()
    document["cpp"] = cpp_functions(symbols, set(out["functions"]) | set(out["aliases"]), cpp_types)
    document["cpp_types"] = cpp_types.items
    lines = ",\n".join(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in document.items())
    return "{" + lines + "}\n"


def main(arguments: list[str]) -> int:
    data = OUTPUT.parents[3] / "tests" / "data"
    text = text_of(*(data / name for name in ("ttnn_api.json.gz", "ttnn_int_kinds.json", "ttnn_cpp_symbols.tsv.gz")))
    if OUTPUT.read_text(encoding="utf-8") != text:
        if "--check" in arguments:
            print(f"{OUTPUT}: stale; run python ttnn_shim/python/make_signatures.py", file=sys.stderr)
            return 1
        OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

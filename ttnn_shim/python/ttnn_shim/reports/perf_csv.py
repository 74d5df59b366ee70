"""`ops_perf_results.csv` and `profile_log_device.csv`, as the device profiler writes them (read by tt-perf-report)."""

from __future__ import annotations

import csv
from pathlib import Path

from ttnn_shim.records import Profile, ProgramRecord, TensorRecord

MAX_INPUTS, MAX_OUTPUTS = 5, 2
_RISC_OF_UNIT = {"NCRISC": 0, "TRISC0": 1, "TRISC1": 1, "TRISC2": 1, "BRISC": 2}


def _tensor_columns(kind: str, index: int) -> list[str]:
    dims = [f"{kind}_{index}_{axis}_PAD[LOGICAL]" for axis in "WZYX"]
    return [*dims, *(f"{kind}_{index}_{what}" for what in ("LAYOUT", "DATATYPE", "MEMORY"))]


COLUMNS = [
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE ID",
    "DEVICE ARCH",
    "ATTRIBUTES",
    "MATH FIDELITY",
    "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT",
    "PARALLELIZATION STRATEGY",
    "HOST START TS",
    "HOST END TS",
    "HOST DURATION [ns]",
    "DEVICE FW START CYCLE",
    "DEVICE FW END CYCLE",
    "OP TO OP LATENCY [ns]",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
    *(f"DEVICE {risc} KERNEL DURATION [ns]" for risc in ("BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2", "ERISC")),
    *(column for index in range(MAX_INPUTS) for column in _tensor_columns("INPUT", index)),
    *(column for index in range(MAX_OUTPUTS) for column in _tensor_columns("OUTPUT", index)),
    "METAL TRACE ID",
    "METAL TRACE REPLAY SESSION ID",
    "COMPUTE KERNEL SOURCE",
    "PM IDEAL [ns]",
    "DRAM BW UTIL (%)",
    "NOC UTIL (%)",
    "PM FPU UTIL (%)",
    "MODELLED",
    "SOURCE LINE",
]


def write_ops_perf_results(profile: Profile, path: Path) -> None:
    """One row per device program, in order. DEVICE KERNEL DURATION + OP TO OP LATENCY add up to the device time."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        for number, program in enumerate(profile.programs):
            writer.writerow(_row(profile, program, number))


def _row(profile: Profile, program: ProgramRecord, number: int) -> dict[str, object]:
    start_cycle = round(program.start_ns * profile.clock_ghz)
    row: dict[str, object] = {
        "OP CODE": program.op_code,
        "OP TYPE": "tt_dnn_device",
        "GLOBAL CALL COUNT": (number + 1) * 1024,
        "DEVICE ID": 0,
        "DEVICE ARCH": "blackhole_p100" if profile.card == "p100" else profile.arch,
        "ATTRIBUTES": attributes_cell(program.attributes),
        "MATH FIDELITY": program.fidelity,
        "CORE COUNT": program.cores,
        "AVAILABLE WORKER CORE COUNT": profile.grid[0] * profile.grid[1],
        "PARALLELIZATION STRATEGY": program.factory,
        "HOST START TS": round(program.start_ns),
        "HOST END TS": round(program.start_ns + program.kernel_ns),
        "HOST DURATION [ns]": round(program.kernel_ns),
        "DEVICE FW START CYCLE": start_cycle,
        "DEVICE FW END CYCLE": start_cycle + program.cycles,
        "OP TO OP LATENCY [ns]": round(program.gap_ns),
        "DEVICE FW DURATION [ns]": round(program.kernel_ns),
        "DEVICE KERNEL DURATION [ns]": round(program.kernel_ns),
        "PM IDEAL [ns]": round(max(program.dram_cycles, program.noc_cycles, *program.busy_cycles) / profile.clock_ghz),
        "DRAM BW UTIL (%)": round(100 * program.dram_utilisation, 2),
        "NOC UTIL (%)": round(100 * program.noc_utilisation, 2),
        "PM FPU UTIL (%)": round(100 * program.fpu_utilisation, 2),
        "MODELLED": int(program.modelled),
        "SOURCE LINE": profile.line_of(program),
    }
    for risc, unit in _RISC_OF_UNIT.items():
        row[f"DEVICE {risc} KERNEL DURATION [ns]"] = round(program.busy_cycles[unit] / profile.clock_ghz)
    for kind, tensors, limit in (("INPUT", program.inputs, MAX_INPUTS), ("OUTPUT", program.outputs, MAX_OUTPUTS)):
        for index, tensor in enumerate(tensors[:limit]):
            row |= _tensor_cells(kind, index, tensor)
    return row


def _tensor_cells(kind: str, index: int, tensor: TensorRecord) -> dict[str, object]:
    padded, logical = _four_dims(tensor.padded_shape), _four_dims(tensor.shape)
    prefix = f"{kind}_{index}"
    cells: dict[str, object] = {f"{prefix}_{axis}_PAD[LOGICAL]": f"{p}[{x}]" for axis, p, x in zip("WZYX", padded, logical, strict=True)}
    cells[f"{prefix}_LAYOUT"] = tensor.layout
    cells[f"{prefix}_DATATYPE"] = tensor.dtype
    cells[f"{prefix}_MEMORY"] = f"DEV_0_{tensor.buffer_type}_{tensor.memory_layout}"
    return cells


def _four_dims(shape: tuple[int, ...]) -> tuple[int, ...]:
    """W, Z, Y, X; leading dimensions beyond four are folded into W."""
    full = (1,) * (4 - len(shape)) + shape
    lead = 1
    for extent in full[:-3]:
        lead *= extent
    return (lead, *full[-3:])


# Attributes that the profiler prints inside a record, and where tt-perf-report looks for them: our name, the record's name.
_WINDOW = {
    "batch": "batch_size", "input_hw": "input_hw", "window_hw": "window_hw", "stride": "stride_hw", "stride_hw": "stride_hw",
    "padding": "padding", "dilation_hw": "dilation_hw",
}  # fmt: skip
_PROGRAM_CONFIG = ("in0_block_w", "out_subblock_h", "out_subblock_w", "out_block_h", "out_block_w", "per_core_M", "per_core_N", "mcast_in0")


def attributes_cell(text: str) -> str:
    """ "a=1;b=(x=8;y=8)" -> "{'a': '1'; 'b': '(x=8;y=8)'}", the profiler's spelling (`;` where a comma would be).

    The facts of a sliding window become one `SlidingWindowConfig(window_hw=(3;3); ...)`, those of a matmul program its config.
    """
    values: dict[str, str] = {}
    depth, start = 0, 0
    for position, character in enumerate(text + ";"):
        depth += (character in "([{") - (character in ")]}")
        if character == ";" and depth <= 0:
            key, equals, value = text[start:position].strip().partition("=")
            if equals:
                values[key] = value
            start = position + 1
    if "window_hw" in values:
        window = {_WINDOW[key]: values.pop(key).replace("[", "(").replace("]", ")") for key in _WINDOW if key in values}
        record = "".join(f"{key}={value}; " for key, value in window.items())
        values["sliding_window_config"] = f"SlidingWindowConfig({record})"
    if "act_block_h" in values:
        values["parallelization_config"] = f"OptimizedConvParallelizationConfig(per_core_out_matrix_height_ntile={values.get('per_core_m', 1)}; )"
        values["block_config"] = f"OptimizedConvBlockConfig(act_block_h_ntiles={values['act_block_h']}; )"
    if config := {key: values.pop(key) for key in _PROGRAM_CONFIG if key in values and "program_config" in values}:
        record = "; ".join(f"{key}={value}" for key, value in config.items())
        values["program_config"] += f"({record})"
    return "{" + "; ".join(f"'{key}': '{value}'" for key, value in values.items()).replace(",", ";").replace("\n", " ") + "}"


def write_profile_log_device(profile: Profile, path: Path) -> None:
    """Zones of each program on core (0, 0), one per RISC: what the device-side profiler dumps."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(f"ARCH: {profile.arch}, CHIP_FREQ[MHz]: {round(profile.clock_ghz * 1000)}\n")
        writer = csv.writer(file)
        writer.writerow(
            [
                "PCIe slot",
                "core_x",
                "core_y",
                "RISC processor type",
                "timer_id",
                "time[cycles since reset]",
                "stat value",
                "run ID",
                "run host ID",
                "zone name",
                "type",
                "source line",
                "source file",
            ]
        )
        for number, program in enumerate(profile.programs):
            start = round(program.start_ns * profile.clock_ghz)
            for timer, (risc, unit) in enumerate(_RISC_OF_UNIT.items()):
                busy = min(program.busy_cycles[unit], program.cycles)
                name = risc if risc in ("BRISC", "NCRISC") else f"TRISC_{risc[-1]}"
                zone = f"{risc[:5]}-KERNEL" if risc.startswith("TRISC") else f"{risc}-KERNEL"
                for phase, cycle in (("ZONE_START", start), ("ZONE_END", start + max(busy, 1))):
                    writer.writerow([0, 1, 1, name, timer + 1, cycle, 0, number, (number + 1) * 1024, zone, phase, 0, program.factory])

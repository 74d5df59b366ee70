"""Prices calls of published timings by running them: each row's configuration becomes a call of the simulator's `ttnn` on a device without values.

`python -m ttnn_shim price-calls` reads a JSON list of {"id", "chip", "arch", "op", "date", "measured", "config"} on stdin and writes a JSON list of
{"id", "ns", "floor_ns", "bytes", "ops", "programs", "machine", "configs", "gap_ns"} or {"id", "reason"}. floor_ns: bytes at the peak of DRAM or the
matrix engine's work, whichever is longer; configs: what the simulator prices on `machine` (card, columns, rows), each with gap_ns of idle time. It runs in a
process of its own (`published.py` starts it): devices of several cards are open here at a time.
"""

from __future__ import annotations

import importlib
import json
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import ttnn_shim
from ttnn_shim import session
from ttnn_shim.dtypes import MEAN_BYTES
from ttnn_shim.errors import ShimError
from ttnn_shim.machine import cards
from ttnn_shim.published_ops import BUILDERS, earlier_call, eltwise_call
from ttnn_shim.published_words import Call, Machine, Unreadable
from ttnn_shim.simlib import simulator

SPLIT_CHANGED = frozenset({"argmax"})
"""Operations that earlier releases distributed over other cores: 0.81.1 gives argmax at least four runs of 32 bytes per core."""
WHOLE_ROWS_BEFORE = "2026-10"
"""Year and month before which a core joined or split all heads of its rows of tiles (published: 16 cores for 16 rows); 0.81.1 shares out single heads."""
WHOLE_ROWS = frozenset({"concat_heads", "create_heads"})
MOST_BYTES = 8 << 30
"""Of all tensors of one configuration; a larger one is left out."""


def card_of(chip: str, arch: str) -> tuple[str, tuple[int, int]]:
    """(card, worker grid) behind a chip's name. Raises Unreadable for names that say neither."""
    name = chip.lower()
    if arch == "wormhole_b0":
        if "galaxy" in name:
            return "n150", (7, 10)  # dispatch on a column
        if "t3000" in name or name.strip() == "n300":
            return "n300", (8, 7)
        return "n150", (8, 8)
    if arch == "blackhole":
        if found := re.search(r"restricted to (\d+) cores", name):
            grids = {20: (5, 4), 64: (8, 8)}
            if int(found[1]) not in grids:
                raise Unreadable(f"chip: no grid is known for {found[1]} cores")
            return "p150", grids[int(found[1])]
        if "galaxy" in name:
            return "p150", (12, 10)
        if "p100" in name:
            return "p100", (11, 10)
        return "p150", (11, 10)  # p150 with current firmware, p300
    raise Unreadable(f"no model of the chip {arch[:40]!r}")


def requested_grid(config: Mapping[str, Any]) -> tuple[int, int]:
    """The largest grid that a configuration names; (0, 0) where it names none."""
    largest = (0, 0)
    for key in ("core_grid", "grid", "program"):
        for x, y in re.findall(r"\b(\d+)x(\d+)\b", str(config.get(key) or "")):
            if key == "program" and "subblock" in str(config[key]).split(f"{x}x{y}")[0][-14:]:
                continue
            largest = max(largest, (int(x), int(y)), key=lambda g: g[0] * g[1])
    return largest


def price_call(ttnn: Any, request: Mapping[str, Any], devices: dict[tuple[str, int, int], Any]) -> dict[str, Any]:
    """Time of one configuration's device programs (with the gaps of a traced loop where wall time was measured)."""
    config = request["config"]
    card, (x, y) = card_of(request["chip"], request["arch"])
    wanted = requested_grid(config)
    if card == "p150" and (x, y) == (11, 10) and (wanted[0] > x or wanted[1] > y) and all(map(operator.le, wanted, cards()[card].tensix_grid)):
        x, y = wanted
    key = (card, x, y)
    if key not in devices:
        session.settings.card = f"{card}:{x}x{y}"
        session.settings.estimate = True
        devices[key] = importlib.import_module("ttnn._device").MeshDevice._create(len(devices), 32768, 0)
        devices[key].events_enable(True)
        devices[key].configs_keep(True)
    device = devices[key]
    machine = Machine(ttnn, device, (x, y), MOST_BYTES)
    call = builder_of(request["op"], config, request["date"])(machine, config)
    device.clock_reset()
    device.configs_take()
    call()
    programs = [{**event, "config": config} for event, config in zip(device.events(), device.configs_take(), strict=True)]
    unmodelled = sorted({event["op"] for event in programs if not event["modelled"]})
    if unmodelled:
        raise Unreadable(f"no model of {', '.join(unmodelled)}")
    if not programs:
        raise Unreadable("the call runs nothing on the device")
    if "Conv2dDeviceOperation only" in request["measured"] or "matmul_view" in config:  # a list of programs: that of the product
        programs = [event for event in programs if event["op"] == "conv2d"]
    take_stated_cores(config, card, (x, y), programs)
    take_stated_program(config, card, (x, y), programs)
    join_whole_rows(request["date"], card, (x, y), programs)
    gap_ns = 0.0
    if "wall" in request["measured"]:
        gap_ns = simulator().get(simulator().arch(card), "launch_gap")
    sizes = [sum(spec_bytes(spec) for spec in (*event["inputs"], *event["outputs"])) for event in programs]
    peak_bytes_per_ns = cards()[card].dram_gb_s
    floors = [max(size / peak_bytes_per_ns, event["fpu_utilisation"] * event["ns"]) for size, event in zip(sizes, programs, strict=True)]
    return {
        "ns": float(sum(event["ns"] + gap_ns for event in programs)),
        "floor_ns": sum(floors),
        "bytes": sum(sizes),
        "machine": key,
        "configs": [event["config"] for event in programs],
        "gap_ns": gap_ns,
        "ops": [(event["op"], event["attributes"]) for event in programs],
        "programs": [f"{event['factory'].removesuffix('::ProgramFactory')} {event['ns']:.0f} ns" for event in programs],
    }


def take_stated_cores(config: Mapping[str, Any], card: str, grid: tuple[int, int], programs: list[dict[str, Any]]) -> None:
    """Programs whose split over cores changed between releases get the cores that the row states."""
    cores = config.get("cores")
    for event in programs:
        if event["op"] in SPLIT_CHANGED and isinstance(cores, int) and 0 < cores <= grid[0] * grid[1] and cores != event["cores"]:
            event["config"]["attrs"]["core_count"] = cores
            event["ns"] = simulator().price(simulator().arch(card, grid), simulator().config(event["config"])).ns


def take_stated_program(config: Mapping[str, Any], card: str, grid: tuple[int, int], programs: list[dict[str, Any]]) -> None:
    """A product of which the row says what program its release fell back to ("falls to MatmulMultiCoreProgramConfig") runs that one."""
    stated = re.search(r"falls to (Matmul\w+)ProgramConfig", str(config.get("note") or ""))
    for event in programs:
        if stated and event["op"] == "matmul" and not event["factory"].startswith(f"{stated[1]}ProgramFactory"):
            event["config"]["attrs"]["program_config"] = f"{stated[1]}ProgramConfig"
            event["factory"] = f"{stated[1]}ProgramFactory"
            event["ns"] = simulator().price(simulator().arch(card, grid), simulator().config(event["config"])).ns


def join_whole_rows(date: str, card: str, grid: tuple[int, int], programs: list[dict[str, Any]]) -> None:
    """Heads joined or split on interleaved tensors as the releases before `WHOLE_ROWS_BEFORE` shared them out: all heads of a row of tiles on one core."""
    for event in programs:
        if event["op"] in WHOLE_ROWS and "Decode" not in event["factory"] and date and date[:7] < WHOLE_ROWS_BEFORE:
            batch, _, rows, _ = event["inputs"][0]["padded_shape"]
            event["config"]["attrs"]["core_count"] = min(batch * rows // 32, grid[0] * grid[1])
            event["ns"] = simulator().price(simulator().arch(card, grid), simulator().config(event["config"])).ns


def spec_bytes(spec: Mapping[str, Any]) -> float:
    """Bytes of a tensor of the event log."""
    return float(math.prod(spec["padded_shape"])) * MEAN_BYTES[spec["dtype"].lower()]


def builder_of(op: str, config: Mapping[str, Any], date: str) -> Callable[[Machine, Mapping[str, Any]], Call]:
    """The builder of an op's name as published; Unreadable for one that none takes."""
    if isinstance(config.get("inputs"), list) and config["inputs"] and isinstance(config["inputs"][0], dict):
        return earlier_call(op, date) or eltwise_call
    name = op.lower().removeprefix("ttnn.")
    for pattern, build in BUILDERS:
        if re.search(pattern, name):
            return build
    raise Unreadable(f"op: no call is known for {op[:60]!r}")


def main(arguments: list[str]) -> int:
    """Answers the requests on stdin. Output of ops is dropped."""
    requests = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    ttnn_shim.activate(explicit=True)
    ttnn = importlib.import_module("ttnn")
    devices: dict[tuple[str, int, int], Any] = {}
    out: list[dict[str, Any]] = []
    for request in requests:
        try:
            out.append({"id": request["id"], **price_call(ttnn, request, devices)})
        except Unreadable as reason:
            out.append({"id": request["id"], "reason": str(reason)})
        except (ShimError, RuntimeError, TypeError, ValueError, KeyError, IndexError, AttributeError) as refused:
            text = " ".join(re.sub(r" at <[^>]*>:\d+", "", str(refused)).split())
            out.append({"id": request["id"], "reason": f"the call is refused: {text[:300]}"})
    json.dump(out, answers)
    answers.flush()
    return 0

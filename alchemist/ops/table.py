"""The support table of `alchemist ops` and docs/ops.md: from the op records, and from what the simulator was seen to accept."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module, resources

from alchemist.ir.dialects import op_table
from alchemist.ops import TTIR_OPS, TTNN_OPS
from alchemist.ops.expand import COLLECTIVES, EXPANSIONS
from alchemist.ops.spec import OpSpec, TtirSpec

HEADER = ("op", "TTNN call", "dtypes", "layouts", "memory", "tolerance", "cost", "status", "samples", "notes")
_STATUS = HEADER.index("status")
_WIDTH = 100
UNSUPPORTED = "not supported"
SIMULATED = "simulated, not emitted"
_DTYPES = {"bfloat16": "bf16", "float32": "f32", "bfloat8_b": "bfp8", "bfloat4_b": "bfp4", "fp8_e4m3": "fp8", "int32": "i32", "uint32": "u32",
           "uint16": "u16", "uint8": "u8", "int8": "i8"}  # fmt: skip
_LAYOUTS = {"tile": "tile", "row_major": "rows"}

_OUTSIDE = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (r"\.get_device$", "the program's device: emitted, makes no call of an op"),
        (r"gather|reduce_scatter|all_reduce|all_to_all|mesh_|collective|point_to_point|distribute|aggregate|selective_reduce", "several chips"),
        (r"trace", "traces"),
        (r"semaphore", "semaphores"),
        (r"_bw$|sdpa_fw|adamw", "training"),
        (r"moe|sparse_matmul|indexer|mla|flash_multi_latent|topk_router|tt_lang|dit_|generic$|d2m_subgraph", "fused vendor special"),
        (r"\.alloc$|\.dealloc$|to_tensor_spec|layout_cast|write_tensor", "the compiler's own bookkeeping: no call of the Python package"),
    )
)
"""Why ops are outside: (part of the name, reason)."""

_EXPLAINED = """\
- **dtypes, layouts, memory**: of the op's first tensor (of its result, when it takes none), as seen by running the probes of
  `make conformance` on the simulator (`python -m tests.ops.accepted`, which writes `alchemist/ops/accepted.json`). Each value is accepted in
  some call, not in every combination; the real package is asked the same (docs/lab/conformance.md). bfp8 and bfp4 are bfloat8_b and bfloat4_b;
  rows is row-major; height, width and block are shards in L1; host is a tensor off the device.
- **tolerance**: of the numeric tests, in units of the result dtype's epsilon.
- **cost**: where the time of its device programs comes from. `model`: a tile program of that kind (docs/lab/accuracy.md); `bytes`: a roofline of
  the bytes moved, no model; `none`: no device program runs.
- **status**: `emitted`: both emitters print it; `lowered`: becomes TTNN ops; `simulated, not emitted`: an op of the Python and C++ API that
  no IR op stands for."""


@cache
def accepted() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """TTNN call -> {"dtypes", "layouts", "places", "modelled", "bytes"} of what the simulator accepts; {} of an op without probe."""
    table: dict[str, dict[str, list[str]]] = json.loads(resources.files("alchemist.ops").joinpath("accepted.json").read_bytes())
    return table


def _columns(call: str) -> tuple[str, str, str, str]:
    """dtypes, layouts, memory and cost of a TTNN call."""
    seen = accepted().get(call)
    if not seen:
        return "", "", "", ""
    cost = [f"{label}: {', '.join(seen[key])}" for key, label in (("modelled", "model"), ("bytes", "bytes")) if key in seen]
    dtypes = " ".join(_DTYPES.get(name, name) for name in seen["dtypes"])
    return dtypes, " ".join(_LAYOUTS[name] for name in seen["layouts"]), " ".join(seen["places"]), "; ".join(cost) or "none"


def _ttnn_row(name: str, spec: OpSpec | None) -> tuple[str, ...]:
    if spec is None:
        status = "emitted" if name == "ttnn.get_device" else UNSUPPORTED
        if name not in accepted():
            return (name, "", "", "", "", "", "", status, "", _reason(name))
        dtypes, layouts, memory, cost = _columns(name)  # what the simulator takes
        return (name, name, dtypes, layouts, memory, "", cost, status, "", f"{_reason(name)}: not emitted, but simulated")
    tolerance = f"{spec.tolerance:g} eps" if spec.reference is not None else ""
    status = "emitted, numerics tested" if spec.samples and spec.reference is not None else "emitted"
    dtypes, layouts, memory, cost = _columns(spec.target)
    return (name, spec.target, dtypes, layouts, memory, tolerance, cost, status, str(len(spec.samples) or ""), spec.doc)


def _reason(name: str) -> str:
    """Why an op has no record; "" when it should have one."""
    return next((reason for pattern, reason in _OUTSIDE if pattern.search(name)), "")


def _ttir_row(name: str, spec: TtirSpec | None, lowered: frozenset[str]) -> tuple[str, ...]:
    target, status, notes = "", UNSUPPORTED, ""
    if name not in lowered and name.removeprefix("ttir.") in COLLECTIVES:
        notes = "does nothing on one chip"
    elif name not in lowered and name in EXPANSIONS:
        status, notes = "lowered", "through simpler ops"
    elif spec is not None:
        target = spec.target
        status = "lowered" if name in lowered or spec.target else "reference only" if spec.reference else UNSUPPORTED
        notes = "" if spec.reference is not None else "no numpy reference"
    else:
        notes = _reason(name)
    return (name, target, "", "", "", "", "", status, "", notes)


def _surface_rows() -> list[tuple[str, ...]]:
    """Ops of the TTNN API without an IR op."""
    shown = {spec.target for spec in TTNN_OPS.values()} | set(TTNN_OPS) | set(op_table("ttnn"))
    rows_: list[tuple[str, ...]] = []
    for name in accepted():
        if name not in shown:
            dtypes, layouts, memory, cost = _columns(name)
            rows_.append((name, name, dtypes, layouts, memory, "", cost, SIMULATED, "", "" if dtypes else "not probed"))
    return rows_


def rows() -> list[tuple[str, ...]]:
    """One row per op of both dialects, then one per TTNN op outside them; cells as in `HEADER`."""
    # the rules live above this package; a table without them would call every composed op unsupported
    lowered = frozenset(import_module("alchemist.passes.lower").RULES)
    table = [_ttnn_row(name, TTNN_OPS.get(name)) for name in sorted(op_table("ttnn"))]
    return [*table, *(_ttir_row(name, TTIR_OPS.get(name), lowered) for name in sorted(op_table("ttir"))), *_surface_rows()]


def _totals(body: Sequence[Sequence[str]]) -> str:
    parts = []
    for dialect in ("ttnn", "ttir"):
        group = [row for row in body if row[0].startswith(dialect) and row[_STATUS] != SIMULATED]
        parts.append(f"{sum(row[_STATUS] != UNSUPPORTED for row in group)} of {len(group)} {dialect} ops")
    simulated = sum(row[_STATUS] == SIMULATED for row in body)
    return f"{', '.join(parts)}, and {simulated} more ops of the TTNN API in the simulator"


def support_table(words: Sequence[str] = (), *, markdown: bool = False) -> str:
    """The ops in lines of at most `_WIDTH` characters, or as a Markdown table, with a line of totals.

    words: only ops that have each of them, in any case, in op, call or notes, with all that is known; "" where there are none.
    """
    body = [row for row in rows() if all(word.lower() in " ".join((row[0], row[1], row[-1])).lower() for word in words)]
    if words and not body:
        return ""
    if markdown:
        lines = [f"| {' | '.join(HEADER)} |", f"|{'---|' * len(HEADER)}"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in body]
        return "\n".join(["# Ops", "", f"Supported: {_totals(body)}. Generated by `alchemist ops --markdown`.", "", _EXPLAINED, "", *lines])
    return "\n".join([*(line for row in body for line in _lines(row, details=bool(words))), "", _totals(body)])


def _lines(row: Sequence[str], details: bool) -> list[str]:
    """An op with its status and TTNN call; with details a wrapped line for each other column that says something."""
    cells = dict(zip(HEADER, row, strict=True))
    call = f"  {cells['TTNN call']}" if cells["TTNN call"] != cells["op"] else ""
    lines = textwrap.wrap(f"{cells['op']:<38} {cells['status']}{call}", _WIDTH, subsequent_indent="    ", break_long_words=False)
    for name in HEADER if details else ():
        if cells[name] and name not in ("op", "TTNN call", "status"):
            lines += textwrap.wrap(f"{name}: {cells[name]}", _WIDTH, initial_indent="    ", subsequent_indent="      ", break_long_words=False)
    return lines

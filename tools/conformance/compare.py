"""Compares answers of the shim and of the real wheel, and writes the table of docs/lab/conformance.md."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import edge_rows
from probes import Probe

COMPARED = ("shape", "padded_shape", "dtype", "layout", "storage", "buffer_type", "memory_layout", "shard")
_PERCENT = 100.0
# Why the simulator stays different, by op: written into the table of disagreements.
REASONS = {
    "ttnn.permute": "the real package takes a dimension twice and reads beyond the tensor's rows; its values would be arbitrary",
    "ttnn.scaled_dot_product_attention": "shapes of rank 5 and 6 are accepted by the real package; what it computes then is not known",
    "ttnn.conv2d": "blackhole: some small images are height sharded there, for which no rule was found",
    "ttnn.layer_norm_pre_all_gather": "ranks above 4: the real package writes the statistics' width into dimension 3, which is not the last; refused here",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """cause groups differences of one kind; what tells this one."""

    probe: Probe
    cause: str
    what: str


def is_drawn(probe: Probe) -> bool:
    """Whether random_rows.py made the probe."""
    return "/z" in probe.id


def tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from tensors(item)
    else:
        yield value


def buffers_end(probe: Probe, answer: Mapping[str, Any]) -> int | None:
    """Where circular buffers that found no room would have ended, of a row that fills L1."""
    if not any(edge_rows.FILLED in row[3] for row in probe.inputs):
        return None
    found = re.search(r"buffer region ends at (\d+)|buffers grow to (\d+)", str(answer.get("error", "")))
    return None if found is None else int(found[1] or found[2])


def difference(probe: Probe, real: Mapping[str, Any], shim: Mapping[str, Any]) -> Difference | None:
    verdicts = real["verdict"], shim["verdict"]
    if verdicts[0] != verdicts[1]:
        where = " at the input" if "input" in (real.get("stage"), shim.get("stage")) else ""
        reason = str(shim.get("error") or real.get("error", ""))
        side = "shim says" if shim.get("error") else "real says"
        return Difference(probe, f"{probe.op}: {verdicts[0]} by real, {verdicts[1]} by the shim{where}", f"real {verdicts[0]}, shim {verdicts[1]}; {side}: {reason[:180]}")  # fmt: skip
    if verdicts[0] != "accepted":
        ends = buffers_end(probe, real), buffers_end(probe, shim)
        return None if ends[0] == ends[1] else Difference(probe, f"{probe.op}: circular buffers", f"end: real {ends[0]}, shim {ends[1]}")
    mine, theirs = list(tensors(shim["result"])), list(tensors(real["result"]))
    if len(mine) != len(theirs):
        return Difference(probe, f"{probe.op}: number of results", f"real {len(theirs)}, shim {len(mine)}")
    for a, b in zip(theirs, mine, strict=True):
        if isinstance(a, dict) != isinstance(b, dict):
            return Difference(probe, f"{probe.op}: kind of result", f"real {a}, shim {b}")
        if not isinstance(a, dict):
            continue
        for name in (*COMPARED, "allocated"):
            if a.get(name) != b.get(name):
                return Difference(probe, f"{probe.op}: {name}", f"{name}: real {a.get(name)}, shim {b.get(name)}")
    return None


@dataclass(slots=True)
class Comparison:
    """differences: of verdict and output spec. unjudged: the real process died in the probe, so there is no verdict.

    memory_equal of memory_total: accepted by both, device tensors out: equal addresses and equal growth per bank.
    """

    probes: Sequence[Probe]
    real: Mapping[str, Mapping[str, Any]]
    shim: Mapping[str, Mapping[str, Any]]
    differences: list[Difference] = field(default_factory=list)
    unjudged: list[Probe] = field(default_factory=list)
    memory_total: int = 0
    memory_differences: list[Difference] = field(default_factory=list)
    per_op: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def __post_init__(self) -> None:
        for probe in self.probes:
            real, shim = self.real[probe.id], self.shim[probe.id]
            if real["verdict"] == "crashed" and shim["verdict"] != "crashed":
                self.unjudged.append(probe)
                continue
            found = difference(probe, real, shim)
            self.per_op[probe.op][0] += 1
            if found is None:
                self.per_op[probe.op][1] += 1
                self._memory(probe, real, shim)
            else:
                self.differences.append(found)

    def _memory(self, probe: Probe, real: Mapping[str, Any], shim: Mapping[str, Any]) -> None:
        if real["verdict"] != "accepted":
            return
        addresses = [[t["address"] for t in tensors(r["result"]) if isinstance(t, dict) and "address" in t] for r in (real, shim)]
        if not addresses[0]:
            return
        self.memory_total += 1
        if addresses[0] != addresses[1]:
            what = f"address: real {addresses[0]}, shim {addresses[1]}"
            self.memory_differences.append(Difference(probe, f"{probe.op}: address", what))
        elif real["memory"] != shim["memory"]:
            what = f"bytes per bank: real {real['memory']}, shim {shim['memory']}"
            self.memory_differences.append(Difference(probe, f"{probe.op}: allocated bytes", what))

    def share_of(self, drawn: bool) -> float:
        """Share of the probes of random_rows.py, or of the others, that agree."""
        unjudged = {probe.id for probe in self.unjudged}
        counted = [probe.id for probe in self.probes if is_drawn(probe) == drawn and probe.id not in unjudged]
        return 1 - sum(is_drawn(found.probe) == drawn for found in self.differences) / max(len(counted), 1)

    def shares(self) -> str:
        return f"made from op records and rules: {_PERCENT * self.share_of(False):.2f}%, drawn at random: {_PERCENT * self.share_of(True):.2f}%"

    @property
    def judged(self) -> int:
        return len(self.probes) - len(self.unjudged)

    @property
    def share(self) -> float:
        return 1 - len(self.differences) / max(self.judged, 1)

    def summary(self) -> str:
        agreed = self.judged - len(self.differences)
        accepted = sum(self.real[p.id]["verdict"] == "accepted" for p in self.probes)
        memory = self.memory_total - len(self.memory_differences)
        return (
            f"{len(self.per_op)} ops, {self.judged} probes ({accepted} accepted by the real package), {agreed} agree"
            f" ({_PERCENT * self.share:.2f}%); addresses and bytes per bank equal in {memory} of {self.memory_total}"
            f"; {len(self.unjudged)} not judged"
        )


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def document(results: Mapping[str, Comparison], wheel: str, target: float) -> str:
    """The generated page."""
    lines = [
        "# Conformance with the real package",
        "",
        f"Generated by `make conformance`: the same small programs on the simulator and on `{wheel}` over a mock device (no card).",
        "A probe agrees when both accept or both refuse and, if accepted, every output has equal shape, padded shape, dtype, layout,",
        f"storage, buffer type, memory layout and shard spec. Required on each architecture: {_PERCENT * target:g}%. About half of the probes are made",
        "from op records and rules, the others drawn at random (`random_rows.py`: rank 0, empty tensors, uneven and impossible shards, wrong arguments).",
        "Values are not compared (no kernel runs on the mock device). A probe in which the real process dies is not judged.",
        "",
        "The examples of TT-NN's documentation are tests in a checkout TREE of tt-metal, run unchanged by",
        "`python -m tools.experts.unit_tests TREE $(cd TREE && ls tests/ttnn/docs_examples/*.py) --cases 0`.",
        "Of the 376 of February 2026, 373 run; ttnn 0.81.1 refuses the other three too.",
        "",
        *(f"- {arch}: {result.summary()}; {result.shares()}" for arch, result in results.items()),
        "",
    ]
    for arch, result in results.items():
        lines += [f"## Disagreements on {arch}", ""]
        groups: dict[str, list[Difference]] = defaultdict(list)
        for found in result.differences:
            groups[found.cause].append(found)
        lines += ["| cause | probes | first | reason |", "|---|---|---|---|"]
        for cause, found_all in sorted(groups.items(), key=lambda item: -len(item[1])):
            first = found_all[0]
            reason = REASONS.get(first.probe.op, "not found yet")
            lines.append(f"| {cell(cause)} | {len(found_all)} | `{cell(first.probe.id)}`: {cell(first.what)} | {cell(reason)} |")
        causes = Counter(found.cause for found in result.memory_differences)
        lines += [
            "",
            f"Memory of agreeing probes that differs on {arch}: {causes.total()}. Both packages run without a program cache, as the referee does (a cached",
            "program keeps its tables in DRAM); what is left are intermediate tensors of composite ops that are made in another order or number.",
            "",
        ]
        lines += [f"- {count} x {cause}" for cause, count in causes.most_common()]
        if result.unjudged:
            lines += ["", "Not judged, the real process dies: " + ", ".join(f"`{cell(p.id)}`" for p in result.unjudged)]
        lines.append("")
    lines += ["## By op", "", "| op | " + " | ".join(f"{arch} probes | agree" for arch in results) + " |", "|---" * (1 + 2 * len(results)) + "|"]
    for op in sorted({name for result in results.values() for name in result.per_op}):
        cells = [f"{result.per_op[op][0]} | {result.per_op[op][1]}" for result in results.values()]
        lines.append(f"| {op} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"

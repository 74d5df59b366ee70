"""What the simulator accepts of every op, seen by probing it: `alchemist/ops/accepted.json`, from which the op table takes its columns.

    python -m tests.ops.accepted          probes and writes the file (20 s); then `alchemist ops --markdown > docs/ops.md`

The probes are those of `make conformance` (record samples and their variations, rows by rule, drawn rows), run without data. Of each accepted
call its op gets the dtype, page layout and place of the first tensor (of the result when there is none), and where the time of its device
programs came from. What the real package accepts is compared by `make conformance` with the same probes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from alchemist.ops import TTNN_OPS

REPOSITORY = Path(__file__).parents[2]
FILE = REPOSITORY / "alchemist" / "ops" / "accepted.json"
sys.path.insert(0, str(REPOSITORY / "tools" / "conformance"))

import probes as conformance  # noqa: E402  (tools/conformance is a folder of scripts)
import runner  # noqa: E402

DTYPES = ("bfloat16", "float32", "bfloat8_b", "bfloat4_b", "fp8_e4m3", "int32", "uint32", "uint16", "uint8", "int8")
LAYOUTS = ("tile", "row_major")
PLACES = ("dram", "l1", "height", "width", "block", "nd", "host")
BASES = 6
"""Accepted probes of an op, of different calls, that are varied in the dtype, layout and place of their tensors."""
_D = "ttnn.DRAM_MEMORY_CONFIG"


def _t(*shape: int, dtype: str = "bfloat16", layout: str = "tile", where: str = _D) -> conformance.Input:
    return shape, dtype, layout, where


def _prepared(name: str, tensor: str, more: str, shape: tuple[int, ...]) -> Iterator[tuple[tuple[conformance.Input, ...], str]]:
    geometry = ("in_channels=32, out_channels=64, batch_size=1, input_height=8, input_width=8, kernel_size=[3, 3], stride=[1, 1], "
                "padding=[1, 1], dilation=[1, 1], groups=1, input_memory_config=ttnn.DRAM_MEMORY_CONFIG, "
                "input_layout=ttnn.ROW_MAJOR_LAYOUT, input_dtype=ttnn.bfloat16, device=device")  # fmt: skip
    yield (_t(*shape, layout="row_major", where="host"),), f"ttnn.{name}({tensor}=a[0], {more + ', ' if more else ''}{geometry})"


_CHIP = _t(1, 1, 32, 32)
_EIGHT = conformance.sharded("HEIGHT", (1, 8, 32, 64)).replace("(0, 3)", "(0, 7)").replace("[64, 64]", "[32, 64]")
_USERS = _t(1, 8, 32, 64, where=_EIGHT)
_INDEX = {"dtype": "int32", "layout": "row_major"}
ROWS: tuple[tuple[tuple[conformance.Input, ...], str], ...] = (
    ((_CHIP,), "ttnn.experimental.typecast(a[0], ttnn.float32)"),
    ((_CHIP,), "ttnn.softcap(a[0], 5.0)"),
    ((_CHIP,), "ttnn.unary_chain(a[0], [ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)])"),
    ((_CHIP, _CHIP), "ttnn.matmul_batched_weights(a[0], [a[1]], memory_config=ttnn.DRAM_MEMORY_CONFIG)"),
    ((), "ttnn.randn([1, 1, 32, 32], device=device)"),
    ((), "ttnn.manual_seed(7, device=device)"),
    ((_t(1, 1, 32, 32, where="host"),), "ttnn.to_dtype(a[0], ttnn.float32)"),
    ((_CHIP,), "ttnn.transformer.attention_softmax_(a[0], head_size=64, attention_mask=None, causal_mask=False)"),
    ((_CHIP, _CHIP), "ttnn.transformer.attention_softmax_(a[0], head_size=64, attention_mask=a[1])"),
    ((_t(64, dtype="uint32", layout="row_major"), _t(8, dtype="uint32", layout="row_major")), "ttnn.experimental.isin(a[0], a[1])"),
    ((_t(1, 1, 32, 64),), "ttnn.layer_norm_pre_all_gather(a[0])"),
    ((_t(1, 1, 32, 64),), "ttnn.rms_norm_pre_all_gather(a[0])"),
    ((_t(1, 1, 32, 64), _t(1, 1, 32, 64)), "ttnn.layer_norm_post_all_gather(a[0], a[1])"),
    ((_t(1, 1, 32, 64), _t(1, 1, 32, 32)), "ttnn.rms_norm_post_all_gather(a[0], a[1])"),
    ((_t(1, 1, 32, 64, layout="row_major"), _t(1, 1, 64, 64, layout="row_major")),
     "ttnn.experimental.slice_write(a[0], a[1], [0, 0, 0, 0], [1, 1, 32, 64], [1, 1, 1, 1])"),
    ((_t(1, 1, 8, 384),), "ttnn.experimental.nlp_create_qkv_heads_decode(a[0], num_heads=2, num_kv_heads=2)"),
    ((_t(1, 1, 8, 384),), "ttnn.experimental.nlp_create_qkv_heads_decode(a[0], num_heads=2, num_kv_heads=2, memory_config=ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG)"),
    ((_USERS,), "ttnn.experimental.nlp_concat_heads_decode(a[0], num_heads=2)"),
    ((_t(1, 8, 32, 64),), "ttnn.experimental.nlp_concat_heads_decode(a[0], num_heads=2)"),
    ((_t(8, 2, 64, 64), _USERS), "ttnn.experimental.paged_update_cache(a[0], a[1], update_idxs=[0] * 8)"),
    ((_t(8, 2, 64, 64), _t(1, 8, 32, 64)), "ttnn.experimental.paged_update_cache(a[0], a[1], update_idxs=[0] * 8)"),
    ((_t(1, 1, 32, 64), _t(1, 1, 32, 64, dtype="uint32", layout="row_major"), _t(32, dtype="uint32", layout="row_major"),
      _t(32, layout="row_major"), _t(32, layout="row_major")), "ttnn.sampling(a[0], a[1], k=a[2], p=a[3], temp=a[4])"),
    ((_t(1, 2, 32, 64), _t(8, 2, 32, 64), _t(8, 2, 32, 64), _t(1, 8, **_INDEX)),
     "ttnn.transformer.chunked_scaled_dot_product_attention(a[0], a[1], a[2], a[3], 0)"),
    ((_t(1, 8, 2, 64), _t(16, 2, 32, 64), _t(16, 2, 32, 64), _t(8, 2, **_INDEX), _t(8, **_INDEX)),
     "ttnn.transformer.paged_scaled_dot_product_attention_decode(a[0], a[1], a[2], page_table_tensor=a[3], cur_pos_tensor=a[4])"),
    ((_t(1, 1, 32, 32, where="host"), _CHIP), "ttnn.copy_host_to_device_tensor(a[0], a[1])"),
    ((_CHIP, _CHIP), "ttnn.situ_glu(a[0], a[1], 4.0, 25.0)"),
    ((_t(1, 4096, layout="row_major"),), "ttnn.experimental.topk_large_indices(a[0], k=64)"),
    ((_t(7, 16, 384, 64),), "ttnn.experimental.concatenate_heads(a[0], ttnn.CoreCoord(12, 9))"),
    ((*(_t(1, 8, 4, 64, where=_EIGHT),) * 2, *(_t(1, 8, 1, 64, where=_EIGHT),) * 2, _t(1, 1, 256, 32, where=_EIGHT.replace("64]", "32]"))),
     "ttnn.experimental.rotary_embedding_llama_fused_qk(a[0], a[1], a[2], a[3], a[4])"),
    ((_CHIP, _t(1, 1, 32, 32, where="host")), "ttnn.copy_device_to_host_tensor(a[0], a[1])"),
    *(((_CHIP, _CHIP), f"ttnn.{name}_bw(a[0], a[1])") for name in "abs cos exp gelu log neg relu rsqrt sigmoid silu sin sqrt square tanh".split()),
    *(((_CHIP, _CHIP, _CHIP), f"ttnn.{name}_bw(a[0], a[1], a[2])") for name in "add div mul sub".split()),
    *(((_CHIP, _CHIP), f"ttnn.{name}_loss(a[0], a[1])") for name in ("l1", "mse")),
    *(((_CHIP,), f"ttnn.{call}") for call in ("moreh_cumsum(a[0], 0)", "moreh_cumsum_backward(a[0], 0)", "moreh_full_like(a[0], 1.0)", "bernoulli(a[0])",
                                              "alt_complex_rotate90(a[0])", "moreh_full([1, 1, 32, 32], 1.0, device)")),
    ((_t(1, 32, dtype="uint32", layout="row_major"), _t(1, 1, 64, 64, layout="row_major"), _t(1, 1, 32, 64)), "ttnn.embedding_bw(a[0], a[1], a[2])"),
    *_prepared("prepare_conv_weights", "weight_tensor", "weights_format='OIHW', has_bias=False", (64, 32, 3, 3)),
    *_prepared("prepare_conv_bias", "bias_tensor", "", (1, 1, 1, 64)),
    *_prepared("prepare_conv_transpose2d_weights", "weight_tensor", "weights_format='IOHW', has_bias=False, output_padding=[0, 0]", (32, 64, 3, 3)),
    *_prepared("prepare_conv_transpose2d_bias", "bias_tensor", "", (1, 1, 1, 64)),
)  # fmt: skip
"""Calls of ops that have no probe of `make conformance`: (inputs, call)."""

_ORDER = {"dtypes": DTYPES, "layouts": LAYOUTS, "places": PLACES}
Seen = dict[str, dict[str, list[str]]]


HOST_FUNCTIONS = {
    "allocate_tensor_on_device",
    "allocate_tensor_on_host",
    "as_tensor",
    "dump_tensor",
    "load_tensor",
    "from_torch",
    "to_torch",
    "pearson_correlation_coefficient",
}
"""Ways to make, read, store and compare tensors that the real package lists as ops too."""


def offered() -> dict[str, str]:
    """Every spelling of an op that the Python package offers with a kernel, and the name under which the table lists it."""
    from ttnn import _core
    from ttnn._coverage import ops_without_kernel
    from ttnn._facts import facts, spellings

    table = facts()
    known = _core.op_names()
    names = {name for name, (_, kind) in table["functions"].items() if kind == "op" or name in table["wrapped"] or not known.isdisjoint(spellings(name))}
    names -= {*ops_without_kernel(), *(f"ttnn.{name}" for name in HOST_FUNCTIONS)}
    called = {spec.target for spec in TTNN_OPS.values()}
    listed = {name: next((one for one in spellings(name) if one in called), spellings(name)[0]) for name in sorted(names)}
    return {spelling: shown for name, shown in listed.items() for spelling in (*spellings(name), name)}


def callee(text: str) -> str:
    """`ttnn.transformer.x` of a probe's call; "" when it is no call of the package."""
    found = re.match(r"(ttnn(?:\.\w+)+)\(", text)
    return found[1] if found else ""


def place_of(where: str) -> str:
    if where == "host":
        return "host"
    kind = re.search(r"(HEIGHT|WIDTH|BLOCK|ND)_SHARDED", where.upper()) or re.search(r"(ND)SHARD", where.upper().replace("_", ""))
    return kind[1].lower() if kind else "l1" if "L1" in where else "dram"


def _facts(probe: conformance.Probe, result: Any) -> tuple[str, str, str] | None:
    """dtype, layout and place of the first input, else of the first result."""
    if probe.inputs:
        shape, dtype, layout, where = probe.inputs[0]
        if 0 in shape:  # an empty tensor runs no program
            return None
        return dtype, layout, place_of(where)
    first = result[0] if isinstance(result, list) and result else result
    if not isinstance(first, dict):
        return None
    where = "host" if first["storage"] != "DEVICE" else first.get("memory_layout", "") + " " + first.get("buffer_type", "")
    return first["dtype"].lower(), first["layout"].lower().removesuffix("_layout"), place_of(where)


def _changed(inputs: tuple[conformance.Input, ...], column: int, value: str) -> tuple[conformance.Input, ...]:
    """The inputs with another value for the first, and for all that are equal to it in that."""
    before = inputs[0][column]
    return tuple((*row[:column], value, *row[column + 1 :]) if row[column] == before else row for row in inputs)


def variants(base: conformance.Probe) -> Iterator[conformance.Probe]:
    """The call with tensors of other dtypes, page layouts and places."""
    shape = base.inputs[0][0]
    shards = [conformance.sharded(kind, shape) for kind in ("HEIGHT", "WIDTH", "BLOCK")]
    for column, values in ((1, DTYPES), (2, LAYOUTS), (3, (_D, "ttnn.L1_MEMORY_CONFIG", "host", *filter(None, shards)))):
        for value in values:
            if base.inputs[0][column] != value:
                yield replace(base, inputs=_changed(base.inputs, column, value))
                yield replace(base, inputs=((*base.inputs[0][:column], value, *base.inputs[0][column + 1 :]), *base.inputs[1:]))


def all_probes() -> list[conformance.Probe]:
    extra = [conformance.Probe(f"row {number}", callee(call), inputs, call) for number, (inputs, call) in enumerate(ROWS)]
    return [*conformance.all_probes(), *extra]


def accepted(chosen: Iterable[conformance.Probe], names: dict[str, str]) -> Seen:
    """Runs probes on the simulator that `ttnn` is, and variants of some that it accepts: on a card of each architecture."""
    from ttnn_shim import session

    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    before = session.settings.card
    try:
        for session.settings.card in ("n150", "p150"):
            _on_card(list(chosen), names, found)
    finally:
        session.settings.card = before
    return {name: {column: _sorted(column, values) for column, values in sorted(entry.items())} for name, entry in sorted(found.items())}


def _on_card(chosen: Iterable[conformance.Probe], names: dict[str, str], found: dict[str, dict[str, set[str]]]) -> None:
    import ttnn

    from ttnn_shim import session

    session.settings.estimate = True
    device = ttnn.open_device(device_id=0, l1_small_size=32768)
    device.events_enable(True)

    def ask(probe: conformance.Probe, name: str) -> bool:
        device.clock_reset()
        answer = runner.one(ttnn, device, probe.as_json())
        facts = _facts(probe, answer.get("result")) if answer["verdict"] == "accepted" else None
        if facts is None:
            return False
        entry = found[name]
        for column, value in zip(("dtypes", "layouts", "places"), facts, strict=True):
            entry[column].add(value)
        for event in device.events():
            entry["modelled" if event["modelled"] else "bytes"].add(event["op"])
        return True

    bases: dict[str, dict[str, conformance.Probe]] = defaultdict(dict)
    try:
        for probe in chosen:
            name = names.get(callee(probe.call))
            if name is not None and ask(probe, name) and probe.inputs and len(bases[name]) < BASES:
                bases[name].setdefault(probe.call, probe)
        for name, calls in bases.items():
            for base in calls.values():
                for probe in variants(base):
                    ask(probe, name)
    finally:
        ttnn.close_device(device)
        session.settings.estimate = False


def _sorted(column: str, values: set[str]) -> list[str]:
    order = _ORDER.get(column, ())
    return sorted(values, key=lambda value: (order.index(value) if value in order else len(order), value))


def main() -> None:
    import ttnn_shim

    ttnn_shim.activate()
    names = offered()
    seen = accepted(all_probes(), names)
    table = {name: seen.get(name, {}) for name in sorted(set(names.values()))}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items())
    FILE.write_text("{\n" + lines + "\n}\n")
    unseen = [name for name, entry in table.items() if not entry]
    print(f"{len(table)} ops, {len(unseen)} without an accepted probe: {' '.join(unseen)}")


if __name__ == "__main__":
    main()

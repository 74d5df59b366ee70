"""Pairs of published configurations that leave something open: every reading of them, the same one on both sides.

A reading fills in what a source does not say (a padding, a weight's data type, where an operand lies) with a value that it may have had. A sign that
all readings agree on does not hang on what was filled in; where they do not agree, the clock is taken to be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from ttnn_shim.published_words import Config, plain

Fields = Mapping[str, Any]
Choices = list[tuple[str, Fields]]
"""What one open field may be: words for it, and the fields that say so."""
PROGRAM_WORDS = {"2D mcast": "Mcast2D", "1D mcast": "Mcast1D"}


@dataclass(frozen=True)
class Reading:
    """words: what was filled in."""

    words: str
    a: dict[str, Any]
    b: dict[str, Any]


def readings(a: Config, b: Config) -> list[Reading]:
    """All combinations of what the open fields of a pair may be; none where nothing is known to be open."""
    open_fields = [rule for rule in (_chosen(find, a, b) for find in RULES) if rule]
    if not open_fields:
        return []
    found = []
    for chosen in product(*open_fields):
        sides = [dict(a), dict(b)]
        for _, of_a, of_b in chosen:
            sides[0].update(of_a)
            sides[1].update(of_b)
        found.append(Reading("; ".join(dict.fromkeys(words for words, _, _ in chosen)), *sides))
    return [each for each in found if not (_is_refuted(each.a, each.b) or _is_refuted(each.b, each.a))]


def _is_refuted(one: Config, other: Config) -> bool:
    """Whether a side chose a program of many cores with a tensor in L1 although the other side says that its release does not."""
    return "auto " in str(one.get("note")) and "l1" in str(one.get("in0_mem")) and "falls to " in str(other.get("note"))


def runs_as_stated(config: Config, programs: list[str]) -> bool:
    """Whether the library chose the program that the row says it chose ("auto 2D mcast"); a reading under which it does not is none."""
    text = str(config.get("note") or "")
    return all(any(factory in each for each in programs) for words, factory in PROGRAM_WORDS.items() if f"auto {words}" in text)


def _chosen(find: Callable[[Config], Choices], a: Config, b: Config) -> list[tuple[str, Fields, Fields]]:
    """Choices of one field, by words on both sides; a side that says it keeps what it says."""
    of_a, of_b = dict(find(a)), dict(find(b))
    return [(words, of_a.get(words, {}), of_b.get(words, {})) for words in dict.fromkeys((*of_a, *of_b))]


def _op(config: Config) -> str:
    return str(config.get("op") or "").lower()


def _padding(config: Config) -> Choices:
    kernel = config.get("kernel")
    if _op(config) != "conv2d" or "pad" in config or "matmul_view" in config or not isinstance(kernel, list):
        return []
    return [("no padding", {"pad": [0, 0]}), ("padding that keeps the size", {"pad": [size // 2 for size in kernel]})]


def _weights(config: Config) -> Choices:
    """Data types of both operands; the second one's are those that models store weights in."""
    if "matmul" not in _op(config) or "not stated" not in str(config.get("dtypes")):
        return []
    return [(f"{name} weights", {"in0_dtype": "bfloat16", "in1_dtype": name, "dtypes": ""}) for name in ("bfloat16", "bfloat8_b", "bfloat4_b")]


def _blocks(config: Config) -> Choices:
    """The block width of a product on one row of cores."""
    text = plain(config.get("program"))
    if "matmul" not in _op(config) or not re.fullmatch(r"1d[_ ]mcast", text):
        return []
    program = "1d mcast, in0_block_w {}, 64 cores"
    return [(f"in0_block_w {width} of the 1D product", {"program": program.format(width)}) for width in (1, 2, 4, 8)]


def _grid(config: Config) -> Choices:
    """A grid that was noted in brackets, as inferred."""
    found = re.search(r"\((\d+x\d+)[^()]*\)", str(config.get("program") or ""))
    if not found or not re.search(r"matmul|linear", _op(config)):
        return []
    return [(f"a grid of {found[1]}", {"program": f"{plain(config['program'])}, {found[1]}"})]


def _operand_in_l1(config: Config) -> Choices:
    if "operand or output" not in str(config.get("mem")):
        return []
    places = {"in0_mem": "the first operand", "in1_mem": "the second operand", "out_mem": "the result"}
    dram = dict.fromkeys(places, "dram interleaved")
    return [(f"{words} in L1", {**dram, key: "l1 interleaved", "mem": ""}) for key, words in places.items()]


def _first_operand(config: Config) -> Choices:
    """Where the first operand of a product lies, of which the second's and the result's places are stated."""
    if "matmul" not in _op(config) or "in1" not in config or "out" not in config or any(key in config for key in ("in0", "in0_mem", "mem")):
        return []
    return [(f"the first operand in {where}", {"in0_mem": f"{where.lower()} interleaved"}) for where in ("DRAM", "L1")]


def _summed_attention(config: Config) -> Choices:
    """ "8q/1kv d256 window 512" in "28 sliding + 7 full" layers: the clock prices a window as whole causal attention, so that one layer stands for all."""
    found = re.match(r"(\d+)q/(\d+)kv d(\d+)", str(config.get("heads") or ""))
    if "sdpa" not in _op(config) or not found:
        return []
    sizes = {"op": "sdpa causal", "heads": int(found[1]), "kv_heads": int(found[2]), "d": int(found[3])}
    stated = re.search(r"default: chunk (\d+)", str(config.get("program_config")))
    if stated:
        return [(f"chunks of {size}", {**sizes, "chunks": f"{stated[1]}/{stated[1]}"}) for size in (64, 128)]
    return [(f"chunks of {size}", {**sizes, "chunks": f"{size}/{size}"}) for size in (64, 128)]


def _vision_attention(config: Config) -> Choices:
    """Heads of 72 or 80 are padded to whole tiles alike; a batch is not stated."""
    if "sdpa" not in _op(config) or "rows" not in config or "padded" not in str(config.get("d")):
        return []
    sizes = {"batch": 1, "seq": config["rows"], "d": 96}
    values = {"values like keys": config.get("k"), "values in bfloat16": "bfloat16"}
    return [(f"batch 1, heads of 96; {words}", {**sizes, "v": kind}) for words, kind in values.items()]


def _pages(config: Config) -> Choices:
    if not re.search(r"sdpa[_ ]decode", _op(config)) or "paged" not in _op(config) or "block_size" in config:
        return []
    return [(f"pages of {size}", {"block_size": size}) for size in (32, 64, 128)]


def _differing_product(config: Config) -> Choices:
    """Two whole layers of a decoder that differ in one product: it alone decides which is faster."""
    model = str(config.get("model") or "")
    hidden, ffn = re.search(r"hidden (\d+)", model), re.search(r"ffn (\d+)", model)
    place = str(config.get("down") or "")
    if not (hidden and ffn and place and config.get("layer")):
        return []
    product = {"op": "matmul", "M": config.get("batch"), "K": int(ffn[1]), "N": int(hidden[1]), "batch": 1, "in0_dtype": "bfloat16"}
    program = {"program": "DRAMSharded" if "sharded" in place else "auto", "in0_mem": "dram interleaved", "in1_mem": "dram interleaved"}
    return [(f"the product alone; {name} weights", {**product, **program, "in1_dtype": name}) for name in ("bfloat16", "bfloat8_b", "bfloat4_b")]


RULES: tuple[Callable[[Config], Choices], ...] = (
    _padding, _weights, _blocks, _grid, _operand_in_l1, _first_operand, _summed_attention, _vision_attention, _pages,
    _differing_product,
)  # fmt: skip


def requests_of_readings(row: Mapping[str, Any], requests: Mapping[str, dict[str, Any]]) -> Iterator[tuple[Reading, list[dict[str, Any]]]]:
    """Each reading of a pair with what `published_calls` is asked for both sides; requests: those of the pair as it stands, by id."""
    first, second = (requests[row["id"] + side] for side in "ab")
    for number, reading in enumerate(readings(first["config"], second["config"])):
        yield (
            reading,
            [
                {**request, "id": f"{request['id']}#{number}", "config": config, "op": str(config.get("op") or request["op"])}
                for request, config in ((first, reading.a), (second, reading.b))
            ],
        )

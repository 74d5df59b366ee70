"""Configs of one kind, of which a program has several, are calls of a function of utils: it takes the fields in which configs differ.

A product's config, a sharded memory config and that of a convolution of shards are written with all their fields where a program has one or two of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alchemist.program import model

MIN_CONFIGS = 3
"""Configs of one kind that are worth a function."""
_MATMULS = {
    "ttnn.MatmulMultiCoreReuseMultiCastProgramConfig": ("matmul_2d", (("transpose_mcast", model.Literal(False)),)),
    "ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig": ("matmul_1d", (("fuse_batch", model.Literal(True)),)),
}
"""Classes -> the function for each, and the fields that it sets by itself."""
_PAIRS = {"out_subblock_h": "out_subblock", "per_core_M": "per_core"}
"""First fields of pairs -> what the pair is called."""
_SECOND = ("out_subblock_w", "per_core_N")
_LAST = ("mcast_in0", "fused_activation")
_BLOCK = re.compile(r"\d+x\d+ tiles each, ")
_GRID = "compute_with_storage_grid_size"
_FIELDS = (_GRID, "in0_block_w", *_PAIRS, *_SECOND, *_LAST)
_CONVOLUTION = {"deallocate_activation": model.Literal(True), "reallocate_halo_output": model.Literal(False)}
"""Fields of all convolutions of shards."""
_SWITCHES = {"enable_weights_double_buffer": False, "enable_act_double_buffer": False, "full_inner_dim": False, "act_block_h_override": 0}


@dataclass(frozen=True, slots=True)
class ConfigCall:
    """function: of utils. parts: (name, value, or pair of integers); "" for what is given by position."""

    function: str
    parts: tuple[tuple[str, model.Value | tuple[int, int]], ...]


def calls_of_configs(constants: Sequence[model.Constant]) -> dict[model.Value, ConfigCall]:
    """The calls for the configs that are one: constants, and what stands in named tuples."""
    values = dict.fromkeys(value for constant in constants for value in _configs(constant.value))
    found = {value: call for value in values if (call := _call(value)) is not None}
    counts = Counter(_kind(call) for call in found.values())
    return {value: call for value, call in found.items() if counts[_kind(call)] >= MIN_CONFIGS}


def _configs(value: model.Value) -> Iterator[model.Value]:
    if isinstance(value, model.Bundle):
        for _, part in value.fields:
            yield from _configs(part)
    elif isinstance(value, model.MemoryConfig | model.Record):
        yield value


_SHARDS, _ON_CORES = "Names of shards: rows x columns of 32x32 tiles", "; ON: rows x columns of cores"


def comment_of(value: model.Value, comment: str, calls: Mapping[model.Value, ConfigCall]) -> str:
    """A config's comment, without what its call says. The first shards' says what the names of all say."""
    if value not in calls:
        return comment
    if isinstance(value, model.MemoryConfig):
        shards = [(call.function, call.parts[0]) for one, call in calls.items() if isinstance(one, model.MemoryConfig)]
        on_cores = _ON_CORES if len(set(shards)) < len(shards) else ""
        return f"{_SHARDS}{on_cores}." if value == next(one for one in calls if isinstance(one, model.MemoryConfig)) else ""
    return _BLOCK.sub("", comment)


def _kind(call: ConfigCall) -> str:
    return call.function.rpartition("_")[2] if call.function.endswith("shards") else call.function


def _call(value: model.Value) -> ConfigCall | None:
    if isinstance(value, model.MemoryConfig):
        return _shards(value)
    if isinstance(value, model.Record) and value.class_name == "ttnn.Conv2dConfig":
        return _sharded_conv(dict(value.fields))
    if not isinstance(value, model.Record) or value.class_name not in _MATMULS:
        return None
    function, own = _MATMULS[value.class_name]
    fields = dict(value.fields)
    if any(fields.pop(name, None) != part for name, part in own) or not fields.keys() <= set(_FIELDS) or not {*_FIELDS[:6]} <= fields.keys():
        return None
    return ConfigCall(function, tuple(_parts(fields)))


def _sharded_conv(fields: dict[str, model.Value]) -> ConfigCall | None:
    """Fields at the end that have their defaults are left out."""
    if any(fields.pop(name, None) != part for name, part in _CONVOLUTION.items()) or not fields.keys() <= {"weights_dtype", "activation", *_SWITCHES}:
        return None
    switches = [(name.removeprefix("enable_"), fields.get(name, model.Literal(default))) for name, default in _SWITCHES.items()]
    parts = [("", fields["weights_dtype"]), ("activation", fields.get("activation", model.Literal(None))), *switches]
    while isinstance(final := parts[-1][1], model.Literal) and not final.value:
        parts.pop()
    return ConfigCall("sharded_conv", tuple(parts))


def _parts(fields: dict[str, model.Value]) -> Iterator[tuple[str, model.Value | tuple[int, int]]]:
    grid = fields[_GRID]
    assert isinstance(grid, model.Record)
    (_, columns), (_, rows) = grid.fields
    yield "", _pair(columns, rows)
    yield "in0_block_w", fields["in0_block_w"]
    for (first, name), second in zip(_PAIRS.items(), _SECOND, strict=True):
        yield name, _pair(fields[first], fields[second])
    for name in _LAST:
        if name in fields:
            yield name, fields[name]


def _pair(one: model.Value, two: model.Value) -> tuple[int, int]:
    assert isinstance(one, model.Literal)
    assert isinstance(two, model.Literal)
    return int(one.value or 0), int(two.value or 0)


def _shards(config: model.MemoryConfig) -> ConfigCall | None:
    """Shards in L1, in the order of rows, on cores from the first one on."""
    if config.shard is None or config.buffer != "l1":
        return None
    shape, ranges, orientation = config.shard
    if orientation != "row_major" or len(shape) != 2 or ranges[0][0] != (0, 0):
        return None
    return ConfigCall(f"{config.memory.removesuffix('_sharded')}_shards", (("", (shape[0], shape[1])), ("", config)))

"""Tensors made from nothing, and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import Array, attribute, op, ttir
from alchemist.ops.spec import Arg, Kind, Sample

HEADER = "creation/creation.hpp"
Shapes = Sequence[tuple[int, ...]]

SHAPE = attribute("shape", Kind.SHAPE, keyword=False)
PLACE = (
    Arg("dtype", "dtype", Kind.DTYPE, default=None),
    Arg("layout", "layout", Kind.LAYOUT, default=None),
    Arg("device", "device", Kind.DEVICE, default=None),
    Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG, default=None),
)
_CPP_PLACE = "dtype? layout? device? memory_config?"


def _full(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: Shapes) -> Sequence[Array]:
    value = attributes["fill_value"]
    return [np.full(shapes[0], value, np.float32 if isinstance(value, float) else np.int32)]


def _filled(value: float) -> Any:
    return lambda _inputs, _attributes, shapes: [np.full(shapes[0], value, np.float32)]


def _arange(inputs: Sequence[Array], attributes: Mapping[str, Any], shapes: Shapes) -> Sequence[Array]:
    values = np.arange(attributes["start"], attributes["end"], attributes["step"])
    dim = attributes.get("arange_dimension", 0)
    around = [1] * len(shapes[0])
    around[dim] = -1
    return [np.broadcast_to(values.reshape(around), shapes[0])]


def _constant(inputs: Sequence[Array], attributes: Mapping[str, Any], _shapes: Shapes) -> Sequence[Array]:
    return [np.asarray(attributes["value"])]


op(
    "full",
    [SHAPE, attribute("fill_value", Kind.SCALAR, keyword=True), *PLACE],
    f"shape fill_value {_CPP_PLACE} optional_tensor?",
    HEADER,
    samples=tuple(Sample((), {"shape": list(s), "fill_value": 1.5}, (s,)) for s in ((1, 1), (32, 32), (2, 31, 33))),
    reference=_full,
    tolerance=0.0,
)
ttir("full", _full)
for _name, _value in (("zeros", 0.0), ("ones", 1.0)):
    op(
        _name,
        [SHAPE, *PLACE],
        f"shape {_CPP_PLACE}",
        HEADER,
        samples=tuple(Sample((), {"shape": list(s)}, (s,)) for s in ((1, 1), (32, 32), (2, 31, 33))),
        reference=_filled(_value),
        tolerance=0.0,
    )
    ttir(_name, _filled(_value))
op(
    "empty",
    [
        SHAPE,
        Arg("dtype", "dtype", Kind.DTYPE, default="bf16"),
        Arg("layout", "layout", Kind.LAYOUT, default="row_major"),
        Arg("device", "device", Kind.DEVICE),
        Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG, default=None),
    ],
    "shape dtype layout device memory_config=ttnn::MemoryConfig{}",
    HEADER,
    doc="values are undefined",
)
ttir("empty", _filled(0.0))
op(
    "arange",
    [
        attribute("start", Kind.INT, keyword=False),
        attribute("end", Kind.INT, keyword=False),
        attribute("step", Kind.INT, default=1, keyword=False),
        Arg("dtype", "dtype", Kind.DTYPE, default="bf16"),
        Arg("device", "device", Kind.DEVICE, default=None),
        Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG, default=None),
        Arg("layout", "layout", Kind.LAYOUT, default="row_major"),
    ],
    "start end step dtype device? memory_config=ttnn::MemoryConfig{} layout",
    HEADER,
    samples=(Sample((), {"start": 0, "end": 64, "step": 1}, ((64,),)),),
    reference=_arange,
    tolerance=0.0,
)
ttir("arange", _arange)
op(
    "rand",
    [
        attribute("shape", Kind.SHAPE, "size", keyword=False),
        Arg("device", "device", Kind.DEVICE, cpp_type="reference"),
        Arg("dtype", "dtype", Kind.DTYPE, default="bf16"),
        Arg("layout", "layout", Kind.LAYOUT, default="tile"),
        Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG, default=None),
        attribute("low", Kind.FLOAT, default=0.0),
        attribute("high", Kind.FLOAT, default=1.0),
        attribute("seed", Kind.INT, default=0),
    ],
    "shape device dtype layout memory_config=ttnn::MemoryConfig{} low=0.0f high=1.0f seed=0 mesh_mapper?",
    "rand/rand.hpp",
    doc="random: no reference",
)
ttir("rand")
op(
    "constant",
    [
        attribute("data", Kind.FLOAT_LIST, "value", keyword=False),
        Arg("shape", "shape", Kind.SHAPE, keyword=False),
        Arg("data_type", "dtype", Kind.DTYPE, keyword=False),
        Arg("layout", "layout", Kind.LAYOUT, keyword=False),
        Arg("device", "device", Kind.DEVICE, default=None),
        Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG),
    ],
    "data shape data_type layout device memory_config",
    "core/core.hpp",
    target="ttnn.Tensor",
    reference=_constant,
    tolerance=1.0,
    doc="a constructor: small constants are written in the program, big ones are exported as tensors",
)
ttir("constant", _constant)

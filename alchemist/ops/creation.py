"""Ops that create tensors without operands, and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ops.describe import Array, op, ttir
from alchemist.ops.spec import Arg, Kind, OpSpec, Sample, register

HEADER = "creation/creation.hpp"
Shapes = Sequence[tuple[int, ...]]

_PLACE = "dtype layout device memory_config"


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
    f"shape * fill_value {_PLACE}",
    HEADER,
    samples=tuple(Sample((), {"shape": list(s), "fill_value": 1.5}, (s,)) for s in ((1, 1), (32, 32), (2, 31, 33))),
    reference=_full,
    tolerance=0.0,
)
ttir("full", _full)
for _name, _value in (("zeros", 0.0), ("ones", 1.0)):
    op(
        _name,
        f"shape {_PLACE}",
        HEADER,
        samples=tuple(Sample((), {"shape": list(s)}, (s,)) for s in ((1, 1), (32, 32), (2, 31, 33))),
        reference=_filled(_value),
        tolerance=0.0,
    )
    ttir(_name, _filled(_value))
op("empty", "shape * dtype layout device memory_config", HEADER, doc="values are undefined")
ttir("empty", _filled(0.0))
op(
    "arange",
    "start end step * dtype device memory_config layout",
    HEADER,
    samples=(Sample((), {"start": 0, "end": 64, "step": 1}, ((64,),)),),
    reference=_arange,
    tolerance=0.0,
)
ttir("arange", _arange)
op("rand", "shape=size * device dtype layout memory_config low high seed", "rand/rand.hpp", doc="random: no reference")
ttir("rand")
register(
    OpSpec(  # a constructor: no function of the table
        "ttnn.constant",
        "ttnn.Tensor",
        (
            Arg("data", "attr:value", Kind.FLOAT_LIST, keyword=False),
            Arg("shape", "shape", Kind.SHAPE, keyword=False),
            Arg("data_type", "dtype", Kind.DTYPE, keyword=False),
            Arg("layout", "layout", Kind.LAYOUT, keyword=False),
            Arg("device", "device", Kind.DEVICE, default=None),
            Arg("memory_config", "memory_config", Kind.MEMORY_CONFIG),
        ),
        "ttnn/operations/core/core.hpp",
        reference=_constant,
        tolerance=1.0,
        doc="a constructor: small constants are written in the program, big ones are exported as tensors",
        noun="constant",
    )
)
ttir("constant", _constant)

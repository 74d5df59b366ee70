"""Ops that move values without computing: views, permutations, slices, joins, gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.ir.rules.table import Inferred, Shape, attribute, infers, need
from alchemist.ops import sharding
from alchemist.ops.axes import along, each_dim, permutes
from alchemist.ops.describe import Array, op, ttir
from alchemist.ops.spec import ErrorSample, Sample

Shapes = Sequence[tuple[int, ...]]
Attributes = Mapping[str, Any]


def _reshape(inputs: Sequence[Array], _attributes: Attributes, shapes: Shapes) -> Sequence[Array]:
    return [inputs[0].reshape(shapes[0])]


def _permute(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [inputs[0].transpose(tuple(attributes["permutation"]))]


def _transpose(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [np.swapaxes(inputs[0], attributes["dim0"], attributes["dim1"])]


def _broadcast(inputs: Sequence[Array], _attributes: Attributes, shapes: Shapes) -> Sequence[Array]:
    return [np.broadcast_to(inputs[0], shapes[0])]


def _repeat(name: str) -> Any:
    def reference(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
        return [np.tile(inputs[0], tuple(attributes[name]))]

    return reference


def _repeat_interleave(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [np.repeat(inputs[0], attributes["repeats"], axis=attributes["dim"])]


def _concat(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [np.concatenate(list(inputs), axis=attributes["dim"])]


def _roll(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [np.roll(inputs[0], tuple(attributes["shifts"]), tuple(attributes["dim"]))]


@infers("ttnn.roll")
def _rolled_shape(op: Operation, inputs: list[Shape]) -> Inferred:
    shifts, dims = attribute(op, "shifts"), attribute(op, "dim")
    need(isinstance(shifts, list | tuple) and isinstance(dims, list | tuple) and len(shifts) == len(dims), "there is one shift for each dimension")
    return inputs[0]


def slices(begins: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(b, e, s) for b, e, s in zip(begins, ends, steps, strict=True))


def _slice_static(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [inputs[0][slices(attributes["begins"], attributes["ends"], attributes["step"])]]


def _slice_dynamic(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    begins, ends = ([int(v) for v in value.reshape(-1)] for value in inputs[1:3])
    return [inputs[0][slices(begins, ends, attributes.get("step") or [1] * len(begins))]]


def _pad(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    flat = list(attributes["padding"])
    return [np.pad(inputs[0], list(zip(flat[::2], flat[1::2], strict=True)), constant_values=attributes["value"])]


def _gather(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [np.take_along_axis(inputs[0], inputs[1].astype(np.int64), axis=attributes["dim"])]


_SCATTER = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def _scatter(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    out, index, source = inputs[0].copy(), inputs[1].astype(np.int64), inputs[2]
    where = list(np.indices(index.shape))
    where[attributes["dim"]] = index
    region = tuple(slice(0, n) for n in index.shape)
    combine = _SCATTER.get(str(attributes["scatter_reduce_type"]))
    if combine is None:
        out[tuple(where)] = source[region]
    else:
        combine.at(out, tuple(where), source[region])
    return [out]


def _index(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    part = slice(attributes["begin"], attributes["end"], attributes["step"])
    return [inputs[0][(slice(None),) * (attributes["dim"] % inputs[0].ndim) + (part,)]]


def _index_select(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    """Blocks of `length` from `begin`, one every `stride` elements (0: one block)."""
    x, dim = inputs[0], attributes["dim"] % inputs[0].ndim
    begin, length, stride = attributes["begin"], attributes["length"], attributes.get("stride") or 0
    starts = range(begin, x.shape[dim] - length + 1, stride) if stride else [begin]
    return [np.take(x, [i for start in starts for i in range(start, start + length)], axis=dim)]


def _reverse(inputs: Sequence[Array], attributes: Attributes, _shapes: Shapes) -> Sequence[Array]:
    return [np.flip(inputs[0], axis=tuple(attributes["dimensions"]))]


def _rearrange(inputs: Sequence[Array], attributes: Attributes, shapes: Shapes) -> Sequence[Array]:
    """einops pattern without factors ("b h w c -> b c h w", "b h w c -> (b h) w c")."""
    left, right = (side.split() for side in attributes["pattern"].replace("(", "").replace(")", "").split("->"))
    return [inputs[0].transpose([left.index(name) for name in right]).reshape(shapes[0])]


ttir("reshape", _reshape, sharding=sharding.regroups)
ttir("squeeze", _reshape, sharding=sharding.regroups)
ttir("unsqueeze", _reshape, sharding=sharding.regroups)
ttir("permute", _permute, axes=permutes, sharding=sharding.permutes)
ttir("transpose", _transpose, sharding=sharding.permutes)
ttir("broadcast", _broadcast, sharding=sharding.stretches)
ttir("repeat", _repeat("repeat_dimensions"), sharding=sharding.same_size)
ttir("repeat_interleave", _repeat_interleave, sharding=sharding.same_size)
ttir("concat", _concat, axes=along("dim"), sharding=sharding.same_size)
ttir("slice_static", _slice_static, axes=each_dim(lambda size: (0, size, 1), "begins", "ends", "step"), sharding=sharding.same_size)
ttir("slice_dynamic", _slice_dynamic)
ttir("pad", _pad, axes=each_dim(lambda _size: (0, 0), "padding"), sharding=sharding.same_size)
ttir("gather", _gather, axes=along("dim"), sharding=sharding.along("dim"))
ttir("scatter", _scatter)
ttir("index", _index, sharding=sharding.same_size)
ttir("index_select", _index_select, sharding=sharding.along("dim"))
ttir("reverse", _reverse)
ttir("rearrange", _rearrange)
ttir("get_dimension_size", lambda inputs, a, _s: [np.array([inputs[0].shape[a["dimension"]]], np.uint32)])

op(
    "reshape",
    "input_tensor shape memory_config",
    "data_movement/reshape_view/reshape.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"shape": list(b)}, (b,), layout)
        for a, b, layout in (
            ((32, 64), (64, 32), "tile"),
            ((1, 128, 768), (1, 128, 12, 64), "tile"),
            ((2, 31, 33), (62, 33), "tile"),
            ((1, 8, 8, 32), (1, 1, 64, 32), "row_major"),
            ((7,), (1, 7), "row_major"),
        )
    ),
    error_samples=(ErrorSample((((32, 32), "bfloat16"),), {"shape": [3, 5]}, "holds 15 values"),),
    reference=_reshape,
    tolerance=0.0,
    noun="reshaped",
)
op(
    "permute",
    "input_tensor dims=permutation memory_config",
    "data_movement/permute/permute.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"permutation": list(p)}, (tuple(a[i] for i in p),), layout)
        for a, p, layout in (
            ((32, 64), (1, 0), "tile"),
            ((1, 128, 12, 64), (0, 2, 1, 3), "tile"),
            ((2, 3, 31, 33), (0, 2, 3, 1), "tile"),
            ((1, 3, 8, 8), (0, 2, 3, 1), "row_major"),
        )
    ),
    error_samples=(ErrorSample((((32, 32), "bfloat16"),), {"permutation": [0, 1, 2]}, "expected 2 dimensions"),),
    reference=_permute,
    tolerance=0.0,
    noun="permuted",
)
op(
    "transpose",
    "input_tensor dim1=dim0 dim2=dim1 memory_config",
    "data_movement/transpose/transpose.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"dim0": i, "dim1": j}, (out,))
        for a, i, j, out in (
            ((32, 64), 0, 1, (64, 32)),
            ((1, 12, 40, 64), -2, -1, (1, 12, 64, 40)),
            ((1, 33, 12, 31), 1, 2, (1, 12, 33, 31)),
        )
    ),
    reference=_transpose,
    tolerance=0.0,
    noun="transposed",
)
op(
    "concat",
    "tensors=inputs dim memory_config",
    "data_movement/concat/concat.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"), (b, "bfloat16")), {"dim": dim}, (out,))
        for a, b, dim, out in (
            ((32, 32), (32, 64), 1, (32, 96)),
            ((1, 31, 33), (1, 5, 33), 1, (1, 36, 33)),
            ((1, 32, 31), (1, 32, 33), 2, (1, 32, 64)),
        )
    ),
    error_samples=(ErrorSample((((32, 32), "bfloat16"), ((31, 32), "bfloat16")), {"dim": 1}, "dimension"),),
    reference=_concat,
    tolerance=0.0,
    noun="joined",
)
op(
    "roll",
    "input_tensor * shifts dim memory_config",
    "data_movement/roll/roll.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"shifts": shifts, "dim": dims}, (a,)) for a, shifts, dims in (((32, 64), [3], [1]), ((1, 31, 33), [-5, 1], [1, 2]))
    ),
    reference=_roll,
    tolerance=0.0,
)
op(
    "repeat",
    "input_tensor repeat_dims memory_config",
    "data_movement/repeat/repeat.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"repeat_dims": list(r)}, (tuple(x * y for x, y in zip(a, r, strict=True)),))
        for a, r in (((1, 1, 1, 128), (1, 1, 128, 1)), ((1, 32), (33, 1)), ((2, 31, 33), (1, 1, 2)))
    ),
    reference=_repeat("repeat_dims"),
    tolerance=0.0,
    noun="repeated",
)
op(
    "repeat_interleave",
    "input_tensor repeats * dim memory_config",
    "data_movement/repeat_interleave/repeat_interleave.hpp",
    samples=(Sample((((1, 4, 32, 64), "bfloat16"),), {"repeats": 3, "dim": 1}, ((1, 12, 32, 64),)),),
    reference=_repeat_interleave,
    tolerance=0.0,
    noun="repeated",
)
op(
    "slice_static",
    "input_tensor slice_start=begins slice_end=ends slice_step=step * memory_config",
    "data_movement/slice/slice.hpp",
    target="ttnn.slice",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"begins": b, "ends": e, "step": [1] * len(a)}, (out,))
        for a, b, e, out in (
            ((1, 128, 768), [0, 0, 0], [1, 1, 768], (1, 1, 768)),
            ((64, 96), [32, 0], [64, 96], (32, 96)),
            ((2, 31, 33), [0, 1, 2], [2, 30, 33], (2, 29, 31)),
        )
    ),
    error_samples=(ErrorSample((((32, 32), "bfloat16"),), {"begins": [0, 0], "ends": [64, 32], "step": [1, 1]}, "end"),),
    reference=_slice_static,
    tolerance=0.0,
    noun="part",
)
op(
    "slice_dynamic",
    "input_tensor starts=begins ends memory_config",
    "data_movement/slice/slice.hpp",
    target="ttnn.slice",
    cpp_target="ttnn.slice<uint32_t>",
)
op(
    "pad",
    "input_tensor padding value use_multicore memory_config",
    "data_movement/pad/pad.hpp",
    samples=tuple(
        Sample(((a, "bfloat16"),), {"padding": p, "value": 0.0, "use_multicore": True}, (out,))
        for a, p, out in (
            ((1, 1, 32, 32), [0, 0, 0, 0, 0, 32, 0, 32], (1, 1, 64, 64)),
            ((1, 1, 31, 33), [0, 0, 0, 0, 0, 1, 0, 31], (1, 1, 32, 64)),
        )
    ),
    reference=_pad,
    tolerance=0.0,
    doc="`padding` is written as pairs, one [before, after] per dimension",
    noun="padded",
)
op(
    "gather",
    "input dim * index memory_config",
    "data_movement/gather/gather.hpp",
    samples=(Sample((((1, 1, 32, 64), "bfloat16"), ((1, 1, 32, 32), "uint32")), {"dim": 3}, ((1, 1, 32, 32),)),),
    reference=_gather,
    tolerance=0.0,
    doc="indices are uint32 or uint16",
    noun="gathered",
)
op(
    "scatter",
    "input dim index src=source memory_config reduce=alchemist.reduce",
    "data_movement/scatter/scatter.hpp",
    samples=(
        Sample(
            (((32, 64), "bfloat16"), ((32, 8), "int32"), ((32, 8), "bfloat16")),
            {"dim": 1, "scatter_reduce_type": "invalid"},
            ((32, 64),),
            "row_major",
        ),
    ),
    reference=_scatter,
    tolerance=0.0,
    doc="row-major; reductions add, multiply",
    noun="scattered",
)

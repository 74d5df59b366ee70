"""The rows of `changes.py` that are code: each function changes one op and tells whether it did."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from alchemist.errors import VerifyError
from alchemist.ir.access import element_type, shape
from alchemist.ir.attribute_classes import enum
from alchemist.ir.attributes import DenseElements, DeviceType, OpaqueAttr, ShapeAttr, tensor, to_python
from alchemist.ir.dialects import SEGMENTS, TTOp, group_sizes
from alchemist.ir.layout import layout_of
from alchemist.ir.location import place_of
from alchemist.ir.printer import attribute_text
from alchemist.toolchain.edits import Edits

MAKERS = ("tensor.empty", "ttir.empty", "ttnn.empty")
_DERIVED = ("memory_config", "dtype", "layout", "core_grid")


def refuse(op: Operation, message: str, *, expected: str = "", got: str = "", hint: str = "") -> VerifyError:
    return VerifyError(message, op=op.name, location=place_of(op), expected=expected, got=got, hint=hint)


# --- names and attributes -----------------------------------------------------------------------------------------------


def rename(name: str, up: Edits, op: Operation) -> bool:
    up.replace(op, name)
    return True


def erase(up: Edits, op: Operation) -> bool:
    up.erase(op)
    return True


def open_device(up: Edits, op: Operation) -> bool:
    up.replace(op, "ttnn.get_device", [], {})
    return True


def rename_attribute(old: str, new: str, up: Edits, op: Operation) -> bool:
    if old not in op.properties or new in op.properties:
        return False
    op.properties[new] = op.properties.pop(old)
    return True


def drop_attributes(names: Sequence[str], up: Edits, op: Operation) -> bool:
    found = [name for name in names if name in op.properties and not (isinstance(op, TTOp) and name in op.info.attributes)]
    for name in found:
        op.properties.pop(name)
    return bool(found)


def drop_zero_count(up: Edits, op: Operation) -> bool:
    """Zero stood for a count that the runtime takes from the tensor."""
    if to_python(op.properties.get("nnz", IntegerAttr(1, i64))) != 0:
        return False
    op.properties.pop("nnz")
    return True


def drop_derived(up: Edits, op: Operation) -> bool:
    """What today's result layout says is no attribute of its own."""
    return op.name.startswith("ttnn.") and isinstance(op, TTOp) and drop_attributes(_DERIVED, up, op)


def gather_attributes(new: str, old: Sequence[str], up: Edits, op: Operation) -> bool:
    """Several integers become one `array<i32>`, in the order of `old`."""
    values = [op.properties.get(name) for name in old]
    numbers = [value.value.data for value in values if isinstance(value, IntegerAttr)]
    if all(value is None for value in values):
        return False
    if len(numbers) != len(old):
        raise refuse(op, f"{new} needs all of its numbers", expected=", ".join(old))
    for name in old:
        op.properties.pop(name)
    op.properties[new] = DenseArrayBase.from_list(i32, numbers)
    return True


def shape_attribute(up: Edits, op: Operation) -> bool:
    if "shape" in op.properties or not op.results or not isinstance(op.results[0].type, TensorType):
        return False
    op.properties["shape"] = ShapeAttr(shape(op.results[0]))
    return True


def shape_of_2024(up: Edits, op: Operation) -> bool:
    """Only in a text with other spellings of 2024: in all later ones the shape is required."""
    return "" < up.oldest < "2025" and shape_attribute(up, op)


def buffer_type(up: Edits, op: Operation) -> bool:
    space = op.properties.pop("memory_space", None)
    if space is None:
        return False
    case = to_python(space)
    op.properties["buffer_type"] = enum("ttnn.buffer_type", case if case in ("dram", "l1") else "system_memory")
    return True


def input_dtype(up: Edits, op: Operation) -> bool:
    if "input_dtype" in op.properties:
        return False
    layout = layout_of(op.operands[0].type)
    op.properties["input_dtype"] = enum("ttcore.supportedDataTypes", layout.dtype if layout is not None else element_type(op.operands[0]))
    return True


def reduce_type(up: Edits, op: Operation) -> bool:
    if "scatter_reduce_type" in op.properties or "update_window_dims" in op.properties:
        return False
    op.properties["scatter_reduce_type"] = enum("ttcore.reduce_type", "invalid")
    return True


def kept_dimension(up: Edits, op: Operation) -> bool:
    """Whether the result keeps the dimension, which nothing checked: its rank says it."""
    if "dim" not in op.properties or len(shape(op.operands[0])) != len(shape(op.results[0])) or to_python(op.properties.get("keep_dim", IntegerAttr(0, 1))):
        return False
    op.properties["keep_dim"] = IntegerAttr(1, IntegerType(1))
    return True


def dropped_dimension(up: Edits, op: Operation) -> bool:
    """Reductions to a lower rank that said they keep their dimensions, in texts whose results are written to tensors."""
    source, target = shape(op.operands[0]), shape(op.results[0])
    if not up.fills or not to_python(op.properties.get("keep_dim", IntegerAttr(0, 1))) or len(source) == len(target):
        return False
    op.properties["keep_dim"] = IntegerAttr(0, IntegerType(1))
    return True


def flattened(up: Edits, op: Operation) -> bool:
    """The extents of an image whose positions are flattened into one row."""
    sizes = [op.properties.get(name) for name in ("original_height", "original_width")]
    if all(size is None for size in sizes):
        return False
    height, width = (size.value.data if isinstance(size, IntegerAttr) else 1 for size in sizes)
    for name in ("original_height", "original_width"):
        op.properties.pop(name, None)
    batch = max(math.prod(shape(op.operands[0])[:-1]) // max(height * width, 1), 1)
    op.properties["flattened_compat_info"] = OpaqueAttr(("#ttir", f"<flattened_compat batch_size = {batch}, input_height = {height}, input_width = {width}>"))
    return True


# --- operands -----------------------------------------------------------------------------------------------------------


def _same_tensor(one: Attribute, other: Attribute) -> bool:
    return isinstance(one, TensorType) and isinstance(other, TensorType) and (one.get_shape(), one.element_type) == (other.get_shape(), other.element_type)


def writes_argument(op: Operation) -> bool:
    """Whether the last operand is one more than the op has today, of the result's type, and an argument that nothing else reads."""
    if not isinstance(op, TTOp) or len(op.results) != 1 or op.info.segmented:
        return False
    last, groups, count = op.operands[-1], op.info.operands, len(op.operands)
    is_target = isinstance(last.owner, Block) and last.has_one_use() and _same_tensor(last.type, op.results[0].type)
    return is_target and group_sizes(groups, count, None) is None and group_sizes(groups, count - 1, None) is not None


def destinations(up: Edits, op: Operation) -> bool:
    """Takes away the operands that an op's results were written to, in destination-passing style."""
    count = len(op.results)
    if not isinstance(op, TTOp) or not count or not op.operands:
        return False
    groups = op.info.operands
    given = op.properties.get(SEGMENTS)
    sizes = tuple(int(size) for size in given.get_values()) if isinstance(given, DenseArrayBase) else None
    devices = [value for value in op.operands if isinstance(value.type, DeviceType)]
    values = [value for value in op.operands if not isinstance(value.type, DeviceType)]
    extra, kept = values[len(values) - count :], values[: len(values) - count]
    if len(extra) != count or not all(_same_tensor(value.type, result.type) for value, result in zip(extra, op.results, strict=True)):
        return False
    kept += devices if any(group.name == "device" for group in groups) else []
    if group_sizes(groups, len(kept), None) is None and not (op.info.segmented and sizes is not None):
        return False
    fits_today = group_sizes(groups, len(op.operands), sizes if op.info.segmented else None) is not None
    declared = sizes is not None and sizes[-1] == count and sum(sizes) == len(op.operands) and not (op.info.segmented and len(sizes) == len(groups))
    written = all(isinstance(value.owner, Operation) and value.owner.name in MAKERS for value in extra)
    loose = any(group.optional or group.variadic for group in groups) and not any(group.name == "output" for group in groups)
    if not declared and not (written and loose) and (fits_today or not (written or up.fills)):
        return False
    if not op.info.segmented:
        op.properties.pop(SEGMENTS, None)
    elif sizes is not None:
        op.properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes[:-1])
    op.operands = kept
    up.dead.update(value.owner for value in extra if isinstance(value.owner, Operation))
    return True


def device_operand(up: Edits, op: Operation) -> bool:
    """The device of an op that today takes it from its tensors."""
    if not isinstance(op, TTOp) or any(group.type == "TTNN_Device" for group in op.info.operands):
        return False
    kept = [value for value in op.operands if not isinstance(value.type, DeviceType)]
    if len(kept) == len(op.operands):
        return False
    op.operands = kept
    return True


def conversion(up: Edits, op: Operation) -> bool:
    """A conversion with a second operand converts all that the two types differ in."""
    if len(op.operands) < 2 and op.name != "ttnn.composite_to_layout":
        return False
    if layout_of(op.operands[0].type) is None or layout_of(op.results[0].type) is None:
        if op.name == "ttnn.composite_to_layout":
            up.replace(op, "ttnn.to_layout", op.operands[:1], {})
            return True
        up.dead.update(value.owner for value in op.operands[1:] if isinstance(value.owner, Operation))
        op.operands = list(op.operands[:1])
        return True
    up.dead.update(value.owner for value in op.operands[1:] if isinstance(value.owner, Operation))
    if op.operands[0].type == op.results[0].type:
        unchanged(up, op)
    else:
        up.replace(op, "ttnn.to_tensor_spec", op.operands[:1], {})
    return True


def unchanged(up: Edits, op: Operation) -> None:
    """The result is the operand. Of the deallocations of both, the last one stays."""
    value = op.operands[0]
    frees = [use.operation for each in (value, op.results[0]) for use in each.uses if use.operation.name in ("ttnn.dealloc", "ttnn.deallocate")]
    up.values(op, [value])
    for free in sorted((free for free in frees if free.parent is not None), key=lambda free: free.parent.get_operation_index(free))[:-1]:
        up.erase(free)


def move_nowhere(up: Edits, op: Operation) -> bool:
    """To the device from the device, or to the host from the host: the step before has done it."""
    source, target = layout_of(op.operands[0].type), layout_of(op.results[0].type)
    if source is None or target is None or source.on_host != target.on_host or target.on_host != (op.name == "ttnn.from_device"):
        return False
    if source == target:
        unchanged(up, op)
    else:
        up.replace(op, "ttnn.to_tensor_spec", op.operands[:1], {})
    return True


def flatten_images(up: Edits, op: Operation) -> bool:
    """Images go in and come out as one row of positions, [1, 1, batch * height * width, channels]."""
    source, target = shape(op.operands[0]), shape(op.results[0])
    names = ("batch_size", "input_height", "input_width")
    sizes = [value.value.data if isinstance(value := op.properties.get(name), IntegerAttr) else 0 for name in names]
    if len(source) != 4 or source[:3] == (1, 1, math.prod(source[:3])) or list(source[:3]) != sizes or len(target) != 4:
        return False
    destinations(up, op)

    def flat(value: SSAValue) -> Attribute:
        dims = shape(value)
        row = (1, 1, math.prod(dims[:3]), dims[3])
        layout = layout_of(value.type)
        return layout.with_(row).type_for(row) if layout is not None else tensor(row, element_type(value))

    b = up.builder(op)
    row = b.op("ttnn.reshape", [op.operands[0]], {"shape": shape(flat(op.operands[0]))}, [flat(op.operands[0])])
    made = type(op).create(
        operands=[row, *op.operands[1:]],
        result_types=[flat(op.results[0])],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        location=op.location,
    )
    up.insert(op, made)
    up.values(op, [b.op("ttnn.reshape", [made.results[0]], {"shape": target}, [op.results[0].type])])
    up.current = made
    return True


def in_place(up: Edits, op: Operation) -> bool:
    """An op that writes a cache returned it as well."""
    if not op.results:
        return False
    cache = op.operands[0]
    made = type(op).create(operands=list(op.operands), properties=dict(op.properties), attributes=dict(op.attributes), location=op.location)
    up.insert(op, made)
    up.values(op, [cache])
    up.current = made
    return True


def one_chip(up: Edits, op: Operation) -> bool:
    """A mesh of one chip shards nothing. An op over several chips stays, to be read and shown."""
    if shape(op.operands[0]) != shape(op.results[0]):
        return False
    unchanged(up, op)
    return True


# --- other ops ----------------------------------------------------------------------------------------------------------


def broadcast(up: Edits, op: Operation) -> bool:
    if "broadcast_dimensions" in op.properties or "dimension" not in op.properties or not op.operands:
        return False
    del op.properties["dimension"]
    source, target = shape(op.operands[0]), shape(op.results[0])
    if len(source) > len(target):
        raise refuse(op, "a broadcast cannot lower the rank", expected=f"at most {len(target)} dimensions", got=str(list(source)))
    if len(source) < len(target):
        source = (1,) * (len(target) - len(source)) + source
        sizes = ArrayAttr([IntegerAttr(dim, i32) for dim in source])
        b = up.builder(op)
        wider = b.op("ttir.reshape", [op.operands[0]], {"shape": to_python(sizes)}, [tensor(source, element_type(op.operands[0]))])
        op.operands = [wider, *op.operands[1:]]
    if any(b % a for a, b in zip(source, target, strict=True)):
        raise refuse(op, "the shapes do not broadcast", expected=str(list(target)), got=str(list(source)))
    op.properties["broadcast_dimensions"] = DenseArrayBase.from_list(i64, [b // a for a, b in zip(source, target, strict=True)])
    return True


def fill(up: Edits, op: Operation) -> bool:
    """A constant written to a tensor."""
    value = op.properties.get("value")
    if not isinstance(value, DenseElements):
        raise refuse(op, "the value must be dense elements")
    up.replace(op, "ttir.constant", [], {"value": value})
    return True


def batch_norm(up: Edits, op: Operation) -> bool:
    training = op.properties.get("training")
    if isinstance(training, IntegerAttr) and training.value.data:
        raise refuse(op, "batch_norm for training gives its statistics as well today", expected=f"{op.name}_training with three results")
    kept = {key: value for key, value in op.properties.items() if key in ("epsilon", "dimension", SEGMENTS)}
    if op.name.startswith("ttnn.") and SEGMENTS not in kept:
        kept[SEGMENTS] = DenseArrayBase.from_list(i32, [int(index < len(op.operands)) for index in range(5)])
    operands = list(op.operands)[:5]
    up.dead.update(value.owner for value in op.operands[5:] if isinstance(value.owner, Operation))
    up.replace(op, f"{op.name}_inference", operands, kept)
    return True


def _numbers(op: Operation, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
    value = op.properties.get(name)
    return tuple(int(one) for one in to_python(value)) if value is not None else tuple(default)


def pooling(up: Edits, op: Operation) -> bool:
    """A pool over two dimensions, with the images turned to channels last and back; several inputs one after the other."""
    method = re.search(r"pooling_method\s+(\w+)", attribute_text(op.properties.get("pooling_method", StringAttr(""))))
    window, strides, dilations = _numbers(op, "window_dimensions"), _numbers(op, "window_strides"), _numbers(op, "window_dilations")
    base, padding = _numbers(op, "base_dilations"), _numbers(op, "padding")
    rank = len(window)
    axes = [axis for axis in range(rank) if window[axis] != 1 or strides[axis] != 1 or padding[2 * axis : 2 * axis + 2] != (0, 0)]
    for axis in reversed(range(rank)):
        if len(axes) < 2 and axis not in axes and axis > 0:
            axes = sorted([*axes, axis])
    if method is None or rank != 4 or len(axes) != 2 or len(padding) != 2 * rank or any(one != 1 for one in base):
        raise refuse(
            op, "a pool over other than two of four dimensions has no op today", got=attribute_text(op.properties.get("window_dimensions", StringAttr("none")))
        )
    others = [axis for axis in range(rank) if axis not in axes]
    order = [others[0], *axes, others[1]]
    back = [order.index(axis) for axis in range(rank)]
    pads = [padding[2 * axis] for axis in axes] + [padding[2 * axis + 1] for axis in axes]
    options: dict[str, Any] = {
        "kernel": tuple(window[axis] for axis in axes), "stride": tuple(strides[axis] for axis in axes),
        "dilation": tuple(dilations[axis] if dilations else 1 for axis in axes), "padding": tuple(pads), "ceil_mode": False,
    }  # fmt: skip
    b = up.builder(op)

    def permuted(value: SSAValue, to: Sequence[int]) -> SSAValue:
        if list(to) == list(range(rank)):
            return value
        dims = shape(value)
        return b.value("ttir.permute", [value], {"permutation": tuple(to)}, [tensor([dims[axis] for axis in to], element_type(value))])

    made = []
    for value, result in zip(op.operands, op.results, strict=False):
        dims, of = shape(result), element_type(result)
        pooled = b.value(
            "ttir.max_pool2d" if method[1] == "Max" else "ttir.avg_pool2d",
            [permuted(value, order)],
            options | ({} if method[1] == "Max" else {"count_include_pad": True}),
            [tensor([dims[axis] for axis in order], of)],
        )
        if method[1] == "Sum":
            count = b.value("ttir.full", [], {"shape": (1,) * rank, "fill_value": float(math.prod(options["kernel"]))}, [tensor((1,) * rank, of)])
            pooled = b.value("ttir.multiply", [pooled, count], {}, [pooled.type])
        made.append(permuted(pooled, back))
    up.values(op, made)
    return True


# --- ops that were StableHLO's in all but name --------------------------------------------------------------------------


def stablehlo(name: str, up: Edits, op: Operation) -> bool:
    """An op with StableHLO's attributes is lowered by StableHLO's rule."""
    if up.lower is None or _IS_OLD[name] not in op.properties:
        return False
    results = len(op.results)
    operands, attributes = list(op.operands), dict(op.properties)
    sizes = attributes.pop(SEGMENTS, None)
    bias: SSAValue | None = None
    if operands and isinstance(operands[-1].owner, Operation) and operands[-1].owner.name in MAKERS and operands[-1].type == op.results[-1].type:
        up.dead.update(value.owner for value in operands[-results:] if isinstance(value.owner, Operation))
        operands = operands[:-results]
    elif sizes is not None or len(operands) > _OPERANDS[name] + (name == "stablehlo.convolution"):
        operands = operands[: _OPERANDS[name]]
    if name == "stablehlo.convolution":
        bias = operands[2] if len(operands) > 2 else None
        operands = operands[:2]
        attributes = _convolution(op, attributes)
    elif name == "stablehlo.gather":
        return _lowered_gather(up, op, operands, _gather(attributes))
    else:
        attributes = _scatter(attributes)
    b = up.builder(op)
    made = list(up.lower(name, operands, attributes, [result.type for result in op.results], b))
    if bias is not None:
        made = [b.value("ttir.add", [made[0], bias], {}, [op.results[0].type])]
    up.values(op, made)
    return True


def _lowered_gather(up: Edits, op: Operation, operands: Sequence[SSAValue], attributes: dict[str, Attribute]) -> bool:
    """A gather of one element gave a tensor of rank 1 in TTIR, which had no scalars."""
    assert up.lower is not None
    offset, collapsed, batching = (_numbers(op, name) for name in ("offset_dims", "collapsed_slice_dims", "operand_batching_dims"))
    found = op.properties.get("index_vector_dim")
    vector = found.value.data if isinstance(found, IntegerAttr) else 0
    batch = [size for axis, size in enumerate(shape(operands[1])) if axis != vector]
    window = [size for axis, size in enumerate(_numbers(op, "slice_sizes")) if axis not in (*collapsed, *batching)]
    if len(offset) != len(window) or set(collapsed) & set(batching):
        raise refuse(op, "the dimension numbers of a gather do not fit its slices", expected=f"{len(window)} offset_dims", got=str(list(offset)))
    target = shape(op.results[0])
    rank = len(batch) + len(window)
    sizes = [window[offset.index(axis)] if axis in offset else None for axis in range(rank)]
    rest = iter(batch)
    exact = tuple(size if size is not None else next(rest, 1) for size in sizes)
    b, of = up.builder(op), element_type(op.results[0])
    (made,) = up.lower("stablehlo.gather", operands, attributes, [tensor(exact, of)], b)
    if exact != target:
        if math.prod(exact) != math.prod(target):
            raise refuse(op, "a gather's result has another shape", expected=str(list(exact)), got=str(list(target)))
        made = b.op("ttir.reshape", [made], {"shape": target}, [op.results[0].type])
    up.values(op, [made])
    return True


_IS_OLD = {"stablehlo.convolution": "convolution_layout", "stablehlo.gather": "offset_dims", "stablehlo.scatter": "update_window_dims"}
_OPERANDS = {"stablehlo.convolution": 2, "stablehlo.gather": 2, "stablehlo.scatter": 3}


def _convolution(op: Operation, given: dict[str, Attribute]) -> dict[str, Attribute]:
    text = attribute_text(given["convolution_layout"])
    fields = {key: [int(part) for part in value.split("x")] for key, value in re.findall(r"(\w+) = ([\dx]+)", text)}

    def dims(kind: str, first: str, second: str, *letters: str) -> str:
        spatial = fields.get(f"{kind}_spatial_dimensions", [])
        words = {fields[f"{kind}_{first}"][0]: letters[0], fields[f"{kind}_{second}"][0]: letters[1]} | {axis: str(index) for index, axis in enumerate(spatial)}
        return "[" + ", ".join(words[axis] for axis in sorted(words)) + "]"

    try:
        kernel = dims("kernel", "output_feature", "input_feature", "o", "i")
        numbers = f"<{dims('input', 'batch', 'feature', 'b', 'f')}x{kernel}->{dims('output', 'batch', 'feature', 'b', 'f')}>"
    except KeyError as error:
        raise refuse(op, "the convolution layout is not complete", got=text[:120]) from error
    padding = to_python(given["padding"]) if "padding" in given else ()
    pairs = [[int(padding[index]), int(padding[index + 1])] for index in range(0, len(padding), 2)]
    made: dict[str, Attribute] = {key: given[key] for key in ("window_strides", "window_reversal", "feature_group_count", "batch_group_count") if key in given}
    made |= {new: given[old] for new, old in (("lhs_dilation", "input_dilation"), ("rhs_dilation", "weight_dilation")) if old in given}
    made["padding"] = DenseElements(pairs, tensor((len(pairs), 2), "i64"))
    made["dimension_numbers"] = OpaqueAttr(("#stablehlo.conv", numbers))
    return made


def _list(given: dict[str, Attribute], name: str) -> str:
    value = given.get(name)
    return "[" + ", ".join(str(int(one)) for one in to_python(value)) + "]" if value is not None else "[]"


def _number(given: dict[str, Attribute], name: str) -> int:
    value = given.get(name)
    return int(value.value.data) if isinstance(value, IntegerAttr) else 0


def _gather(given: dict[str, Attribute]) -> dict[str, Attribute]:
    names = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map")
    body = ", ".join(f"{name} = {_list(given, name)}" for name in names if _list(given, name) != "[]")
    numbers = OpaqueAttr(("#stablehlo.gather", f"<{body}, index_vector_dim = {_number(given, 'index_vector_dim')}>"))
    return {"dimension_numbers": numbers, "slice_sizes": given["slice_sizes"], "indices_are_sorted": IntegerAttr(0, IntegerType(1))}


def _scatter(given: dict[str, Attribute]) -> dict[str, Attribute]:
    names = {"input_batching_dims": "input_batching_dims", "update_window_dims": "update_window_dims", "inserted_window_dims": "inserted_window_dims",
             "scatter_indices_batching_dims": "scatter_indices_batching_dims", "scatter_dims_to_operand_dims": "scatter_dims_to_operand_dims"}  # fmt: skip
    body = ", ".join(f"{new} = {_list(given, old)}" for old, new in names.items() if _list(given, old) != "[]")
    numbers = OpaqueAttr(("#stablehlo.scatter", f"<{body}, index_vector_dim = {_number(given, 'index_vector_dim')}>"))
    flag = IntegerAttr(0, IntegerType(1))
    return {"scatter_dimension_numbers": numbers, "indices_are_sorted": flag, "unique_indices": flag}

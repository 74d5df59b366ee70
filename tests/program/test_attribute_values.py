"""How values of attributes become arguments: by the argument's kind, and in configs by the field's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alchemist.errors import EmitError
from alchemist.ops.spec import Arg, EnumRef, Kind
from alchemist.program import model
from alchemist.program.extract import to_value
from tests.tables import table


def literals(*values: Any) -> model.Items:
    return model.Items(tuple(model.Literal(value) for value in values))


@table(
    ("kind", "value", "made"),
    [
        (Kind.INT, None, None),
        (Kind.BOOL, 1, model.Literal(True)),
        (Kind.INT, 3.0, model.Literal(3)),
        (Kind.FLOAT, 3, model.Literal(3.0)),
        (Kind.SCALAR, 3, model.Literal(3)),
        (Kind.SCALAR, np.float32(0.5), model.Literal(0.5)),
        (Kind.STR, 3, model.Literal("3")),
        (Kind.INT_LIST, 3, model.Literal(3)),
        (Kind.INT_LIST, [1, 2.0], literals(1, 2)),
        (Kind.SHAPE, np.array([[1], [2]]), literals(1, 2)),
        (Kind.PAIR_LIST, [0, 1, 2, 3], model.Items((literals(0, 1), literals(2, 3)))),
        (Kind.CORE_GRID, [8, 7], model.Record("ttnn.CoreGrid", (("x", model.Literal(8)), ("y", model.Literal(7))))),
        (Kind.FLOAT_LIST, [1, 0.5], literals(1, 0.5)),
        (Kind.DTYPE, "bf16", model.DType("bfloat16")),
        (Kind.LAYOUT, "tile", model.Layout("tile")),
        (Kind.MEMORY_CONFIG, {"buffer": "system_memory"}, None),
        (Kind.MEMORY_CONFIG, {"buffer": "l1"}, model.MemoryConfig("l1", "interleaved", None)),
        (Kind.MEMORY_CONFIG, model.MemoryConfig("dram", "interleaved", None), model.MemoryConfig("dram", "interleaved", None)),
        (
            Kind.MEMORY_CONFIG,
            {"buffer": "l1", "memory": "height_sharded", "shard": {"shape": [32, 64], "ranges": [((0, 0), (1, 0))], "orientation": "row_major"}},
            model.MemoryConfig("l1", "height_sharded", ((32, 64), (((0, 0), (1, 0)),), "row_major")),
        ),
        (Kind.UNARY_LIST, "relu", model.Items((model.Unary("RELU"),))),
        (Kind.UNARY_LIST, {"op_type": "leaky_relu", "params": [1]}, model.Items((model.Unary("LEAKY_RELU", (1.0,)),))),
        (Kind.UNARY_LIST, ["relu", {"op_type": "exp", "params": None}], model.Items((model.Unary("RELU"), model.Unary("EXP", ())))),
        (Kind.ENUM, EnumRef("ttnn.UnaryOpType", "RELU"), EnumRef("ttnn.UnaryOpType", "RELU")),
        (Kind.ENUM, "nearest", EnumRef("ttnn.Mode", "NEAREST")),
        (Kind.ENUM, "Nearest", EnumRef("ttnn.Mode", "Nearest")),
    ],
)
def test_values(kind: Kind, value: Any, made: Any) -> None:
    found = to_value(value, Arg("argument", "attr:argument", kind, cpp_type="ttnn::Mode"))
    assert found == made and repr(found) == repr(made)


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        ("math_fidelity", "hifi2", EnumRef("ttnn.MathFidelity", "HiFi2")),
        ("weights_dtype", "bfp_bf8", model.DType("bfloat8_b")),
        ("output_layout", "row_major", model.Layout("row_major")),
        ("activation", "relu", model.Unary("RELU")),
        ("shard_layout", "height_sharded", EnumRef("ttnn.TensorMemoryLayout", "HEIGHT_SHARDED")),
        ("slice_type", "dram_width", EnumRef("ttnn.Conv2dSliceConfig.SliceType", "DRAM_WIDTH")),
        ("compute_with_storage_grid_size", [8, 7], model.Record("ttnn.CoreCoord", (("x", model.Literal(8)), ("y", model.Literal(7))))),
        ("per_core_m", 3, model.Literal(3)),
        ("deallocate_activation", True, model.Literal(True)),
        ("gather_in0", [1, [2, 3]], model.Items((model.Literal(1), literals(2, 3)))),
    ],
)
def test_fields_of_configs(name: str, value: Any, made: Any) -> None:
    found = to_value({name: value}, Arg("compute_kernel_config", "attr:compute_config", Kind.COMPUTE_CONFIG))
    assert found == model.Record("ttnn.WormholeComputeKernelConfig", ((name, made),))


@pytest.mark.parametrize(("name", "value", "word"), [("weights_dtype", "f8", "f8"), ("math_fidelity", "hifi9", "hifi9"), ("per_core_m", {1: 2}, "per_core_m")])
def test_what_configs_cannot_hold(name: str, value: Any, word: str) -> None:
    with pytest.raises((EmitError, KeyError, ValueError), match=word):
        to_value({name: value}, Arg("compute_kernel_config", "attr:compute_config", Kind.COMPUTE_CONFIG))

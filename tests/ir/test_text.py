"""Parsing and printing: tt-mlir's spellings, round trips, error positions, speed."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir.affine import AffineMap

from alchemist.errors import ParseError, VerifyError
from alchemist.ir import access
from alchemist.ir.attributes import DenseElements, OpaqueAttr, element, float_text, numpy_dtype, tensor
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import context, op_classes
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.lexer import decode_string
from alchemist.ir.location import Frame, Scope, SourceInfo, decode, encode, sources_of
from alchemist.ir.printer import quoted
from alchemist.ir.text import attribute_text, parse, print_module
from tests.tables import table

DATA = Path(__file__).parent / "data"
LAYOUT = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>"


def attribute(text: str) -> str:
    """Text of an attribute after parsing, as a module attribute."""
    module = parse(f"module attributes {{a = {text}}} {{}}")
    return attribute_text(module.attributes["a"])


@table(
    "text",
    [
        "1 : i32",
        "-1 : si32",
        "true",
        "unit",
        '"a\\22b\\0A"',
        "1.500000e+00 : f32",
        "1.000000e-05 : f32",
        "0x7F800000 : f32",
        "[1 : i32, @f, @f::@g]",
        "{x, y = 2 : i64}",
        "array<i32: 1, 2>",
        "array<i64>",
        "array<i1: true, false>",
        "dense<0.000000e+00> : tensor<1000000x1000xbf16>",
        "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>",
        "dense<true> : tensor<3xi1>",
        "tensor<2x3xbf16>",
        "memref<f32>",
        "memref<?x3xi32, strided<[3, 1]>>",
        "memref<2x3xbf16, #ttnn.buffer_type<l1>>",
        "tuple<i32, tensor<1xf32>>",
        "tuple<>",
        "complex<f32>",
        "index",
        "tensor<?x3xcomplex<f32>>",
        "(tensor<1xf32>, i32) -> tensor<1xf32>",
        LAYOUT,
        "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <8x8>, memref<1x2xf32, #ttnn.buffer_type<l1>>, "
        "<height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (7,7)>]>>",
        "#ttnn.memory_config<#ttnn.buffer_type<l1>, <block_sharded>, #ttnn.shard_spec<<[#ttnn.core_range<(0,0), (0,0)>]>, <32x32>, <row_major>>>",
        "#ttnn.shape<13x24x56x42>",
        "#ttnn.device_compute_kernel_config<math_fidelity = hifi4, fp32_dest_acc_en = true>",
        "#ttnn.conv2d_config<weights_dtype = bf16, activation = #ttnn.unary_with_param<op_type = relu>, act_block_h_override = 32>",
        "#ttnn.matmul_multi_core_reuse_program_config<compute_with_storage_grid_size = #ttnn.core_coord<8, 8>, "
        "in0_block_w = 8, out_subblock_h = 1, out_subblock_w = 8, per_core_m = 8, per_core_n = 8>",
        "#ttcore.argument_type<parameter>",
        "#ttcore.reduce_type<sum>",
        '#ttcore.meshes<[<"mesh" = 1x1>]>',
        "#ttnn<mesh_shape 1x1>",
        '#sdy.sharding<@mesh, [{}, {"x"}]>',
        "!ttcore.tile<32x32, bfp_bf8>",
        "!ttnn.device",
        "affine_map<(d0, d1) -> (d0 + d1 * 2, d0 floordiv 3)>",
        "sparse<[[0]], 1.0> : tensor<2xf32>",
        'loc("a.py":1:2)',
        "memref<2x3xf32, affine_map<(d0, d1) -> (d0, d1)>, #ttnn.buffer_type<l1>>",
        "memref<2xf32, affine_map<(d0) -> (d0)>, #ttnn.buffer_type<l1>, 3>",
        "dense<> : tensor<0xf32>",
        "array<f32: 1.500000e+00, -2.000000e+00>",
        "-7 : index",
        '@"a b"::@c',
        "#ttnn.core_range_set<>",
        LAYOUT.replace("memref", 'mesh = <"m">, memref'),
        LAYOUT.replace("<interleaved>>", "<interleaved>, ignorePhysicalLayout = true>"),
    ],
)
def test_attribute_round_trip(text: str) -> None:
    once = attribute(text)
    assert attribute(once) == once
    if "affine_map" not in text:
        assert once == text


def test_maps_that_repeat_are_read_where_they_stand() -> None:
    text = "[affine_map<(d0) -> (d0)>, 3 : i32, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>, 4 : i32]"
    assert attribute(text) == text
    assert attribute(text.replace("(d0)>, 4", "(d0 // the (last) one\n)>, 4")) == text


def test_accepts_short_and_aliased_forms() -> None:
    long = attribute("#ttnn.shard_spec<#ttnn.core_range_set<[#ttnn.core_range<(0, 0), (7, 0)>]>, <32x32>, <row_major>>")
    assert attribute("#ttnn.shard_spec<<[<(0,0), (7,0)>]>, <32x32>, <row_major>>") == long
    module = parse(
        "#l1 = #ttnn.buffer_type<l1>\n"
        "module attributes {a = #ttnn.memory_config<#l1, <interleaved>>, b = #later, c = #sys.x<#l1>} {}\n"
        "#later = #ttnn.buffer_type<dram>\n"
    )
    assert access.to_python(module.attributes["a"]) == {
        "buffer": "l1",
        "memory": "interleaved",
        "shard": None,
    }
    assert access.to_python(module.attributes["b"]) == "dram"
    assert module.attributes["c"] == OpaqueAttr(("#sys.x", "<#ttnn.buffer_type<l1>>"))


RANGES = "#r = #ttnn.core_range_set<[<(0,0), (0,0)>]>\n"
SHARDED = LAYOUT.replace("dram", "l1").replace("<interleaved>>", "<height_sharded>{}>").replace("memref", "{}memref")
OTHER_SPELLINGS = [
    ("", '"x" : i32', '"x"'),
    ("", "(d0) -> (d0)", "affine_map<(d0) -> (d0)>"),
    ("", "0xFF : i32", "255 : i32"),
    ("", "affine_map<(d0)[s0] -> (d0 - 1, d0 mod 4, d0 ceildiv 2, (d0 + s0) * 2, d0 - s0 - 3)>",
     "affine_map<(d0)[s0] -> ((d0 + -1), (d0 mod 4), (d0 ceildiv 2), ((d0 * 2) + (s0 * 2)), ((d0 + (s0 * -1)) + -3))>"),
    ("#c = #ttnn.core_range<(0,0), (0,0)>\n", "#ttnn.core_range_set<[#c, <(1,1), (2,2)>]>",
     "#ttnn.core_range_set<[#ttnn.core_range<(0,0), (0,0)>, #ttnn.core_range<(1,1), (2,2)>]>"),
    ("", SHARDED.format('mesh = #ttcore.tensor_mesh<"m">, ', ""), SHARDED.format('mesh = <"m">, ', "")),
    ("", SHARDED.format("", ", exactGrid = true"), SHARDED.format("", ", ignorePhysicalLayout = true")),
    ("", SHARDED.format("", ", ignorePhysicalLayout = false"), SHARDED.format("", "")),
    (RANGES, SHARDED.format("", ", core_ranges = #r"), SHARDED.format("", ", core_ranges = <[#ttnn.core_range<(0,0), (0,0)>]>")),
    ("", "#ttnn.conv2d_config<activation = <op_type = relu>, core_grid = <[<(0,0), (7,7)>]>>",
     "#ttnn.conv2d_config<activation = #ttnn.unary_with_param<op_type = relu>, core_grid = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,7)>]>>"),
    ("", "#ttnn.conv2d_config<shard_layout = height_sharded, output_layout = #ttnn.layout<tile>>",
     "#ttnn.conv2d_config<shard_layout = height_sharded, output_layout = tile>"),
    ("", "#ttnn.unary_with_param<op_type = relu, params = [1.5 : f32, 2 : i32]>",
     "#ttnn.unary_with_param<op_type = relu, params = [1.500000e+00 : f32, 2 : i32]>"),
    ("", 'dense<"0x00"> : tensor<20xi1>', "dense<false> : tensor<20xi1>"),
    ("", 'dense<"0xFF"> : tensor<20xi1>', "dense<true> : tensor<20xi1>"),
    ("", 'dense<"0x05"> : tensor<3xi1>', "dense<[true, false, true]> : tensor<3xi1>"),
    ("", 'dense<"0x0000803F"> : tensor<4xf32>', "dense<1.000000e+00> : tensor<4xf32>"),
    ("", 'dense<"0x0100000002000000"> : tensor<2xi32>', "dense<[1, 2]> : tensor<2xi32>"),
]  # fmt: skip


@table(("before", "text", "printed"), OTHER_SPELLINGS)
def test_other_spellings(before: str, text: str, printed: str) -> None:
    module = parse(f"{before}module attributes {{a = {text}}} {{}}")
    assert attribute_text(module.attributes["a"]) == printed


@table(
    ("before", "text", "message", "at"),
    [
        ("#r = #ttnn.buffer_type<l1>\n", "#ttnn.core_range_set<[#r]>", "expected a core range", "]>} {}"),
        ("#r = #ttnn.buffer_type<l1>\n", SHARDED.format("", ", core_ranges = #r"), "expected a core range set", ">} {}"),
        ("", LAYOUT.replace("<1x1>", "<1x1, x>"), "a grid is written `<8x8>` in a layout", " x>"),
        ("", "#ttnn.conv2d_config<nothing = 1>", "has no field nothing", "nothing"),
        ("", "#ttnn.conv2d_config<shard_layout = <height_sharded>>", "expected a field value", "<height_sharded>"),
        ("", "{b, b}", "b is given twice", "b}"),
        ("", "dense<1.0> : i32", "dense elements need a tensor type", "<1.0>"),
        ("", 'dense<"0x0000"> : tensor<4xf32>', "2 bytes do not fill tensor<4xf32>", "<"),
        ("", 'dense<"0x0102"> : tensor<20xi1>', "2 bytes do not fill tensor<20xi1>", "<"),
        ("", "dense<[1, 2, 3]> : tensor<2xi32>", "3 elements do not fill tensor<2xi32>", "<"),
        ("", "dense<[1]> : tensor<2xi32>", "1 elements do not fill tensor<2xi32>", "<"),
        ("", "dense<[1, x]> : tensor<2xi32>", "malformed elements of tensor<2xi32>", "<"),
        ("", "affine_map<(d0, d1) -> (d0 * d1)>", "a product of two dimensions is not affine", "d0 * d1"),
        ("", "affine_map<(d0) -> (d1)>", "undefined affine name d1", "d1)>"),
        ("", "1 : i1234567", "integers of 1234567 bits are not supported", "i1234567"),
        ("#l = 3 : i32\n", "loc(#l)", "#l is not a location", "#l)"),
    ],
)
def test_attributes_that_are_none(before: str, text: str, message: str, at: str) -> None:
    source = f"{before}module attributes {{a = {text}}} {{}}"
    with pytest.raises(ParseError, match=re.escape(message)) as error:
        parse(source, "m.mlir")
    line, column = (int(part) for part in error.value.location.split(":")[1:])
    behind = source.splitlines()[line - 1][column - 1 :]
    assert behind.startswith(at)


def test_compiler_file() -> None:
    """A file as tt-mlir writes it: device module, aliases after use, fused locations with metadata, const-eval."""
    module = parse((DATA / "ttnn_wrapped.mlir").read_text(), "ttnn_wrapped.mlir")
    text = print_module(module)
    assert print_module(parse(text)) == text
    assert text.count("#ttnn.ttnn_layout<") == 1
    assert "#ttnn_layout = " in text
    ops = {op.name: op for op in module.walk()}
    assert access.attrs(ops["ttnn.softmax"]) == {
        "dimension": 1,
        "numericStable": True,
        "compute_config": {"math_fidelity": "hifi4", "fp32_dest_acc_en": True},
    }
    assert access.attr(ops["ttcore.load_cached"], "callee") == "ce"
    assert [info.name for info in sources_of(ops["ttnn.softmax"])] == ["a", ""]
    assert sources_of(ops["ttnn.add"])[0].frames == (Frame("X", 0), Frame("a.py", 3))
    (argument, _) = access.forward_arguments(module)
    assert (argument.kind, argument.dtype, argument.tiled) == ("input", "bfloat16", True)


MODULE = """module {{
  func.func @forward(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> tensor<2x4xf32> {{
    {}
    return %0 : tensor<2x4xf32>
  }}
}}
"""


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (
            '%0 = "ttir.matmul"(%arg0, %arg2) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>',
            31,
            "not defined",
        ),
        (
            '%0 = "ttir.matmull"(%arg0) : (tensor<2x3xf32>) -> tensor<2x4xf32>',
            10,
            "ttir.matmull is not known",
        ),
        (
            '%0 = "ttir.matmul"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3x4xf3>) -> tensor<2x4xf32>',
            69,
            "a type",
        ),
        ('%0 = "ttir.relu"(%arg0) : (tensor<9x3xf32>) -> tensor<2x4xf32>', 22, "another type"),
        (
            '%0 = "ttir.sum"(%arg0) <{dim = #nothing}> : (tensor<2x3xf32>) -> tensor<2x4xf32>',
            36,
            "undefined alias",
        ),
        ('%0 = "ttir.full"() <{shape = array<i32: 1, "x">}> : () -> tensor<2x4xf32>', 48, "a number"),
        (
            '%0 = "ttir.constant"() <{value = dense<[1.0, 2.0]> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>',
            43,
            "fill",
        ),
    ],
)
def test_parse_errors(line: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse(MODULE.format(line), "m.mlir")
    assert message in str(error.value)
    assert error.value.location == f"m.mlir:3:{column}"


@table(
    ("line", "message"),
    [
        (
            '%0 = "ttir.matmul"(%arg1, %arg0) : (tensor<3x4xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>',
            "inner dimensions",
        ),
        ('%0 = "ttir.add"(%arg0) : (tensor<2x3xf32>) -> tensor<2x4xf32>', "operands do not match"),
        (
            '%0 = "ttir.add"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>',
            "broadcast",
        ),
        ('%0 = "ttir.relu"(%arg0) : (tensor<2x3xf32>) -> tensor<2x4xf32>', "expected result shape [2, 3]"),
        (
            '%0 = "ttir.sum"(%arg0) : (tensor<2x3xf32>) -> tensor<2x4xf32>',
            "missing required attribute keep_dim",
        ),
        (
            '%0 = "ttir.softmax"(%arg0) <{dimension = "x"}> : (tensor<2x3xf32>) -> tensor<2x4xf32>',
            "dimension must be an integer",
        ),
        (
            '%0 = "ttir.permute"(%arg0) <{permutation = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<2x4xf32>',
            "no permutation",
        ),
        (
            '%0 = "ttir.reshape"(%arg0) <{shape = [2 : i32, 4 : i32]}> : (tensor<2x3xf32>) -> tensor<2x4xf32>',
            "reshape",
        ),
        ("%0 = call @nothing(%arg0) : (tensor<2x3xf32>) -> tensor<2x4xf32>", "@nothing"),
    ],
)
def test_verify_errors(line: str, message: str) -> None:
    with pytest.raises(VerifyError) as error:
        parse(MODULE.format(line), "m.mlir")
    assert message in str(error.value)
    assert error.value.location.startswith("m.mlir:3:")


@table("name", sorted(name for name, op in op_classes().items() if not op.info.regions))
def test_every_op_round_trips(name: str) -> None:
    """Any op of the tables with all its operands: made, printed, parsed, printed the same."""
    info = op_classes()[name].info
    plain = tensor((4, 4), "f32")
    b = Builder.module(inputs=[("x", plain, "input", None)])
    values = [[b.args[0]] * 2 if group.variadic else b.args[0] for group in info.operands]
    b.make(name, values, {}, [plain for group in info.results])
    b.ret([b.args[0]])
    text = print_module(b.module_op)
    assert print_module(parse(text, verify=False)) == text


def test_thousands_of_ops() -> None:
    b = Builder.module(inputs=[("x", tensor((64, 64), "f32"), "input", None)])
    (x,) = b.args
    for i in range(3_000):
        info = SourceInfo((Scope(f"layer.{i // 100}", "m.Layer"),), (Frame("m.py", i, "forward"),), "aten.relu", f"r{i}")
        if i % 2:
            x = b.op("ttir.relu", [x], {}, [x.type], source=info)
        else:
            b.op(
                "ttir.constant",
                [],
                {"value": access.splat(float(i), (1024, 1024), "bf16")},
                [tensor((1024, 1024), "bf16")],
            )
    b.ret([x])
    text = print_module(b.module_op)
    module = parse(text)
    assert print_module(module) == text


@pytest.mark.parametrize("seed", range(4))
def test_damaged_text_is_refused_or_read(seed: int) -> None:
    """Any damage gives an error with a position, or a module that prints and parses again."""
    source = (DATA / "ttnn_wrapped.mlir").read_text()
    chance = random.Random(seed)
    for _ in range(100):
        text = source
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text))
            extra = chance.choice([*'<>{}()[]"#%@!,:=x0-', "-1", "tensor<", "dense<", "1e400", "9" * 20, ""])
            text = text[:at] + extra + text[at + chance.choice([0, 0, 1, 5]) :]
        try:
            printed = print_module(parse(text, "damaged.mlir"))
        except (ParseError, VerifyError) as error:
            assert error.location.startswith("damaged.mlir:")  # noqa: PT017 (either outcome is right)
        else:
            assert print_module(parse(printed, verify=False)) == printed


# --- properties ---------------------------------------------------------------------------------------------------------


@given(st.text())
def test_strings(text: str) -> None:
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if text.isprintable() else text
    assert decode_string(quoted(text)[1:-1]) == plain


@given(st.sampled_from(["f32", "f16", "bf16", "f64"]), st.floats(width=32))
def test_floats(of: str, value: float) -> None:
    rounded = numpy_dtype(of).type(value)
    module = parse(f"module attributes {{a = {float_text(float(rounded), of)} : {of}}} {{}}")
    back = module.attributes["a"].value.data  # type: ignore[attr-defined]
    assert np.array_equal(numpy_dtype(of).type(back), rounded, equal_nan=True)


@given(
    st.builds(
        SourceInfo,
        st.tuples(st.builds(Scope, st.text(alphabet="ab.0|%"), st.text(alphabet="AB.|%<>"))),
        st.lists(st.builds(Frame, st.text(alphabet="ab/.|%:"), st.integers(0, 9999), st.text(alphabet="f|%"))).map(tuple),
        st.text(alphabet="abc.|%"),
        st.text(alphabet="abc_|%"),
    )
)
def test_sources_survive(info: SourceInfo) -> None:
    assert decode(encode(info)) == info


@table("of", ["f32", "bf16", "f16", "i1", "i8", "ui8", "si32", "ui32", "i64"])
@table("size", [1, 3, 200])
def test_dense_elements(of: str, size: int) -> None:
    values = np.arange(size).astype(numpy_dtype(of))
    elements = DenseElements(values, tensor((size,), of))
    again = parse(f"module attributes {{a = {attribute_text(elements)}}} {{}}").attributes["a"]
    assert again == elements
    assert np.array_equal(access.to_python(again), values)


def test_splats_are_small() -> None:
    huge = access.splat(1.0, (1 << 20, 1 << 20), "f32")
    assert huge.data.nbytes == 4
    assert huge.array.shape == (1 << 20, 1 << 20)
    assert DenseElements(np.zeros(8, np.float32), tensor((8,), "f32")).is_splat
    assert not DenseElements(np.array([0.0, -0.0], np.float32), tensor((2,), "f32")).is_splat


@pytest.mark.parametrize(
    ("shape", "options", "memref", "linear"),
    [
        ((2, 3, 50, 70), {}, "memref<12x3x!ttcore.tile<32x32, bf16>", "(d0 * 192 + d1 * 64 + d2, d3)"),
        ((2, 3, 50, 70), {"page": "row_major"}, "memref<300x70xbf16", "(d0 * 150 + d1 * 50 + d2, d3)"),
        ((70,), {}, "memref<1x3x!ttcore.tile<32x32, bf16>", "(0, d0)"),
        ((), {}, "memref<1x1x!ttcore.tile<32x32, bf16>", "(0, 0)"),
        ((256, 256), {"grid": (8, 8), "memory": "block_sharded", "buffer": "l1"}, "memref<1x1x!", "(d0, d1)"),
        (
            (256, 256),
            {"grid": (8, 1), "memory": "height_sharded", "buffer": "l1"},
            "memref<1x8x!",
            "(d0, d1)",
        ),
    ],
)
def test_layouts(shape: tuple[int, ...], options: dict[str, object], memref: str, linear: str) -> None:
    layout = TTNNLayout.make(shape, "bf16", **options)  # type: ignore[arg-type]
    type_ = layout.type_for(shape)
    assert memref in layout.body()
    assert f"-> {linear}" in layout.body()
    again = parse(f"module attributes {{a = {attribute_text(type_)}}} {{}}").attributes["a"]
    assert again == type_
    assert layout_of(again) == layout


def test_builder_and_access() -> None:
    b = Builder.module(inputs=[("x", tensor((2, 8), "f32"), "input", None), ("w", tensor((8,), "f32"), "parameter", None)])
    x, w = b.args
    norm = b.op("ttir.layer_norm", [x, None, w], {"normalized_shape": [8], "my.note": "hi"}, [x.type])
    b.ret([norm], names=["out"])
    op = norm.op
    assert access.operand(op, "weight") is None
    assert access.operand(op, "bias") is w
    assert access.attrs(op) == {"normalized_shape": (8,), "epsilon": 1e-05, "my.note": "hi"}
    access.set_attr(op, "epsilon", 1e-6)
    assert access.attr(op, "epsilon") == 1e-06
    assert [a.name for a in access.forward_arguments(b.module_op)] == ["x", "w"]
    later = Builder.after(op).op("ttir.relu", [norm], {}, [x.type])
    assert op.next_op is later.op
    assert Builder.before(op).module_op is b.module_op
    assert element("ui32") == element("ui32")
    assert context().get_optional_op("ttnn.conv2d") is op_classes()["ttnn.conv2d"]


WANTED_DEFAULTS = {
    "false": False, "true": True, "{0, 0}": (0, 0), "0.0f": 0.0, "1e-5": 1e-5, "-1": -1, "2880": 2880, '""': "", '"zeros"': "zeros", "nullptr": None,
    "::mlir::tt::ttcore::AttentionMaskType::Causal": "causal", "::mlir::tt::ttcore::MoEActivationFunction::Silu": "silu",
}  # fmt: skip


def test_defaults_of_the_tables() -> None:
    """Every one can be read, and is the attribute that stands for it."""
    seen = set()
    for cls in op_classes().values():
        for info in cls.info.attributes.values():
            if info.default is None or (info.type, info.default) in seen:
                continue
            seen.add((info.type, info.default))
            value = access.default_value(info)
            assert value == WANTED_DEFAULTS.get(info.default, value), info
            if value is not None:
                assert access.to_python(access.from_python(value, info.type)) == (pytest.approx(value) if isinstance(value, float) else value), info
    assert {default for _, default in seen} >= WANTED_DEFAULTS.keys()


@table(
    ("value", "declared", "text"),
    [
        (True, "", "true"),
        (3, "", "3 : i64"),
        (0.5, "", "5.000000e-01 : f32"),
        ("a", "", '"a"'),
        ({"x": [1, "b"]}, "", '{x = [1 : i64, "b"]}'),
        (np.array([1, 2], np.int32), "", "dense<[1, 2]> : tensor<2xi32>"),
        (np.float32(2), "", "2.000000e+00 : f32"),
        (None, "", "unit"),
        (AffineMap.identity(2), "", "affine_map<(d0, d1) -> (d0, d1)>"),
        (AffineMap.identity(1), "AffineMapAttr", "affine_map<(d0) -> (d0)>"),
        ("f::g", "SymbolRefAttr", "@f::@g"),
        ("f", "FlatSymbolRefAttr", "@f"),
        ([1, 2], "I32ArrayAttr", "[1 : i32, 2 : i32]"),
        ([1, 2], "DenseI64ArrayAttr", "array<i64: 1, 2>"),
        ([1, 2], "I64ElementsAttr", "dense<[1, 2]> : tensor<2xi64>"),
        ({"buffer": "l1", "memory": "interleaved"}, "TTNN_MemoryConfigAttr", "#ttnn.memory_config<#ttnn.buffer_type<l1>, <interleaved>>"),
        ([[(0, 0), (7, 1)]], "TTNN_CoreRangeSetAttr", "#ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,1)>]>"),
        ({"math_fidelity": "hifi2"}, "TTNN_DeviceComputeKernelConfig", "#ttnn.device_compute_kernel_config<math_fidelity = hifi2>"),
    ],
)
def test_attributes_of_plain_values(value: object, declared: str, text: str) -> None:
    made = attribute_text(access.from_python(value, declared))
    assert float(made.split()[0]) == float(text.split()[0]) if ": f32" in text else made == text

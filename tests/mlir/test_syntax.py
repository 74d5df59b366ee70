"""Spellings that files of the real compiler and of frameworks use: read, printed, read again; and what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from alchemist.driver import mlir_files
from alchemist.errors import AlchemistError, ParseError, VerifyError
from alchemist.frontends.mlir import foreign
from alchemist.ir.attributes import DenseElements
from alchemist.ir.printer import print_module
from tests.tables import table

PRETTY = {
    "elementwise": """
      func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
        %0 = stablehlo.add %a, %b : tensor<2x3xf32>
        %1 = stablehlo.tanh %0 {note = "x"} : tensor<2x3xf32>
        %2 = chlo.erf %1 : tensor<2x3xf32> -> tensor<2x3xf32>
        %3 = stablehlo.compare GT, %2, %a, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
        %4 = stablehlo.select %3, %2, %a : tensor<2x3xi1>, tensor<2x3xf32>
        return %4 : tensor<2x3xf32>
      }""",
    "shapes": """
      func.func @f(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
        %c = stablehlo.constant dense<1.5> : tensor<f32>
        %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
        %1 = stablehlo.concatenate %a, %0, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
        %2 = stablehlo.slice %1 [0:4:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
        %3 = stablehlo.iota dim = 1 : tensor<2x3xf32>
        %4 = stablehlo.add %2, %3 : tensor<2x3xf32>
        %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
        return %5 : tensor<3x2xf32>
      }""",
    "reduce and dot": """
      func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> tensor<2xf32> {
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT]
          : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
        return %1 : tensor<2xf32>
      }""",
    "calls and composites": """
      func.func private @g(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }
      func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.composite "own.g" %a {composite_attributes = {k = 1 : i64}, decomposition = @g} : (tensor<2xf32>) -> tensor<2xf32>
        %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<2xf32>) -> tensor<2xf32>
        return %1 : tensor<2xf32>
      }""",
    "shardy": """
      sdy.mesh @mesh = <["x"=2, "y"=4]>
      func.func @f(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, ttcore.argument_type = #ttcore.argument_type<input>})
          -> tensor<8x16xf32> {
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"}
            (%b: tensor<4x16xf32>) {
          %1 = stablehlo.negate %b : tensor<4x16xf32>
          sdy.return %1 : tensor<4x16xf32>
        } : (tensor<8x16xf32>) -> tensor<8x16xf32>
        %2 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<8x16xf32>
        return %2 : tensor<8x16xf32>
      }""",
    "in a device module": """
      ttcore.device_module {
        builtin.module attributes {own.note = "kept"} {
          func.func @f(%a: tensor<2x3xf32>) -> tensor<6xf32> {
            %0 = stablehlo.slice %a [0:2, 0:3] : (tensor<2x3xf32>) -> tensor<2x3xf32>
            %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
            return %1 : tensor<6xf32>
          }
        }
      }""",
}
GENERIC = {
    "empty": "// nothing but a comment\n",
    "upstream dialects": """
      func.func @f() -> tensor<4xf32> {
        %0 = "arith.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
        %1 = arith.constant dense<2.0> : tensor<4xf32>
        %2 = arith.addf %0, %1 : tensor<4xf32>
        %3 = "emitc.call_opaque"(%2) <{callee = "g"}> : (tensor<4xf32>) -> tensor<4xf32>
        %4 = tosa.abs %3 : (tensor<4xf32>) -> tensor<4xf32>
        return %4 : tensor<4xf32>
      }""",
    "dynamic, unranked, complex": """
      func.func private @f(tensor<?x4xf32>, tensor<*xf32>, tensor<2xcomplex<f32>>, vector<4xf32>, memref<4x?xf32>,
                           memref<2x2xf32, strided<[2, 1], offset: 0>>) -> (tensor<64 x 31 x bf16>)""",
    "elements without values": """
      func.func @f() -> (tensor<4xf32>, tensor<1x2xcomplex<f32>>) {
        %0 = "ttir.constant"() <{value = dense_resource<elsewhere> : tensor<4xf32>}> : () -> tensor<4xf32>
        %1 = "ttir.constant"() <{value = dense<[[(2.0, 0.0), (3.0, 1.0)]]> : tensor<1x2xcomplex<f32>>}> : () -> tensor<1x2xcomplex<f32>>
        return %0, %1 : tensor<4xf32>, tensor<1x2xcomplex<f32>>
      }""",
    "quantised types": """
      func.func @f(%a: tensor<4x3x!quant.uniform<i8:f32:1, {1.0e-1:0, 2.000000e-01, 0.3:7}>>) -> tensor<4x3xf32> {
        %0 = "ttir.dequantize"(%a) : (tensor<4x3x!quant.uniform<i8:f32:1, {0.1,0.2:0,3.0e-01:7}>>) -> tensor<4x3xf32>
        return %0 : tensor<4x3xf32>
      }""",
    "attributes of calls and wrappers": """
      ttcore.device_module attributes {a = 1 : i32} {
        builtin.module {
          func.func private @h(tensor<2xf32> {ttir.name = "x"}) -> (tensor<2xf32> {ttir.name = "y"})
          func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
            %0 = call @h(%a) {ttir.cpu_hoisted_call} : (tensor<2xf32>) -> tensor<2xf32>
            return %0 : tensor<2xf32>
          }
        }
      }
      ttcore.cpu_module {
        builtin.module { }
      }""",
    "keys and globals": """
      func.func @f(%d: !ttcore.dict, %a: tensor<2xf32>) -> tensor<2xf32> {
        ttcore.set_key_value %d["key"] = %a : !ttcore.dict, tensor<2xf32>
        ttcore.set_key_value %d[3 : index] = %a, %a : !ttcore.dict, tensor<2xf32>, tensor<2xf32>
        %0 = ttcore.get_key_value %d["key"] : (!ttcore.dict) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }""",
    "globals and tuples": """
      ttcore.global @state = tensor<2xf32> [3]
      ttcore.global @other = tensor<4xf32>
      func.func @f(%a: tensor<2xf32>, %b: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
        %0 = ttcore.get_global @state : tensor<2xf32>
        %1 = ttcore.tuple %0, %b : tuple<tensor<2xf32>, tensor<4xf32>>
        %2 = ttcore.get_tuple_element %1[1] : (tuple<tensor<2xf32>, tensor<4xf32>>) -> tensor<4xf32>
        return %0, %2 : tensor<2xf32>, tensor<4xf32>
      }""",
    "selects of other dialects": """
      func.func @f(%p: tensor<2xi1>, %a: tensor<2xf32>) -> tensor<2xf32> {
        %0 = arith.select %p, %a, %a : tensor<2xi1>, tensor<2xf32>
        %1 = arith.extui %p : tensor<2xi1> -> tensor<2xi32>
        return %0 : tensor<2xf32>
      }""",
    "a subgraph": """
      func.func private @g(%a: tensor<32x32xf32>) -> tensor<32x32xf32> { return %a : tensor<32x32xf32> }
      func.func @f(%a: tensor<32x32xf32>, %o: tensor<32x32xf32>) -> tensor<32x32xf32> {
        %0 = ttnn.d2m_subgraph @g
            ins(%a : tensor<32x32xf32>)
            outs(%o : tensor<32x32xf32>) : tensor<32x32xf32>
        %1 = ttir.ttnn_metal_layout_cast %0 : tensor<32x32xf32> -> tensor<1x1x32x32xf32>
        return %0 : tensor<32x32xf32>
      }""",
}


def _read(text: str) -> str:
    module = mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
    printed = print_module(module)
    again = mlir_files.read(mlir_files.Chunk(printed, "y.mlir"))
    assert print_module(again) == printed
    assert module.is_structurally_equivalent(again)
    return printed


@table("name", GENERIC)
def test_read_and_printed(name: str) -> None:
    _read(GENERIC[name])


@pytest.mark.parametrize("name", PRETTY)
def test_custom_assembly_of_other_dialects(name: str) -> None:
    pytest.importorskip("jaxlib")
    printed = _read(PRETTY[name])
    assert "loc(" not in printed.replace("loc(#loc)", "").replace("#loc = loc(unknown)", "")
    if name == "in a device module":
        assert "ttcore.device_module {" in printed
        assert 'own.note = "kept"' in printed


def test_without_jaxlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_context", lambda: None)
    with pytest.raises(ParseError, match=r"stablehlo\.compare") as error:
        mlir_files.read(mlir_files.Chunk(PRETTY["elementwise"], "x.mlir"))
    assert error.value.location == "x.mlir:6:14"
    assert "jax" in error.value.hint


def test_destinations_of_older_files_go() -> None:
    printed = _read("""
      func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<3x2xf32> {
        %0 = ttir.empty() : tensor<2x3xf32>
        %1 = "ttir.add"(%a, %b, %0) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
        %2 = tensor.empty() : tensor<2x3xf32>
        %3 = "ttir.relu"(%1, %2) <{operandSegmentSizes = array<i32: 1, 1>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
        %4 = "ttir.empty"() : () -> tensor<3x2xf32>
        %5 = "ttir.transpose"(%3, %4) <{dim0 = 0 : si32, dim1 = 1 : si32}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
        return %5 : tensor<3x2xf32>
      }""")
    assert '"ttir.add"(%arg0, %arg1) :' in printed
    assert '"ttir.relu"(%0) :' in printed
    assert '"ttir.transpose"(%1)' in printed


@pytest.mark.parametrize("last", ["%b", "%c"])
def test_an_operand_too_many_is_no_destination(last: str) -> None:
    with pytest.raises(VerifyError, match="operands do not match"):
        _read(f"""
          func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {{
            %c = ttir.empty() : tensor<1xf32>
            %0 = "ttir.add"(%a, %b, {last}) : (tensor<2xf32>, tensor<2xf32>, {"tensor<2xf32>" if last == "%b" else "tensor<1xf32>"}) -> tensor<2xf32>
            return %0 : tensor<2xf32>
          }}""")


WRONG = [
    ('%0:2 = "ttir.abs"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>', "ttir.abs has 1 results"),
    ('%0 = "ttir.abs"(%a#1) : (tensor<2x3xf32>) -> tensor<2x3xf32>', "%a has 1 results"),
    ('%0 = "ttir.abs"(%a)[^bb1] : (tensor<2x3xf32>) -> tensor<2x3xf32>', "successors are not supported"),
    ('%0 = "func.call"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>', "missing required attribute callee"),
    ('%0 = "ttir.matmul"(%s, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>', "operands of a matmul have at least one dimension"),
    ('%0 = "ttir.slice_static"(%a) <{begins = [0 : i32], ends = [1 : i32, 1 : i32], step = [1 : i32, 1 : i32]}> : (tensor<2x3xf32>) -> tensor<1x1xf32>',
     "begins, ends and step need 2 entries"),
    ('%0 = "ttir.softmax"(%a) <{dimension = 1 : si32}> : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)', "results"),
    ("%0 = call @g(%s) : (tensor<f32>) -> tensor<2x3xf32>", "operand type mismatch"),
    ("%0 = ttcore.load_cached(@g, [%s]) : (tensor<f32>) -> tensor<2x3xf32>", "the call's types differ from the signature of @g"),
    ("%0 = ttcore.load_cached(@h, [%s]) : (tensor<f32>) -> tensor<2x3xf32>", "@h is not defined"),
    ('%0 = "ttir.abs"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n^bb1:\n', "control flow between blocks is not supported"),
    ("return %s : tensor<f32>\n}\nfunc.func private @h(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {", "Expected arguments to have the same types as the function output types"),
]  # fmt: skip


@table(("line", "message"), WRONG)
def test_what_is_wrong(line: str, message: str) -> None:
    text = f"""
      func.func private @g(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {{ return %a : tensor<2x3xf32> }}
      func.func @f(%a: tensor<2x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {{
        {line}
        return %a : tensor<2x3xf32>
      }}"""
    with pytest.raises(AlchemistError, match=message) as error:
        mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
    assert error.value.location.startswith("x.mlir:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module {}\n{-# dialect_resources: {", "the resource section has no end"),
        ('func.func @f() -> tensor<1xf32> {\n%0 = "ttir.full"() : () -> tensor<1xf32>\n}', "does not end in a return|return"),
    ],
)
def test_text_that_ends_too_early(text: str, message: str) -> None:
    with pytest.raises(AlchemistError, match=message):
        mlir_files.read(mlir_files.Chunk(text, "x.mlir"))


def test_resources() -> None:
    module = mlir_files.read(
        mlir_files.Chunk(
            """
      func.func @f() -> (tensor<2xf32>, tensor<3xi1>) {
        %0 = "ttir.constant"() <{value = dense_resource<w> : tensor<2xf32>}> : () -> tensor<2xf32>
        %1 = "ttir.constant"() <{value = dense_resource<"my mask"> : tensor<3xi1>}> : () -> tensor<3xi1>
        return %0, %1 : tensor<2xf32>, tensor<3xi1>
      }
      {-#
        dialect_resources: {
          builtin: {
            w: "0x040000000000803F00000040",
            "my mask": "0x0100000005"
          }
        }
      #-}
    """,
            "x.mlir",
        )
    )
    values = [op.properties["value"] for op in module.walk() if op.name == "ttir.constant"]
    assert all(isinstance(value, DenseElements) for value in values)
    assert np.array_equal(values[0].array, [1.0, 2.0])  # type: ignore[attr-defined]
    assert np.array_equal(values[1].array, [True, False, True])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("%0 = stablehlo.add %a, %a : tensor<3x2xf32>", 20, "different type"),
        ("%0 = stablehlo.transpose %a, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>", 6, "permutation"),
        ('%0 = "stablehlo.add"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>', 6, "same shape"),
        ("%0 = stablehlo.slice %a [0:9, 0:3] : (tensor<2x3xf32>) -> tensor<9x3xf32>", 6, "limit index"),
    ],
)
def test_stablehlo_is_verified(line: str, column: int, message: str) -> None:
    pytest.importorskip("jaxlib")
    text = f"func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {{\n{line}\n return %a : tensor<2x3xf32>\n}}\n"
    with pytest.raises(AlchemistError, match=message) as error:
        mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
    assert error.value.location == f"x.mlir:2:{column}"
    assert mlir_files.all_errors(mlir_files.Chunk(text, "x.mlir"), error.value)


@pytest.mark.parametrize(("storage", "taken"), [("i32", True), ("i16", False)])
def test_wide_quantised_numbers_in_stablehlo(storage: str, taken: bool) -> None:
    """StableHLO stores them in as few bits as they are given: the device's compiler takes 32, which its own rules know as no quantised type."""
    pytest.importorskip("jaxlib")
    of = f"tensor<2x3x!quant.uniform<{storage}:f32, 0.1>>"
    text = f"func.func @f(%a: tensor<2x3xf32>) -> {of} {{\n%0 = stablehlo.uniform_quantize %a : (tensor<2x3xf32>) -> {of}\n return %0 : {of}\n}}\n"
    found = foreign.stablehlo_errors(text, "x.mlir")
    assert bool(found) != taken


def test_several_errors_of_a_pretty_file() -> None:
    pytest.importorskip("jaxlib")
    lines = ["%0 = stablehlo.iota dim = 9 : tensor<2x3xf32>", "%1 = stablehlo.slice %a [0:9, 0:3] : (tensor<2x3xf32>) -> tensor<9x3xf32>"]
    text = "func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n" + "\n".join(lines) + "\n return %a : tensor<2x3xf32>\n}\n"
    with pytest.raises(AlchemistError) as error:
        mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
    found = mlir_files.all_errors(mlir_files.Chunk(text, "x.mlir"), error.value)
    assert [mlir_files.place(each)[0] for each in found] == [2, 3]


def _lines_of_errors(count: int, characters: int = 0) -> list[int]:
    """Lines of the errors that are told of a file with so many."""
    text = "func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
    text += "".join(f'  %{number} = "ttir.no"(%a) : tensor<2x3xf32>\n' for number in range(count)) + "  return %a : tensor<2x3xf32>\n}\n"
    chunk = mlir_files.Chunk(text + "//" + "x" * (characters - len(text) - 2), "x.mlir")
    with pytest.raises(AlchemistError) as error:
        mlir_files.read(chunk)
    return [mlir_files.place(each)[0] for each in mlir_files.all_errors(chunk, error.value)]


@pytest.mark.parametrize(("count", "told"), [(1, 1), (2, 2), (19, 19), (20, 20), (21, 20)])
def test_twenty_errors_are_told(count: int, told: int) -> None:
    assert _lines_of_errors(count) == [*range(2, 2 + told)]


@pytest.mark.parametrize(("characters", "told"), [(1_999_999, 4), (2_000_000, 3), (3_999_999, 3), (4_000_000, 2)])
def test_long_files_are_not_read_again_for_each_error(characters: int, told: int) -> None:
    """Until four million characters have been read again."""
    assert _lines_of_errors(9, characters) == [*range(2, 2 + told)]

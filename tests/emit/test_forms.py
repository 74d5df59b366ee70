"""Every form of statement and value in both languages, side by side: `tests/emit/golden/forms.txt`. `pytest tests/emit --update-golden` writes it."""

from __future__ import annotations

import ast
import dataclasses
import difflib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import emit_cpp
import emit_cpp.printer
import emit_py
import emit_py.printer
import emit_py.values
from alchemist.errors import EmitError
from alchemist.ops.spec import ONES, REQUIRED, TTNN_OPS, EnumRef, Kind
from alchemist.program import model
from alchemist.program.walk import arguments_of, bound_by, filled_by, leaves, names_of, read_by, with_values
from tests.golden import same_as_golden

GOLDEN = Path(__file__).parent / "golden" / "forms.txt"
TURN, NAME = model.Index("i"), model.Index("name", text=True)
X, Y = model.TensorRef("x"), model.TensorRef("y")
TURNED: tuple[model.Key, ...] = (
    ("layers.", TURN),
    ("layers.", model.Index("i", 1), ".w"),
    ("w", model.Index("i", -2)),
    ("w", model.Index("i", 3, scale=2)),
    (NAME,),
    (NAME, ".w"),
)
SMALL, WIDE = (((0, 0), (1, 0)),), (((0, 0), (7, 5)), ((0, 6), (0, 6)))


def call(name: str, given: dict[str, Any], *results: model.Target, note: str = "", returned: bool = False) -> model.Call:
    """Of an op by its name; values that are no program values become literals and lists of them."""
    spec = TTNN_OPS[f"ttnn.{name}"]
    assert given.keys() <= {arg.name for arg in spec.args}, (given, [arg.name for arg in spec.args])
    return model.Call(spec, tuple((arg, _value(given[arg.name])) for arg in spec.args if arg.name in given), results, note, returned)


def _value(given: Any) -> model.Value:
    if isinstance(given, tuple | list):
        return model.Items(tuple(_value(item) for item in given))
    return model.Literal(given) if given is None or isinstance(given, bool | int | float | str) else given


def exp(*results: model.Target, of: model.Value = X, **more: Any) -> model.Call:
    return call("exp", {"input_tensor": of}, *results, **more)


def function(*body: model.Statement, parameters: tuple[model.Parameter, ...] = (model.Parameter("x"),), returns: int = 0, **more: Any) -> model.Function:
    return model.Function("made", parameters, body, returns, **more)


CORE_GRID = model.Record("ttnn.CoreGrid", (("x", model.Literal(8)), ("y", model.Literal(7))))
KINDS = ("tensor", "tensors", "weights", "output", "stored", "kept", "device", *model.CONSTANT_KINDS)
LONG = "word " * 40
VALUES: dict[str, model.Value] = {
    **{f"number {value!r}": model.Literal(value) for value in (None, True, False, 0, -7, 2**31 - 1, 2**31, -(2**31), 1.0, 0.1, 1e-12, 9.999999960041972e-13, 1e7, 123456789.0,
                                                        float("inf"), float("-inf"), float("nan"), 1e300, -1e300, 9999999.0, "gelu", 'a"b\\c\x07\u202e')},
    "element": model.Element("caches", 2),
    "counted elements": model.Items(tuple(model.Element("caches", index) for index in (TURN, model.Index("i", 1), model.Index("i", -1, scale=2)))),
    "weights": model.Items(tuple(model.WeightRef(key) for key in TURNED)),
    "stored weight": model.WeightRef(("a.w",), stored=True),
    "kept": model.WeightRef(("a.w",), collection="saved"),
    "taken": model.WeightRef(("a.", TURN), collection="saved", taken=True),
    "devices": model.Items((model.DeviceRef(), model.DeviceRef(stored=True))),
    "names": model.Items((model.KeyText(("layers.norm",)), model.KeyText(("layers.", TURN, ".{norm}")))),
    "has": model.HasWeight(("layers.", TURN)),
    "kept has": model.HasWeight(("layers.",), "saved"),
    "types": model.Items((model.DType("bfloat8_b"), model.Layout("row_major"), model.Layout("tile"), EnumRef("ttnn.MathFidelity", "HiFi4"), EnumRef("ttnn.UnaryOpType", "RELU"))),
    "grids": model.Items((model.Record("ttnn.CoreCoord", (("x", model.Literal(1)), ("y", model.Literal(2)))), model.Record("ttnn.CoreGrid", (("x", model.Literal(8)), ("y", model.Literal(7)))))),
    **{name.rpartition(".")[2]: model.Record(name, (("subblock_w", model.Literal(1)), ("name", model.Literal("relu")))) for name in (
        "ttnn.WormholeComputeKernelConfig", "ttnn.Conv2dConfig", "ttnn.SDPAProgramConfig", "ttnn.LayerNormShardedMultiCoreProgramConfig",
        "ttnn.MatmulMultiCoreReuseProgramConfig", "ttnn.Conv2dSliceConfig")},
    "unary ops": model.Items((model.Unary("RELU"), model.Unary("ELU", (1.0,)), model.Unary("CLAMP", (0.0, 6.0)))),
    **{f"{buffer} {memory}": model.MemoryConfig(buffer, memory) for buffer in ("dram", "l1") for memory in ("interleaved", "height_sharded", "width_sharded", "block_sharded")},
    **{f"shards {name}": model.MemoryConfig(buffer, f"{memory}_sharded", (shape, cores, order)) for name, buffer, memory, shape, cores, order in (
        ("on a grid", "l1", "block", (32, 64), SMALL, "row_major"),
        ("by columns", "l1", "width", (32, 64), SMALL, "col_major"),
        ("in DRAM", "dram", "width", (32, 64), SMALL, "row_major"),
        ("of three extents", "l1", "height", (1, 32, 64), SMALL, "row_major"),
        ("on the first cores", "l1", "height", (32, 64), WIDE, "row_major"),
    )},
}  # fmt: skip
OF_KIND: dict[str, Any] = {
    "BOOL": True, "COMPUTE_CONFIG": model.ConstantRef("COMPUTE"), "CONV2D_CONFIG": model.ConstantRef("CONV"), "CORE_GRID": CORE_GRID,
    "DEVICE": model.DeviceRef(), "DTYPE": model.DType("bfloat16"), "ENUM": EnumRef("ttnn.GeluVariant", "Fast"), "FLOAT": 0.5, "FLOAT_LIST": (0.5,), "INT": 7, "INT_LIST": (1, 2),
    "LAYOUT": model.Layout("tile"), "MEMORY_CONFIG": model.MemoryConfig(), "PAIR_LIST": ((0, 1), (2, 3)), "PROGRAM_CONFIG": model.ConstantRef("PROGRAM"), "SCALAR": 3,
    "SHAPE": (1, 64), "STR": "text", "TENSOR": X, "TENSOR_LIST": (X, Y), "UNARY_LIST": (model.Unary("RELU"), model.Unary("ELU", (1.0,))),
}  # fmt: skip


def typical(name: str, *results: str, every: bool = False, returned: bool = False) -> model.Call:
    """A call with one value for each kind of argument: of those that must be given, or of every one."""
    given = {arg.name: OF_KIND[arg.kind.name] for arg in TTNN_OPS[f"ttnn.{name}"].args if every or arg.default in (REQUIRED, ONES)}
    return call(name, given, *results, returned=returned)


NUMBERS = ("size // 2", "4 * c")
FORMS: dict[str, model.Function] = {
    "value": function(*(model.Assign(f"v{number}", value) for number, value in enumerate(VALUES.values()))),
    "parameter of every kind": function(model.Return((X,)), parameters=tuple(model.Parameter(f"p{place}", kind) for place, kind in enumerate(KINDS)), returns=1),
    "default": function(parameters=(model.Parameter("x"), model.Parameter("count", "number", default=model.Literal(3)), model.Parameter("memory", "memory_config", default=model.MemoryConfig()))),
    "notes of parameters": function(
        model.Return((X,)),
        parameters=tuple(model.Parameter(f"hidden_states_{place}", note=note) for place, note in enumerate(("[1, 32]", "", "[2]"))),
        returns=1,
        doc="The doc that says all.",
        brief="The brief.",
    ),
    "notes of few parameters": function(doc="The doc.", brief="The brief.", parameters=(model.Parameter("x", note="[1, 32]"),)),
    **{f"doc {len(doc)}": function(exp("y"), doc=doc) for doc in ("Short.", "w" * 98 + ".", "w" * 99 + ".", "Head. " + LONG.strip(), LONG, f"{'w' * 105}. tail", 'Ends with "')},
    **{f"{count} returned": function(model.Return(tuple(model.TensorRef(f"y{place}") for place in range(count))), returns=count) for count in (1, 2, 3, 4)},
    "makes the weights": function(model.Comment("first"), model.Store(model.WeightRef(("w",)), exp().arguments[0][1]), parameters=(model.Parameter("stored", "stored"),)),
    "makes the weights at once": function(exp(model.WeightRef(("a.", TURN))), parameters=(model.Parameter("stored", "stored"),)),
    "returns by name": function(model.NewCollection("outputs"), exp(model.WeightRef(("o",), collection="outputs")), model.ReturnNamed("outputs", ("o",)), returns=1),
    "blanks and comments": function(model.Blank(), model.Comment("one"), model.Blank(), model.Blank(), exp("y", note="[1, 32]"), model.Comment("c" * 104), model.Comment("c" * 105), model.Comment("ends \\ "), model.Blank()),
    "nothing": function(parameters=()),
    "assigned twice": function(model.Assign("y", X), model.Assign("y", X), exp("y"), exp("z"), exp("z", of=Y)),
    "returned call": function(exp(returned=True, note="[2]")),
    "calls of functions": function(
        model.CallFunction("layer", (X, model.ScopeArgument("weights", ("layers.", TURN)), model.ScopeArgument("stored")), ("y",), "note"),
        model.CallFunction("layer", (X, model.NumberArgument("count", model.Literal(3)), model.NumberArgument("memory", model.MemoryConfig())), ("y", "z")),
        model.CallFunction("layer", (model.Items((X, Y)),), ("a", "b")),
        model.CallFunction("layer", (X,), (model.WeightRef(("w",)),)),
        model.CallFunction("layer", (X,), ()),
        model.CallFunction("layer", (X,), ("_",)),
        model.CallFunction("layer", (X,), ("_", "a")),
        model.CallFunction("layer", (X,), (), returned=True),
    ),
    "lists": function(model.NewList("all"), model.Append("all", X), model.Append("all", Y, front=True), model.Gather("ws", ("layers.", TURN, ".w"), 12), model.Free(("x", "all", "y", "ws")), model.Free(("all",))),
    "kept": function(model.NewCollection("saved"), model.Store(model.WeightRef(("a",), collection="saved"), X), model.Drop(model.WeightRef(("a.", TURN), collection="saved", taken=True)), model.Free(("x",))),
    "device of a tensor": function(model.GetDevice(X), model.Extents(("n", "_", "c"), X), model.Extents(("n",), Y)),
    "loops": function(
        *(model.Loop(variable, start, stop, step, (exp("y"), model.Blank())) for variable, start, stop, step in (
            ("i", 0, model.Literal(3), 1), ("_", 0, model.ParameterRef("N"), 1), ("i", 2, model.Literal(8), 1), ("i", 0, model.Literal(8), 2), ("i", 7, model.Literal(-1), -1))),
        exp("y"),
    ),
    "loops over names": function(
        model.NameLoop("name", (("a",), ("b", TURN)), (exp("y", of=model.WeightRef((NAME,))), exp("y")), ""),
        model.NameLoop("name", (("a",),), (exp("y"),)),
        model.NameLoop("name", (("a" * 50,), ("b" * 50,), ("c" * 20,)), (exp("y"),)),
        model.NameLoop("name", (), (exp("y"),), "weights"),
        exp("y"),
    ),
    "loop over rows": function(
        model.RowLoop(
            (model.Parameter("name", "text"), model.Parameter("count", "number"), model.Parameter("memory", "memory_config"), model.Parameter("sums", model.optional_kind("compute_config"))),
            ((model.Literal("a"), model.Literal(1), model.MemoryConfig(), model.Literal(None)), (model.Literal("b"), model.Literal(2), model.MemoryConfig("l1"), model.Literal(None))),
            (exp("count"), exp("y"))),
        exp("y"),
    ),
    "branches": function(
        model.Assign("old", X),
        model.If(model.HasWeight(("w",)), (exp("y"), exp("old")), (exp("y"), model.Blank()), ("y", "old")),
        model.If(model.HasWeight(("w",)), (exp("y"), exp("inner"))),
        model.If(model.ParameterRef("flag"), (exp("inner"),), (exp("z"),)),
        exp("inner"),
        exp("z"),
    ),
    "several results": function(
        call("topk", {"input_tensor": X, "k": 3}, "values", "indices"),
        call("topk", {"input_tensor": X, "k": 3}, "values", "other"),
        call("topk", {"input_tensor": X, "k": 3}, "_", "indices"),
    ),
    "result of a pool": function(typical("max_pool2d", "y"), typical("max_pool2d", returned=True)),
    "no value for C++": function(call("max_pool2d", {"input_tensor": X}, "y")),
    "no parameter in C++": function(dataclasses.replace(exp("y"), arguments=((TTNN_OPS["ttnn.add"].args[1], X),))),
    "no values for C++": function(call("constant", {"data": X, "data_type": model.DType("bfloat16")}, "y")),
    "two results as weights": function(call("topk", {"input_tensor": X, "k": 3}, model.WeightRef(("a",)), model.WeightRef(("b",)))),
    "numbers of the function": function(
        *(call("reshape", {"input_tensor": X, "shape": (1, model.NumberRef(text), (-1 if place else 4))}, "y") for place, text in enumerate(NUMBERS)),
        call("pad", {"input_tensor": X, "padding": ((0, 0), (model.NumberRef("n"), 1)), "value": 0.0}, "y"),
        call("conv2d", {"input_tensor": X, "weight_tensor": model.WeightRef(("w",)), "device": model.DeviceRef(), "in_channels": model.NumberRef("c"), "out_channels": 8, "batch_size": 1,
                        "input_height": model.NumberRef("size // 2"), "input_width": 8, "kernel_size": (3, model.NumberRef("k")), "stride": (1, 1), "padding": (1, 1, 2, 2),
                        "dilation": (2, 2), "groups": 1}, "y"),
    ),
    "all on a line, on the next, or one in a line": function(
        *(call("add", {"input_tensor_a": X, "input_tensor_b": model.TensorRef("b" * width), "memory_config": model.MemoryConfig()}, "y", note=note)
          for width in (28, 29, 30, 31, 32, 33, 34, 35, 36, 57, 58, 59, 60, 61, 62, 63, 64) for note in ("", "n" * 6)),
    ),
    "constants": function(
        call("constant", {"data": (1, 2.5, -0.0), "shape": (3,), "data_type": model.DType("bfloat16"), "layout": model.Layout("tile")}, "y"),
        call("constant", {"data": (1, 2), "shape": (2, 1), "data_type": model.DType("uint32"), "layout": model.Layout("row_major"), "device": model.DeviceRef(),
                          "memory_config": model.MemoryConfig("l1")}, "y"),
    ),
    **{name: function(typical(name, "y", every=True), typical(name, returned=True)) for name in sorted(one.removeprefix("ttnn.") for one in TTNN_OPS) if name != "constant"},
}  # fmt: skip


def written(name: str) -> str:
    python = emit_py.printer.function_text(FORMS[name])
    ast.parse(python)
    try:
        cpp = emit_cpp.printer.function_text(FORMS[name])
    except EmitError as error:  # Python alone has the form
        cpp = f"{error}\n"
    return f"=== {name}\n{python}{cpp}{_touched(FORMS[name].body)}"


RENAMED = model.TensorRef("renamed")


def _touched(body: tuple[model.Statement, ...]) -> str:
    """What walks say of the statements: variables that are read and bound, places that are filled, everything that is read."""
    each = list(model.statements(body))
    for one in each:
        assert with_values(one, lambda value: value) == one
        renamed = with_values(one, lambda value: RENAMED if isinstance(value, model.TensorRef) else value)
        before, after = (list(leaves(arguments_of(statement))) for statement in (one, renamed))
        assert after == [RENAMED if isinstance(value, model.TensorRef) else value for value in before]
    bound = sorted(set().union(*map(bound_by, each)))
    read = sorted(set().union(*map(names_of, each)))
    filled = [emit_py.values.render(place) for one in each for place in filled_by(one)]
    kinds = Counter(type(value).__name__ for value in read_by(body))
    return f"reads {', '.join(read)}; binds {', '.join(bound)}; fills {', '.join(filled)}; {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}\n"


@pytest.mark.parametrize("printer", [emit_py.printer, emit_cpp.printer])
def test_what_no_program_has(printer: Any) -> None:
    with pytest.raises(EmitError):
        printer.function_text(function(model.Assign("y", model.Unused())))
    with pytest.raises(EmitError):
        printer.function_text(function(X))  # type: ignore[arg-type]


def test_forms_read_as_the_golden() -> None:
    made = "".join(written(name) for name in FORMS)
    same_as_golden(made, GOLDEN)


PROGRAMS = Path(__file__).parent / "golden" / "program_forms.txt"
OUT, IN = model.Variable("y", "y"), model.Variable("x", "x")
ODD = model.Variable("a.b-c", "a_b_c")
CACHE, WRITTEN = model.Variable("cache", "cache", model.WeightRef(("keys",))), model.Variable("x", "x", X)
LISTED = tuple(
    model.Variable(name, name.replace(".", "_"), element=model.Element(listed, index))
    for name, listed, index in (("kv.keys.1", "keys", 0), ("values.0.v", "values", 0), ("kv.keys.2", "keys", 1), ("values.1.v", "values", 1), ("a", "others", 0), ("b", "others", 1))
)  # fmt: skip
FACTS = (("Model", "torch Net"), ("Inputs", "x [1, 32] bfloat16, a.b-c [2] uint32"), ("Outputs", "y [1, 32] bfloat16"))
CONSTANTS = tuple(
    model.Constant(f"C{number}", _value(value), kind, comment)
    for number, (value, kind, comment) in enumerate(
        (
            (model.Literal(3), Kind.INT, ""),
            (model.Literal(1e-5), Kind.FLOAT, "Small."),
            (model.Literal(2), Kind.FLOAT, ""),
            (CORE_GRID, Kind.CORE_GRID, "All."),
            (model.Record("ttnn.WormholeComputeKernelConfig", (("fp32_dest_acc_en", model.Literal(True)),)), Kind.COMPUTE_CONFIG, ""),
            (model.Record("ttnn.Conv2dConfig", (("act_block_h_override", model.Literal(32)),)), Kind.CONV2D_CONFIG, ""),
            (model.Record("ttnn.SDPAProgramConfig", (("q_chunk_size", model.Literal(32)),)), Kind.PROGRAM_CONFIG, ""),
            (VALUES["shards on the first cores"], Kind.MEMORY_CONFIG, ""),
            (model.MemoryConfig("l1", "width_sharded", ((32, 64), WIDE, "row_major")), Kind.MEMORY_CONFIG, ""),
            (model.MemoryConfig("l1"), Kind.MEMORY_CONFIG, "Near."),
            (model.Items((model.Literal(1), model.Literal(2))), Kind.INT_LIST, ""),
        )
    )
)


def _product(class_name: str, **more: model.Value) -> model.Record:
    """The config of a product on 7 rows of 8 cores."""
    grid = model.Record("ttnn.CoreCoord", (("x", model.Literal(8)), ("y", model.Literal(7))))
    numbers = {"in0_block_w": 2, "out_subblock_h": 1, "out_subblock_w": 2, "per_core_M": 2, "per_core_N": 4}
    fields = {"compute_with_storage_grid_size": grid, **{name: model.Literal(value) for name, value in numbers.items()}, **more}
    return model.Record(f"ttnn.MatmulMultiCoreReuseMultiCast{class_name}ProgramConfig", tuple(fields.items()))


OF_ONE_KIND = tuple(
    model.Constant(name, value, Kind.MEMORY_CONFIG if isinstance(value, model.MemoryConfig) else Kind.PROGRAM_CONFIG, "49 cores, 2x4 tiles each, told.")
    for name, value in (
        *((f"SHARDS_{number}", model.MemoryConfig("l1", f"{memory}_sharded", ((32, 64), cores, "row_major")))
          for number, (memory, cores) in enumerate((("block", (((0, 0), (7, 3)),)), ("height", WIDE), ("width", WIDE), ("height", (((0, 0), (7, 3)),))))),
        ("SHARDS_ELSEWHERE", model.MemoryConfig("l1", "block_sharded", ((32, 64), (((1, 0), (7, 3)),), "row_major"))),
        ("ROWS", _product("1D", fuse_batch=model.Literal(True), mcast_in0=model.Literal(False))),
        ("COLUMNS", _product("1D", fuse_batch=model.Literal(True), fused_activation=model.Unary("RELU"), mcast_in0=model.Literal(True))),
        ("COLUMNS_AGAIN", _product("1D", fuse_batch=model.Literal(True), mcast_in0=model.Literal(True))),
        ("BATCHES", _product("1D", fuse_batch=model.Literal(False), mcast_in0=model.Literal(True))),
        ("BOTH", _product("", transpose_mcast=model.Literal(False))),
    )
)  # fmt: skip


def made_of(*functions: model.Function, **more: Any) -> model.Program:
    names: dict[str, Any] = {"title": "Net", "facts": FACTS, "outline": (), "constants": (), "prepare_constants": (), "prepare": (), "has_weights": False}
    return model.Program(**{**names, "functions": functions, "inputs": (IN,), "outputs": (OUT,), "entry": functions[-1].name, **more})


def net(*parameters: model.Parameter, name: str = "net", values: tuple[model.Value, ...] = (X,)) -> model.Function:
    return model.Function(name, (model.Parameter("x"), *parameters), (exp("x"), model.Return(values)), len(values))


WEIGHTS, DEVICE, STORED = model.Parameter("weights", "weights"), model.Parameter("device", "device"), model.Parameter("stored", "stored")
PREPARE = model.Function("prepare", (STORED,), (model.Store(model.WeightRef(("w",)), model.WeightRef(("w",), stored=True)),), 0)
ENTRIES = (
    model.EntryPoint("encode", "encode", (IN,), (OUT,)),
    model.EntryPoint("decode_step", "decode", (IN, ODD), (OUT, CACHE)),
    model.EntryPoint("write", "write", (IN,), (WRITTEN,)),
)
WHOLE: dict[str, tuple[model.Program, dict[str, Any]]] = {
    "plain": (made_of(net()), {}),
    "constants": (made_of(net(), constants=CONSTANTS), {}),
    "configs of one kind": (made_of(net(), constants=OF_ONE_KIND), {}),
    "weights": (made_of(net(WEIGHTS), has_weights=True), {}),
    "prepared weights": (made_of(net(WEIGHTS), has_weights=True, prepare=(PREPARE,), prepare_constants=CONSTANTS[:2]), {}),
    "prepared weights in one file": (made_of(net(WEIGHTS), has_weights=True, prepare=(PREPARE,), split_prepare=False), {}),
    "a device": (made_of(replace(net(), parameters=(DEVICE,)), inputs=()), {}),
    "nothing returned": (made_of(replace(net(), body=(exp("x"),), returns=0), outputs=()), {}),
    "written in place": (made_of(net(WEIGHTS), has_weights=True, outputs=(OUT, CACHE)), {}),
    "an input written in place": (made_of(replace(net(), body=(exp("x"),), returns=0), outputs=(WRITTEN,)), {}),
    "odd names, two outputs": (made_of(net(model.Parameter("a_b_c"), values=(X, X)), inputs=(IN, ODD), outputs=(OUT, ODD)), {}),
    "many outputs": (made_of(net(values=(X,) * 17), outputs=tuple(model.Variable(f"y.{place}", f"y_{place}") for place in range(17))), {}),
    "as many outputs as are named": (made_of(net(values=(X,) * 16), outputs=tuple(model.Variable(f"y.{place}", f"y_{place}") for place in range(16))), {}),
    "a module": (made_of(net(WEIGHTS), has_weights=True), {"module_arguments": ["x", "w"]}),
    "a module called forward": (made_of(net(name="forward"), outputs=(OUT, CACHE)), {"module_arguments": ["x"]}),
    "lists": (
        made_of(replace(net(values=(X,) * 4), lists=(1, 2, 3)), outputs=(OUT, *LISTED, CACHE), facts=(*FACTS[:2], ("Outputs", "kv.keys.{1..2} [1, 32] bfloat16"))),
        {"module_arguments": ["x"]},
    ),
    "a trace": (made_of(net(model.Parameter("a_b_c")), inputs=(IN, ODD)), {"trace": True}),
    "a trace with state": (made_of(net(WEIGHTS), has_weights=True, outputs=(OUT, CACHE)), {"trace": True}),
    "entries": (
        made_of(net(name="encode"), replace(net(WEIGHTS, name="decode"), parameters=(DEVICE, model.Parameter("x"), model.Parameter("a_b_c"), WEIGHTS)),
                replace(net(name="write"), body=(exp("x"),), returns=0), has_weights=True, entries=ENTRIES, entry="encode"), {},
    ),
    "text": (
        made_of(net(name="encode"), net(model.Parameter("a_b_c"), WEIGHTS, name="decode"), has_weights=True, entries=ENTRIES[:2], entry="encode",
                generation=model.Generation(model.DecodingStep("decode_step", "x", "a.b-c", "y", 64), model.PromptEntry("encode", "x", "y"))), {},
    ),
    "text by one entry": (
        made_of(net(model.Parameter("a_b_c"), WEIGHTS), has_weights=True, inputs=(IN, ODD), generation=model.Generation(model.DecodingStep("forward", "x", "a.b-c", "y", 64))), {},
    ),
}  # fmt: skip


def test_programs_read_as_the_golden() -> None:
    """What stands around functions, of programs with every kind of input, output, entry and constant: as it differs from the plain one."""
    made, plain = "", dict[str, list[str]]()
    for name, (program, given) in WHOLE.items():
        files = {file: text.splitlines() for file, text in (emit_py.emit(program, **given) | emit_cpp.emit(program, **given)).items()}
        if not plain:
            plain = {file: lines for file, lines in files.items() if file not in emit_cpp.SUPPORT}
            made += f"=== {name}\n" + "".join(f"--- {file}\n{chr(10).join(lines)}\n" for file, lines in sorted(plain.items()))
            continue
        made += f"=== {name}\n--- {', '.join(sorted(files.keys() - plain.keys()))} beside {', '.join(sorted(plain.keys() & files.keys()))}\n"
        for file, lines in sorted(files.items()):
            if file not in {*emit_cpp.SUPPORT, *emit_cpp.GENERATION, *emit_cpp.TRACE, emit_cpp.CONFIGS}:
                changed = [
                    line for line in difflib.unified_diff(plain.get(file, []), lines, "", "", lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))
                ]
                made += "\n".join([f"--- {file}", *changed]) + "\n" if changed else ""
    same_as_golden(made, PROGRAMS)

"""What stands above a compute config: what the library takes by itself, or the option that asks for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from alchemist.frontends.torch import capture
from alchemist.ops.spec import LARGEST_BFLOAT16, TTNN_OPS, EnumRef, Kind
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program, model
from alchemist.program.constants import Ranges, name_constants, shared_cores
from alchemist.program.merge import merge_functions
from emit_cpp.printer import function_text as cpp_function_text
from emit_py.printer import function_text
from emit_py.values import render
from tests.golden import same_as_golden

LIBRARY = "TT-NN's default for"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "bfloat16"}, {"HIFI2": LIBRARY}),
        ({"precision": "bfp8_lofi"}, {"LOFI": "The fidelity that precision=bfp8_lofi asks for."}),
        ({"precision": "bfp8"}, {"HIFI2": "The fidelity that precision=bfp8 asks for."}),
        ({"math_fidelity": "hifi3"}, {"HIFI3": "The fidelity that math_fidelity=hifi3 asks for."}),
        ({"precision": "bfp8_lofi", "math_fidelity": "hifi4"}, {"HIFI4": "The fidelity that math_fidelity=hifi4 asks for."}),
    ],
)
def test_of_products(options: dict[str, str], said: dict[str, str]) -> None:
    net = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).eval()
    result = capture(net, (torch.rand(1, 256, 512),), {})
    chosen = CompilerOptions(optimization_level=1, **options)  # type: ignore[arg-type]
    program = build_program(lower_to_ttnn(result.module, chosen).module, result, chosen)
    comments = {one.name: one.comment for one in program.constants if isinstance(one.value, model.Record) and "ComputeKernelConfig" in one.value.class_name}
    assert {name.partition("_")[0]: comment for name, comment in comments.items() if comment}.items() >= {
        name: next(text for text in comments.values() if text.startswith(begin)) for name, begin in said.items()
    }.items()


def test_without_configs() -> None:
    assert name_constants([], [], set(), ("lofi", "precision=bfp8_lofi")) == ((), (), (), ())


def test_cores_that_several_configs_have_are_named_once() -> None:
    """Those that are no rectangle; a rectangle is as short as a name."""
    uneven, square = (((0, 0), (7, 6)), ((0, 7), (5, 7))), (((0, 0), (7, 7)),)

    def config(name: str, ranges: Ranges) -> model.Constant:
        return model.Constant(name, model.MemoryConfig("l1", "height_sharded", ((32, 64), ranges, "row_major")), Kind.MEMORY_CONFIG)

    assert shared_cores([config("A", uneven), config("B", uneven), config("C", square), config("D", square)]) == {uneven: "CORES_62"}
    assert shared_cores([config("A", uneven), config("B", square)]) == {}
    assert shared_cores([config("CORES_62", uneven), config("B", uneven)]) == {uneven: "CORES_62_2"}


NAMED = Path(__file__).parents[1] / "emit" / "golden" / "constants.txt"
X = model.TensorRef("x")


def _literal(value: Any) -> model.Value:
    return model.Literal(value) if isinstance(value, bool | int | float | str) else value


def config(class_name: str, **fields: Any) -> model.Record:
    return model.Record(f"ttnn.{class_name}", tuple((name, _literal(value)) for name, value in fields.items()))


def calls(*given: tuple[str, dict[str, Any]], function: str = "layer") -> model.Function:
    """A call for each op with some arguments; `weight` is the key of its second operand."""
    body: list[model.Statement] = []
    for op, arguments in given:
        spec = TTNN_OPS[f"ttnn.{op}"]
        weight = arguments.get("weight")
        values = {spec.args[0].name: X, **({spec.args[1].name: model.WeightRef((weight,))} if weight else {}), **arguments}
        body.append(model.Call(spec, tuple((arg, _literal(values[arg.name])) for arg in spec.args if arg.name in values), ("x",)))
    return model.Function(function, (model.Parameter("x"),), tuple(body), 1)


def sharded(memory: str, shape: tuple[int, int], *ranges: tuple[tuple[int, int], tuple[int, int]]) -> model.MemoryConfig:
    return model.MemoryConfig("l1", f"{memory}_sharded", (shape, ranges or (((0, 0), (7, 3)),), "row_major"))


def blocks(m: int, n: int, k: int = 1) -> model.Record:
    return config("MatmulMultiCoreReuseMultiCastProgramConfig", in0_block_w=k, per_core_M=m, per_core_N=n)


def fidelity(member: str, **fields: Any) -> model.Record:
    return config("WormholeComputeKernelConfig", math_fidelity=EnumRef("ttnn.MathFidelity", member), **fields)


def product(weight: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "matmul", {"weight": weight, **more}


def convolution(**fields: Any) -> tuple[str, dict[str, Any]]:
    return "conv2d", {"weight": "conv.weight", "conv_config": config("Conv2dConfig", **fields)}


DRAM, L1 = model.MemoryConfig(), model.MemoryConfig("l1")
PARTIAL = (((0, 0), (7, 6)), ((0, 7), (5, 7)))
CONSTANTS: dict[str, tuple[list[model.Function], set[str], tuple[str, str] | None]] = {
    "memories": ([calls(product("a.w", memory_config=DRAM), product("b.w", memory_config=L1), product("c.w", memory_config=DRAM), product("d.w", memory_config=L1))], set(), None),
    "a memory of one call": ([calls(product("a.w", memory_config=DRAM))], set(), None),
    "names that are taken": ([calls(product("a.w", memory_config=DRAM), product("b.w", memory_config=DRAM))], {"DRAM", "DRAM_2"}, None),
    "shards": (
        [calls(*[product(f"{name}.w", memory_config=each) for name in "ab" for each in (sharded("block", (64, 32)), sharded("height", (33, 32)), sharded("width", (32, 64)))])],
        set(), None,
    ),
    "equal shards on several sets of cores": (
        [calls(*[product("a.w", memory_config=each) for _ in "ab" for each in (sharded("height", (32, 64)), sharded("height", (32, 64), *PARTIAL), sharded("height", (32, 64), ((0, 0), (1, 0))))])],
        set(), None,
    ),
    "program configs by weights": (
        [calls(product("fc1.weight_t", program_config=blocks(1, 2)), product("fc2.weight_t", program_config=blocks(1, 4), memory_config=L1), product("fc2.weight_t", program_config=blocks(2, 4)))],
        set(), None,
    ),
    "program configs by modules around": (
        [calls(product("up.fc.w", program_config=blocks(1, 2)), product("down.fc.w", program_config=blocks(1, 4)), product("down.fc.w", program_config=blocks(1, 4, 2)))], set(), None,
    ),
    "program configs by functions": (
        [calls(product("fc.w", program_config=blocks(1, 2))), calls(product("fc.w", program_config=blocks(2, 2)), function="other"), calls(product("fc.w", program_config=blocks(4, 2)), function="other_2")],
        set(), None,
    ),
    "attention": (
        [calls(*[("scaled_dot_product_attention", {"program_config": config("SDPAProgramConfig", q_chunk_size=size, k_chunk_size=64)}) for size in (32, 64)], function="attend_2")],
        set(), None,
    ),
    "compute configs": (
        [calls(*[product("a.w", compute_kernel_config=each, program_config=blocks(1, 1)) for _ in "ab" for each in (fidelity("HiFi2"), fidelity("LoFi"), fidelity("HiFi2", math_approx_mode=True), fidelity("HiFi2", fp32_dest_acc_en=False))])],
        set(), ("lofi", "precision=bfp8_lofi"),
    ),
    "compute configs that nobody asked for": ([calls(*[product("a.w", compute_kernel_config=fidelity("HiFi4"), program_config=blocks(1, 1))] * 2)], set(), None),
    "compute configs at level 0": ([calls(*[product("a.w", compute_kernel_config=fidelity("HiFi4"))] * 2)], set(), ("hifi4", "precision=x")),
    "convolutions": (
        [calls(*[convolution(**each) for _ in "ab" for each in (
            {"activation": model.Unary("RELU"), "deallocate_activation": True}, {"deallocate_activation": True}, {"deallocate_activation": False},
            {"deallocate_activation": True, "act_block_h_override": 64}, {"deallocate_activation": True, "act_block_h_override": 0, "reshard_if_not_optimal": True},
            {"deallocate_activation": True, "shard_layout": EnumRef("ttnn.TensorMemoryLayout", "HEIGHT_SHARDED"), "enable_act_double_buffer": True},
            {"deallocate_activation": True, "core_grid": config("CoreGrid", x=4, y=2)})])],
        set(), None,
    ),
    "numbers": (
        [calls(*[("layer_norm", {"epsilon": 1e-5})] * 2, ("layer_norm", {"epsilon": 1e-6}), *[("rms_norm", {"epsilon": 1e-6})] * 2, *[("layer_norm", {"epsilon": 1e-6})] * 2)], set(), None,
    ),
    "heads": ([calls(("split_query_key_value_and_split_heads", {"num_heads": 12}), *[("split_query_key_value_and_split_heads", {"num_heads": 8, "num_kv_heads": 4})])], set(), None),
    "heads of one number": ([calls(("split_query_key_value_and_split_heads", {"num_heads": 8, "num_kv_heads": 4}))], set(), None),
    "the range of bfloat16": ([calls(("clamp_scalar", {"min": -LARGEST_BFLOAT16, "max": LARGEST_BFLOAT16}))], set(), None),
    "equal configs of two roles": (
        [replace(calls(product("dense.w", program_config=blocks(1, 2)), function=name), module=name.title()) for name in ("output", "pooler")], set(), None,
    ),
    "a config with an activation": (
        [calls(product("up.w", program_config=config("MatmulMultiCoreReuseMultiCast1DProgramConfig", fused_activation=model.Unary("GELU", (0.0,)))))], set(), None,
    ),
    "grids": ([calls(*[product("a.w", core_grid=config("CoreGrid", x=8, y=4))] * 2)], set(), None),
    "configs that functions are given": (
        [calls(product("a.w")), model.Function("net", (model.Parameter("x"),), tuple(model.CallFunction("layer", (X, model.NumberArgument("memory_config", DRAM)), ("x",)) for _ in "ab"), 1)],
        set(), None,
    ),
    "loops over layers": (
        [model.Function("net", (), tuple(model.Loop("i", start, model.Literal(stop), 1, (), name) for start, stop, name in ((0, 12, "layers"), (0, 12, "layers"), (1, 3, "blocks"), (0, 4, ""))), 0)],
        set(), None,
    ),
}  # fmt: skip


def test_constants_are_named_as_in_the_golden() -> None:
    made = ""
    for case, (functions, taken, asked) in CONSTANTS.items():
        changed, _, constants, _ = name_constants(functions, [], set(taken), asked)
        made += f"=== {case}\n" + "".join(f"{one.name} = {render(one.value)}  # {one.kind.name} {one.comment}".rstrip() + "\n" for one in constants)
        made += "".join(function_text(function) for function in changed)
    same_as_golden(made, NAMED)


def test_a_function_of_several_stages_is_given_their_program_configs() -> None:
    """Its parameters are called after the products. What several stages have keeps the plain name, that of one stage has the stage's."""
    stages = [
        replace(
            calls(product("fc1.weight_t", program_config=blocks(1, n)), product("fc2.weight_t", program_config=blocks(2, n)), function=f"stage_{number}"),
            module="Stage",
        )
        for number, n in enumerate((2, 2, 4))
    ]
    inside = tuple(model.CallFunction(f"stage_{number}", (X, model.ScopeArgument("weights", (f"stages.{number}",))), ("x",)) for number in range(3))
    entry = model.Function("net", (model.Parameter("x"), model.Parameter("weights", "weights")), inside, 1)
    functions, _, constants, _ = name_constants(merge_functions([*stages, entry], set()).functions, [], set())
    assert [function.name for function in functions] == ["stage_0", "net"]
    assert [(one.name, one.kind) for one in functions[0].parameters if one.kind in model.CONSTANT_KINDS] == [
        ("fc1_matmul", "matmul_config"),
        ("fc2_matmul", "matmul_config"),
    ]
    assert {one.name for one in constants} == {"FC1_MATMUL", "STAGE_2_FC1_MATMUL", "FC2_MATMUL", "STAGE_2_FC2_MATMUL"}
    for printed in (function_text(functions[0]), cpp_function_text(functions[0])):
        assert printed.count("MatmulProgramConfig") == 2

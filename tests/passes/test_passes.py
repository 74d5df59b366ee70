"""Each pass: a module that it changes, one that it must leave alone, and values that stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pass_cases import CHANGES, UNCHANGED
from pass_graphs import (
    CONV,
    HIDDEN,
    IMAGE,
    KERNEL,
    SQUARE,
    VECTOR,
    B,
    F,
    Graph,
    V,
    W,
    X,
    arrays,
    attention,
    build,
    check_change,
    check_unchanged,
    conv_norm,
    names,
)
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.driver.opt import run_pipeline as run_pass
from alchemist.errors import OptionError, UnsupportedOpError
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import sources_of
from alchemist.ir.text import print_module
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import PASSES, lower_to_ttnn
from tests.tables import table


@table("case", CHANGES, ids=str)
def test_changes(case: str) -> None:
    name, before, expected = CHANGES[case]
    check_change(before, expected, name)


@table("case", UNCHANGED, ids=str)
def test_leaves_alone(case: str) -> None:
    name, before = UNCHANGED[case]
    check_unchanged(before, name)


@table("name", [name for name in PASSES if name != "ttir-to-ttnn"])
def test_a_module_without_its_ops_stays(name: str) -> None:
    module = build(lambda g, x: g("exp", x), X)
    before = print_module(module)
    run_pass(module, name)
    assert print_module(module) == before


@table("case", [c for c, (name, _, _) in CHANGES.items() if PASSES[name].fusing])
def test_fused_ops_keep_all_sources_in_order(case: str) -> None:
    name, before, _ = CHANGES[case]
    func = next(op for op in before.ops if isinstance(op, FuncOp))
    wanted = {info for op in func.body.block.ops for info in sources_of(op) if op.name not in ("ttir.full", "ttir.broadcast")}
    module = before.clone()
    run_pass(module, name)
    ops = [op for op in next(o for o in module.ops if isinstance(o, FuncOp)).body.block.ops if op.name != "func.return"]
    kept = [info for op in ops for info in sources_of(op)]
    assert wanted <= set(kept)
    for op in ops:
        numbers = [int(info.name.rpartition("_")[2]) for info in sources_of(op)]
        assert numbers == sorted(numbers)


def test_const_eval_takes_what_inputs_do_not_reach() -> None:
    net = build(lambda g, x, w, b: g("linear", x, w, b, out=(2, 4, 32), transpose_b=True), X, W, B)
    lowered = lower_to_ttnn(net)
    assert names(lowered.module) == ["load_cached", "linear"]
    assert names(lowered.module, "forward_const_eval_0") == ["transpose"]
    kept = lower_to_ttnn(net, CompilerOptions(enable_const_eval=False))
    assert names(kept.module) == ["transpose", "linear", "deallocate"]


def test_deallocate_spares_results_and_arguments() -> None:
    """A view is a tensor of its own: with force = false the buffer lives until the last one that shares it is dropped."""
    net = build(lambda g, x: (lambda y: (g("reshape", y, out=(8, 64), shape=(8, 64)), g("sqrt", g("cos", y))))(g("exp", x)), X)
    module = lower_to_ttnn(net).module
    assert names(module) == ["exp", "reshape", "cos", "deallocate", "sqrt", "deallocate"]
    freed = [op for op in module.walk() if op.name == "ttnn.deallocate"]
    assert [op.operands[0].owner.name for op in freed] == ["ttnn.exp", "ttnn.cos"]  # type: ignore[union-attr]
    assert not any(access.attr(op, "force") for op in freed)
    before = print_module(module)
    run_pass(module, "deallocate")
    assert print_module(module) == before


def test_residual_norms_fuse_and_can_be_switched_off() -> None:
    net = build(lambda g, x, y, w: g("layer_norm", g("add", x, y), w, None, out=(2, 4, 64), normalized_shape=[64], epsilon=1e-5), X, X, V)
    assert "add_layer_norm" in names(lower_to_ttnn(net).module)
    assert "layer_norm" in names(lower_to_ttnn(net, CompilerOptions(disable=("fuse-residual-norm",))).module)


@pytest.mark.parametrize(
    ("formula", "sides"),
    [
        (lambda g, x, y: g("multiply", g("silu", x), y), ("lhs",)),
        (lambda g, x, y: g("multiply", g("silu", x), g("tanh", y)), ("lhs", "rhs")),
        (lambda g, x, y: g("subtract", x, g("relu", y)), ("rhs",)),
        (lambda g, x, y: (lambda a: g("add", g("multiply", a, y), a))(g("silu", x)), ()),  # read twice
        (lambda g, x, y: g("multiply", g("sigmoid", x), y), ()),  # has parameters of its own in the library
        (lambda g, x, y: g("multiply", g("silu", x), g("mean", y, out=(2, 4, 1), dim_arg=[2], keep_dim=True)), ()),  # another shape
    ],
)
def test_activations_of_operands_fuse(formula: Any, sides: tuple[str, ...]) -> None:
    net = build(formula, X, X)
    lowered = lower_to_ttnn(net)
    fused = {side for op in lowered.module.walk() for side in ("lhs", "rhs") if f"alchemist.{side}_activations" in op.attributes}
    assert fused == set(sides)
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    kept = lower_to_ttnn(net, CompilerOptions(disable=("fuse-operand-activation",))).module
    assert len(names(kept)) >= len(names(lowered.module)) + len(sides)


@pytest.mark.parametrize(("level", "reader"), [(0, True), (1, False)])
def test_a_gate_goes_where_it_costs_no_program(level: int, reader: bool) -> None:
    """At level 1 the product's program config has it."""

    def gated(g: Graph, x: Any, w: Any, b: Any, y: Any) -> Any:
        return g("multiply", g("silu", g("linear", x, w, b, out=(2, 4, 32), transpose_b=True)), y)

    module = lower_to_ttnn(build(gated, X, W, B, ((2, 4, 32), F, "input")), CompilerOptions(optimization_level=level)).module
    product = next(op for op in module.walk() if op.name == "ttnn.multiply")
    assert ("alchemist.lhs_activations" in product.attributes) == reader
    assert "silu" not in names(module)


def test_configs_and_weight_dtype() -> None:
    net = build(lambda g, x, w, b: g("linear", x, w, b, out=(2, 4, 32), transpose_b=True), X, W, B)
    options = CompilerOptions(math_fidelity="hifi4", fp32_dest_acc_en=True, experimental_weight_dtype="bfp_bf8")
    module = lower_to_ttnn(net, options).module
    linear = next(op for op in module.walk() if op.name == "ttnn.linear")
    assert access.attr(linear, "compute_config") == {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}
    assert names(module, "forward_const_eval_0") == ["transpose", "typecast"]
    assert access.element_type(linear.operands[1]) == "bfp_bf8"


@pytest.mark.parametrize(
    ("of", "options", "wanted"),
    [
        ("f32", {"math_fidelity": "hifi4"}, {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}),
        ("f32", {"math_approx_mode": True}, {"math_approx_mode": True, "fp32_dest_acc_en": True}),
        ("f32", {"math_fidelity": "hifi4", "fp32_dest_acc_en": False}, {"math_fidelity": "hifi4", "fp32_dest_acc_en": False}),
        ("bf16", {"math_fidelity": "hifi4"}, {"math_fidelity": "hifi4"}),
        ("f32", {}, None),
    ],
)
def test_sums_of_float32_stay_wide_beside_other_fields(of: str, options: dict[str, Any], wanted: dict[str, Any] | None) -> None:
    def net(g: Graph, x: Any, w: Any) -> Any:
        return g("softmax", g("linear", x, w, out=(2, 4, 32), of=of, transpose_b=True), of=of, dimension=2)

    module = lower_to_ttnn(build(net, ((2, 4, 64), of, "input"), ((32, 64), of, "parameter")), CompilerOptions(**options)).module
    assert [access.attr(op, "compute_config") for op in module.walk() if op.name in ("ttnn.linear", "ttnn.matmul", "ttnn.softmax")] == [wanted, wanted]


def test_a_resnet_block_stays_flat() -> None:
    def block(g: Graph, x: Any, w1: Any, w2: Any, w3: Any, *vectors: Any) -> Any:
        y = g("relu", conv_norm(g, x, w1, *vectors))
        y = g("batch_norm_inference", g("conv2d", y, w2, out=(1, 16, 6, 6), **CONV), *vectors, epsilon=1e-5, dimension=1)
        z = g("relu", g("add", y, conv_norm(g, x, w3, *vectors)))
        return g("mean", z, out=(1, 16), keep_dim=False, dim_arg=[2, 3])

    net = build(block, IMAGE, KERNEL, ((16, 16, 3, 3), F, "parameter"), KERNEL, *([VECTOR] * 4))
    lowered = lower_to_ttnn(net)
    run = [name for name in names(lowered.module) if name not in ("load_cached", "deallocate", "get_device")]
    assert run == ["permute", "reshape", "conv2d", "conv2d", "conv2d", "add", "mean", "reshape"]
    assert lowered.l1_small_bytes > 0
    inputs = arrays(net)
    for want, have in zip(run_ttir(net, inputs), run_ttnn(lowered.module, inputs), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4)


def test_big_constants_become_arguments() -> None:
    value = np.arange(72, dtype=np.float32).reshape(8, 9)
    net = build(lambda g, x: g("add", x, g("constant", out=(8, 9), value=value)), ((8, 9), F, "input"))
    lowered = lower_to_ttnn(net)
    assert list(lowered.constants) == ["constant_0"]
    np.testing.assert_array_equal(lowered.constants["constant_0"], value)


@pytest.mark.parametrize(("rows", "width", "op", "count"), [(50, 32, "ttnn.gather", 1), (50000, 768, "ttnn.embedding", 3)])
def test_float32_tables_are_read_exactly(rows: int, width: int, op: str, count: int) -> None:
    """Small ones are gathered, large ones are the sum of three bfloat16 tables: ttnn.embedding reads bfloat16 alone."""
    net = build(lambda g, ids, table: g("embedding", ids, table, out=(2, 8, width)), ((2, 8), "i64", "input"), ((rows, width), F, "parameter"))
    module = lower_to_ttnn(net).module
    func = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "forward")
    assert access.element_type(func.args[0]) == "ui32"
    assert sum(each.name == op for each in module.walk()) == count


def test_private_functions_are_inlined() -> None:
    net = build(lambda g, x: g("exp", x), X)
    func = next(op for op in net.ops if isinstance(op, FuncOp))
    inner = Builder.function(net, "twice", [("", tensor((2, 4, 64), F), "", None)], visibility="private")
    inner.ret([inner.op("ttir.add", [inner.args[0], inner.args[0]], {}, [tensor((2, 4, 64), F)])])
    outer = Builder.function(net, "thrice", [("", tensor((2, 4, 64), F), "", None)], visibility="private")
    outer.ret([outer.op("ttir.abs", [*outer.call("twice", outer.args, [tensor((2, 4, 64), F)])], {}, [tensor((2, 4, 64), F)])])
    end = func.body.block.last_op
    assert end is not None
    end.operands[0] = Builder.before(end).call("thrice", [end.operands[0]], [tensor((2, 4, 64), F)])[0]
    inputs = arrays(net)
    want = run_ttir(net, inputs)[0]
    run_pass(net, "inline-calls")
    assert names(net) == ["exp", "add", "abs"]
    assert [op.sym_name.data for op in net.ops if isinstance(op, FuncOp)] == ["forward"]
    np.testing.assert_allclose(run_ttir(net, inputs)[0], want)


def test_the_given_module_is_left_alone() -> None:
    net = build(attention, HIDDEN, SQUARE, SQUARE, SQUARE)
    before = print_module(net)
    lower_to_ttnn(net)
    assert print_module(net) == before


def test_unsupported_ops_are_listed_at_once() -> None:
    net = build(lambda g, x: g("distributed_rms_norm", g("distributed_rms_norm", x, cluster_axis=0, epsilon=1e-5), cluster_axis=0, epsilon=1e-5), X)
    with pytest.raises(UnsupportedOpError, match=r"ttir\.distributed_rms_norm  x2"):
        lower_to_ttnn(net)


def test_unknown_pass() -> None:
    with pytest.raises(OptionError, match="no pass"):
        run_pass(build(lambda g, x: g("exp", x), X), "no-such-pass")


@pytest.mark.slow
def test_lowering_is_linear() -> None:
    """Four times the ops take far less than sixteen times the time."""
    import time

    def chain(count: int) -> ModuleOp:
        def net(g: Graph, x: Any, w: Any) -> Any:
            for _ in range(count):
                x = g("add", g("relu", g("matmul", x, w)), x)
            return x

        return build(net, ((2, 64, 64), F, "input"), ((64, 64), F, "parameter"))

    def seconds(count: int) -> float:
        net = chain(count)
        start = time.perf_counter()
        lower_to_ttnn(net)
        return time.perf_counter() - start

    seconds(10)
    assert seconds(800) < 9 * seconds(200) + 0.2

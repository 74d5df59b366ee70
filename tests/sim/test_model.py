"""Physical sense of the simulator: never above the peak, never slower with more of a resource, the same answer every time."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from ttnn_shim.error_bands import ANY, CHIPS, GAP_BAND, UNMEASURED_BAND, UNMODELLED_BAND, bands, is_measured, ratio_error, relative_error, total_error
from ttnn_shim.program_query import query_program
from ttnn_shim.simlib import Simulator, SimulatorError

from tests.sim.prices import price, sharded, tensor

CARDS = tuple(os.environ.get("TTSIM_CARDS", "n150 n300 p100 p150").split())
FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
DTYPES = ("bfloat16", "bfloat8_b", "float32")


def tiles(low: int = 1, high: int = 64) -> st.SearchStrategy[int]:
    return st.integers(low, high).map(lambda n: 32 * n)


@st.composite
def op_config(draw: st.DrawFn) -> dict[str, Any]:
    """A random op configuration over the common families."""
    op = draw(
        st.sampled_from(
            (
                "unary",
                "binary",
                "matmul",
                "softmax",
                "layernorm",
                "reduce",
                "transpose",
                "permute",
                "reshape",
                "tilize",
                "untilize",
                "concat",
                "slice",
                "sdpa",
                "typecast",
                "embedding",
                "matmul_batched",
                "softmax_rows",
                "ternary",
                "pad",
                "repeat",
                "rotary",
                "update_cache",
                "sdpa_decode",
                "create_heads",
                "concat_heads",
                "groupnorm",
                "halo",
                "conv2d",
                "fill_pad",
            )
        )
    )
    h, w, dtype = draw(tiles()), draw(tiles()), draw(st.sampled_from(DTYPES))
    shape = [1, draw(st.integers(1, 4)), h, w]
    t = tensor(shape, dtype, buffer=draw(st.sampled_from(("dram", "l1"))))
    config: dict[str, Any] = {
        "op": op,
        "inputs": [t],
        "outputs": [t],
        "compute": {"fidelity": draw(st.sampled_from(FIDELITIES))},
    }
    match op:
        case "unary":
            config["attrs"] = {"ops": [draw(st.sampled_from(("RELU", "EXP", "GELU")))]}
        case "binary":
            config["inputs"] = [t, t]
        case "matmul":
            n = draw(tiles())
            config["inputs"] = [tensor([1, 1, h, w], dtype), tensor([1, 1, w, n], dtype)]
            config["outputs"] = [tensor([1, 1, h, n], dtype)]
        case "reduce":
            config["outputs"] = [tensor([*shape[:-1], 32], dtype)]
            config["attrs"] = {"dim": "W"}
        case "transpose":
            config["outputs"] = [tensor([shape[0], shape[1], w, h], dtype)]
            config["attrs"] = {"dim": "WH"}
        case "permute":
            config["outputs"] = [tensor([shape[2], shape[1], shape[0], shape[3]] if False else [1, h, shape[1], w], dtype)]
            config["attrs"] = {"dims": [0, 2, 1, 3]}
        case "tilize" | "untilize":
            other = {**t, "layout": "row_major", "dtype": "bfloat16"}
            config["inputs"], config["outputs"] = ([other], [t]) if op == "tilize" else ([t], [other])
        case "concat":
            config["inputs"] = [t, t]
            config["outputs"] = [tensor([*shape[:-1], 2 * w], dtype)]
        case "sdpa":
            q = tensor([1, 4, h, 64], dtype)
            config["inputs"], config["outputs"] = [q, q, q], [q]
        case "matmul_batched":
            batch, n = draw(st.integers(2, 16)), draw(tiles(1, 16))
            config["op"] = "matmul"
            config["inputs"] = [tensor([1, batch, h, w], dtype), tensor([1, draw(st.sampled_from((1, batch))), w, n], dtype)]
            config["outputs"] = [tensor([1, batch, h, n], dtype, buffer=draw(st.sampled_from(("dram", "l1"))))]
            if draw(st.booleans()):
                config["attrs"] = {"core_grid": [draw(st.integers(1, 8)), draw(st.integers(1, 7))]}
        case "softmax_rows":
            config["op"], config["attrs"] = "softmax", {"dim": draw(st.sampled_from((1, 2)))}
        case "ternary":
            config["inputs"], config["attrs"] = [t, t, t], {"op": "WHERE"}
        case "pad":
            config["outputs"] = [tensor([*shape[:2], h + 32, w], dtype)]
        case "repeat":
            config["outputs"] = [tensor([*shape[:2], 2 * h, w], dtype)]
        case "rotary":
            config["inputs"] = [t, tensor([1, 1, h, w], dtype), tensor([1, 1, h, w], dtype)]
            config["attrs"] = {"llama": draw(st.booleans())}
        case "update_cache":
            config["inputs"] = [t, tensor([1, shape[1], 32, w], dtype)]
            config["attrs"] = {"op": draw(st.sampled_from(("FILL", "UPDATE")))}
        case "sdpa_decode":
            users, kv_heads = draw(st.integers(1, 32)), draw(st.sampled_from((1, 2, 8)))
            q, cache = tensor([1, users, 32, 128]), tensor([users, kv_heads, h, 128], dtype)
            config["inputs"], config["outputs"] = [q, cache, cache], [q]
        case "create_heads":
            parts = [tensor([shape[1], 4, h, 64], dtype)] * 3
            config["inputs"], config["outputs"] = [tensor([shape[1], 1, h, 3 * 4 * 64], dtype)], parts
            config["attrs"] = {"num_heads": 4, "num_kv_heads": 4, "transpose_k_heads": draw(st.booleans())}
        case "concat_heads":
            config["inputs"], config["outputs"] = [tensor([shape[1], 4, h, 64], dtype)], [tensor([shape[1], 1, h, 256], dtype)]
        case "groupnorm":
            config["attrs"] = {"num_groups": draw(st.sampled_from((1, 8, 32)))}
        case "halo" | "conv2d":
            side, kernel, channels, cores = draw(st.integers(7, 64)), draw(st.sampled_from((1, 3, 5))), draw(tiles(1, 8)), draw(st.integers(1, 56))
            rows = -(-side * side // cores)
            shard = {"shape": [-(-rows // 32) * 32, channels], "cores": cores, "grid": [min(cores, 8), -(-cores // 8)]}
            place = {"buffer": "l1", "memory": "height_sharded", "shard": shard}
            a = {**tensor([1, 1, side * side, channels], "bfloat16"), **place}
            config["inputs"], config["outputs"] = [a], [{**a, "layout": "row_major"}]
            if op == "halo":
                half = kernel // 2
                config["attrs"] = {"input_hw": [side, side], "window_hw": [kernel, kernel], "stride_hw": [1, 1], "dilation_hw": [1, 1],
                                   "padding": [half] * 4, "num_cores_nhw": cores}  # fmt: skip
            else:
                m, n = shard["shape"][0] // 32, draw(st.integers(1, 8))
                config["inputs"].append(tensor([1, 1, kernel * kernel * channels, 32 * n], dtype))
                config["outputs"] = [{**tensor([1, 1, side * side, 32 * n]), **place, "shard": {**shard, "shape": [32 * m, 32 * n]}}]
                config["attrs"] = {"act_block_h": m, "act_block_w": -(-kernel * channels // 32), "subblock_h": 1, "subblock_w": 1, "per_core_m": m,
                                   "per_core_n": n, "window_hw": [kernel, kernel], "core_count": cores}  # fmt: skip
        case "embedding":
            config["inputs"] = [
                tensor([1, h], "uint32", "row_major"),
                tensor([1, 1, 1000, w], "bfloat16", "row_major"),
            ]
            config["outputs"] = [tensor([1, 1, h, w], "bfloat16", "row_major")]
    return config


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(config=op_config(), card=st.sampled_from(CARDS))
def test_never_above_peak(sim: Simulator, config: dict[str, Any], card: str) -> None:
    made = price(sim, config, card)
    assert made.ns > 0
    assert made.cycles > 0
    assert made.modelled
    assert 0 <= made.fpu_utilisation <= 1 + 1e-9
    assert 0 <= made.dram_utilisation <= 1 + 1e-9
    assert 0 <= made.noc_utilisation <= 1 + 1e-9
    assert max(made.busy_ns.values()) <= made.ns * (1 + 1e-6)
    assert price(sim, config, card) == made  # deterministic


BOUND_BY_MATH = {  # a batch whose sender of A is slower than that of B
    "op": "matmul",
    "inputs": [tensor([1, 4, 544, 320], "bfloat8_b"), tensor([1, 1, 320, 288], "bfloat8_b")],
    "outputs": [tensor([1, 4, 544, 288], "bfloat8_b")],
    "compute": {"fidelity": "HiFi4"},
}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(config=op_config(), card=st.sampled_from(CARDS), factor=st.floats(1.05, 4))
@example(config=BOUND_BY_MATH, card="n150", factor=2.0)
@pytest.mark.parametrize(
    "constant",
    [
        "dram_read_bank",
        "dram_write_bank",
        "mm_read_rate",
        "mm_mcast_rate",
        "mm_write_rate",
        "noc_link_rate",
        "write_core_rate",
        "local_copy_rate",
    ],
)
def test_more_bandwidth_is_never_slower(sim: Simulator, config: dict[str, Any], card: str, factor: float, constant: str) -> None:
    arch = sim.arch(card)
    before = sim.get(arch, constant)
    slow = price(sim, config, card)
    try:
        sim.set([arch], constant, before * factor)
        fast = price(sim, config, card)
    finally:
        sim.set([arch], constant, before)
    assert fast.cycles <= slow.cycles + 1


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(m=tiles(), k=tiles(), n=tiles(), dtype=st.sampled_from(DTYPES), card=st.sampled_from(CARDS))
def test_lower_fidelity_is_never_slower(sim: Simulator, m: int, k: int, n: int, dtype: str, card: str) -> None:
    base = {
        "op": "matmul",
        "inputs": [tensor([1, 1, m, k], dtype), tensor([1, 1, k, n], dtype)],
        "outputs": [tensor([1, 1, m, n], dtype)],
    }
    cycles = [price(sim, {**base, "compute": {"fidelity": f}}, card).cycles for f in FIDELITIES]
    assert cycles == sorted(cycles)


ONE_BLOCK = {  # a matmul whose only block of K takes the matrix unit longer than its sender
    "op": "matmul",
    "inputs": [tensor([1, 2, 704, 32]), tensor([1, 1, 32, 32])],
    "outputs": [tensor([1, 2, 704, 32])],
    "attrs": {"core_grid": [1, 1]},
}

PAIRS = {  # each core's writes of a round wait for the next, which the matrix unit lengthens
    "op": "matmul",
    "inputs": [tensor([1, 5, 32, 32], "bfloat8_b"), tensor([1, 5, 32, 480], "bfloat8_b")],
    "outputs": [tensor([1, 5, 32, 480], "bfloat8_b")],
    "attrs": {"core_grid": [1, 1]},
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(config=op_config(), card=st.sampled_from(CARDS))
@example(config=ONE_BLOCK, card="n150")
@example(config=PAIRS, card="n150")
def test_lower_fidelity_of_any_op_is_never_slower(sim: Simulator, config: dict[str, Any], card: str) -> None:
    cycles = [price(sim, {**config, "compute": {"fidelity": f}}, card).cycles for f in FIDELITIES]
    assert cycles == sorted(cycles)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    per_core=st.integers(16, 400),
    card=st.sampled_from(CARDS),
    op=st.sampled_from(("unary", "binary", "typecast", "ternary")),
)
def test_more_cores_are_never_slower(sim: Simulator, per_core: int, card: str, op: str) -> None:
    # Enough tiles per core that the start skew of the further cores is paid back.
    shape = [1, 1, 32, 32 * 8 * per_core]
    t = tensor(shape, buffer="l1")
    config = {"op": op, "inputs": [t] * {"binary": 2, "ternary": 3}.get(op, 1), "outputs": [t]}
    cycles = [price(sim, config, card, grid).cycles for grid in ((2, 1), (2, 2), (4, 2), (4, 4))]
    assert cycles == sorted(cycles, reverse=True)


@pytest.mark.parametrize("card", CARDS)
def test_steady_state_is_linear(sim: Simulator, card: str) -> None:
    def cycles(n: int) -> int:
        t = tensor([1, 1, 32, 32 * n], buffer="l1")
        return price(sim, {"op": "unary", "inputs": [t], "outputs": [t], "attrs": {"ops": ["EXP"]}}, card, (1, 1)).cycles

    step = cycles(2000) - cycles(1000)
    assert abs((cycles(3000) - cycles(2000)) - step) <= 2
    assert abs((cycles(100_000) - cycles(2000)) / 98 - step) <= 2


def test_unknown_names_and_bad_configurations(sim: Simulator) -> None:
    with pytest.raises(SimulatorError, match="unknown card 'n200'; known: n150, n300, p100, p150"):
        sim.arch("n200")
    with pytest.raises(SimulatorError, match="no constant named 'speed'"):
        sim.set([sim.arch("n150")], "speed", 1.0)
    with pytest.raises(SimulatorError, match="unknown dtype 'float12'"):
        sim.config({"op": "unary", "inputs": [{"logical": [32, 32], "dtype": "float12"}], "outputs": []})
    with pytest.raises(SimulatorError, match='"op" is missing'):
        sim.config({"inputs": []})
    bad = query_program("matmul", [tensor([1, 1, 64, 64]), tensor([1, 1, 96, 64])], [tensor([1, 1, 64, 64])])
    assert not bad.valid
    assert "inner dimensions differ" in bad.error
    config = query_program(
        "matmul",
        [tensor([1, 1, 64, 64]), tensor([1, 1, 64, 64])],
        [tensor([1, 1, 64, 64])],
        {"program_config": "MatmulMultiCoreReuseMultiCastProgramConfig", "in0_block_w": 3},
    )
    assert not config.valid
    assert "in0_block_w 3 does not divide K" in config.error


def test_an_op_without_a_model_says_so() -> None:
    t = tensor([1, 1, 64, 64])
    answer = query_program("an_op_of_the_future", [t], [t])
    assert answer.valid
    assert answer.price is not None
    assert not answer.price.modelled
    assert answer.price.ns_error == UNMODELLED_BAND
    assert query_program("topk", [t], [t]).price.modelled  # type: ignore[union-attr]


def test_every_card_has_its_own_machine(sim: Simulator) -> None:
    t = tensor([1, 1, 4096, 4096])
    config = {"op": "unary", "inputs": [t], "outputs": [t], "attrs": {"ops": ["RELU"]}}
    assert {card: price(sim, config, card).cores for card in ("n150", "n300", "p100", "p150")} == {
        "n150": 64,
        "n300": 56,
        "p100": 110,
        "p150": 130,
    }


def test_error_bands() -> None:
    known = bands()
    assert all((ANY, chip) in known for chip in CHIPS)
    assert all(0 < band.band < 4 and band.rows >= 0 for band in known.values())
    assert 0 < ratio_error("no such operation") < 0.15, "the error of a ratio is smaller than that of a time"
    assert all(ratio_error("matmul") < relative_error("matmul", chip) for chip in CHIPS)
    assert relative_error("matmul", "n150") == relative_error("matmul", "wormhole_b0") == known["matmul", "wormhole_b0"].band
    assert relative_error("matmul", "p150") == known["matmul", "blackhole"].band
    assert relative_error("no such operation", "p150") == UNMEASURED_BAND > known[ANY, "blackhole"].band
    assert not is_measured("no such operation")
    assert is_measured("topk")
    assert relative_error("topk", "n150") == known[ANY, "wormhole_b0"].band  # shown on the other chip
    assert relative_error("", "p150") == known[ANY, "blackhole"].band
    assert relative_error("matmul", "n150", modelled=False) == UNMODELLED_BAND
    assert relative_error("program_gap", "n150") == GAP_BAND
    assert total_error([]) == 0
    alone = relative_error("matmul", "n150")
    assert total_error([(5.0, "matmul", "n150", True)] * 2) == pytest.approx(alone)  # one operation's errors go together
    assert total_error([(5.0, "matmul", "n150", True), (5.0, "unary", "n150", True)]) < (alone + relative_error("unary", "n150")) / 2
    answer = query_program("unary", [tensor([1, 1, 32, 32])], [tensor([1, 1, 32, 32])], {"ops": ["EXP"]}, arch="p150")
    assert answer.price is not None
    assert answer.price.ns_error == relative_error("unary", "p150")


def test_decode_steps_pay_for_every_head() -> None:
    """Heads cut out of interleaved memory are waited for one by one, and a cache of several heads is patched head by head."""

    def ns(op: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], attributes: dict[str, Any]) -> float:
        answer = query_program(op, inputs, outputs, attributes, arch="p150")
        assert answer.price is not None, answer.error
        return answer.price.ns

    heads = [sharded([1, 1, 32, 128], (32, 128), 1, (1, 1), "height_sharded")] * 3
    counts = {"num_heads": 32, "num_kv_heads": 4}
    from_shards = ns("create_heads", [sharded([1, 1, 32, 5120], (32, 160), 32, (8, 4), "width_sharded")], heads, counts)
    from_dram = ns("create_heads", [tensor([1, 1, 32, 5120])], heads, counts)
    assert from_dram > 2 * from_shards
    user = sharded([1, 1, 32, 128], (32, 128), 1, (1, 1), "height_sharded")
    one, four = (
        ns("update_cache", [tensor([64, count, 32, 128]), user], [tensor([64, count, 32, 128])], {"op": "UPDATE", "positions": True}) for count in (1, 4)
    )
    assert 1.5 * one < four < 4 * one


def test_a_price_that_cannot_be_is_an_error(sim: Simulator) -> None:
    """Not a nanosecond, as if nothing were wrong."""
    config = {"op": "unary", "inputs": [tensor([1, 1, 32, 32])], "outputs": [tensor([1, 1, 32, 32])], "attrs": {"ops": ["EXP"]}}
    with sim.restoring_constants():
        arch = sim.arch("p150", (3, 3))
        sim.set([arch], "launch_compute", -1e9)
        with pytest.raises(SimulatorError, match="priced at -"):
            sim.price(arch, sim.config(config))

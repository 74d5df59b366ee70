"""Tables of published calls: what is priced, what is left out and why, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from test_estimate import write
from ttnn_shim.errors import ShimError
from ttnn_shim.estimate import MEASURED, EstimateError, estimate_csv, price_csv, tensor
from ttnn_shim.machine import cards
from ttnn_shim.published import ask, requests_of
from ttnn_shim.published_calls import card_of, requested_grid
from ttnn_shim.published_layers import completed_configs
from ttnn_shim.published_ops import turned
from ttnn_shim.published_words import ACROSS_CHIPS, Unreadable, dtype_name, integers, number
from ttnn_shim.records import ROOFLINES
from ttnn_shim.simlib import simulator

from tests.tables import table
from tools.calibration.accuracy import other_sections
from tools.calibration.calls import group_of, observations
from tools.calibration.published_accuracy import END, START, layer_lines, with_section
from tools.calibration.rows import rating_of, read_table
from ttnn_shim import published

DATA = Path(__file__).resolve().parents[1] / "data" / "hardware"
ADD = {"op": "ttnn.add", "inputs": [{"dtype": "bfloat16", "layout": "tile", "mem": "dram_interleaved", "shape": [1, 1, 64, 64]}] * 2, "kwargs": {}}
LINEAR = {"op": "linear", "M": 512, "K": 768, "N": 768, "in0": "bfloat16 dram", "in1": "bfloat8_b dram", "core_grid": "8x8 (x by y)"}


def single(row_id: str, config: dict[str, object], chip: str = "n150", arch: str = "wormhole_b0", measured: str = "device kernel") -> dict[str, str]:
    return {
        "id": row_id, "chip": chip, "arch": arch, "op": str(config.get("op", "")), "family": "any", "config": json.dumps(config),
        "what_is_measured": measured, "time_us": "1",
    }  # fmt: skip


def test_calls_are_priced_or_left_out_with_a_reason(tmp_path: Path) -> None:
    rows = [
        single("add", ADD),
        single("add on a larger chip", ADD, "p150", "blackhole"),
        single("two programs", {**ADD, "op": "ttnn.geglu", "inputs": ADD["inputs"][:1]}),
        single("kernel", LINEAR, "p300c", "blackhole"),
        single("wall", LINEAR, "p300c", "blackhole", "wall per call"),
        single("fewer cores", {**LINEAR, "core_grid": "4x8 (x by y)"}, "p300c", "blackhole"),
        single("20 cores", {"op": "permute", "shape": [1, 48, 160, 256], "out_shape": [160, 48, 32, 256], "dtype": "uint32", "layout": "tile"}, "BH restricted to 20 cores", "blackhole"),
        single("no measured row", {**ADD, "op": "ttnn.experimental.rotate_half", "inputs": [{**ADD["inputs"][0], "shape": [1, 1, 32, 64]}]}),
        single("no sizes", {"op": "matmul", "M": 32}),
        single("no op", {"op": "nonsense"}),
        single("no such function", {**ADD, "op": "ttnn.__doc__"}),
        single("too large", {**ADD, "inputs": [{"dtype": "bfloat16", "shape": [1, 1, 1 << 20, 1 << 20]}] * 2}),
        single("refused", {**ADD, "op": "ttnn.matmul", "inputs": [ADD["inputs"][0], {**ADD["inputs"][0], "shape": [1, 1, 32, 32]}]}),
    ]  # fmt: skip
    reasons = price_csv(write(tmp_path / "in.csv", rows), tmp_path / "out.csv")
    times = {row["id"]: float(row["predicted_ns"]) for row in read_table(tmp_path / "out.csv")}
    assert list(times) == ["add", "add on a larger chip", "two programs", "kernel", "wall", "fewer cores", "20 cores", "no measured row"]
    assert all(ns > 0 for ns in times.values())
    assert times["wall"] > times["kernel"] + 1000
    assert times["fewer cores"] > times["kernel"]
    expected = {"no sizes": "K is not stated", "no op": "no call is known", "no such function": "ttnn has no"}
    expected |= {"too large": "too large", "refused": "the call is refused"}
    assert reasons.keys() == expected.keys()
    assert all(text in reasons[row_id] for row_id, text in expected.items()), reasons


def test_a_product_runs_the_program_that_its_row_states() -> None:
    product = {
        "op": "matmul",
        "M": 1024,
        "K": 640,
        "N": 640,
        "dtype": "bfloat16",
        "in0_mem": "l1 interleaved",
        "in1": "dram interleaved",
        "out": "l1 interleaved",
    }
    stated = {**product, "note": "no program config is generated, tt-metal falls to MatmulMultiCoreProgramConfig"}
    answers = ask(requests_of("singles", [single("default", product), single("stated", stated)]))
    assert "Mcast2D" in answers["default"]["programs"][0]
    assert answers["stated"]["programs"] == [f"MatmulMultiCoreProgramFactory {answers['stated']['ns']:.0f} ns"]


def test_reductions_by_one_core_alone_are_priced_far_above_their_roofline() -> None:
    """A price above 100 rooflines is an error of the clock, except where one core reads everything."""
    rows = read_table(DATA / "singles.train.csv.gz")
    answers = ask(requests_of("singles", rows))
    priced = {row["id"]: answers[row["id"]] for row in rows if "ns" in answers[row["id"]]}
    launch_ns = {card: simulator().get(simulator().arch(card), "launch_move") for card in cards()}  # in cycles of 1 ns and less
    far = {name for name, price in priced.items() if price["ns"] > ROOFLINES * (price["floor_ns"] + launch_ns[price["machine"][0]])}
    assert {row["op"] for row in rows if row["id"] in far} == {"var"}


def test_published_calls_take_what_was_measured() -> None:
    """The median of each kind of calls whose time the collectors call certain is within 30 %."""
    rows = [row for row in read_table(DATA / "singles.train.csv.gz") if row["rebuildable"] == "yes" and row["confidence"].startswith("high")]
    answers = ask(requests_of("singles", rows))
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if "ns" in answers[row["id"]]:
            ratios.setdefault(row["family"], []).append(answers[row["id"]]["ns"] / (1000 * float(row["time_us"])))
    assert len(ratios) > 20 and sum(map(len, ratios.values())) > 220
    far = {family: round(median(some), 2) for family, some in ratios.items() if not 0.7 < median(some) < 1.3}
    assert far == {"concat": 0.6}, "the price of the one concat, in L1 with 8.01 us, is known to be too low"


def test_layers_say_what_of_their_time_depends_on_other_chips() -> None:
    """Collectives, and programs that hold one, are told from rows that leave their configuration open."""
    rows = read_table(DATA / "layers.train.csv.gz")
    answers = ask(requests_of("layers", rows))
    chosen = [row for row in rows if row["model"].startswith("Llama") and row["variant"].endswith("decoder")]
    across = {row["op"] for row in chosen if ACROSS_CHIPS in answers[row["id"]].get("reason", "")}
    assert {"RMS_0", "AllGatherConcat", "ReduceScatter_FF1_MM_FF3", "LlamaReduceScatterCreateHeads"} <= across
    assert {row["op"] for row in chosen} - across == {
        "QKV_MM", "DO_MM", "FF2_MM", "Binary_Mult_Silu", "PagedUpdateCache", "RotaryEmbeddingLlamaFusedQK", "SDPA",
    }  # fmt: skip
    times: Any = Times()
    lines = layer_lines(rows, answers, dict.fromkeys(answers, 1), times)
    line = next(text for text in lines if text.startswith("| Llama") and "decoder" in text)
    shares = [int(cell.strip().removesuffix("%")) for cell in line.split("|") if "%" in cell]
    assert len(shares) == 3 and sum(shares) == pytest.approx(100, abs=1) and shares[1] > 60


class Times:
    """In the place of a predictor: it knows no times."""

    def ns(self, answer: Any, arch: str) -> float:
        return 1.0


def test_configurations_of_calls_have_the_price_of_the_calls() -> None:
    """What a call ran, written down as configurations, is priced alike by the simulator alone: calibration varies constants on them."""
    ops = ("add", "rms_norm", "softmax", "sdpa", "linear", "nlp_concat_heads", "argmax", "permute", "conv2d vae_sdxl_hs", "interleaved_to_sharded")
    rows = [next(r for r in read_table(DATA / "singles.train.csv.gz") if r["op"].startswith(op) and r["rebuildable"] == "yes") for op in ops]
    answers = ask(requests_of("singles", rows))
    made = observations(rows, answers, simulator())
    assert len(made) >= len(rows) - 1
    for seen in made:
        ns = seen.fixed_ns + sum(simulator().price(arch, config).ns for arch, config in seen.parts)
        assert ns == pytest.approx(answers[seen.row_id]["ns"]), seen.group


def test_calls_as_observations() -> None:
    """One for each call with a price: its truth in ns, and the gaps of its programs as time that no constant changes."""
    sim = simulator()
    config = {"op": "unary", "inputs": [tensor([32, 32], "bfloat16")], "outputs": [tensor([32, 32], "bfloat16")], "attrs": {"ops": ["EXP"]}}
    rows = [{**single("left out", ADD)}, {**single("seen", {**ADD, "M": 7, "program": 3}), "time_us": "2.5", "confidence": "medium", "rebuildable": "yes"}]
    answers = {"left out": {"why": "no model"}, "seen": {"ns": 9.0, "bytes": 4096, "gap_ns": 11.5, "machine": ["n150", 4, 2], "configs": [config, config]}}
    (seen,) = observations(rows, answers, sim)
    part = (sim.arch("n150", (4, 2)), sim.config(config))
    assert (seen.row_id, seen.table, seen.op, seen.family, seen.trace, seen.truth, seen.size) == ("seen", "singles", "any", "wormhole_b0", "", 2500.0, 4096.0)
    assert (seen.parts, seen.column, seen.fixed_ns, seen.rating) == ((part, part), 0, 23.0, "medium")
    assert json.loads(seen.group) == ["ttnn.add", "wormhole_b0", {"M": 7, "inputs": ADD["inputs"]}]


def test_tables_whose_calls_cannot_be_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShimError, match=r"pricing the calls failed: (?s:.*)KeyError"):
        ask([{}])
    monkeypatch.setattr(published, "MOST_SECONDS", 0.01)
    with pytest.raises(EstimateError, match="the calls of the table did not end in 0 s"):
        ask([])


@table(
    ("chip", "arch", "wanted"),
    [
        ("Galaxy", "wormhole_b0", ("n150", (7, 10))),
        ("T3000", "wormhole_b0", ("n300", (8, 7))),
        (" n300", "wormhole_b0", ("n300", (8, 7))),
        ("n300 of one chip", "wormhole_b0", ("n150", (8, 8))),
        ("", "wormhole_b0", ("n150", (8, 8))),
        ("BH restricted to 20 cores", "blackhole", ("p150", (5, 4))),
        ("p100 restricted to 64 cores", "blackhole", ("p150", (8, 8))),
        ("BH restricted to 30 cores", "blackhole", "chip: no grid is known for 30 cores"),
        ("BH Galaxy", "blackhole", ("p150", (12, 10))),
        ("P100a", "blackhole", ("p100", (11, 10))),
        ("p300c", "blackhole", ("p150", (11, 10))),
        ("n150", "grayskull", "no model of the chip 'grayskull'"),
    ],
)
def test_cards_behind_names_of_chips(chip: str, arch: str, wanted: Any) -> None:
    if isinstance(wanted, str):
        with pytest.raises(Unreadable, match=wanted):
            card_of(chip, arch)
    else:
        assert card_of(chip, arch) == wanted


@pytest.mark.parametrize(
    ("config", "grid"),
    [
        ({}, (0, 0)),
        ({"core_grid": None, "grid": "any"}, (0, 0)),
        ({"core_grid": "8x7 (x by y)"}, (8, 7)),
        ({"grid": "8x8", "core_grid": "4x4"}, (8, 8)),
        ({"grid": "2x9", "core_grid": "4x4"}, (2, 9)),
        ({"program": "mcast 2D 10x8, subblock 11x12, per core 3x2"}, (10, 8)),
        ({"program": "subblock 11x12"}, (0, 0)),
        ({"program": "subblock of the result: 11x12"}, (11, 12)),
        ({"core_grid": "subblock 11x12"}, (11, 12)),
    ],
)
def test_grids_that_configurations_name(config: dict[str, Any], grid: tuple[int, int]) -> None:
    assert requested_grid(config) == grid


def test_variants_of_one_work_share_a_group() -> None:
    """No row is predicted by constants that were fitted to another program of the same work."""
    assert group_of("linear", "blackhole", LINEAR) == group_of("linear", "blackhole", {**LINEAR, "core_grid": "4x8", "fidelity": "LoFi"})
    assert group_of("linear", "blackhole", LINEAR) != group_of("linear", "blackhole", {**LINEAR, "K": 64})
    assert group_of("linear", "blackhole", LINEAR) != group_of("linear", "wormhole_b0", LINEAR)


def test_pairs_and_layers_of_the_tables_are_read(tmp_path: Path) -> None:
    pairs = [row for row in read_table(DATA / "pairs.train.csv.gz") if "core_grid" in row["variant_a"]][:4]
    blank = [{k: "" if MEASURED.match(k) else v for k, v in row.items()} for row in pairs]
    estimate_csv(write(tmp_path / "pairs.csv", pairs), tmp_path / "a.csv")
    estimate_csv(write(tmp_path / "blank.csv", blank), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert [row["id"] for row in read_table(tmp_path / "a.csv")] == [pair["id"] + side for pair in pairs for side in "ab"]
    layers = [row for row in read_table(DATA / "layers.train.csv.gz") if row["op"].startswith("matmul") and "seq" in row["config"]]
    assert estimate_csv(write(tmp_path / "layers.csv", layers), tmp_path / "c.csv") == []
    assert "time_us" in layers[0]
    assert MEASURED.match("time_us")


def test_rows_of_a_layer_complete_one_another() -> None:
    """What a row leaves out and the rows beside it state alike; nothing where they differ or say nothing."""
    shape = [2, 4, 128, 64]

    def row(op: str, model: str = "an encoder", **config: object) -> dict[str, str]:
        return {
            "id": op,
            "chip": "p150",
            "arch": "blackhole",
            "model": model,
            "variant": "v",
            "op": op,
            "config": json.dumps({"batch": 2, "seq": 128, **config}),
        }

    product = {"K": 256, "in0": "bf16", "in1": "bfp8", "out": "bf16"}
    rows = [row("matmul qkv", M=256, N=768, **product), row("sdpa", chunks=64), row("nlp_concat_heads"), row("create_qkv_heads"), row("move", shape=shape)]
    _, attention, concat, split, _ = completed_configs(rows)
    assert attention["dtype"] == "bf16"
    assert (attention["heads"], attention["kv_heads"], attention["d"], attention["chunks"], attention["is_causal"]) == (4, 4, 64, "64/64", False)
    assert concat["shape"] == shape
    assert (split["q_heads"], split["kv_heads"], split["shape"]) == (4, 4, [2, 1, 128, 768])
    other = completed_configs([*rows[:3], row("move", shape=shape), row("move", shape=[2, 8, 128, 32])])
    assert "heads" not in other[1]  # two shapes of heads
    assert "dtype" not in completed_configs([rows[1], row("matmul", M=1, N=1, **{**product, "out": "bfp8"})])[0]
    assert "heads" not in completed_configs([rows[4], row("sdpa", "another model")])[1]


def test_ratings_are_the_first_word() -> None:
    for said, rating in (("high: bound", "high"), ("high for time, medium for details", "high"), ("high; inferred", "high"), ("medium", "medium")):
        assert rating_of({"confidence": said, "rebuildable": "yes"}) == rating
    assert rating_of({"confidence": "high", "rebuildable": "partial"}) == "partial"


def test_sections_of_other_commands_stay() -> None:
    assert other_sections("# A\n\n## Fitted constants\n\nlist\n\n## Models\n\ntable\n") == "\n## Models\n\ntable\n"
    assert other_sections("# A\n\n## Fitted constants\n\nlist\n") == other_sections("") == ""


def test_words_of_configurations() -> None:
    assert dtype_name("bfp8 weights, bfloat16 activations") == "bfloat8_b"
    assert dtype_name(None, {"dtype": "int32 (inferred from test)"}) == "int32"
    assert integers("1x48x160x256 -> 160x48x32x256", "shape") == [1, 48, 160, 256]
    assert number({"width": "5376 (inferred)"}, "width") == 5376
    assert turned([1, 48, 160, 256], [160, 48, 32, 256]) == ([1, 48, 160, 256], [2, 1, 0, 3])
    assert turned([160, 48, 32, 256], [1, 48, 160, 256]) == ([160, 48, 1, 256], [2, 1, 0, 3])
    for refused in (lambda: dtype_name("not stated"), lambda: integers("many", "shape"), lambda: number({"M": "8x8"}, "M"), lambda: turned([2, 3], [4, 6])):
        with pytest.raises(Unreadable):
            refused()


def test_the_section_replaces_itself() -> None:
    page = with_section("head\n## Fitted constants\nrest\n", f"{START}\none\n{END}\n")
    assert page.index("one") < page.index("## Fitted constants")
    again = with_section(page, f"{START}\ntwo\n{END}\n")
    assert again == page.replace("one", "two")

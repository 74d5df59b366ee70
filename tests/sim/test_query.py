"""`ttnn_shim.query`: the verdicts and programs of the real library, of whole calls, without tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conformance_programs import PRELUDE, calls, stored
from ttnn_shim.errors import ShimError
from ttnn_shim.queries import CallAnswer, Memory, ProgramAnswer, Record, Spec

import ttnn_shim
from tests.device import simulated_device
from tests.tables import table
from ttnn_shim import queries

# Families whose calls are one op on device tensors each. Ops of other families are composed in the Python door.
FAMILIES = ("linear", "matmul", "matmul_batched", "sdpa", "norm", "softmax", "binary", "ternary", "sharded_eltwise", "shard_move", "heads", "concat", "reduce")
# Buffers of a norm with weights in row-major pages that do not fit: the simulator takes it.
ACCEPTED_HERE = "weight=T([128, 32], BF16, RM), bias=T([128, 32], BF16, RM)"


class Asked:
    """Stands in for `ttnn` in a recorded call: ops become questions, everything else is the simulator's."""

    def __init__(self, real: Any, name: str, card: str) -> None:
        self._real, self._name, self._card = real, name, card

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        full = f"{self._name}.{name}"
        if type(found).__name__ == "module":
            return Asked(found, full, self._card)
        if type(found).__name__ == "Operation":
            return lambda *inputs, **configuration: ttnn_shim.query(full, inputs, card=self._card, l1_small_bytes=32768, **configuration)
        return found


def scope(card: str) -> dict[str, Any]:
    """Names that the recorded calls use; T and S make specs."""
    import ttnn

    names: dict[str, Any] = {}
    exec(PRELUDE.replace("d = ttnn.open_device(device_id=0, l1_small_size=32768)", "d = None"), names)
    names |= {
        "ttnn": Asked(ttnn, "ttnn", card),
        "X": Asked(ttnn.transformer, "ttnn.transformer", card),
        "E": Asked(ttnn.experimental, "ttnn.experimental", card),
    }

    def tensor(shape: list[int], dtype: Any = ttnn.bfloat16, layout: Any = ttnn.TILE_LAYOUT, mem: Any = ttnn.DRAM_MEMORY_CONFIG) -> Spec:
        return Spec(tuple(shape), dtype.name.lower(), "tile" if layout == ttnn.TILE_LAYOUT else "row_major", mem)

    names["T"] = tensor
    names["S"] = lambda shape, x, y, strategy, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT: tensor(shape, dtype, layout, names["SH"](shape, x, y, strategy))
    names["KC"] = lambda fidelity="HiFi4", fp32=False, approx=False, packer=True: Record(
        "WormholeComputeKernelConfig",
        (("math_fidelity", fidelity), ("math_approx_mode", approx), ("fp32_dest_acc_en", fp32), ("packer_l1_acc", packer)),
    )
    return names


@pytest.mark.parametrize(("arch", "card"), [("wormhole", "n150"), ("blackhole", "p150")])
def test_verdicts_and_programs_are_the_real_librarys(arch: str, card: str) -> None:
    """Over the recorded calls: accepted where the real library accepts, refused where it refuses, and its programs, cores and shapes."""
    ttnn_shim.activate(explicit=True)
    names, answers = scope(card), stored(arch)
    asked = programs = same_cores = 0
    wrong: list[str] = []
    for call, family in calls().items():
        real = answers.get(call)
        if family not in FAMILIES or real is None or " d," in call or "=d" in call or "W(" in call:
            continue
        answer = eval(call, names)
        if not isinstance(answer, CallAnswer):
            continue  # composed in Python of other calls
        asked += 1
        if answer.accepted != isinstance(real, list) and ACCEPTED_HERE not in call:
            wrong.append(f"{call}: here {answer.error or 'accepted'}, really {real}")
        elif answer.accepted and isinstance(real, list):
            left = list(answer.programs)
            assert answer.ns > 0 and answer.device_ns > answer.ns and answer.ns_error > 0 and answer.bound
            for name, _, cores, _ in real:
                match = next((program for program in left if program.name == name), None)
                programs += 1
                if match is not None:
                    left.remove(match)
                    same_cores += cores in (0, match.cores)
    assert not wrong, "\n".join(wrong)
    assert asked > 300 and same_cores > 0.9 * programs, (asked, programs, same_cores)


@pytest.fixture
def device() -> Iterator[Any]:
    ttnn_shim.activate(explicit=True)
    with simulated_device() as made:
        yield made


def _run(call: str, names: dict[str, Any]) -> tuple[Any, ShimError | None]:
    try:
        return eval(call, names), None
    except ShimError as error:
        return None, error


def test_answers_are_what_calls_run(device: Any) -> None:
    """Every field of a program, and what the results are, as the same call on tensors has them."""
    import ttnn

    questions, runs = scope("n150"), {"ttnn": ttnn, "d": device}
    exec(PRELUDE.replace("d = ttnn.open_device(device_id=0, l1_small_size=32768)\n", "").replace("d.arch()", "'wormhole_b0'"), runs)
    compared = 0
    for call, family in [*calls().items()][::3]:
        if family not in FAMILIES or " d," in call or "=d" in call or "W(" in call or "KC(" in call:
            continue
        answer = eval(call, questions)
        if not isinstance(answer, CallAnswer) or answer.ns > 6000:
            continue  # values take long
        device.clock_reset()
        device.events_enable(True)
        results, refusal = _run(call, runs)
        if refusal is not None:
            assert not answer.accepted and answer.code == refusal.code and answer.error in str(refusal), call
            continue
        assert answer.accepted, call
        assert [(one.factory, one.family, one.cores, one.ns, one.gap_ns, one.cb_bytes, one.bound, one.modelled) for one in answer.programs] == [
            (event["factory"], event["op"], event["cores"], event["ns"], event["gap_ns"], event["l1_bytes"], event["bound"], event["modelled"])
            for event in device.events()
        ], call  # fmt: skip
        for found, result in zip(answer.outputs, results if isinstance(results, list | tuple) else [results], strict=True):
            assert found is not None and (found.shape, found.dtype.upper(), found.layout.upper()) == (
                tuple(result.shape),
                result.dtype.name,
                result.layout.name.removesuffix("_LAYOUT"),
            ), call
            memory = result.memory_config()
            assert (found.memory.buffer, found.memory.layout) == (memory.buffer_type.name, memory.memory_layout.name), call
            if memory.shard_spec is not None:
                spec = memory.shard_spec
                corners = [(one.start.x, one.start.y, one.end.x, one.end.y) for one in spec.grid.ranges()]
                assert found.memory.shard == (tuple(spec.shape), tuple(at for one in corners for at in one), spec.orientation.name), call
        compared += 1
    assert compared > 40


def test_texts_of_any_kind_come_back() -> None:
    for text in ('a\nb"\\\x01\x1f é', "", "/\t"):
        answer = ttnn_shim.query("ttnn.upsample", [Spec((1, 8, 8, 32), layout="row_major")], scale_factor=2, mode=text)
        assert answer.error == f"mode: expected nearest or bilinear, got '{text}'"
    assert "got a host tensor [1, 8, 8, 32]" in ttnn_shim.query("ttnn.relu", [Spec((1, 8, 8, 32), on_host=True)]).error
    assert ttnn_shim.query("ttnn.relu", [Spec((1,) * 16)]).accepted


def test_sums_of_an_answer() -> None:
    rows = [ProgramAnswer(name, "", "", cores, ns, 100.0, cb, peak, bound, True) for name, cores, ns, cb, peak, bound in (
        ("a", 4, 10.0, 300, 900, "dram"), ("b", 64, 30.0, 200, 1000, "compute"), ("c", 8, 20.0, 400, 800, "noc"))]  # fmt: skip
    answer = CallAnswer(True, programs=tuple(rows))
    assert (answer.ns, answer.device_ns, answer.cores, answer.cb_bytes, answer.l1_peak_bytes, answer.bound) == (60, 360, 64, 400, 1000, "compute")
    none = CallAnswer(True)
    assert (none.ns, none.device_ns, none.cores, none.cb_bytes, none.l1_peak_bytes, none.bound) == (0, 0, 0, 0, 0, "")


A, B = Spec((8, 224, 768)), Spec((768, 3072))
GRID = ("compute_with_storage_grid_size", (8, 8))


def multicast(**changed: Any) -> Record:
    sizes = {"in0_block_w": 3, "out_subblock_h": 1, "out_subblock_w": 6, "per_core_M": 7, "per_core_N": 12, "transpose_mcast": False, "fuse_batch": True}
    return Record("MatmulMultiCoreReuseMultiCastProgramConfig", (GRID, *(sizes | changed).items()))


@pytest.mark.parametrize(
    ("inputs", "configuration", "error"),
    [
        ([A, B], {}, ""),
        ([A, B], {"program_config": multicast()}, ""),
        ([A, B], {"program_config": multicast(in0_block_w=5)}, "in0_block_w"),
        ([A, B], {"program_config": multicast(), "memory_config": Memory("L1")}, ""),
        ([A, B], {"program_config": multicast(), "memory_config": Memory("L1"), "l1_taken_bytes": 1_000_000}, "L1"),
        ([A, Spec((512, 3072))], {}, "height of the second"),
        ([A, B], {"unknown": 1}, "no parameter 'unknown'"),
        ([A, B], {"input_tensor_a": A}, "given twice"),
        ([A, B, A, A, A, A, A, A, A, A, A, A, A, A, A, A], {}, "positional arguments, got 16"),
        ([A, 2.0], {}, "takes tensors only, got 2.0"),
        ([A, B], {"transpose_a": A}, "parameter 'transpose_a' takes no tensor"),
    ],
    ids=str,
)
def test_a_linear(inputs: list[Spec], configuration: dict[str, Any], error: str) -> None:
    answer = ttnn_shim.query("ttnn.linear", inputs, **configuration)
    assert (error in answer.error) if error else not answer.error, answer
    assert answer.accepted == (not error)
    if answer.accepted:
        memory = configuration.get("memory_config", Memory())
        assert answer.outputs == (Spec((8, 224, 3072), memory=memory),)
        assert answer.l1_peak_bytes >= answer.cb_bytes > 0
        assert ttnn_shim.query("ttnn.linear", inputs, **configuration) is answer, "answers are remembered"


@pytest.mark.parametrize(("op", "layout"), [("ttnn.tilize", "row_major"), ("ttnn.untilize", "tile")])
def test_use_multicore_is_no_hint(op: str, layout: str) -> None:
    """Without it one core does the work, in many times the time."""
    many, one = (ttnn_shim.query(op, [Spec((1, 1, 2048, 1024), layout=layout)], use_multicore=flag) for flag in (True, False))
    assert one.cores == 1 < many.cores
    assert one.device_ns > 5 * many.device_ns


@table(
    ("op", "inputs", "named", "match"),
    [
        ("ttnn.nothing", [A], {}, "not implemented"),
        ("ttnn.relu", [A], {"card": "n151"}, "n151"),
        ("ttnn.relu", A, {}, "as a list"),
        ("ttnn.relu", [object()], {}, "cannot be written"),
        ("ttnn.relu", [Spec((-1, 4))], {}, "extent -1 is out of range"),
        ("ttnn.relu", [Spec((1 << 32, 4))], {}, "extent 4294967296 is out of range"),
        ("ttnn.relu", [Spec((1,) * 17)], {}, "rank 17 is out of range"),
        ("ttnn.relu", [A], {"l1_small_bytes": -1}, "l1_small_bytes: expected 0 or more, got -1"),
        ("ttnn.relu", [A], {"l1_taken_bytes": -1}, "0 or more"),
        (3, [A], {}, "expected an op's name, got int"),
        ("ttnn.relu", [A], {"memory_config": Record("x" * 256, ())}, "cannot be written: the name 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"),
        ("ttnn.relu", [A], {"memory_config": Record("MemoryConfig", (("buffer_type", object()),))}, r"cannot ask about a object \(buffer_type\)"),
    ],
)
def test_questions_without_an_answer(op: str, inputs: Any, named: dict[str, Any], match: str) -> None:
    with pytest.raises(ShimError, match=match):
        ttnn_shim.query(op, inputs, **named)


def test_tensors_are_asked_about_as_their_specs(device: Any) -> None:
    import ttnn

    tensor = ttnn.ones((1, 1, 64, 96), dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    spec = Spec((1, 1, 64, 96), "bfloat8_b", "tile", Memory("L1"))
    for op, inputs, options in (
        ("ttnn.add", lambda x: [x, x], {}),
        ("ttnn.concat", lambda x: [[x, x]], {"dim": 3}),
        ("ttnn.matmul", lambda x: [x, x], {"transpose_b": True}),
    ):
        answer = ttnn_shim.query(op, inputs(tensor), **options)
        assert answer.accepted and answer.ns > 0
        assert answer == ttnn_shim.query(op, inputs(spec), **options)


def test_so_many_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_REMEMBERED", 2)
    first, second = (ttnn_shim.query("ttnn.relu", [Spec((1, 1, 37, width))]) for width in (41, 43))
    assert ttnn_shim.query("ttnn.relu", [Spec((1, 1, 37, 41))]) is first
    ttnn_shim.query("ttnn.relu", [Spec((1, 1, 37, 47))])
    assert ttnn_shim.query("ttnn.relu", [Spec((1, 1, 37, 41))]) is not first
    assert ttnn_shim.query("ttnn.relu", [Spec((1, 1, 37, 43))]) == second


@pytest.mark.parametrize(("card", "of_product"), [("n150", "tile math"), ("p150", "NoC multicast")])
def test_terms_are_named_and_add_up(card: str, of_product: str) -> None:
    """Of a product, which a Wormhole computes more slowly than it sends, of a sum that DRAM bounds, and of a program of one tile: mostly its launch."""
    wide = ttnn_shim.query("ttnn.matmul", [Spec((2048, 2048)), Spec((2048, 2048))], card=card)
    copied = ttnn_shim.query("ttnn.add", [Spec((8192, 8192)), Spec((8192, 8192))], card=card)
    small = ttnn_shim.query("ttnn.relu", [Spec((32, 32))], card=card)
    for answer, largest in ((wide, of_product), (copied, "DRAM read"), (small, "launch")):
        assert sum(answer.terms.values()) == pytest.approx(answer.ns, rel=1e-6)
        assert next(iter(answer.terms)) == largest, answer.terms
        assert all(ns > -1 for ns in answer.terms.values()), answer.terms

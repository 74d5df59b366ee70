"""`ttnn_shim.query`: the verdicts and programs of the real library, of whole calls, without tensors."""

from __future__ import annotations

from typing import Any

import pytest
from conformance_programs import PRELUDE, calls, stored
from ttnn_shim.errors import ShimError
from ttnn_shim.queries import CallAnswer, Memory, Record, Spec

import ttnn_shim

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


@pytest.mark.parametrize(
    ("op", "inputs", "named", "match"),
    [
        ("ttnn.nothing", [A], {}, "not implemented"),
        ("ttnn.relu", [A], {"card": "n151"}, "n151"),
        ("ttnn.relu", A, {}, "as a list"),
        ("ttnn.relu", [object()], {}, "cannot be written"),
        ("ttnn.relu", [Spec((-1, 4))], {}, "out of range"),
        ("ttnn.relu", [A], {"l1_taken_bytes": -1}, "0 or more"),
    ],
)
def test_questions_without_an_answer(op: str, inputs: Any, named: dict[str, Any], match: str) -> None:
    with pytest.raises(ShimError, match=match):
        ttnn_shim.query(op, inputs, **named)

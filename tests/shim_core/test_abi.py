"""The C door: tensors, ops, errors, files, clock, memory."""

from __future__ import annotations

import json
import struct
import threading
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .conftest import HOST_TYPES, Core, CoreError, Input, blob_of

DATA = Path(__file__).parents[1] / "data" / "tensorbin"
MANIFEST = json.loads((DATA / "manifest.json").read_text())


def ramp(shape: tuple[int, ...]) -> Any:
    return (((np.arange(np.prod(shape, dtype=int)) * 37) % 101 - 50) / 8).astype(np.float32).reshape(shape)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 7), (2, 33, 40), (0, 4), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["BFLOAT16", "FLOAT32", "BFLOAT8_B", "INT32", "UINT8"])
def test_round_trip(core: Core, device: Any, shape: tuple[int, ...], dtype: str) -> None:
    """Host -> device -> host gives the values rounded to the dtype."""
    if dtype in ("INT32", "UINT8"):
        values = (np.arange(np.prod(shape, dtype=int)) % 200).astype(HOST_TYPES[dtype]).reshape(shape)
        read = core.read(core.tensor(values, dtype, device=device), dtype)
        np.testing.assert_array_equal(read, values)
        return
    values = ramp(shape)
    read = core.read(core.tensor(values, dtype, device=device))
    if dtype == "BFLOAT8_B":
        np.testing.assert_allclose(read, values, atol=2.0**-3)
    else:
        wanted = values.astype(ml_dtypes.bfloat16).astype(np.float32) if dtype == "BFLOAT16" else values
        np.testing.assert_array_equal(read, wanted)


@pytest.mark.parametrize("entry", MANIFEST if isinstance(MANIFEST, list) else MANIFEST["files"], ids=lambda entry: entry["file"])
def test_reference_files(core: Core, tmp_path: Path, entry: dict[str, Any]) -> None:
    """Files of the real package: metadata and first values as the package reported, rewritten byte for byte."""
    out = core.ffi.new("shim_tensor **")
    core.check(core.lib.shim_tensor_load(str(DATA / entry["file"]).encode(), core.ffi.NULL, out))
    tensor = core.ffi.gc(out[0], core.lib.shim_tensor_free)
    info = core.info(tensor)
    assert [info.shape[i] for i in range(info.rank)] == entry["shape"]
    if "padded_shape" in entry:
        assert [info.padded_shape[i] for i in range(info.padded_rank)] == entry["padded_shape"]
        first = entry["reload_first8"]
        np.testing.assert_array_equal(core.read(tensor).ravel()[: len(first)], np.array(first, np.float32))
    copy = tmp_path / "copy.tensorbin"
    core.check(core.lib.shim_tensor_dump(tensor, str(copy).encode()))
    assert copy.read_bytes() == (DATA / entry["file"]).read_bytes()


@pytest.mark.parametrize(
    ("op", "attrs", "code", "text"),
    [
        ("ttnn.no_such_op", {}, 2, "not implemented"),
        ("ttnn.typecast", {"input_tensor": Input(0)}, 1, "data type INVALID"),
        ("ttnn.typecast", {"dtype": "INT32"}, 1, "missing argument 'input_tensor'"),
        ("ttnn.typecast", {"input_tensor": Input(3), "dtype": "INT32"}, 1, "no input tensor 3"),
        ("ttnn.typecast", {"input_tensor": Input(0), "dtype": 7}, 1, "expected a string"),
        ("ttnn.to_layout", {"tensor": Input(0), "layout": "COLUMN"}, 1, "unknown layout 'COLUMN'"),
        ("ttnn.to_memory_config", {"tensor": Input(0), "memory_config": {"memory_layout": "WIDTH_SHARDED", "buffer_type": "L1"}}, 1, "no shard spec"),
    ],
)
def test_errors(core: Core, device: Any, op: str, attrs: dict[str, Any], code: int, text: str) -> None:
    """Every failure is a status with op, message and code; nothing is thrown or leaked."""
    tensor = core.tensor(ramp((32, 32)), device=device)
    with pytest.raises(CoreError, match=text.replace("(", r"\(")) as caught:
        core.invoke(op, [tensor], **attrs)
    assert caught.value.code == code
    assert caught.value.op == op


def test_errors_stay_on_their_thread(core: Core) -> None:
    seen: dict[int, str] = {}

    def work(number: int) -> None:
        for _ in range(200):
            with pytest.raises(CoreError) as caught:
                core.open(f"card{number}")
            seen[number] = caught.value.message
            assert f"card{number}'" in caught.value.message

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\x01\x00",
        blob_of({"a": 1}) + b"x",
        b"\x01\x00\x01aI" + struct.pack("<I", 0xFFFFFFFF),
        b"\x01\x00\x01a?",
        b"\x01\x00\x01a" + b"l\x01\x00\x00\x00" * 40 + b"n",
    ],
)
def test_malformed_attributes(core: Core, blob: bytes) -> None:
    out = core.ffi.new("shim_attrs **")
    assert core.lib.shim_attrs_new(blob, len(blob), out) == 1
    assert b"malformed" in core.ffi.string(core.lib.shim_error_message())


def test_memory_config_round_trip(core: Core, device: Any) -> None:
    shard = {"grid": [0, 0, 1, 1, 4, 0, 4, 0], "shape": [32, 64], "orientation": "COL_MAJOR"}
    config = {"memory_layout": "HEIGHT_SHARDED", "buffer_type": "L1", "shard_spec": shard}
    tensor = core.tensor(ramp((160, 64)), device=device, memory_config=config)
    size = core.ffi.new("size_t *", 512)
    blob = core.ffi.new("char[]", 512)
    core.check(core.lib.shim_tensor_memory_config(tensor, blob, size))
    given = blob_of({"memory_config": config})
    # Same fields; only the records' type names differ (empty in the given blob).
    assert bytes(core.ffi.buffer(blob, size[0])).replace(b"r\x0cMemoryConfig", b"r\x00").replace(b"r\x09ShardSpec", b"r\x00") == given
    assert core.info(tensor).bytes_per_bank == 2 * 2048


def test_memory_config_needs_room(core: Core, device: Any) -> None:
    tensor = core.tensor(ramp((32, 32)), device=device)
    size, blob = core.ffi.new("size_t *", 0), core.ffi.new("char[]", 512)
    with pytest.raises(CoreError, match="the target is too small"):
        core.check(core.lib.shim_tensor_memory_config(tensor, blob, size))
    needed = size[0]
    size[0] = needed - 1
    with pytest.raises(CoreError, match=f"too small: {needed} bytes are needed"):
        core.check(core.lib.shim_tensor_memory_config(tensor, blob, size))
    core.check(core.lib.shim_tensor_memory_config(tensor, blob, size))
    assert size[0] == needed


@pytest.mark.parametrize(
    ("dtype", "layout", "rank", "said"),
    [
        *((dtype, 0 if dtype == 8 else 1, 2, "") for dtype in range(10)),
        *((dtype, 1, 2, f"unknown data type number {dtype}") for dtype in (-1, 10)),
        *((0, layout, 2, f"unknown layout number {layout}") for layout in (-1, 2)),
        *((0, 0, rank, "") for rank in (0, 16)),
        *((0, 0, rank, f"rank {rank} is out of range") for rank in (-1, 17)),
    ],
)
def test_numbers_of_new_tensors(core: Core, dtype: int, layout: int, rank: int, said: str) -> None:
    out = core.ffi.new("shim_tensor **")
    shape = core.ffi.new("uint32_t[]", [2] * 17)
    status = core.lib.shim_tensor_new(core.ffi.NULL, dtype, layout, rank, shape, core.ffi.NULL, core.ffi.NULL, 0, 0, out)
    if said:
        assert status == 1
        assert said in core.ffi.string(core.lib.shim_error_message()).decode()
        return
    core.check(status)
    info = core.info(core.ffi.gc(out[0], core.lib.shim_tensor_free))
    assert (info.dtype, info.layout, info.rank, info.volume) == (dtype, layout, rank, 2**rank)


def ask(core: Core, **question: Any) -> Any:
    blob = blob_of(question)
    return json.loads(core.text(lambda *args: core.lib.shim_query(blob, len(blob), *args)))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"inputs": 3}, "inputs: expected a list of tensor specs"),
        ({"inputs": ["bfloat16"]}, "inputs: expected a list of tensor specs"),
        ({"inputs": [{"shape": [-1, 32]}]}, "shape: extent -1 is out of range"),
        ({"inputs": [{"shape": [2**32, 32]}]}, "shape: extent 4294967296 is out of range"),
        ({"inputs": [{"shape": [1] * 17}]}, "rank 17 is out of range"),
        ({"l1_small_bytes": -1}, "l1_small_bytes: expected 0 or more, got -1"),
        ({"l1_taken_bytes": -1}, "l1_taken_bytes: expected 0 or more, got -1"),
        ({"op": "ttnn.no_such_op"}, "not implemented"),
        ({"card": "h100"}, "unknown card 'h100'"),
    ],
)
def test_wrong_questions(core: Core, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(CoreError, match=said):
        ask(core, **{"op": "ttnn.relu", "inputs": [{"shape": [32, 32]}], "configuration": {"input_tensor": Input(0)}, **changed})


def test_what_questions_leave_out(core: Core) -> None:
    """The same answers as with every default told; what is left of L1 is taken by the input, so that one byte more would not fit."""
    shard = {"grid": [0, 0, 0, 0], "shape": [1, 1393312], "orientation": "ROW_MAJOR"}
    memory = {"memory_layout": "HEIGHT_SHARDED", "buffer_type": "L1", "shard_spec": shard}
    full = {"op": "ttnn.clone", "inputs": [{"shape": [1, 1393312], "dtype": "UINT8", "layout": "ROW_MAJOR", "memory_config": memory}]}
    call = {"configuration": {"input": Input(0)}}
    answer = ask(core, **full, **call)
    assert "1393312" in answer["message"]
    assert answer == ask(core, **full, **call, l1_small_bytes=0, l1_taken_bytes=0, card="n150")
    assert ask(core, **full, **call, l1_taken_bytes=1)["message"] != answer["message"]
    plain = ask(core, op="ttnn.relu", inputs=[{"shape": [33, 1]}], configuration={"input_tensor": Input(0)})
    told = {"dtype": "BFLOAT16", "layout": "TILE", "memory_config": {"memory_layout": "INTERLEAVED", "buffer_type": "DRAM"}, "on_host": False}
    assert plain["accepted"]
    assert [(output["shape"], output["padded_shape"], output["dtype"]) for output in plain["outputs"]] == [([33, 1], [64, 32], "BFLOAT16")]
    again = ask(core, op="ttnn.relu", inputs=[{"shape": [33, 1], **told}], configuration={"input_tensor": Input(0)}, card="n150")
    ids = ("index", "call_id", "start_ns", "gap_ns", "inputs", "outputs")
    assert [{k: v for k, v in each.items() if k not in ids} for each in again["programs"]] == [
        {k: v for k, v in each.items() if k not in ids} for each in plain["programs"]
    ]
    assert not ask(core, op="ttnn.relu", inputs=[{"shape": [33, 1], "on_host": True}], configuration={"input_tensor": Input(0)})["accepted"]
    assert ask(core, op="ttnn.relu", inputs=[{"shape": [1] * 16}], configuration={"input_tensor": Input(0)})["code"] == 0


def test_events_and_clock(core: Core) -> None:
    device = core.open("p150", estimate=True)
    core.check(core.lib.shim_events_enable(device, 1))
    core.lib.shim_set_call(42)
    tensor = core.tensor(np.zeros((0,), np.float32)[:0].reshape(0, 32), device=device)
    assert core.info(tensor).volume == 0
    big = core.ffi.new("shim_tensor **")
    shape = core.ffi.new("uint32_t[]", [4096, 4096])
    core.check(core.lib.shim_tensor_new(device, 0, 1, 2, shape, core.ffi.NULL, core.ffi.NULL, 0, 0, big))
    handle = core.ffi.gc(big[0], core.lib.shim_tensor_free)
    out = core.invoke("ttnn.typecast", [handle], input_tensor=Input(0), dtype="FLOAT32")[0]
    assert core.info(out).has_values == 0
    assert core.info(out).address > 0
    core.invoke("ttnn.typecast", [handle], input_tensor=Input(0), dtype="FLOAT32")
    core.lib.shim_set_call(0)
    events = json.loads(core.text(core.lib.shim_events_json, device, 0, 0))
    assert [event["call_id"] for event in events] == [42, 42]
    assert events[0]["cycles"] == events[1]["cycles"] > 10_000
    assert events[1]["start_ns"] == pytest.approx(events[0]["ns"] + events[1]["gap_ns"], rel=1e-6)
    assert events[0]["outputs"][0]["dtype"] == "FLOAT32"
    clock = core.ffi.new("shim_clock *")
    core.check(core.lib.shim_clock_get(device, clock))
    assert clock.programs == 2
    assert clock.device_ns == pytest.approx(clock.kernel_ns + events[1]["gap_ns"])
    core.check(core.lib.shim_events_clear(device))
    core.check(core.lib.shim_clock_get(device, clock))
    assert (clock.programs, clock.cycles) == (0, 0)
    with pytest.raises(CoreError, match="no values"):
        core.read(out)


@pytest.mark.parametrize(("card", "l1", "banks", "dram"), [("n150", 1393312, 64, 1072693184), ("p150", 1461120, 130, 4277141376)])
def test_memory_view(core: Core, card: str, l1: int, banks: int, dram: int) -> None:
    """Sizes that ttnn 0.81.1 reports on mock devices; L1_SMALL comes off the top of L1."""
    device = core.open(card, l1_small=16384)
    view = core.ffi.new("shim_memory_view *")
    core.check(core.lib.shim_memory_view_get(device, 1, view))
    assert (view.total_bytes_per_bank, view.num_banks) == (l1 - 16384, banks)
    core.check(core.lib.shim_memory_view_get(device, 0, view))
    assert view.total_bytes_per_bank == dram
    tensor = core.tensor(ramp((64, 64)), device=device)
    blocks = json.loads(core.text(core.lib.shim_memory_blocks, device, 0))
    assert blocks[0] == {"address": core.info(tensor).address, "bytes": 2048, "allocated": True}


def test_device_outlives_tensors_and_the_reverse(core: Core) -> None:
    device = core.open()
    tensor = core.tensor(ramp((32, 32)), device=device)
    core.check(core.lib.shim_device_close(device))
    del device
    np.testing.assert_array_equal(core.read(tensor), ramp((32, 32)))
    with pytest.raises(CoreError, match="closed"):
        core.invoke("ttnn.typecast", [tensor], input_tensor=Input(0), dtype="FLOAT32")


def test_threads_share_a_device(core: Core, device: Any) -> None:
    """cffi lets go of the GIL during calls: memory and clock stay consistent."""
    tensor = core.tensor(ramp((64, 64)), device=device)

    def work() -> None:
        for _ in range(100):
            out = core.invoke("ttnn.typecast", [tensor], input_tensor=Input(0), dtype="FLOAT32")[0]
            np.testing.assert_array_equal(core.read(out), ramp((64, 64)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock = core.ffi.new("shim_clock *")
    core.check(core.lib.shim_clock_get(device, clock))
    assert clock.programs == 400
    blocks = json.loads(core.text(core.lib.shim_memory_blocks, device, 0))
    assert sum(block["bytes"] for block in blocks if block["allocated"]) == core.info(tensor).bytes_per_bank


@pytest.mark.slow
def test_call_overhead(core: Core, device: Any) -> None:
    """A tiny op through the C door, event recorded: far below the 20 us budget of a Python call."""
    tensor = core.tensor(ramp((32, 32)), device=device)
    op_id = core.ffi.new("int *")
    core.check(core.lib.shim_op_find(b"ttnn.typecast", op_id))
    attrs = core.attrs({"input_tensor": Input(0), "dtype": "FLOAT32"})
    result = core.ffi.new("shim_result *")
    inputs = core.ffi.new("shim_tensor *[]", [tensor])
    best = 1.0
    for _ in range(40):
        start = time.perf_counter()
        for _ in range(200):
            core.lib.shim_invoke(op_id[0], inputs, 1, core.ffi.NULL, attrs, result)
            core.lib.shim_tensor_free(result.tensors[0])
        best = min(best, (time.perf_counter() - start) / 200)
    assert best < 15e-6

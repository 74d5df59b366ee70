"""Traces of the simulator's `ttnn`: values of replays, the real package's refusals, clock, and the program cache that captures need."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import ttnn
from ttnn import _trace

from tests.tables import table
from ttnn_shim import session

SHAPE = (64, 64)


@pytest.fixture(autouse=True)
def _no_trace_left(device: Any) -> Iterator[None]:
    """Ends a capture that a test left open, and releases its traces: other tests share the device."""
    yield
    if ttnn.is_trace_capture_active(device):
        ttnn.end_trace_capture(device, ttnn.MeshTraceId(_trace._capturing.number), cq_id=_trace._capturing.queue)
    for number in list(_trace._traces):
        ttnn.release_trace(device, ttnn.MeshTraceId(number))


def numbers(seed: int, shape: tuple[int, ...] = SHAPE) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def tensor(device: Any, seed: int, shape: tuple[int, ...] = SHAPE, **options: Any) -> Any:
    return ttnn.Tensor(numbers(seed, shape), ttnn.bfloat16, device, ttnn.TILE_LAYOUT, **options)


def values(result: Any) -> Any:
    return result.cpu().to_numpy().copy()


def write(slot: Any, seed: int) -> None:
    ttnn.copy_host_to_device_tensor(ttnn.Tensor(numbers(seed, tuple(slot.shape)), ttnn.bfloat16, None, ttnn.TILE_LAYOUT), slot)


def captured(device: Any, function: Callable[..., Any], *tensors: Any) -> tuple[Any, Any]:
    """(trace id, result) after a warm-up."""
    function(*tensors)
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    result = function(*tensors)
    ttnn.end_trace_capture(device, trace, cq_id=0)
    return trace, result


def mlp(a: Any, b: Any) -> Any:
    hidden = ttnn.relu(ttnn.matmul(a, b))
    result = ttnn.softmax(ttnn.add(hidden, a), dim=-1)
    ttnn.deallocate(hidden)
    return result


def through_views(a: Any, b: Any) -> Any:
    parts = ttnn.split(ttnn.reshape(a, (1, 64, 64)), 32, dim=2)
    return ttnn.reshape(ttnn.concat([ttnn.exp(part) for part in parts], dim=2), (64, 64))


def in_l1(a: Any, b: Any) -> Any:
    grid = ttnn.CoreGrid(y=2, x=1)
    memory = ttnn.create_sharded_memory_config(SHAPE, grid, ttnn.ShardStrategy.HEIGHT)
    sharded = ttnn.to_memory_config(a, memory)
    return ttnn.to_memory_config(ttnn.mul(sharded, 2.0), ttnn.DRAM_MEMORY_CONFIG)


def normed(a: Any, b: Any) -> Any:
    return ttnn.layer_norm(a, residual_input_tensor=b, memory_config=ttnn.L1_MEMORY_CONFIG)


@pytest.mark.parametrize("function", [mlp, through_views, in_l1, normed])
def test_replays_follow_their_inputs(function: Callable[..., Any], device: Any) -> None:
    a, b = tensor(device, 1), tensor(device, 2)
    trace, result = captured(device, function, a, b)
    address = result.buffer_address()
    for seed in (3, 4):
        write(a, seed)
        ttnn.execute_trace(device, trace, cq_id=0, blocking=False)
        ttnn.synchronize_device(device)
        assert result.buffer_address() == address
        assert values(result).tobytes() == values(function(tensor(device, seed), b)).tobytes()


def test_a_capture_computes_nothing(device: Any) -> None:
    a, b = tensor(device, 1), tensor(device, 2)
    device.clock_reset()
    mlp(a, b)
    once = device.clock_read()
    trace, result = captured(device, mlp, a, b)
    assert device.clock_read()["ops"] == 2 * once["ops"]  # the warm-up alone
    with pytest.raises(RuntimeError, match="trace that makes it has not run"):
        values(result)
    device.clock_reset()
    ttnn.execute_trace(device, trace, cq_id=0)
    assert device.clock_read() == once


def test_what_calls_write_in_place(device: Any) -> None:
    """A cache and an `output_tensor`: each replay writes them once."""
    cache, row, out = tensor(device, 0, (1, 1, 64, 64)), tensor(device, 1, (1, 1, 32, 64)), tensor(device, 0)
    a = tensor(device, 2)

    def step() -> None:
        ttnn.kv_cache.fill_cache_for_user_(cache, row, 0)
        ttnn.add(out, a, output_tensor=out)

    step()
    trace = ttnn.begin_trace_capture(device)
    step()
    ttnn.end_trace_capture(device, trace)
    before = values(out)
    write(row, 7)
    for count in (1, 2):
        ttnn.execute_trace(device, trace)
        expected = before
        for _ in range(count):
            expected = values(ttnn.add(ttnn.Tensor(expected, ttnn.bfloat16, device, ttnn.TILE_LAYOUT), a))
        assert values(out).tobytes() == expected.tobytes()
    assert (values(cache)[0, 0, :32] == values(row)[0, 0]).all()


FROM_HOST: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "from_torch": (lambda device, a: tensor(device, 0), "Writes are not supported during trace capture"),
    "to_device": (lambda device, a: ttnn.to_device(tensor(None, 0), device), "Writes are not supported during trace capture"),
    "copy to device": (lambda device, a: ttnn.copy_host_to_device_tensor(tensor(None, 0), a), "Writes are not supported during trace capture"),
    "zeros": (lambda device, a: ttnn.zeros(SHAPE, ttnn.bfloat16, ttnn.TILE_LAYOUT, device), "Writes are not supported during trace capture"),
    "full": (lambda device, a: ttnn.full(SHAPE, 1.0, ttnn.bfloat16, ttnn.TILE_LAYOUT, device), "Writes are not supported during trace capture"),
    "arange": (lambda device, a: ttnn.arange(0, 32, 1, ttnn.bfloat16, device), "Writes are not supported during trace capture"),
    "to_torch": (lambda device, a: ttnn.to_torch(a), "Reads are not supported during trace capture"),
    "from_device": (lambda device, a: ttnn.from_device(a), "Reads are not supported during trace capture"),
    "synchronize": (lambda device, a: ttnn.synchronize_device(device), "Event Synchronization is not supported during trace capture"),
    "event": (lambda device, a: ttnn.record_event(device, 0), "Event Synchronization is not supported during trace capture"),
    "new program": (lambda device, a: ttnn.rsub(a, 3.25), "Cannot load new binaries during trace capture. This program is not yet in program cache"),
    "begin": (lambda device, a: ttnn.begin_trace_capture(device), "CQ 0 is already being used for tracing tid"),
    "end another": (lambda device, a: ttnn.end_trace_capture(device, ttnn.MeshTraceId(10**6)), "CQ 0 is not being used for tracing tid 1000000"),
    "execute": (lambda device, a: ttnn.execute_trace(device, ttnn.MeshTraceId(10**6)), "Trace instance 1000000 must exist on device"),
}


@table("name", FROM_HOST)
def test_refused_during_a_capture(name: str, device: Any) -> None:
    """The capture goes on after the error, and has to be ended."""
    call, text = FROM_HOST[name]
    a = tensor(device, 1)
    device.clear_program_cache()
    ttnn.exp(a)
    trace = ttnn.begin_trace_capture(device)
    with pytest.raises(RuntimeError, match=text):
        call(device, a)
    assert ttnn.is_trace_capture_active(device)
    result = ttnn.exp(a)
    ttnn.end_trace_capture(device, trace)
    ttnn.execute_trace(device, trace)
    assert values(result).tobytes() == values(ttnn.exp(a)).tobytes()


def test_refused_without_a_capture(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tensor(device, 1), tensor(device, 2)
    with pytest.raises(RuntimeError, match="CQ 0 is not being used for tracing tid 5"):
        ttnn.end_trace_capture(device, ttnn.MeshTraceId(5), cq_id=0)
    trace, result = captured(device, mlp, a, b)
    del result
    ttnn.execute_trace(device, trace)  # a result that nobody holds is written nowhere
    ttnn.deallocate(b)
    with pytest.raises(RuntimeError, match=r"reads a tensor of shape .* that was deallocated"):
        ttnn.execute_trace(device, trace)
    ttnn.release_trace(device, trace)
    for call in (ttnn.execute_trace, ttnn.release_trace):
        with pytest.raises(RuntimeError, match=r"Trace instance .* must exist on device"):
            call(device, trace)
    monkeypatch.setattr(device, "_trace_region_bytes", 1000)
    with pytest.raises(RuntimeError, match=r"Creating trace buffers of size .*B on MeshDevice .*, but only 1000B is allocated for trace region"):
        captured(device, ttnn.exp, a)
    assert not ttnn.is_trace_capture_active(device)


def test_memory_beside_a_trace(device: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allocating warns once; memory of the trace's intermediates in another's hands is named before the replay that overwrites it."""
    monkeypatch.setattr(_trace, "_warned", False)
    a, b = tensor(device, 1), tensor(device, 2)
    trace, _result = captured(device, mlp, a, b)
    with caplog.at_level(logging.WARNING, "ttnn"):
        kept = [ttnn.exp(a) for _ in range(4)]
        ttnn.execute_trace(device, trace)
    first, second = [record.getMessage() for record in caplog.records]
    assert first.startswith("Allocating device buffers is potentially unsafe due to the existence of an active trace.")
    assert "allocated after its capture" in second
    monkeypatch.setenv("TT_METAL_TRACE_ALLOC_TRACKING", "1")
    other, _other_result = captured(device, mlp, a, b)
    kept += [ttnn.exp(a) for _ in range(4)]
    with pytest.raises(RuntimeError, match="overwrites"):
        ttnn.execute_trace(device, other)


def test_program_cache(device: Any) -> None:
    device.clear_program_cache()
    a, b = tensor(device, 1, (32, 32)), tensor(device, 2, (32, 32))
    calls = [lambda: ttnn.exp(a), lambda: ttnn.add(a, b), lambda: ttnn.matmul(a, b)]
    order = random.Random(0)
    for _ in range(60):
        order.choice(calls)()
    assert device.num_program_cache_entries() == 3
    ttnn.exp(tensor(device, 1))  # compiled for any shape
    assert device.num_program_cache_entries() == 3
    ttnn.softmax(a, -1)
    assert device.num_program_cache_entries() == 4
    device.set_program_cache_misses_allowed(False)
    try:
        calls[0]()
        with pytest.raises(RuntimeError, match="cache miss"):
            ttnn.softmax(tensor(device, 1, (96, 32)), -1)
    finally:
        device.set_program_cache_misses_allowed(True)
    device.disable_and_clear_program_cache()
    try:
        calls[0]()
        assert device.num_program_cache_entries() == 0
    finally:
        device.enable_program_cache()


def test_programs_that_read_positions_are_cached_once(device: Any) -> None:
    """They are priced by where the positions point; the real cache does not look there, and a capture has no values to look at."""
    q = ttnn.ones((1, 2, 8, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    k = ttnn.ones((2, 1, 2048, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

    def kernel_ns() -> float:
        return {op: ns for op, _, ns in device.clock_by_op()}["sdpa_decode"]

    def attention(positions: Any) -> tuple[Any, float]:
        device.clock_reset()
        result = ttnn.transformer.scaled_dot_product_attention_decode(q, k, k, cur_pos_tensor=positions)
        return result, 0.0 if ttnn.is_trace_capture_active(device) else kernel_ns()

    places = [ttnn.from_torch(torch.tensor([place, place], dtype=torch.int32), device=device) for place in (3, 2000)]
    device.clear_program_cache()
    (_, near), (_, far) = map(attention, places)
    assert near < far and device.num_program_cache_entries() == 1
    for place, ns in zip(places, (near, far), strict=True):  # a replay takes what the call before the capture took
        attention(ttnn.clone(place))
        trace = ttnn.begin_trace_capture(device)
        result, _ = attention(ttnn.clone(place))
        ttnn.end_trace_capture(device, trace)
        device.clock_reset()
        ttnn.execute_trace(device, trace)
        assert result.shape == q.shape and device.num_program_cache_entries() == 2
        assert kernel_ns() == ns
        ttnn.release_trace(device, trace)
    ttnn.transformer.scaled_dot_product_attention_decode(q, k, k, cur_pos=[3, 2000])
    assert device.num_program_cache_entries() == 3


def test_wall_times_of_a_call(device: Any) -> None:
    """As on the clock, which starts anew before and after, also where the call fails."""
    x = ttnn.ones([64, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)

    def twice() -> None:
        ttnn.multiply(ttnn.add(x, x), x)

    twice()
    device.clock_reset()
    twice()
    clock = device.clock_read()
    assert (clock["ops"], clock["device_ns"] > 0, clock["eager_ns"] > clock["device_ns"]) == (2, True, True)
    assert session.wall_times(twice) == (clock["device_ns"], clock["eager_ns"])
    assert device.clock_read()["ops"] == 0
    with pytest.raises(ZeroDivisionError):
        session.wall_times(lambda: (twice(), 1 / 0))
    assert device.clock_read()["ops"] == 0


def test_what_a_capture_under_way_refuses(device: Any) -> None:
    x = ttnn.ones([64, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.add(x, x)
    first = ttnn.begin_trace_capture(device, cq_id=0)
    ttnn.add(x, x)
    ttnn.end_trace_capture(device, first, cq_id=0)
    second = ttnn.begin_trace_capture(device, cq_id=0)
    assert int(second) == int(first) + 1
    with pytest.raises(RuntimeError, match="Traces cannot be executed during trace capture"):
        ttnn.execute_trace(device, first)
    with pytest.raises(RuntimeError, match=f"CQ 1 is not being used for tracing tid {int(second)}"):
        ttnn.end_trace_capture(device, second, cq_id=1)
    with pytest.raises(RuntimeError, match=f"CQ 0 is not being used for tracing tid {int(first)}"):
        ttnn.end_trace_capture(device, first, cq_id=0)
    with pytest.raises(RuntimeError, match=f"CQ 0 is already being used for tracing tid {int(second)}"):
        ttnn.begin_trace_capture(device, cq_id=0)
    assert ttnn.is_trace_capture_active(device)
    ttnn.end_trace_capture(device, second, cq_id=0)
    assert not ttnn.is_trace_capture_active(device)
    ttnn.execute_trace(device, first)
    ttnn.release_trace(device, first)
    with pytest.raises(RuntimeError, match=f"Trace instance {int(first)} must exist"):
        ttnn.execute_trace(device, first)
    with pytest.raises(RuntimeError, match=f"Trace instance {int(first)} must exist"):
        ttnn.release_trace(device, first)

"""A trace by hand: warm-up, capture, replays on other inputs, release; each replay against the plain call.

python -m ttnn_shim run examples/trace/trace.py
"""

import torch
import ttnn


def layer(hidden, weight):
    return ttnn.gelu(ttnn.linear(ttnn.rms_norm(hidden), weight))


def on_host(values):
    return ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)


def main():
    torch.manual_seed(0)
    device = ttnn.open_device(device_id=0, trace_region_size=1 << 20)
    weight = ttnn.to_device(on_host(torch.randn(256, 256) / 16), device)
    slot = ttnn.to_device(on_host(torch.zeros(128, 256)), device)
    batches = [on_host(torch.randn(128, 256)) for _ in range(3)]
    expected = [ttnn.to_torch(layer(ttnn.to_device(batch, device), weight)) for batch in batches]  # also the warm-up

    trace = ttnn.begin_trace_capture(device, cq_id=0)
    output = layer(slot, weight)
    ttnn.end_trace_capture(device, trace, cq_id=0)

    for number, (batch, values) in enumerate(zip(batches, expected, strict=True)):
        ttnn.copy_host_to_device_tensor(batch, slot)
        ttnn.execute_trace(device, trace, cq_id=0, blocking=False)
        assert torch.equal(ttnn.to_torch(output), values)
        print(f"batch {number}: the replay equals the plain call")
    ttnn.release_trace(device, trace)
    ttnn.close_device(device)


if __name__ == "__main__":
    main()

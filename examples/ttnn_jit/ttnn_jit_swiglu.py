"""A SwiGLU tail three ways: plain TT-NN, decorated with `@ttnn_jit.jit()`, and with one fused program; each with its device time.

python -m ttnn_shim run examples/ttnn_jit/ttnn_jit_swiglu.py
"""

import torch
import ttnn
import ttnn_jit

DRAM = ttnn.DRAM_MEMORY_CONFIG


def swiglu(gate, up):
    limited = ttnn.clamp(gate, min=-7.0, max=7.0)
    return ttnn.multiply(ttnn.add(up, 1.0), ttnn.multiply(limited, ttnn.sigmoid(ttnn.multiply(limited, 1.702))))


def timed(device, function, *tensors):
    device.clock_reset()
    result = function(*tensors)
    clock = device.clock_read()
    return ttnn.to_torch(result), clock["device_ns"] / 1000, clock["ops"]


def main():
    torch.manual_seed(0)
    device = ttnn.open_device(device_id=0)
    gate, up = (ttnn.from_torch(torch.randn(1024, 2880), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device) for _ in range(2))
    expected, *_ = timed(device, swiglu, gate, up)
    ways = {
        "plain TT-NN": swiglu,
        "@ttnn_jit.jit()": ttnn_jit.jit(memory_config=DRAM)(swiglu),
        "with elementwise fusion": ttnn_jit.jit(memory_config=DRAM, extra_pipeline_options="enable-elementwise-fusion=true")(swiglu),
    }
    for name, function in ways.items():
        result, device_us, programs = timed(device, function, gate, up)
        assert torch.equal(result, expected)
        print(f"{name:24} {device_us:8.1f} us, {programs} programs, values equal")
    ttnn.close_device(device)


if __name__ == "__main__":
    main()

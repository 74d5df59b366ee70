"""`ttnn_shim.replay`: addresses of a sequence of calls."""

from __future__ import annotations

from ttnn_shim.queries import Memory, Record, Spec
from ttnn_shim.replay import Replay


def test_a_convolution_holds_its_halo_until_the_result_is_moved() -> None:
    """Addresses of the real wheel (0.81.1): a window of ResNet-50's first stage, from L1 to L1."""
    device = Replay("n150", 1 << 15)
    source = device.tensor(Spec((1, 1, 50176, 64), "bfloat16", "tile", Memory("L1")))
    weight = device.tensor(Spec((1, 1, 576, 64), "bfloat16", "tile"))
    made = device.call(
        "ttnn.conv2d",
        [],
        input_tensor=source,
        weight_tensor=weight,
        in_channels=64,
        out_channels=64,
        batch_size=16,
        input_height=56,
        input_width=56,
        kernel_size=(3, 3),
        padding=(1, 1),
        conv_config=Record("Conv2dConfig", (("weights_dtype", "BFLOAT16"),)),
        memory_config=Memory("L1"),
    )[0]
    assert made is not None
    assert (device.address(source), device.address(made)) == (1366016, 1027072)
    device.free(source)
    device.free(weight)
    device.free(made)
    device.close()

"""Four programs, compiled apart, that pass tensors to each other on the device: encoder and head, prefill and decode.

    python stitching.py [DIRECTORY]

The encoder and the head are two exports. The prefill is a `.ttnn` binary, the decode an export; both write the same cache, which
stays on the device. No tensor goes through the host between programs: the calls that copy are counted, and end at zero.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import alchemist
from alchemist import cli, codegen_py

TOKENS, POSITIONS, WIDTH = 32, 64, 64


class Encoder(torch.nn.Module):
    """bfloat16: [32, 64] -> [32, 128]."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(self.up(x))


class Head(torch.nn.Module):
    """float32: [32, 128] -> [32, 10]. Another dtype than the encoder's: somebody has to convert, and it is seen where."""

    def __init__(self) -> None:
        super().__init__()
        self.out = torch.nn.Linear(2 * WIDTH, 10)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.out(hidden), -1)


class Attention(torch.nn.Module):
    """One head of attention over a cache of 64 positions, which the caller owns and the program writes."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def attend(self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = self.query(x) @ keys.transpose(-1, -2) / math.sqrt(WIDTH)
        return torch.softmax(scores.masked_fill(~mask, -1e4), -1) @ values


class Prefill(Attention):
    """The first 32 positions at once."""

    def forward(self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        keys[:, :, :TOKENS] = self.key(x)
        values[:, :, :TOKENS] = self.value(x)
        mask = torch.arange(POSITIONS)[None, :] <= torch.arange(TOKENS)[:, None]
        return self.attend(x, keys, values, mask)


class Decode(Attention):
    """One position more."""

    def forward(self, x: torch.Tensor, position: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        keys.index_copy_(2, position, self.key(x))
        values.index_copy_(2, position, self.value(x))
        return self.attend(x, keys, values, torch.arange(POSITIONS)[None, :] <= position)


COPIES = ("from_torch", "to_torch", "from_device", "to_device")


@contextlib.contextmanager
def counted(ttnn: Any) -> Iterator[list[str]]:
    """The calls of the block that copy between host and device."""
    calls: list[str] = []
    originals: dict[str, Callable[..., Any]] = {name: getattr(ttnn, name) for name in COPIES}
    for name, original in originals.items():
        setattr(ttnn, name, lambda *args, _name=name, _call=original, **kwargs: calls.append(_name) or _call(*args, **kwargs))
    try:
        yield calls
    finally:
        for name, original in originals.items():
            setattr(ttnn, name, original)


def simulated_us(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call, and the microseconds that the simulated device needs for it."""
    from ttnn_shim import session

    session.begin_forward()
    result = call()
    return result, session.end_forward()["device_ns"] / 1000


def encoder_and_head(folder: Path) -> int:
    """Two exports. Returns the number of copies through the host."""
    encoder, head = Encoder().eval().bfloat16(), Head().eval()
    x = torch.randn(TOKENS, WIDTH)
    codegen_py(encoder, x.bfloat16(), export_path=folder / "encoder", export_golden="none")
    codegen_py(head, torch.randn(TOKENS, 2 * WIDTH), export_path=folder / "head", export_golden="none")
    with alchemist.load(folder / "encoder") as first, alchemist.load(folder / "head") as second:
        print("encoder wants", *first.inputs, "; head wants", *second.inputs)
        on_device = first.to_layout(x, 0)
        with counted(first.ttnn) as copies:
            (hidden,), first_us = simulated_us(lambda: first.submit([on_device]))
            converted, conversion_us = simulated_us(lambda: second.to_layout(hidden, 0))
            (probabilities,), second_us = simulated_us(lambda: second.submit([converted]))
        found = first.ttnn.to_torch(probabilities)
        print(f"encoder {first_us:.1f} us, to_layout (bfloat16 -> float32) {conversion_us:.1f} us, head {second_us:.1f} us (simulated)")
        print(f"copies through the host: {len(copies)}")
        report("probabilities", found, head(encoder(x.bfloat16()).float()))
    return len(copies)


def prefill_and_decode(folder: Path, steps: int = 3) -> int:
    """A binary and an export that share a cache. Returns the number of copies through the host."""
    prefill, decode = Prefill().eval(), Decode().eval()
    decode.load_state_dict(prefill.state_dict())
    prompt, tokens = torch.randn(1, 1, TOKENS, WIDTH), torch.randn(steps, 1, 1, 1, WIDTH)
    cache = [torch.zeros(1, 1, POSITIONS, WIDTH) for _ in range(2)]
    codegen_py(prefill, prompt, *cache, export_path=folder / "prefill", export_golden="none")
    codegen_py(decode, tokens[0], torch.tensor([TOKENS]), *cache, export_path=folder / "decode", export_golden="none")
    text = next((folder / "prefill" / "irs").glob("*_ttnn.mlir"))
    cli.main(["translate", "--ttnn-to-flatbuffer", str(text), "-o", str(folder / "prefill.ttnn")])
    with alchemist.load(folder / "prefill.ttnn", weights=folder / "prefill" / "tensors") as first, alchemist.load(folder / "decode") as second:
        state = {"x": prompt, "keys": cache[0], "values": cache[1]}
        on_device = [first.to_layout(state[spec.name], spec) for spec in first.inputs]
        held = {spec.name: tensor for spec, tensor in zip(first.inputs, on_device, strict=True)}
        inputs = [[second.to_layout(token, "x"), second.to_layout(torch.tensor([TOKENS + step]), "position")] for step, token in enumerate(tokens)]
        with counted(first.ttnn) as copies:
            first.submit(on_device)
            results = [second.submit([*given, held["keys"], held["values"]]) for given in inputs]
        print(f"prefill of {TOKENS} tokens and {steps} steps of decoding over one cache; copies through the host: {len(copies)}")
        prefill(prompt, *cache)
        for step, token in enumerate(tokens):
            wanted = decode(token, torch.tensor([TOKENS + step]), *cache)
            report(f"step {step}", first.ttnn.to_torch(results[step][[spec.name for spec in second.outputs].index("output")]), wanted)
    return len(copies)


def report(name: str, found: torch.Tensor, wanted: torch.Tensor) -> None:
    pcc = torch.corrcoef(torch.stack([found.float().flatten(), wanted.detach().float().flatten()]))[0, 1]
    print(f"{name}: PCC {pcc:.5f}")
    if not pcc > 0.99:
        sys.exit(f"{name} is wrong")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("stitching_result"))
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    with torch.no_grad():
        copies = encoder_and_head(folder) + prefill_and_decode(folder)
    return int(copies > 0)


if __name__ == "__main__":
    sys.exit(main())

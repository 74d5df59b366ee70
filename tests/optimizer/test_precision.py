"""`precision`: bfloat16, bfp8, bfp8_lofi."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from alchemist import codegen_py
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture, detect_framework
from tests import running


class Block(torch.nn.Module):
    """Attention and an MLP with residuals."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def convolutions() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Conv2d(8, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 16, 1))


class Bottlenecks(torch.nn.Module):
    """Convolutions around residual sums."""

    def __init__(self, wide: int = 64, narrow: int = 32) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(8, wide, 3, padding=1)
        self.down = torch.nn.ModuleList(torch.nn.Conv2d(wide, narrow, 1) for _ in range(2))
        self.window = torch.nn.ModuleList(torch.nn.Conv2d(narrow, narrow, 3, padding=1) for _ in range(2))
        self.up = torch.nn.ModuleList(torch.nn.Conv2d(narrow, wide, 1) for _ in range(2))
        self.head = torch.nn.Conv2d(wide, 16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x).relu()
        for down, window, up in zip(self.down, self.window, self.up, strict=True):
            x = (x + up(window(down(x).relu()).relu())).relu()
        return self.head(x)


class Masked(torch.nn.Module):
    """Two attentions with one mask over the columns; bias: added to it, so that it has more than two values."""

    def __init__(self, masked: float = -1e9, bias: float = 0.0) -> None:
        super().__init__()
        self.masked, self.bias = masked, bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.reshape(2, 64, 4, 32).transpose(1, 2)
        mask = torch.where(x[:, None, None, :, 0] > -0.5, 0.0, self.masked).to(x.dtype)
        if self.bias:
            mask = mask + self.bias * x[:, None, None, :, 1]
        for _ in range(2):
            heads = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask)
        return heads


class LowestFill(torch.nn.Module):
    """A position bias filled with the lowest number of the dtype where keys are hidden, as in T5: float32's is -inf in bfloat16."""

    def __init__(self, stored: bool = True) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(32)) if stored else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.reshape(2, 32, 2, 32).transpose(1, 2)
        bias = torch.where(x[:, None, None, :, 0] > -0.5, x[:, None, None, :, 1] if self.bias is None else self.bias, torch.finfo(x.dtype).min)
        return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=bias)


# model, input, precision, level, what the program has and has not, how often bfloat8_b is spelled at least
CASES = {
    "bfloat16": (Block, (2, 32, 64), "bfloat16", 0, ("x [2, 32, 64] bfloat16 (float32 in the model)",), ("bfloat8_b", "LoFi")),
    "bfp8": (Block, (2, 32, 64), "bfp8", 0, ("dtype=ttnn.bfloat8_b", "dtype=ttnn.bfloat16", "MathFidelity.HiFi2"), ("LoFi",)),
    "bfp8_lofi": (Block, (2, 32, 64), "bfp8_lofi", 2, ("dtype=ttnn.bfloat8_b", "MathFidelity.LoFi"), ()),
    "images": (Bottlenecks, (1, 8, 32, 32), "bfp8", 0, ("dtype=ttnn.bfloat8_b", "dtype=ttnn.bfloat16", "MathFidelity.HiFi2"), ("LoFi",)),
    "images on shards": (Bottlenecks, (2, 8, 32, 32), "bfp8_lofi", 2, ("dtype=ttnn.bfloat8_b", "MathFidelity.LoFi"), ()),
    "a mask": (Masked, (2, 64, 128), "bfp8", 0, ("mask = ttnn.typecast(mask, ttnn.bfloat4_b",), ()),
    "a mask with a bias": (lambda: Masked(bias=0.1), (2, 64, 128), "bfp8", 0, ("attn_mask=mask",), ("bfloat8_b", "bfloat4_b")),
    "the lowest number": (LowestFill, (2, 32, 64), "bfloat16", 0, ("ttnn.where(", "attn_mask="), ("ttnn.maximum(",)),
    "infinities": (lambda: Masked(-math.inf), (2, 64, 128), "bfp8", 0, ("attn_mask=mask",), ("bfloat8_b", "bfloat4_b")),
    "convolutions": (convolutions, (1, 8, 32, 32), "bfp8_lofi", 1, ("weights_dtype=ttnn.bfloat8_b", "MathFidelity.LoFi"), ()),
}


@pytest.mark.parametrize("name", CASES)
def test_precision(name: str, tmp_path: Path) -> None:
    make, shape, precision, level, parts, absent = CASES[name]
    torch.manual_seed(0)
    codegen_py(make().eval(), torch.randn(shape), export_path=tmp_path / "out", compiler_options={"precision": precision, "optimization_level": level})
    text = (tmp_path / "out/main.py").read_text()
    for part in parts:
        assert part in text, text
    for part in absent:
        assert part not in text, text
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("build", [Block, Bottlenecks, LowestFill, lambda: LowestFill(stored=False)], ids=["attention", "images", "bias", "mask"])
def test_bfloat16_is_the_program_of_the_model_in_bfloat16(build: Callable[[], torch.nn.Module]) -> None:
    shape = (1, 8, 32, 32) if build is Bottlenecks else (2, 32, 64)
    programs = []
    for dtype, options in ((torch.float32, {"precision": "bfloat16"}), (torch.bfloat16, {})):
        model, args = build().eval().to(dtype), (torch.zeros(shape, dtype=dtype),)
        lowered = lower_to_ttnn(capture(model, args, {}, "torch").module, CompilerOptions.parse(options)).module
        programs.append([(op.name, [str(value.type) for value in op.results]) for func in functions(lowered) for op in func.body.block.ops])
    assert programs[0] == programs[1]


class Positions(torch.nn.Module):
    """A wave of positions that bfloat16 cannot tell apart, and rows of a table at half of them."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(600, 16)

    def forward(self, position: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(position.float()[:, None] * x.new_ones(16)) + self.table((position.float() / 2).floor().long()) + torch.sin(x @ self.table.weight[:16])


def test_angles_and_indices_keep_float32(tmp_path: Path) -> None:
    """513 and 514 are one number in bfloat16; their sines differ by 1.4."""
    model, args = Positions().eval(), (torch.tensor([513, 514, 515, 1021]), torch.randn(4, 16))
    codegen_py(model, *args, export_path=tmp_path / "out", compiler_options={"precision": "bfloat16"})
    text = (tmp_path / "out/main.py").read_text()
    assert "x [4, 16] bfloat16 (float32 in the model)" in text and "position [4] int32 (int64 in the model)" in text
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


WINDOWS = {
    "short": (lambda: torch.nn.Conv2d(32, 64, 3, padding=1), (1, 32, 16, 16), False),
    "pointwise": (lambda: torch.nn.Conv2d(256, 64, 1), (1, 256, 16, 16), False),
    "just short of long": (lambda: torch.nn.Conv2d(56, 32, 3, padding=1), (1, 56, 16, 16), False),
    "long": (lambda: torch.nn.Conv2d(57, 32, 3, padding=1), (1, 57, 16, 16), True),
    "long, pointwise": (lambda: torch.nn.Conv2d(512, 64, 1), (1, 512, 16, 16), True),
    "long, transposed": (lambda: torch.nn.ConvTranspose2d(512, 32, 2, stride=2), (1, 512, 8, 8), True),
    "long, of groups": (lambda: torch.nn.Conv2d(114, 64, 3, padding=1, groups=2), (1, 114, 16, 16), True),
    "long, of a line": (lambda: torch.nn.Conv1d(512, 32, 5, padding=2), (1, 512, 64), True),
}


@pytest.mark.parametrize("level", [0, pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("dtype", [torch.bfloat16, pytest.param(torch.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WINDOWS)
def test_convolutions_have_one_arithmetic_at_all_levels(name: str, dtype: torch.dtype, level: int) -> None:
    """conv2d's own fidelity is HiFi4, also where a product or a choice of configs stands for it; long bfloat16 sums are 32 bits wide."""
    build, size, long = WINDOWS[name]
    model, args = build().eval().to(dtype), (torch.zeros(size, dtype=dtype),)
    module = capture(model, args, {}, detect_framework(model, args, {})).module
    lowered = lower_to_ttnn(module, CompilerOptions.parse({"arch": "n150", "optimization_level": level})).module
    ops = [op for func in functions(lowered) if not is_const_eval(func) for op in func.body.block.ops]
    (window,) = [op for op in ops if op.name in ("ttnn.conv2d", "ttnn.conv_transpose2d", "ttnn.linear", "ttnn.matmul")]
    config = access.attr(window, "compute_config")
    if dtype == torch.float32:  # both are products of TF32
        assert config is None or config["fp32_dest_acc_en"]
        return
    if window.name in ("ttnn.linear", "ttnn.matmul"):
        assert config is not None, "a product's own fidelity is HiFi2"
    assert config is None or config["math_fidelity"] == "hifi4"
    assert bool(config and config.get("fp32_dest_acc_en")) == long


@pytest.mark.parametrize("options", [{"fp32_dest_acc_en": False}, {"precision": "bfp8_lofi"}], ids=str)
def test_long_sums_of_16_bits_are_a_choice(options: dict[str, object]) -> None:
    build, size, _ = WINDOWS["long"]
    args = (torch.zeros(size, dtype=torch.bfloat16),)
    model = build().eval().to(torch.bfloat16)
    module = capture(model, args, {}, detect_framework(model, args, {})).module
    lowered = lower_to_ttnn(module, CompilerOptions.parse({"arch": "n150", **options})).module
    (window,) = [op for func in functions(lowered) for op in func.body.block.ops if op.name == "ttnn.conv2d"]
    assert access.attr(window, "compute_config")["fp32_dest_acc_en"] is False


def test_windows_side_by_side_read_no_shards() -> None:
    """conv2d folds them into channels first, and ttnn 0.81.1 refuses that on shards; other windows of the same image stay there."""
    model = torch.nn.Sequential(*(torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(3)), torch.nn.Conv2d(64, 64, 4, stride=4)).eval().to(torch.bfloat16)
    args = (torch.zeros(1, 64, 64, 64, dtype=torch.bfloat16),)
    module = capture(model, args, {}, detect_framework(model, args, {})).module
    lowered = lower_to_ttnn(module, CompilerOptions.parse({"arch": "n150", "optimization_level": 2})).module
    windows = [op for func in functions(lowered) if not is_const_eval(func) for op in func.body.block.ops if op.name == "ttnn.conv2d"]
    memories = [layout.data.memory for op in windows if (layout := layout_of(op.operands[0].type)) is not None]
    assert memories[-1] == "interleaved", memories
    assert "height_sharded" in memories[:-1], memories


class Cached(torch.nn.Module):
    """A step of attention over a static cache. read: something else reads the keys, too."""

    def __init__(self, read: bool = False, dtype: torch.dtype = torch.bfloat16) -> None:
        super().__init__()
        self.read = read
        self.register_buffer("keys", torch.zeros(1, 2, 64, 32, dtype=dtype))
        self.register_buffer("values", torch.zeros(1, 2, 64, 32, dtype=dtype))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        query, key, value = x.chunk(3)
        self.keys.index_copy_(2, position, key)
        self.values.index_copy_(2, position, value)
        mask = torch.where(torch.arange(64)[None, None, None] <= position, 0.0, -1e9).to(x.dtype)
        out = torch.nn.functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)
        return out + self.keys.amax() if self.read else out


@pytest.mark.parametrize(
    ("model", "options", "dtype"),
    [
        (Cached(), {}, "bf16"),
        (Cached(), {"experimental_kv_cache_dtype": "bfp_bf8"}, "bfp_bf8"),
        (Cached(), {"experimental-kv-cache-dtype": "bfp_bf8", "optimization_level": 2}, "bfp_bf8"),
        (Cached(), {"precision": "bfp8"}, "bfp_bf8"),
        (Cached(), {"precision": "bfloat16"}, "bf16"),
        (Cached(read=True), {"experimental_kv_cache_dtype": "bfp_bf8"}, "bf16"),
        (Cached(dtype=torch.float32), {"experimental_kv_cache_dtype": "bfp_bf8"}, "f32"),
    ],
    ids=["as the model", "asked for", "at level 2", "with narrow products", "bfloat16 alone", "read by another op", "float32"],
)
def test_types_of_caches(model: Cached, options: dict[str, object], dtype: str) -> None:
    """Caches of keys and values that only attention reads are held as asked for, both alike; any other keeps its type."""
    args = (torch.zeros(3, 2, 1, 32, dtype=model.keys.dtype), torch.tensor([3]))
    module = capture(model.eval(), args, {}, detect_framework(model, args, {})).module
    lowered = lower_to_ttnn(module, CompilerOptions.parse({"arch": "n150", **options})).module
    (forward,) = [func for func in functions(lowered) if not is_const_eval(func)]
    caches = [argument for argument in forward.args if access.shape(argument) == (1, 2, 64, 32)]
    assert [layout.dtype for cache in caches if (layout := layout_of(cache.type)) is not None] == [dtype] * 2
    assert [str(kind) for kind in forward.function_type.inputs] == [str(argument.type) for argument in forward.args]

"""What a reader of an emitted program looks for: roles instead of layer names, and a comment where a line is not the source's."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import emit_py
from alchemist.frontends.base import Argument
from alchemist.frontends.torch import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program, model
from alchemist.program.graph import TensorType, Value
from alchemist.program.prepared_facts import weight_count
from alchemist.program.statements import Body

WIDTH, HEADS, TOKENS = 128, 2, 32


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        query, key, value = self.c_attn(hidden).split(WIDTH, dim=2)
        query, key, value = (one.view(1, TOKENS, HEADS, -1).transpose(1, 2) for one in (query, key, value))
        context = nn.functional.scaled_dot_product_attention(query, key, value)
        return context.transpose(1, 2).reshape(1, TOKENS, WIDTH)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = SelfAttention()

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.inner(hidden)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.dense = Attention(), nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        attended = self.attention(hidden)
        return hidden + nn.functional.gelu(self.dense(attended))


class Pooler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        first_token = hidden[:, 0]
        pooled = self.dense(first_token)
        return torch.sigmoid(pooled)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.pooler, self.score = Pooler(), nn.Linear(WIDTH, 8192)
        self.register_buffer("offset", torch.ones(WIDTH))

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        hidden = self.table(tokens) + self.offset
        for block in self.blocks:
            hidden = block(hidden)
        pooled = self.pooler(hidden)
        return hidden, pooled, self.score(pooled)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Of level 2."""
    torch.manual_seed(0)
    result = capture(Reader().eval(), (torch.arange(TOKENS).reshape(1, TOKENS),), {})
    options = CompilerOptions(optimization_level=2)
    return emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))


SAID = {
    "buffers are no parameters": "Model     torch Reader, 13 parameter tensors, 1 buffer\n",
    "a module without a function": "    inlined: Attention in block\n",
    "a function's method and line": '"""SelfAttention.forward, line ',
    "numbers of heads": "num_heads=NUM_HEADS,",
    "query, key and value beside each other": "qkv = ttnn.linear(",
    "the config is called after them": "program_config=QKV_MATMUL,",
    "why the source's reshape does almost nothing": "# output_concat_heads has joined the heads already: this drops the axis of size 1\n    return ttnn.reshape(",
    "the only product without a config": "# no program_config: none that was tried is clearly faster than TT-NN's own choice\n",
    "an activation that runs by itself": "# activation: sigmoid runs as an op of its own after the product: alchemist sets fused_activation",
    "a weight is no tensor in L1": "Memory    weights, inputs and outputs are in DRAM; ",
    "what a time is compared with": "Times     simulated, of one call; unoptimized: without program_config, a fused activation as an op of its",
    "a config that TT-NN would take anyway": "with a bfloat16 result, with or without a program_config; written out so that you can edit it.",
    "the form of an activation": "GELU's parameter 0.0: the exact form; 1.0 would be the approximation",
}


def test_a_reader_finds(files: dict[str, str]) -> None:
    text = files["main.py"].replace("\n# ", " ")  # comments of several lines
    missing = [what for what, said in SAID.items() if said not in text]
    assert not missing, text


class Norm(nn.LayerNorm):
    """A class of the model's own."""


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_of_queries, self.norm_of_keys, self.norm_of_values = Norm(WIDTH), Norm(WIDTH), Norm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = torch.exp(self.norm_of_queries(torch.exp(self.norm_of_keys(torch.exp(self.norm_of_values(x))))))
        return scaled * torch.tensor([0.5, 1.0, 4.0, 2.0]).reshape(4, 1, 1)


def test_norms_name_their_class_and_constants_their_values() -> None:
    result = capture(Normed().eval(), (torch.rand(1, TOKENS, WIDTH),), {})
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, CompilerOptions()).module, result))["main.py"]
    assert '"""Norm: Layer norm of x, with the weights of one module."""' in text
    assert ": the constants 0.5, 1.0, 4.0, 2.0\n" in text, text


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn, self.dense = nn.Linear(WIDTH, 3 * WIDTH), nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        queries, keys, values = self.c_attn(hidden).split(WIDTH, dim=2)
        queries, keys, values = (one.view(1, TOKENS, HEADS, -1).transpose(1, 2) for one in (queries, keys, values))
        context = nn.functional.scaled_dot_product_attention(queries, keys, values)
        for dense in self.dense:
            hidden = hidden + torch.tanh(dense(hidden))
        return hidden + context.transpose(1, 2).reshape(1, TOKENS, WIDTH), keys, values


def test_outputs_among_several_results_are_named() -> None:
    typical = TensorType((), config=model.MemoryConfig("l1"))
    results = [Value(TensorType((1, 2, 32, 64)), returned=returned) for returned in (False, True, True)]
    body = SimpleNamespace(_names=dict(zip(map(id, results), ("query", "keys", "values"), strict=True)), _context=SimpleNamespace(typical=typical))

    def note(count: int) -> str:
        return Body._shape_note(body, SimpleNamespace(results=results[-count:], arguments=()))  # type: ignore[arg-type]

    assert note(3) == "3 x [1, 2, 32, 64] in DRAM: keys, values are program outputs"
    assert note(2) == "2 x [1, 2, 32, 64] in DRAM: program outputs"
    assert note(1) == "[1, 2, 32, 64] in DRAM: a program output"


def test_casts_before_attention() -> None:
    """Query, key and value have names of one kind; the outputs that are not cast are named."""
    result = capture(Cached().eval(), (torch.rand(1, TOKENS, WIDTH),), {})
    options = CompilerOptions()
    program = build_program(lower_to_ttnn(result.module, options).module, result, options)
    text = emit_py.emit(program)["main.py"]
    assert re.findall(r"(\w+) = ttnn\.typecast\((\w+), ttnn\.bfloat16", text) == [("query", "queries"), ("key", "keys"), ("value", "values")]
    assert "keys and values stay float32: they are program outputs" in re.sub(r"\s+(# )?", " ", text)


def test_a_partial_sum_has_no_name_of_the_sum() -> None:
    result = capture(nn.Embedding(30000, 64).eval(), (torch.arange(TOKENS).reshape(1, TOKENS),), {})
    options = CompilerOptions()
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["main.py"]
    assert re.search(r"high_and_middle = ttnn\.add\(\s+high_rows, middle_rows, dtype=ttnn\.float32", text)
    assert "return ttnn.add(high_and_middle, low_rows" in text


def test_weights_are_counted_by_kind() -> None:
    def argument(name: str, kind: str, *, buffer: bool = False) -> Argument:
        return Argument(name, kind, (1,), "float32", lambda: np.zeros(1), buffer=buffer)  # type: ignore[arg-type]

    two = [argument("a", "parameter"), argument("b", "parameter"), argument("x", "input")]
    assert weight_count(two) == ", 2 parameter tensors"
    assert weight_count([two[0], two[0], argument("c", "parameter", buffer=True)]) == ", 1 parameter tensor, 1 buffer"
    assert weight_count([two[2]]) == ""


class Rotary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Embedding(2 * TOKENS, WIDTH)
        self.register_buffer("inv_freq", torch.rand(1, WIDTH))
        self.register_buffer("positions", torch.arange(TOKENS, dtype=torch.float32)[:, None])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        freqs = self.inv_freq * self.positions
        cos, sin = freqs.cos(), freqs.sin()
        return x * cos + sin + self.places(torch.arange(TOKENS))


def test_const_eval_names_values_as_the_source_does() -> None:
    result = capture(Rotary().eval(), (torch.rand(TOKENS, WIDTH),), {})
    options = CompilerOptions()
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["consteval.py"]
    assert "freqs = ttnn.multiply(" in text and "ttnn.cos(freqs" in text and "ttnn.sin(freqs" in text
    assert "# the indices of this look-up are constants at export: a slice of the table\n" in text
    assert "qkv" not in text, "only weights of this program"


def test_parts_of_a_table_are_computed_once() -> None:
    """In one chain, whose names say what is left; not from the beginning for each part."""
    result = capture(nn.Embedding(30000, 64).eval(), (torch.arange(TOKENS).reshape(1, TOKENS),), {})
    options = CompilerOptions()
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["consteval.py"]
    assert re.findall(r"(\w+) = ttnn\.(clamp|subtract)\(", text) == [("clamped", "clamp"), ("rest", "subtract"), ("clamped", "clamp"), ("low", "subtract")]
    assert "min=BFLOAT16_LOWEST, max=BFLOAT16_MAX" in text


def test_a_convolution_of_patches_says_what_becomes_of_pixels_and_weight() -> None:
    options = CompilerOptions(optimization_level=2)
    result = capture(nn.Sequential(nn.Conv2d(3, 32, 16, stride=16), nn.Flatten(2)).eval(), (torch.rand(1, 3, 64, 64),), {})
    text = emit_py.emit(build_program(lower_to_ttnn(result.module, options).module, result, options))["main.py"]
    assert "0.weight_t: 0.weight, axes in the order 0, 3, 1, 2, flattened to a matrix and transposed\n" in text  # as ttnn.fold lays pixels
    body = text.partition('"""\n\nimport')[2]
    assert body.index("the pixels of each patch become a row") < body.index("ttnn.fold(")

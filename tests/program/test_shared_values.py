"""Values that several modules read, and what the program returns besides: where they are made and how they are called."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from alchemist.program.header import header_lines
from tests import running


class CrossAttention(nn.Module):
    """A layer of a decoder; every one makes the same mask."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, hidden: torch.Tensor, memory: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        q, k, v = (layer(x).view(2, -1, 2, 32).transpose(1, 2) for layer, x in ((self.q, hidden), (self.k, memory), (self.v, memory)))
        closed = torch.where(kept[:, None, None, :], 0.0, -1e9).expand(-1, 1, hidden.shape[1], -1)
        heads = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=closed)
        return hidden + self.o(heads.transpose(1, 2).reshape(2, -1, 64))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.norm = nn.Embedding(32, 64), nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(tokens)
        return self.norm(hidden + self.down(torch.relu(self.up(hidden))))


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.layers = nn.ModuleList(CrossAttention() for _ in range(3))

    def forward(self, tokens: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        memory = self.encoder(tokens)
        for layer in self.layers:
            hidden = layer(hidden, memory, tokens > 3)
        return hidden, memory


INPUTS = (torch.arange(64).reshape(2, 32) % 32, torch.linspace(-1.0, 1.0, 2 * 8 * 64).reshape(2, 8, 64))


def program(module: nn.Module, *inputs: torch.Tensor) -> model.Program:
    result = capture(module.eval(), inputs, {}, "torch")
    options = CompilerOptions()
    return build_program(lower_to_ttnn(result.module, options).module, result, options)


def test_what_is_returned_besides_does_not_make_the_first_layer_another_one() -> None:
    """The encoder works on all rows; only the output needs samples, and no layer has to hand them back."""
    made = program(Translator(), *INPUTS)
    functions = {function.name: function for function in made.functions}
    assert [name for name in functions if name.startswith("cross")] == ["cross_attention"]
    assert functions["cross_attention"].returns == functions["encoder"].returns == 1
    loop = next(one for one in functions["translator"].body if isinstance(one, model.Loop))
    assert [one.function for one in loop.body if isinstance(one, model.CallFunction)] == ["cross_attention"]


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.pooler = Encoder(), Pooler()

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.encoder(tokens)
        return hidden, self.pooler(hidden)


class Pooler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(64, 64)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.dense(hidden[:, 0]))


def test_what_is_returned_is_not_handed_back_by_the_module_that_reads_it() -> None:
    functions = {function.name: function for function in program(Pooled(), INPUTS[0]).functions}
    assert functions["pooler"].returns == functions["encoder"].returns == 1


def test_a_mask_that_all_layers_read_is_called_so() -> None:
    made = program(Translator(), *INPUTS)
    names = {name for one in model.statements(made.functions[-1].body) if isinstance(one, model.Call) for name in one.results if isinstance(name, str)}
    assert "attn_mask" in names
    assert not names & {"closed", "layers", "q", "heads"}  # what layers say, and what they are called


@pytest.mark.slow
def test_values_are_the_models(tmp_path: Path) -> None:
    made = codegen_py(Translator().eval(), *INPUTS, export_path=tmp_path / "made")
    done = running.run(made.path, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


class Heads(nn.Module):
    """Linear layers in two ways, more often than they are worth writing out."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({name: nn.Linear(64, 64) for name in "abcdef"})
        self.norm = nn.LayerNorm(64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name, layer in self.layers.items():
            made = layer(x)
            x = torch.relu(made) if name < "d" else x * torch.sigmoid(made)
        return self.norm(x)


class Around(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads, self.last = Heads(), nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.heads(x)).softmax(-1)


def test_the_header_names_functions_of_no_module() -> None:
    made = program(Around(), torch.rand(1, 32, 64))
    text = "\n".join(header_lines(made, str, [], []))
    helpers = [function.name for function in made.functions if not function.module]
    assert helpers == ["linear"]
    assert "    linear: called by heads\n" in text


class QueryLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.own, self.q, self.k, self.v, self.o = (nn.Linear(64, 64) for _ in range(5))
        self.norm = nn.LayerNorm(64)

    def forward(self, hidden: torch.Tensor, spatial: torch.Tensor, queries: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(hidden + self.own(hidden + queries))
        key_input = memory + spatial
        asked = self.q(hidden + queries)
        weighted = torch.softmax(asked @ self.k(key_input).mT, -1) @ self.v(memory)
        return hidden + self.o(weighted)


class Detector(nn.Module):
    """Layers from learned queries, as in DETR: the first one's own attention reads no input."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.encoder = nn.Embedding(8, 64), Encoder()
        self.places = nn.Parameter(torch.ones(2, 32, 64))
        self.layers = nn.ModuleList(QueryLayer() for _ in range(3))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        memory = self.encoder(tokens)
        queries = self.table.weight.unsqueeze(0).repeat(2, 1, 1)
        hidden = torch.zeros_like(queries)
        for layer in self.layers:
            hidden = layer(hidden, self.places, queries, memory)
        return hidden


def test_values_before_equal_layers_are_named_by_what_the_layers_call_them() -> None:
    """A sum that all layers share, queries that are a weight, and what the first layer computes from weights alone."""
    made = program(Detector(), INPUTS[0])
    parameters = {function.name: [one.name for one in function.parameters if one.kind == "tensor"] for function in made.functions}
    assert parameters["query_layer_first"] == ["hidden", "memory", "key_input", "asked"]
    assert parameters["query_layer"] == ["hidden", "queries", "memory", "key_input"]
    (root,) = (function for function in made.functions if function.name == "detector")
    comments = [one.text for one in root.body if isinstance(one, model.Comment)]
    assert any(text.startswith("the layers up to asked and hidden read no input") for text in comments), comments


class Twice(nn.Sequential):
    pass


class Skips(nn.Module):
    """As in U-Net: what each level makes is kept for later, and the variable goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(Twice(nn.Linear(64, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, wide)) for wide in (64, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for step in self.down:
            x = step(x)
            kept.append(x)
            x = torch.softmax(x, -1)
        return x * kept[1] + kept[0].mean(-1, keepdim=True)


def test_what_is_kept_in_a_list_is_called_after_its_module() -> None:
    """The variable of the source is another value's when it is read; the input of Sequential is x, not Python's input."""
    made = program(Skips(), torch.rand(1, 32, 64))
    functions = {function.name: function for function in made.functions}
    calls = [one for one in functions["skips"].body if isinstance(one, model.CallFunction)]
    assert [call.results for call in calls] == [("down_0",), ("down_1",)]
    assert {functions[call.function].parameters[0].name for call in calls} == {"x"}


def test_a_constant_has_no_name_that_a_computed_argument_needs() -> None:
    """`self.self(hidden_states, attention_mask)` reads two variables; the sink of an attention with a mask is a third tensor, and neither of them."""
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=64, vocab_size=64, max_position_embeddings=32)
    made = program(BertModel(config).eval(), torch.arange(32)[None], torch.ones(1, 32, dtype=torch.int64))
    (layer,) = [function for function in made.functions if function.name == "bert_layer"]
    assert [parameter.name for parameter in layer.parameters][:2] == ["hidden_states", "attention_mask"]


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) if i < 2 else layer(x)
        return x


class Boxes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.boxes = Encoder(), Head()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.boxes(self.encoder(tokens)).sigmoid()


def test_layers_of_a_head_read_their_own_weights_though_the_caller_fuses_the_last_one() -> None:
    result = capture(Boxes().eval(), INPUTS[:1], {}, "torch")
    program = build_program(lower_to_ttnn(result.module, CompilerOptions()).module, result)
    (head,) = (function for function in program.functions if function.module.endswith("Head"))
    assert [parameter.kind for parameter in head.parameters] == ["tensor", "weights"]
    assert any(isinstance(one, model.Loop) for one in head.body)

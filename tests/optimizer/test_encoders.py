"""What levels 1 and 2 rewrite in an encoder layer beside its placement: GELU by its error function, a mask that is read once per head, joined heads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from modules import lowered, mlp
from xdsl.ir import Operation

from alchemist import codegen_py
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from tests import running

BATCH, ROWS, WIDTH, HEADS = 8, 128, 256, 4


class Layer(torch.nn.Module):
    """Attention over the positions that the mask leaves, then an MLP. size: of a head."""

    def __init__(self, heads: int = HEADS) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        query, key, value = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        mask = torch.where(seen[:, None, None, :], 0.0, -1e9).to(x.dtype)
        heads = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.output(heads.transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def emitted(level: int, heads: int, to: Path) -> tuple[str, str, float]:
    """main.py, consteval.py and the PCC that `--check` reports."""
    torch.manual_seed(0)
    seen = torch.arange(ROWS)[None, :] < torch.arange(ROWS // 2, ROWS // 2 + BATCH)[:, None]
    x = torch.randn(BATCH, ROWS, WIDTH, dtype=torch.bfloat16)
    codegen_py(Layer(heads).to(torch.bfloat16).eval(), x, seen, export_path=to, compiler_options={"optimization_level": level})
    done = running.run(to, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"pcc ([01]\.\d+)", done.stdout)
    assert found is not None, done.stdout
    return (to / "main.py").read_text(), (to / "consteval.py").read_text(), float(found[1])


# A head of 64 columns has the scale 1 / 8, which the weights take without a rounding; one of 32 has 1 / sqrt(32).
@pytest.mark.parametrize(("heads", "in_weights"), [(HEADS, True), pytest.param(2 * HEADS, False, marks=pytest.mark.slow)])
def test_rewrites_keep_the_values(heads: int, in_weights: bool, tmp_path: Path) -> None:
    plain, plain_weights, plain_pcc = emitted(0, heads, tmp_path / "0")
    for part in ("unary_chain", "output_concat_heads", "bfloat4_b"):
        assert part not in plain, plain
    text, weights, pcc = emitted(2, heads, tmp_path / "2")
    for part in ("ttnn.UnaryOpType.ERF", "output_concat_heads=True", "ttnn.typecast(mask, ttnn.bfloat4_b"):
        assert part in text, text
    assert "concatenate_heads" not in text and "GELU" not in text
    assert ("scale=1.0" in text) == in_weights and ("0.125" in weights) == in_weights and "0.125" not in plain_weights
    assert abs(pcc - plain_pcc) < 1e-4, (pcc, plain_pcc)


def test_a_gate_is_moved_to_shards_once_for_both_readers() -> None:
    """Made interleaved, where subblocks may be tall, and moved for the chain and the product together."""
    (forward,) = [func for func in functions(lowered(mlp(3072), optimization_level=2)) if not is_const_eval(func)]
    ops = {op.name: op for op in forward.body.block.ops if op.name.startswith("ttnn.")}
    gate = ops["ttnn.unary_chain"].operands[0]
    assert gate in ops["ttnn.multiply_in_place"].operands and "block_sharded" in str(gate.type)
    (product, *_) = [op for op in forward.body.block.ops if op.name == "ttnn.matmul"]
    assert "block_sharded" not in str(product.results[0].type)
    assert [use.operation.name for use in product.results[0].uses if use.operation.name != "ttnn.deallocate"] == ["ttnn.to_memory_config"]


class Pooled(torch.nn.Module):
    """A long product, and a short one of its first rows."""

    def __init__(self) -> None:
        super().__init__()
        self.long, self.short = torch.nn.Linear(768, 3072, bias=False), torch.nn.Linear(768, 768, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.long(x), self.short(x[:32])


def test_what_gains_next_to_nothing_gets_no_config(tmp_path: Path) -> None:
    """A config is a dozen lines of the program."""
    texts = []
    for rows in (64, 1 << 16):
        out = tmp_path / str(rows)
        x = torch.zeros(rows, 768, dtype=torch.bfloat16)
        codegen_py(Pooled().to(torch.bfloat16).eval(), x, export_path=out, export_tensors=False, compiler_options={"optimization_level": 2})
        texts.append((out / "main.py").read_text())
    assert ["SHORT_MATMUL" in text for text in texts] == [True, False], texts


def test_a_published_encoder_reads_as_its_source(tmp_path: Path) -> None:
    """One function per layer; what the source never names on its way to a module is not called after another of its values; what the model returns is made in the model."""
    from transformers import BertConfig, BertModel  # seconds, for the process that runs this test alone

    config = BertConfig(vocab_size=64, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, max_position_embeddings=32)
    ids = torch.ones(2, 32, dtype=torch.int64)
    given = {"input_ids": ids, "attention_mask": ids}
    model = BertModel(config).to(torch.bfloat16).eval()
    codegen_py(model, export_path=tmp_path / "out", export_tensors=False, compiler_options={"optimization_level": 2}, **given)
    text = (tmp_path / "out/main.py").read_text()
    signature = re.search(r"def bert_self_attention\((.*?)\) ->", text, re.DOTALL)
    assert signature and re.findall(r"(\w+): ttnn.Tensor", signature[1])[:2] == ["hidden_states", "attention_mask"], text
    assert text.count("bert_layer(") == 2, text
    assert re.search(r"for i in range\(NUM_LAYERS\):\n        hidden_states = bert_layer\(\s*hidden_states,\s*attention_mask,", text), text
    (attention,) = re.findall(r"def bert_self_attention.*?\n\n\n", text, re.DOTALL)
    assert attention.count("ttnn.reshape(attn_output") == 1, attention  # joined heads become rows in one step
    (pooler,) = re.findall(r"def bert_pooler.*?\n\n\n", text, re.DOTALL)
    assert "ttnn.slice(hidden_states" in pooler and "return ttnn.linear(" in pooler, pooler


def test_a_result_is_made_where_its_only_reader_wants_it() -> None:
    """Casts of query, key and value are equal ops with one choice; attention reads the key in L1 alone, and no move takes it there."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=128, n_layer=4, n_head=4, vocab_size=256, n_positions=128, bos_token_id=1, eos_token_id=2)
    captured = capture(transformers.GPT2LMHeadModel(config).eval(), (torch.randint(0, 256, (1, 32)),), {}, "torch")
    module = lower_to_ttnn(captured.module, CompilerOptions(optimization_level=2)).module
    plain = [op for op in module.walk() if op.name == "ttnn.to_memory_config" and not layout_of(op.results[0].type).is_sharded]
    assert not [op for op in plain if isinstance(op.operands[0].owner, Operation) and op.operands[0].has_one_use()]
    keys = [op.operands[1] for op in module.walk() if op.name == "ttnn.scaled_dot_product_attention"]
    assert {(key.owner.name, layout_of(key.type).buffer) for key in keys} == {("ttnn.typecast", "l1")}

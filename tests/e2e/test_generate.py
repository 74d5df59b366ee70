"""`./run --generate`: greedy text of an exported step of decoding, chosen on the device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py
from tests.running import run

HEADS, SIZE, LENGTH, WORDS = 2, 32, 32, 40


class Writer(nn.Module):
    """One layer of attention over a static cache, with logits that lie apart."""

    def __init__(self, users: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, 64)
        self.joined = nn.Linear(64, 192)
        self.head = nn.Linear(64, WORDS)
        self.register_buffer("keys", torch.zeros(users, HEADS, LENGTH, SIZE))
        self.register_buffer("values", torch.zeros(users, HEADS, LENGTH, SIZE))

    def forward(self, tokens: torch.Tensor, cache_position: torch.Tensor) -> torch.Tensor:
        users = tokens.shape[0]
        hidden = self.embed(tokens)
        query, key, value = (part.view(users, 1, HEADS, SIZE).transpose(1, 2) for part in self.joined(hidden).chunk(3, dim=-1))
        self.keys.index_copy_(2, cache_position, key)
        self.values.index_copy_(2, cache_position, value)
        seen = torch.arange(LENGTH)[None, None, None] <= cache_position
        mask = torch.where(seen, 0.0, -1e9).to(hidden.dtype)
        out = nn.functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)
        logits: torch.Tensor = self.head(hidden + out.transpose(1, 2).reshape(users, 1, 64)) * 4
        return logits


def greedy(model: nn.Module, prompts: list[list[int]], count: int) -> list[list[int]]:
    rows = [list(row) for row in prompts]
    with torch.no_grad():
        for position in range(len(prompts[0]) + count - 1):
            best = model(torch.tensor([[row[position]] for row in rows]), torch.tensor([position]))[:, 0].argmax(-1)
            if position >= len(prompts[0]) - 1:
                for row, token in zip(rows, best.tolist(), strict=True):
                    row.append(token)
    return [row[len(prompts[0]) :] for row in rows]


@pytest.fixture(scope="module", params=[(1, torch.float32), (2, torch.bfloat16)], ids=["one user, float32", "two users, bfloat16"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Writer, int]:
    users, dtype = request.param
    torch.manual_seed(1)
    model = Writer(users).eval().to(dtype)
    path = tmp_path_factory.mktemp("generate") / "out"
    codegen_py(model, torch.ones(users, 1, dtype=torch.int64), torch.tensor([4]), export_path=path)
    return path, model, users


def test_greedy_text_is_the_models(program: tuple[Path, Writer, int], tmp_path: Path) -> None:
    path, model, users = program
    prompts = [[3, 14, 15], [9, 26, 5]][:users]
    wanted = greedy(model, prompts, 6)
    words = ";".join(",".join(map(str, row)) for row in prompts)
    done = run(path, "--generate", "6", "--prompt-ids", words, "--json", str(tmp_path / "text.json"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "text.json").read_text())
    assert found["device_ns"] > 0
    for user, (have, want) in enumerate(zip(found["generated"], wanted, strict=True)):
        first = next((place for place, pair in enumerate(zip(have, want, strict=True)) if pair[0] != pair[1]), None)
        assert first is None or [first, user] in found["ties"]
    assert all(f"token {token} of user {user}" in done.stdout for token, user in found["ties"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--generate", "4", "--prompt-ids", "one"], "whole numbers"),
        (["--generate", "4"], "pass --generate N together with --prompt-ids A,B,C"),
        (["--prompt-ids", "4"], "pass --generate N together with --prompt-ids A,B,C"),
        (["--generate", "4", "--prompt-ids", "1,2;3"], "of one length"),
        (["--generate", "4", "--prompt-ids", "-1"], "ids from 0"),
        (["--generate", "30", "--prompt-ids", "1,2,3"], "hold 32 positions"),
        (["--generate", "3", "--prompt-ids", "40"], "below 40"),
        (["--generate", "-3", "--prompt-ids", "4"], "--generate needs a whole number from 1"),
    ],
)
def test_bad_prompts(program: tuple[Path, Writer, int], options: list[str], message: str) -> None:
    done = run(program[0], *options)
    assert done.returncode == 1
    assert message in done.stderr


def test_other_programs_do_not_generate(tmp_path: Path) -> None:
    codegen_py(nn.Linear(4, 4).eval(), torch.ones(2, 4), export_path=tmp_path / "out")
    done = run(tmp_path / "out", "--generate", "3", "--prompt-ids", "1")
    assert done.returncode == 1
    assert "--generate needs an export with a decode step over static caches; this export has none" in done.stderr

"""Several entry points in one program: a prompt and a step over the same caches, an encoder and a step, what is shared and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from alchemist import EntryPoint, codegen_cpp, codegen_py, text_generation
from alchemist.errors import FrontendError, OptionError
from tests.running import run

HEADS, SIZE, LENGTH, WORDS, ROOM = 2, 32, 64, 40, 32


class Writer(nn.Module):
    """One layer of attention over a static cache, of tokens from position 0 on or of one at a position; `told` is added to each."""

    def __init__(self, users: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, 64)
        self.joined = nn.Linear(64, 192)
        self.head = nn.Linear(64, WORDS)
        self.register_buffer("keys", torch.zeros(users, HEADS, LENGTH, SIZE))
        self.register_buffer("values", torch.zeros(users, HEADS, LENGTH, SIZE))

    def forward(self, tokens: torch.Tensor, cache_position: torch.Tensor | None = None, told: torch.Tensor | None = None) -> torch.Tensor:
        users, count = tokens.shape
        positions = torch.arange(count) if cache_position is None else cache_position
        hidden = self.embed(tokens) if told is None else self.embed(tokens) + told.mean(1, keepdim=True)
        query, key, value = (part.view(users, count, HEADS, SIZE).transpose(1, 2) for part in self.joined(hidden).chunk(3, dim=-1))
        self.keys.index_copy_(2, positions, key)
        self.values.index_copy_(2, positions, value)
        mask = torch.where(torch.arange(LENGTH)[None, None, None] <= positions[None, None, :, None], 0.0, -1e9).to(hidden.dtype)
        out = nn.functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)
        logits: torch.Tensor = self.head(hidden + out.transpose(1, 2).reshape(users, count, 64)) * 4
        return logits

    def encode(self, text: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"told": self.joined(self.embed(text))[..., :64].tanh()}


def greedy(model: Writer, prompts: list[list[int]], count: int, told: torch.Tensor | None = None) -> list[list[int]]:
    rows = [list(row) for row in prompts]
    with torch.no_grad():
        for position in range(len(prompts[0]) + count - 1):
            best = model(torch.tensor([[row[position]] for row in rows]), torch.tensor([position]), told)[:, 0].argmax(-1)
            if position >= len(prompts[0]) - 1:
                for row, token in zip(rows, best.tolist(), strict=True):
                    row.append(token)
    return [row[len(prompts[0]) :] for row in rows]


def same_but_for_ties(path: Path, prompts: list[list[int]], wanted: list[list[int]], tmp_path: Path) -> dict[str, Any]:
    words = ";".join(",".join(map(str, row)) for row in prompts)
    done = run(path, "--generate", str(len(wanted[0])), "--prompt-ids", words, "--json", str(tmp_path / "text.json"))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((tmp_path / "text.json").read_text())
    for user, (have, want) in enumerate(zip(found["generated"], wanted, strict=True)):
        assert len(have) == len(want)
        first = next((place for place, pair in enumerate(zip(have, want, strict=True)) if pair[0] != pair[1]), None)
        assert first is None or [first, user] in found["ties"]
    return found


def signatures(model: Writer, users: int) -> dict[str, Any]:
    prompt = torch.arange(users * ROOM).reshape(users, ROOM) % WORDS
    return {"prefill": (prompt,), "decode": {"tokens": prompt[:, :1], "cache_position": torch.tensor([ROOM])}}


PROGRAMS: dict[str, tuple[int, torch.dtype, dict[str, Any]]] = {
    "one user, float32": (1, torch.float32, {}),
    "two users, bfloat16": (2, torch.bfloat16, {}),
    "caches in bfloat8_b": (1, torch.bfloat16, {"experimental_kv_cache_dtype": "bfp_bf8"}),
}
"""Users, type and compiler options."""


@pytest.fixture(scope="module", params=PROGRAMS.values(), ids=list(PROGRAMS))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Writer, int]:
    users, dtype, options = request.param
    torch.manual_seed(1)
    model = Writer(users).eval().to(dtype)
    path = tmp_path_factory.mktemp("entries") / "out"
    codegen_py(model, entry_points=signatures(model, users), export_path=path, compiler_options=options)
    return path, model, users


def test_a_prompt_goes_in_as_a_whole(program: tuple[Path, Writer, int], tmp_path: Path) -> None:
    path, model, users = program
    prompts = [[3, 14, 15], [9, 26, 5]][:users]
    found = same_but_for_ties(path, prompts, greedy(model, prompts, 6), tmp_path)
    assert found["steps"] == 5
    assert found["prompt_device_ns"] > 0


def test_a_prompt_longer_than_the_entry_point(program: tuple[Path, Writer, int], tmp_path: Path) -> None:
    path, model, users = program
    prompts = [[(7 * place + user) % WORDS for place in range(ROOM + 3)] for user in range(users)]
    assert same_but_for_ties(path, prompts, greedy(model, prompts, 4), tmp_path)["steps"] == 3 + 3


def test_each_entry_point_is_checked(program: tuple[Path, Writer, int], tmp_path: Path) -> None:
    path, _, _ = program
    done = run(path, "--check", "--json", str(tmp_path / "all.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "all.json").read_text())
    assert {row["name"] for row in result["outputs"]} == {f"{entry}.{name}" for entry in ("prefill", "decode") for name in ("output", "keys", "values")}
    assert result["device_ns"] == sum(times["device_ns"] for times in result["entries"].values())
    only = run(path, "--entry", "decode", "--json", str(tmp_path / "one.json"))
    assert only.returncode == 0, only.stderr
    assert json.loads((tmp_path / "one.json").read_text())["device_ns"] == result["entries"]["decode"]["device_ns"]
    assert "there is prefill, decode" in run(path, "--entry", "train").stderr


def test_weights_are_stored_and_prepared_once(program: tuple[Path, Writer, int]) -> None:
    path, _, _ = program
    stored = sorted(file.stem for file in (path / "tensors").iterdir())
    assert [name for name in stored if "." in name and name.partition(".")[0] not in ("prefill", "decode")] == sorted(
        ["embed.weight", "joined.bias", "joined.weight", "head.bias", "head.weight"]
    )
    prepared = re.findall(r'weights\["(\S+?)"\] =', (path / "consteval.py").read_text())
    assert len(prepared) == len(set(prepared))
    main = (path / "main.py").read_text()
    assert "fill_cache(" in main
    assert "paged_update_cache(" in main
    assert {"prefill", "decode"} <= set(re.findall(r"^def (\w+)", main, re.MULTILINE))


def test_an_encoder_feeds_the_step(tmp_path: Path) -> None:
    torch.manual_seed(2)
    model = Writer(1).eval()
    text = torch.tensor([[5, 7, 11, 13]])
    with torch.no_grad():
        told = model.encode(text)["told"]
    decode = EntryPoint(model.forward, torch.tensor([[2]]), torch.tensor([3]), told)
    codegen_py(model, entry_points={"encode": EntryPoint(model.encode, text), "decode": decode}, export_path=tmp_path / "out")
    wanted = greedy(model, [[2]], 5, told)
    found = same_but_for_ties(tmp_path / "out", text.tolist(), wanted, tmp_path)
    assert found["steps"] == 5
    assert "takes 4 ids, got 2" in run(tmp_path / "out", "--generate", "3", "--prompt-ids", "1,2").stderr


class Shifted(nn.Module):
    """Two calls with constants of one name and different values."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shift = torch.tensor([float(x.shape[0])] * x.shape[1])
        return torch.relu(x) + shift


def test_constants_of_one_name(tmp_path: Path) -> None:
    calls = {"small": (torch.randn(2, 32),), "large": (torch.randn(64, 32),)}
    codegen_py(Shifted().eval(), entry_points=calls, export_path=tmp_path / "out")
    done = run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_weights_of_one_name(tmp_path: Path) -> None:
    """Two models in one program: what differs is stored twice."""
    torch.manual_seed(3)
    one, two = nn.Linear(32, 32).eval(), nn.Linear(32, 32).eval()
    two.bias = one.bias
    x = torch.randn(4, 32)
    codegen_py(one, entry_points={"one": (x,), "two": EntryPoint(two, x)}, export_path=tmp_path / "out")
    done = run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    stored = {file.stem for file in (tmp_path / "out" / "tensors").iterdir()}
    assert stored == {"one.input", "two.input", "weight", "weight_two", "bias"}


TOKEN = torch.ones(1, 4)


@pytest.mark.parametrize(
    ("entry_points", "options", "message"),
    [
        ({}, {}, "bad entry_points"),
        ([("a", (TOKEN,))], {}, "bad entry_points"),
        ({"a b": (TOKEN,)}, {}, "bad name"),
        ({"main": (TOKEN,)}, {}, "bad name"),
        ({"Prefill": (TOKEN,)}, {}, "bad name"),
        ({"a": TOKEN}, {}, "bad value of 'a'"),
        ({"a": (TOKEN,)}, {"export_golden": "ops"}, "contradicts entry_points"),
        ({"a": (TOKEN,)}, {"compiler_options": {"enable_trace": True}}, "'enable_trace' contradicts"),
        ({"a": (TOKEN,)}, {"compiler_options": {"target_module": True}}, "'target_module' contradicts"),
    ],
)
def test_bad_entry_points(entry_points: Any, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        codegen_py(nn.Linear(4, 4).eval(), entry_points=entry_points, export_path=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_arguments_beside_entry_points(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="each entry point has its own arguments"):
        codegen_py(nn.Linear(4, 4).eval(), TOKEN, entry_points={"a": (TOKEN,)}, export_path=tmp_path / "out")


@pytest.mark.parametrize(
    ("sizes", "error"),
    [({"prompt_tokens": 0}, OptionError), ({"total_tokens": 100}, OptionError), ({"users": True}, OptionError), ({}, FrontendError)],
)
def test_bad_text_generation(sizes: dict[str, Any], error: type[Exception]) -> None:
    model: Any = nn.Linear(4, 4)
    if sizes:
        model.config, model.generation_config = object(), object()
    with pytest.raises(error):
        text_generation(model, **sizes)


def test_cpp_has_a_function_for_each(tmp_path: Path) -> None:
    model = Writer(1).eval()
    codegen_cpp(model, entry_points=signatures(model, 1), export_path=tmp_path / "out", export_golden="none")
    header = (tmp_path / "out" / "model.hpp").read_text()
    assert "PrefillOutputs prefill(const utils::Device& device, const PrefillInputs& inputs, const Weights& weights);" in header
    assert "DecodeOutputs decode(" in header
    assert (tmp_path / "out" / "generate.cpp").exists()


@pytest.mark.slow
def test_cpp_writes_the_same_text(program: tuple[Path, Writer, int], tmp_path: Path) -> None:
    path, model, users = program
    options = json.loads((path / "manifest.json").read_text())["options"]
    codegen_cpp(model, entry_points=signatures(model, users), export_path=tmp_path / "out", compiler_options=options)
    prompts = [[3, 14, 15], [9, 26, 5]][:users]
    wanted = same_but_for_ties(path, prompts, greedy(model, prompts, 6), tmp_path)
    found = same_but_for_ties(tmp_path / "out", prompts, greedy(model, prompts, 6), tmp_path)
    assert found == wanted
    done = run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr

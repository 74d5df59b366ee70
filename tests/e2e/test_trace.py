"""Exports with `enable_trace`: replays follow their inputs, state is as after eager calls, and `--trace` shows both wall times."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import OptionError
from tests.e2e.test_codegen import copy_of
from tests.e2e.test_generate import Writer, greedy
from tests.running import check, run
from tests.shared import made_once

TRACE = {"enable_trace": True}


class Gated(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(64), torch.nn.Linear(64, 96), torch.nn.Linear(96, 64)
        self.words = torch.nn.Embedding(20, 64)

    def forward(self, hidden: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mixed = self.norm(hidden) + self.words(ids)
        return self.down(torch.nn.functional.silu(self.up(mixed))), mixed.mean(-1)


CODEGEN = {"python": codegen_py, "cpp": codegen_cpp}


def exports_of(language: str, factory: pytest.TempPathFactory) -> dict[str, Path]:
    """With a trace and without."""

    def make(folder: Path) -> None:
        torch.manual_seed(0)
        model, inputs = Gated().eval(), (torch.randn(32, 64), torch.randint(0, 20, (32,)))
        for name, options in (("traced", TRACE), ("eager", {})):
            CODEGEN[language](model, *inputs, export_path=folder / name, compiler_options=options)
            if language == "cpp":
                assert run(folder / name, "--build-only").returncode == 0

    folder = made_once(factory, f"trace_{language}", make)
    return {name: folder / name for name in ("traced", "eager")}


@pytest.fixture(scope="module", params=CODEGEN)
def exports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return exports_of(request.param, tmp_path_factory)


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: np.load(path).tobytes() for path in sorted(folder.glob("*.npy"))}


def test_two_inputs(exports: dict[str, Path], tmp_path: Path) -> None:
    """The capture sees zeros; the exported inputs and others give what eager calls give, bit for bit."""
    reports = {name: check(path, "--loops", "2", "--outputs", str(tmp_path / name)) for name, path in exports.items()}
    assert reports["traced"]["device_ns"] == reports["eager"]["device_ns"]  # a replay takes what its programs take
    exported = {name: stored(tmp_path / name) for name in exports}
    own = tmp_path / "own"
    own.mkdir()
    np.save(own / "hidden.npy", np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32))
    np.save(own / "ids.npy", np.arange(32) % 20)
    for name, path in exports.items():
        assert run(path, "--inputs", str(own), "--outputs", str(tmp_path / name)).returncode == 0
    others = {name: stored(tmp_path / name) for name in exports}
    assert exported["traced"] == exported["eager"] != others["eager"] == others["traced"]


def test_check_finds_a_replay_of_old_inputs(exports: dict[str, Path], tmp_path: Path) -> None:
    """tt-mlir's wrapper forgets to copy the inputs of later calls."""
    folder = copy_of(exports["traced"], tmp_path / "broken")
    file, line, count = ("traced.cpp", "    write(inputs);\n", 1) if (folder / "main.cpp").exists() else ("utils.py", "        self._write(inputs)\n", 2)
    text = (folder / file).read_text()
    assert text.count(line) == count
    (folder / file).write_text(text.replace(line, ""))
    done = run(folder, "--check")
    assert done.returncode == 1 and "check: FAILED" in done.stdout


def test_wall_times(exports: dict[str, Path]) -> None:
    done = run(exports["traced"], "--trace", "--loops", "2")
    found = re.search(r"wall time of a call: traced ([\d.]+) ms, eager ([\d.]+) ms", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) < float(found[2])
    refused = run(exports["eager"], "--trace")
    assert refused.returncode in (1, 2) and "needs an export with the option enable_trace" in refused.stderr


def test_profile_names_the_lines(exports: dict[str, Path], tmp_path: Path) -> None:
    done = run(exports["traced"], "--estimate", "--profile", str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr
    assert "ttnn.linear" in (tmp_path / "report" / "calls.json").read_text()


def test_both_languages_show_the_same_times(tmp_path_factory: pytest.TempPathFactory) -> None:
    shown = []
    for language in CODEGEN:
        done = run(exports_of(language, tmp_path_factory)["traced"], "--trace", "--estimate")
        shown += re.findall(r"wall time of a call: .*", done.stdout)
    assert len(shown) == 2 and shown[0] == shown[1]


@pytest.mark.parametrize("language", ["python", pytest.param("cpp", marks=pytest.mark.slow)])
def test_state(language: str, tmp_path: Path) -> None:
    """Caches that a step writes in place: the warm-up and the capture leave no mark on them."""
    torch.manual_seed(1)
    model = Writer(2).eval()
    CODEGEN[language](model, torch.ones(2, 1, dtype=torch.int64), torch.tensor([4]), export_path=tmp_path / "out", compiler_options=TRACE)
    main = next((tmp_path / "out").glob("main.*")).read_text()
    assert "state=utils.caches(weights)" in main or "utils::Traced step(device, forward, inputs, utils::caches(weights));" in main
    assert len(check(tmp_path / "out", "--loops", "2")["outputs"]) == 3
    done = run(tmp_path / "out", "--generate", "6", "--prompt-ids", "3,14,15;9,26,5", "--json", str(tmp_path / "text.json"))
    found = json.loads((tmp_path / "text.json").read_text())
    assert found["generated"] == greedy(model, [[3, 14, 15], [9, 26, 5]], 6) and not found["ties"]
    assert found["steps"] == 8 and found["device_ns"] > 8000 and not found["prompt_device_ns"]
    *lines, last = done.stdout.splitlines()
    assert lines == [f"user {user}: {' '.join(map(str, row))}" for user, row in enumerate(found["generated"])]
    assert re.sub(r"[(),]", "", last) == f"Writer: 6 tokens device {found['device_ns'] / 1e6:.3f} ms 8 steps of {found['device_ns'] / 8e6:.3f} ms"
    refusals = (  # of the Python program: test_bad_prompts
        ("4", "1,2;3,x", "--prompt-ids takes whole numbers, got '1,2;3,x'"),
        ("4", "1,2;3", "--prompt-ids takes one prompt, or 2 of one length, with ids from 0"),
        ("30", "1,2,39", "the caches hold 32 positions and ids are below 40: 3 and 30 tokens do not fit"),
    )
    for count, prompt, message in refusals if language == "cpp" else ():
        refused = run(tmp_path / "out", "--generate", count, "--prompt-ids", prompt)
        assert refused.returncode == 1 and message in refused.stderr, refused.stderr


class Counter(torch.nn.Module):
    def forward(self, keys: torch.Tensor, position: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        keys.index_copy_(2, position, key)
        return keys.sum(-1)


@pytest.mark.parametrize("language", CODEGEN)
def test_inputs_written_in_place_are_refused(language: str, tmp_path: Path) -> None:
    inputs = torch.zeros(1, 2, 32, 32), torch.tensor([3]), torch.randn(1, 2, 1, 32)
    with pytest.raises(OptionError, match="updates inputs in place"):
        CODEGEN[language](Counter(), *inputs, export_path=tmp_path / "out", compiler_options=TRACE)

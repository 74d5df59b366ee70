"""Tensors that exports of one process share: which are remembered, and when a clone of one may stand for another."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist.export import shared, tensorbin
from alchemist.export.directory import MANIFEST
from alchemist.export.shared import SMALLEST_BYTES, clone_twin, remember, twins
from alchemist.export.tensorbin import write_tensor


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(shared, "_known", {})
    monkeypatch.setattr(shared, "_without_clones", set())


def copying(source: Path, target: Path) -> bool:
    """In the place of a file system that shares blocks."""
    shutil.copyfile(source, target)
    return True


def export(folder: Path, **sizes: int) -> Path:
    (folder / "tensors").mkdir(parents=True)
    files: dict[str, Any] = {}
    for name, size in sizes.items():
        (folder / "tensors" / name).write_bytes(bytes(size))
        files[f"tensors/{name}"] = {"size_bytes": size, "sha256": f"{name}'s"}
    files["golden/y"] = {"size_bytes": 1 << 20, "sha256": "y's"}
    (folder / MANIFEST).write_text(json.dumps({"files": files}))
    return folder


def test_large_tensors_are_remembered(tmp_path: Path) -> None:
    remember(tmp_path / "nothing")
    assert twins(tmp_path) == {}
    remember(export(tmp_path / "a", large=SMALLEST_BYTES, small=SMALLEST_BYTES - 1))
    assert {key: file for key, (file, _) in twins(tmp_path).items()} == {(SMALLEST_BYTES, "large's"): tmp_path / "a" / "tensors" / "large"}


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MOST_FILES", 2)
    for number, names in enumerate((["p"], ["q"], ["p"], ["r"])):
        remember(export(tmp_path / str(number), **dict.fromkeys(names, SMALLEST_BYTES)))
    assert [(name, file.parts[-3]) for (_, name), (file, _) in twins(tmp_path).items()] == [("p's", "2"), ("r's", "3")]


@pytest.mark.parametrize("changed", ["", "contents", "time", "gone"])
def test_a_clone_stands_for_what_has_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    monkeypatch.setattr(shared, "clone", copying)
    remember(export(tmp_path / "a", w=SMALLEST_BYTES))
    (twin,) = twins(tmp_path).values()
    if changed == "contents":
        twin[0].write_bytes(bytes([1]) * SMALLEST_BYTES)
    elif changed == "time":
        os.utime(twin[0], ns=(0, 0))
    elif changed == "gone":
        twin[0].unlink()
    assert clone_twin(twin, tmp_path / "new") is not bool(changed)
    assert (tmp_path / "new").exists() is not bool(changed)
    assert twins(tmp_path)  # nothing is wrong with the file system


def test_a_file_system_without_clones_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "clone", lambda source, target: False)
    remember(export(tmp_path / "a", w=SMALLEST_BYTES))
    (twin,) = twins(tmp_path).values()
    assert not clone_twin(twin, tmp_path / "new")
    assert twins(tmp_path) == {}
    shared._known.clear()
    remember(tmp_path / "a")
    assert shared._known == {}


def test_equal_tensors_are_clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same size and digest; all others are written."""
    made: list[Path] = []
    monkeypatch.setattr(tensorbin, "clone_twin", lambda twin, path: bool(made.append(path)) or copying(twin[0], path))
    values = np.arange(2000, dtype=np.float32)
    first = write_tensor(tmp_path / "a", values)
    known = {(first.size_bytes, first.sha256): (tmp_path / "a", (0, 0, 0))}
    assert write_tensor(tmp_path / "b", values, shared=known) == first
    assert write_tensor(tmp_path / "c", values + 1, shared=known) == write_tensor(tmp_path / "d", values + 1)
    assert made == [tmp_path / "b"]
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()

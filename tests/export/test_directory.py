"""The export directory appears whole or not at all, and edits are never lost silently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alchemist.errors import ExportDirectoryError
from alchemist.export.directory import MANIFEST, edited_files, exporting, file_sha256, read_manifest


def make_export(path: Path, text: str = "x = 1\n", *, overwrite: bool = False) -> None:
    with exporting(path, overwrite=overwrite) as staging:
        (staging / "main.py").write_text(text)
        (staging / "tensors").mkdir()
        (staging / "tensors" / "w.tensorbin").write_bytes(b"weights")
        files = {
            name: {"size_bytes": (staging / name).stat().st_size, "sha256": file_sha256(staging / name)}
            for name in ("main.py", "tensors/w.tensorbin")
        }
        (staging / MANIFEST).write_text(json.dumps({"files": files}))


def test_unedited_export_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    make_export(target)
    make_export(target, "x = 2\n")
    assert (target / "main.py").read_text() == "x = 2\n"
    assert sorted(path.name for path in target.parent.iterdir()) == ["out"]


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda d: (d / "main.py").write_text("x = 3\n"), "main.py"),
        (lambda d: (d / "tensors/w.tensorbin").write_bytes(b"weighty"), "tensors/w.tensorbin"),
        (lambda d: (d / "main.py").unlink(), "main.py"),
        (lambda d: (d / "notes.txt").write_text("mine"), "notes.txt"),
    ],
    ids=["edited", "same-size", "deleted", "added"],
)
def test_edited_export_is_kept(tmp_path: Path, edit, named: str) -> None:
    target = tmp_path / "out"
    make_export(target)
    edit(target)
    with pytest.raises(ExportDirectoryError, match=named):
        make_export(target, "x = 2\n")
    manifest = read_manifest(target)
    assert manifest is not None
    assert edited_files(target, manifest) == [named]
    make_export(target, "x = 2\n", overwrite=True)
    assert (target / "main.py").read_text() == "x = 2\n"


def test_pycache_and_build_are_not_edits(tmp_path: Path) -> None:
    target = tmp_path / "out"
    make_export(target)
    for folder in ("__pycache__", "build"):
        (target / folder).mkdir()
        (target / folder / "x").write_text("")
    make_export(target)


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with exporting(tmp_path / "out", overwrite=False) as staging:
            (staging / "main.py").write_text("")
            raise KeyError("model")

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_the_old_export(tmp_path: Path) -> None:
    make_export(tmp_path / "out")
    with pytest.raises(KeyError), exporting(tmp_path / "out", overwrite=False):
        raise KeyError("model")
    assert (tmp_path / "out" / "main.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("shape", ["file", "inside-file", "foreign-directory"])
def test_bad_paths(tmp_path: Path, shape: str) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "precious").write_text("precious")
    target = {"file": "file", "inside-file": "file/deep/out", "foreign-directory": "foreign"}[shape]
    with pytest.raises(ExportDirectoryError) as caught:
        make_export(tmp_path / target)
    assert caught.value.hint
    assert (tmp_path / "file").read_text() == "precious"
    assert (tmp_path / "foreign" / "precious").read_text() == "precious"

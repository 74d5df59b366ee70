"""What the thousands of cases of run.py have shown, each as a small case of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from alchemist.errors import UserError
from alchemist.loaded import LoadedProgram
from tools.fuzz.areas import emitted_utils, export


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2), }",  # OverflowError of numpy
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': 'no', 'shape': (3, 4.0)}",
        "{'descr': None}",
    ],
)
def test_headers_of_npy(header: str, tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64))
    with pytest.raises(SystemExit, match=r"run: input x: cannot read .*x\.npy"):
        emitted_utils().read_npy(file, "x", "float32")


@pytest.mark.parametrize("function", ["no_such", "../../etc/passwd", "HERE"])
def test_entry_function_of_a_manifest(function: str, tmp_path: Path) -> None:
    shutil.copytree(export(), tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["entry"]["function"] = function
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="has no entry function"):
        LoadedProgram(tmp_path / "out")


@pytest.mark.parametrize("key", ["kind", "dtype", "layout", "shape"])
def test_entries_of_a_manifest(key: str, tmp_path: Path) -> None:
    """Its sources are links, so that utils.py looks at the manifest beside the originals."""
    (tmp_path / "out").mkdir()
    for each in export().iterdir():
        (tmp_path / "out" / each.name).symlink_to(each)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    del manifest["tensors"]["x"][key]
    (tmp_path / "out" / "manifest.json").unlink()
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"manifest\.json is damaged"):
        LoadedProgram(tmp_path / "out")


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        *(("device", "l1_small_size", size_bytes) for size_bytes in (-1, 1 << 70, "0", None)),
        *(("entry", "written", written) for written in (1, [], {"y": 1}, {"y": {"input": 0}})),  # results in place
    ],
)
def test_parts_of_a_manifest(part: str, key: str, value: object, tmp_path: Path) -> None:
    shutil.copytree(export(), tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest[part][key] = value
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"manifest\.json is damaged"):
        LoadedProgram(tmp_path / "out")

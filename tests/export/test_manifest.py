"""What an export's manifest says of its tensors and files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.codegen import codegen_mlir


class Model(torch.nn.Module):
    """Tied weights, a module and an input that nothing reads, a buffer that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
        self.unread = torch.nn.Linear(8, 8)
        self.table = torch.nn.Embedding(16, 8)
        self.out = torch.nn.Linear(8, 16, bias=False)
        self.out.weight = self.table.weight
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, ids: torch.Tensor, unread: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.table(ids)
        self.seen.add_(x.sum(0))
        return self.out(self.norm(x)), ids + 1


def tensor(name: str, kind: str, shape: list[int], dtype: str = "float32", layout: str = "TILE", model_dtype: str = "float32") -> dict[str, Any]:
    file = {"file": f"tensors/{name}.tensorbin"}
    return {"kind": kind, "shape": shape, "dtype": dtype, "layout": f"{layout}_LAYOUT", "model_dtype": model_dtype, **file}


TENSORS = {
    "ids": tensor("ids", "input", [4], "uint32", "ROW_MAJOR", "int64"),
    "unread": tensor("unread", "input", [3], layout="ROW_MAJOR"),
    "table.weight": tensor("table.weight", "parameter", [16, 8]),
    **{name: tensor(name, "parameter", [8]) for name in ("seen", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var")},
}
OUTPUTS = {
    "output_0": {"shape": [4, 16], "dtype": "float32"},
    "output_1": {"shape": [4], "dtype": "int64"},
    "seen": {"shape": [8], "dtype": "float32", "mutates": "seen"},
}


@pytest.mark.parametrize(("export", "values"), [(codegen_py, True), (codegen_py, False), (codegen_cpp, False)], ids=["python", "no tensors", "C++, no tensors"])
def test_tensors_and_files(export: Any, values: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    torch.manual_seed(0)
    export(Model().eval(), torch.arange(4), torch.ones(3), export_path=out, export_tensors=values, export_golden="outputs" if values else "none")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["model"] == "Model"
    assert manifest["language"] == ("python" if export is codegen_py else "cpp")
    assert (manifest["device"]["arch"], manifest["device"]["card"]) == ("wormhole_b0", "n150")
    assert manifest["inputs"] == ["ids", "unread"]
    assert manifest["call"] == [{"name": "ids", "shape": [4], "dtype": "int64"}, {"name": "unread", "shape": [3], "dtype": "float32"}]
    wanted = TENSORS if values else {name: {key: value for key, value in entry.items() if key != "file"} for name, entry in TENSORS.items()}
    assert manifest["tensors"] == wanted
    assert {name: {key: entry[key] for key in ("shape", "dtype", "mutates") if key in entry} for name, entry in manifest["outputs"].items()} == OUTPUTS
    for name, entry in manifest["outputs"].items():
        assert entry.get("golden") == (f"golden/{name}.tensorbin" if values else None)
    assert manifest["entry"]["inputs"] == ["ids"], "the function takes what it reads"
    assert manifest["entry"]["outputs"] == list(OUTPUTS)
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - {"manifest.json"}
    assert set(manifest["files"]) == files
    for name, entry in manifest["files"].items():
        data = (out / name).read_bytes()
        assert entry["size_bytes"] == len(data)
        assert hashlib.sha256(data).hexdigest().startswith(entry["sha256"])


LOADED = """
func.func @main(%arg0: tensor<32x32xf32> {ttir.name = "x"}, %arg1: tensor<32x32xf32> {ttir.name = "y"}, %arg2: tensor<32xf32> {ttir.name = "b", ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<32x32xf32> {
  %c = "ttir.constant"() {value = dense<[[1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0], [1.0], [2.0], [3.0], [4.0]]> : tensor<32x1xf32>} : () -> tensor<32x1xf32>
  %0 = "ttir.add"(%arg0, %arg1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = "ttir.add"(%0, %arg2) : (tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32>
  %2 = "ttir.multiply"(%1, %c) : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}
"""


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({}, ["tensors/x.tensorbin", "tensors/y.tensorbin", "tensors/b.tensorbin"]),
        ({"tensor_load_file_prefix": "w_"}, ["tensors/w_0.tensorbin", "tensors/w_1.tensorbin", "tensors/w_2.tensorbin"]),
        ({"tensor_load_directory": "/elsewhere"}, ["/elsewhere/arg0.tensorbin", "/elsewhere/arg1.tensorbin", "/elsewhere/arg2.tensorbin"]),
        ({"tensor_load_directory": "/elsewhere", "tensor_load_file_prefix": "w_"}, ["/elsewhere/w_0.tensorbin", "/elsewhere/w_1.tensorbin", "/elsewhere/w_2.tensorbin"]),
    ],
)  # fmt: skip
def test_files_of_arguments(tmp_path: Path, options: dict[str, str], files: list[str]) -> None:
    """By name, or by place where they are numbered; constants of the text have names of their own."""
    (tmp_path / "m.mlir").write_text(LOADED)
    codegen_mlir(tmp_path / "m.mlir", export_path=tmp_path / "out", compiler_options=options)
    tensors = json.loads((tmp_path / "out" / "manifest.json").read_text())["tensors"]
    assert [tensors[name].get("file") for name in ("x", "y", "b")] == files
    (constant,) = (entry["file"] for name, entry in tensors.items() if name not in ("x", "y", "b"))
    assert constant.startswith("tensors/") and not constant.startswith("tensors/w_") and (tmp_path / "out" / constant).is_file()
    assert {file for file in files if (tmp_path / "out" / file).is_file()} == {file for file in files if not file.startswith("/")}

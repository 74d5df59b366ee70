"""The messages that docs/errors.md shows are those that are printed: each is provoked. `...` there stands for any text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import alchemist
from alchemist.cli import main
from alchemist.errors import AlchemistError
from alchemist.explanations import EXPLANATIONS
from tests.tables import table

ADD = 'func.func @f(%a: tensor<64x128xf32>, %b: tensor<63x128xf32>) -> tensor<64x128xf32> {\n  %0 = "ttir.add"(%a, %b) : (tensor<64x128xf32>, tensor<63x128xf32>) -> tensor<64x128xf32>\n  return %0 : tensor<64x128xf32>\n}\n'  # fmt: skip
EXP = 'func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n  %0 = "ttir.exp"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>\n  return %0 : tensor<2x2xf32>\n}\n'  # fmt: skip
FREED = """#dram = #ttnn.buffer_type<dram>
#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>
func.func @f(%x: tensor<2x2xf32, #l>) -> tensor<2x2xf32, #l> {
  %0 = "ttnn.exp"(%x) : (tensor<2x2xf32, #l>) -> tensor<2x2xf32, #l>
  "ttnn.deallocate"(%0) <{force = false}> : (tensor<2x2xf32, #l>) -> ()
  %1 = "ttnn.neg"(%0) : (tensor<2x2xf32, #l>) -> tensor<2x2xf32, #l>
  return %1 : tensor<2x2xf32, #l>
}
"""


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class Branches(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


class Factors(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.geqrf(x)[0]


def _export(model: nn.Module, rows: int = 32, **options: object) -> None:
    alchemist.codegen_py(model.eval(), torch.ones(rows, 64), export_path="out", compiler_options=options)


def _other_rows() -> None:
    model = Layer()
    _export(model)
    alchemist.load_codegen_py(model, torch.ones(16, 64), load_path="out")


def _edited() -> None:
    _export(Layer())
    Path("out/main.py").write_text("")
    _export(Layer())


def _command(*words: str, **files: str) -> Callable[[], object]:
    def run() -> object:
        for folder in ("inputs", "out"):
            Path(folder).mkdir(exist_ok=True)
        for name, text in files.items():
            Path(name.replace("__", "/").replace("_", ".")).write_text(text)
        return main(list(words))

    return run


PROVOKED: dict[str, Callable[[], object]] = {
    "ALC-0100": _command("verify", "out"),
    "ALC-0101": lambda: _export(Layer(), math_fidelty="lofi"),
    "ALC-0102": _other_rows,
    "ALC-0103": _command("opt", "model.mlir"),
    "ALC-0104": _command("tune", "model.py", "--json", "results/out.json", model_py=""),
    "ALC-0110": lambda: _export(Branches()),
    "ALC-0111": lambda: _export(Factors()),
    "ALC-0200": _command("opt", "model.mlir", model_mlir=ADD),
    "ALC-0300": _command("translate", "--ttnn-to-flatbuffer", "model.mlir", "-o", "model.ttnn", model_mlir=EXP),
    "ALC-0400": _command("model-to-python", "model.mlir", model_mlir=FREED),
    "ALC-0500": _edited,
    "ALC-0510": _command("generate-python", "model.mlir", "-o", "program", "--inputs", "inputs", model_mlir=EXP, inputs__x_npy="text"),
    "ALC-0511": _command("show", "model.ttnn", model_ttnn="{}"),
    "ALC-0700": _command("opt", "model.mlir", model_mlir=EXP.replace("tensor<", "tensr<", 1)),
}


@table("code", PROVOKED)
def test_the_message_is_the_pages(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        PROVOKED[code]()
        said = capsys.readouterr().err
    except AlchemistError as error:
        said = str(error)
    said = said[said.index("error[") :].strip().replace(str(tmp_path), "/home/me")
    said = re.sub(r"\S*test_errors\.py:\d+", "model.py:12", said)
    pattern = re.escape(EXPLANATIONS[code].example).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, said), said

"""Arguments of wrong kinds to the public functions: errors of ours that say what was expected (found by tools/fuzz, area api)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from ttnn_shim.errors import InvalidArgument, bounded
from ttnn_shim.program_query import query_program

from alchemist import codegen_py, load_codegen_py
from alchemist.codegen import codegen_mlir
from alchemist.errors import FileError, InputError, InternalError, OptionError, UserError
from tests.tables import table

MODEL = 'func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {\n  %0 = "ttir.relu"(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>\n  return %0 : tensor<2x2xf32>\n}\n'


class Wordless:
    def __repr__(self) -> str:
        raise ValueError("no text")

    def __bool__(self) -> bool:
        raise ValueError("neither")


@table(
    ("named", "kind"),
    [
        ({"export_path": 3}, OptionError), ({"export_path": "a\0b"}, OptionError), ({"export_path": "\ud800"}, OptionError), ({"export_path": Wordless()}, OptionError),
        ({"compiler_options": Wordless()}, OptionError), ({"compiler_options": {"arch": Wordless()}}, OptionError), ({"seed": -1}, OptionError), ({"seed": True}, OptionError),
        ({"seed": "x"}, OptionError), ({"entry": Wordless()}, OptionError), ({"entry": 3}, OptionError), ({"inputs": 3}, OptionError), ({"language": Wordless()}, OptionError),
        ({"init": None}, OptionError), ({"source": 3}, OptionError), ({"source": "missing.mlir"}, FileError), ({"source": "."}, FileError), ({"export_path": "x" * 300}, UserError),
    ],
)  # fmt: skip
def test_codegen_mlir(named: dict[str, Any], kind: type[UserError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.mlir").write_text(MODEL)
    with pytest.raises(kind) as caught:
        codegen_mlir(**({"source": "m.mlir", "export_path": "out"} | named))
    assert not isinstance(caught.value, InternalError)
    assert len(str(caught.value)) <= 2000
    assert [path.name for path in tmp_path.iterdir()] == ["m.mlir"]


def test_load_codegen_py(tmp_path: Path) -> None:
    x = torch.ones(2, 2)
    codegen_py(torch.relu, x, export_path=tmp_path / "out")
    for arguments in ((x.to("meta"),), (x.to_sparse(),), (x, x, x), ()):
        with pytest.raises(UserError):
            load_codegen_py(torch.relu, *arguments, load_path=tmp_path / "out")
    with pytest.raises(OptionError):
        load_codegen_py(torch.relu, x, load_path=3)  # type: ignore[arg-type]


def test_missing_argument_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="model_or_fn"):
        codegen_py()  # type: ignore[call-arg]


@pytest.mark.parametrize("named", [{"inputs": 3}, {"inputs": [3]}, {"attributes": True}, {"attributes": {"x": object()}}, {"op": None}])
def test_query(named: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        query_program(**({"op": "relu", "inputs": [], "outputs": []} | named))


def test_a_model_that_fails_on_its_arguments(tmp_path: Path) -> None:
    """torch.export traces shapes; what the kernels refuse shows when the expected outputs are computed."""
    with pytest.raises(InputError, match="the model fails on these arguments: RuntimeError"):
        codegen_py(torch.nn.ReLU(), torch.ones(2, 2, dtype=torch.bool), export_path=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_export_path_that_cannot_be_compared(tmp_path: Path) -> None:
    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise ValueError("not comparable")

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(OptionError):
        codegen_py(torch.relu, torch.ones(2, 2), export_path=Incomparable())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (120, "0123456789" * 12),
        (119, "01234567890123456789012345678901234567890123456789012345678 ... 1 characters left out ... 12345678901234567890123456789"),
        (40, "012345 ... 80 characters left out ... 89"),
        (20, " ... 100 characters "),
        (0, ""),
    ],
)
def test_what_is_left_of_long_texts(most: int, shown: str) -> None:
    found = bounded("0123456789" * 12, most)
    assert len(found) == min(most, 120)
    assert found == shown

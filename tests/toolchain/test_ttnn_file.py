"""`.ttnn` files: what is written is read back, both envelopes, every command that takes MLIR, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from alchemist import cli
from alchemist.errors import FlatbufferError
from alchemist.frontends.mlir.read import read_module
from alchemist.ir.text import print_module
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.toolchain import flatbuffer, ttnn_file
from alchemist.toolchain.ttnn_binary import ttnn_binary

DATA = Path(__file__).parents[1] / "mlir" / "data"
TTIR = """
func.func @main(%arg0: tensor<64x128xbf16> {ttir.name = "x"}, %arg1: tensor<128x96xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "w"}) -> tensor<64x96xbf16> {
  %0 = "ttir.transpose"(%arg1) <{dim0 = 0 : si32, dim1 = 1 : si32}> : (tensor<128x96xbf16>) -> tensor<96x128xbf16>
  %1 = "ttir.matmul"(%arg0, %0) <{transpose_a = false, transpose_b = true}> : (tensor<64x128xbf16>, tensor<96x128xbf16>) -> tensor<64x96xbf16>
  return %1 : tensor<64x96xbf16>
}
"""


def lowered(text: str = TTIR) -> str:
    return print_module(lower_to_ttnn(read_module(text), CompilerOptions()).module)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "matmul.ttnn"
    path.write_bytes(ttnn_binary(read_module(lowered())))
    return path


def test_programs_tensors_and_text_are_read_back(binary: Path) -> None:
    root = ttnn_file.read_ttnn(binary)
    assert root["mlir"]["source"] == print_module(read_module(lowered()))
    assert ttnn_file.read_module_text(binary) == root["mlir"]["source"]
    assert [program["name"] for program in root["programs"] if not program["private"]] == ["main"]
    main = root["programs"][0]
    assert [tensor["desc"]["shape"] for tensor in main["inputs"]] == [(64, 128), (128, 96)]
    memory = main["outputs"][0]["desc"]["layout"]["memory_desc"]
    assert (memory["data_type"], memory["tile_shape"], memory["storage_type"]) == ("bf16", (32, 32), "device")
    assert any("ttnn.matmul" in op["debug_info"] for op in main["operations"])
    assert not any(key in op for op in main["operations"] for key in ("type", "type_type"))
    numbers = [tensor["global_id"] for program in root["programs"] for tensor in (*program["inputs"], *program["outputs"])]
    assert min(numbers) == 1


@pytest.mark.parametrize("name", ["cnn_ttnn", "cnn_ttir", "matmul"])
def test_text_comes_back_byte_for_byte(name: str) -> None:
    """Of a file of the real compiler's passes, and of texts that are lowered here."""
    from alchemist.frontends.mlir.ttnn_text import complete

    text = TTIR if name == "matmul" else (DATA / f"{name}.mlir").read_text()
    module = read_module(text if name.endswith("ttnn") else lowered(text))
    complete(module)
    data = ttnn_binary(module)
    assert ttnn_file.read_ttnn(data)["mlir"]["source"] == print_module(module)
    assert ttnn_binary(read_module(print_module(module))) == data


def test_files_of_2024_have_the_text_in_their_programs() -> None:
    schema = ttnn_file._WHOLE.tables[0][1]
    tensor = {"global_id": 1, "desc": {"shape": [4], "layout": {"stride": [1], "memory_desc": {"tile_shape": (1, 1), "data_type": "bf16", "size": 8}}}}
    program = {"name": "f", "inputs": [tensor], "debug_info": {"mlir": {"name": "ttnn", "source": "module {}"}}}
    data = flatbuffer.write(schema, {"version": (0, 0, 131), "ttmlir_git_hash": "f9a2", "programs": [program]}, flatbuffer.TTNN)
    root = ttnn_file.read_ttnn(data)
    assert root.slots == 4
    assert root["mlir"]["source"] == "module {}"
    assert root["programs"][0]["inputs"][0]["desc"]["layout"]["memory_desc"]["data_type"] == "bf16"


COMMANDS = {
    "opt {b}": "func.func @main",
    "show {b}": "ttnn.matmul",
    "model-to-python {b}": "ttnn.matmul",
    "model-to-cpp {b}": "ttnn::matmul",
    "translate --mlir-to-python {b}": "ttnn.matmul",
    "explore {b} -o {o}/graph.json": "nodes",
    "generate-python {b} -o {o}/program": "main.py",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_a_binary_like_its_text(command: str, binary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.format(b=binary, o=tmp_path).split()) == 0
    assert COMMANDS[command] in capsys.readouterr().out


def test_translate_writes_a_binary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.mlir").write_text(lowered())
    assert cli.main(["translate", "--ttnn-to-flatbuffer", str(tmp_path / "m.mlir"), "-o", str(tmp_path / "m.ttnn")]) == 0
    assert cli.main(["opt", str(tmp_path / "m.ttnn")]) == 0
    assert capsys.readouterr().out == lowered()


@pytest.mark.parametrize(
    ("text", "words"),
    [(TTIR, ("ttir.transpose", "--ttir-to-ttnn-backend-pipeline")), ("module {", ("ALC-0700",))],
)
def test_what_no_binary_can_hold(text: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.mlir").write_text(text)
    assert cli.main(["translate", "--ttnn-to-flatbuffer", str(tmp_path / "m.mlir"), "-o", str(tmp_path / "m.ttnn")]) == 1
    error = capsys.readouterr().err
    assert all(word in error for word in words)
    assert not (tmp_path / "m.ttnn").exists()


def test_a_binary_without_text_is_refused() -> None:
    data = flatbuffer.write(ttnn_file.BINARY, {"version": (0, 0, 1), "schema_hash": "x"}, flatbuffer.TTNN)
    with pytest.raises(FlatbufferError, match="no module text"):
        ttnn_file.read_ttnn(data)


@pytest.mark.parametrize(("name", "data"), [("f.ttnn", b"module {}"), ("f.ttsys", b"{}"), ("f.ttm", b""), ("f.mlir", bytes(8) + b"TTM0" + bytes(9))])
def test_other_files_by_these_names(name: str, data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_bytes(data)
    assert cli.main(["show", str(tmp_path / name)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error[ALC-0511]")
    assert f"{name}: byte" in error

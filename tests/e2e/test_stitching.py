"""`alchemist.load`: programs that pass tensors to each other on the device; what does not fit is refused and `to_layout` mends it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import alchemist
from alchemist.codegen import codegen_mlir
from alchemist.errors import InputError, UserError
from alchemist.frontends.mlir.read import read_module
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.toolchain import flatbuffer, ttnn_file
from alchemist.toolchain.ttnn_binary import ttnn_binary

ENCODER = """
func.func @main(%arg0: tensor<32x64xbf16> {ttir.name = "x"}, %arg1: tensor<64x128xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "w"}) -> tensor<32x128xbf16> {
  %0 = "ttir.matmul"(%arg0, %arg1) <{transpose_a = false, transpose_b = false}> : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  return %0 : tensor<32x128xbf16>
}
"""
HEAD = """
func.func @main(%arg0: tensor<32x128xf32> {ttir.name = "hidden"}, %arg1: tensor<128xf32> {ttcore.argument_type = #ttcore.argument_type<constant>, ttir.name = "scale"}) -> tensor<32x128xf32> {
  %0 = "ttir.multiply"(%arg0, %arg1) : (tensor<32x128xf32>, tensor<128xf32>) -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}
"""


SCALE = np.linspace(0.5, 2, 128, dtype=np.float32)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`encoder`, an export, and `head.ttnn`, a binary."""
    folder = tmp_path_factory.mktemp("stitching")
    (folder / "encoder.mlir").write_text(ENCODER)
    codegen_mlir(folder / "encoder.mlir", export_path=folder / "encoder", export_golden="none")
    (folder / "head.ttnn").write_bytes(ttnn_binary(lower_to_ttnn(read_module(HEAD), CompilerOptions()).module))
    return folder


@pytest.fixture
def loaded(programs: Path) -> Iterator[tuple[Any, Any]]:
    with alchemist.load(programs / "encoder") as encoder, alchemist.load(programs / "head.ttnn", weights={"scale": SCALE}) as head:
        yield encoder, head


def test_two_programs_are_one_computation_without_host_copies(loaded: tuple[Any, Any], programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, head = loaded
    assert [str(spec) for spec in encoder.inputs] == ["x: [32, 64] BFLOAT16 TILE DRAM INTERLEAVED"]
    assert [spec.name for spec in head.inputs] == ["hidden"]
    x = np.random.default_rng(0).standard_normal((32, 64), np.float32)
    on_device = encoder.to_layout(x, "x")
    copies: list[str] = []
    for name in ("from_torch", "to_torch", "from_device", "to_device"):
        original: Callable[..., Any] = getattr(encoder.ttnn, name)
        monkeypatch.setattr(encoder.ttnn, name, lambda *args, _name=name, _call=original, **kwargs: copies.append(_name) or _call(*args, **kwargs))
    (hidden,) = encoder.submit([on_device])
    with pytest.raises(InputError, match="input hidden: wrong dtype, layout or memory") as raised:
        head.submit([hidden])
    assert "FLOAT32" in raised.value.expected
    assert "BFLOAT16" in raised.value.got
    assert "to_layout" in raised.value.hint
    converted = head.to_layout(hidden, "hidden")
    (result,) = head.submit([converted])
    assert copies == []
    assert head.to_layout(converted, "hidden") is converted
    monkeypatch.undo()
    from alchemist.export.arrays import read_array

    weight = read_array(programs / "encoder" / "tensors" / "w.tensorbin").astype(np.float32)
    np.testing.assert_allclose(head._program.utils.to_numpy(result), x @ weight * SCALE, rtol=0.05, atol=0.05)


def test_tensors_that_do_not_fit(loaded: tuple[Any, Any]) -> None:
    encoder, head = loaded
    ttnn = encoder.ttnn
    x = encoder.to_layout(np.ones((32, 64), np.float32), 0)
    refused: list[tuple[Any, str]] = [
        ([], "wrong number of inputs"),
        ([np.ones((32, 64), np.float32)], "not a tensor on the device"),
        ([ttnn.from_device(x)], "the tensor is not on an open device"),
        ([ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT)], "wrong dtype, layout or memory"),
        ([ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG)], "wrong dtype, layout or memory"),
        ([head.to_layout(np.ones((32, 128), np.float32), "hidden")], "wrong shape"),
    ]
    for tensors, words in refused:
        with pytest.raises(InputError, match=words):
            encoder.submit(tensors)
    assert encoder.to_layout(ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG), 0).memory_config().buffer_type == ttnn.BufferType.DRAM
    with pytest.raises(InputError, match="no such input"):
        encoder.to_layout(x, "y")


CLOSED = """
import sys
import numpy as np
import alchemist
with alchemist.load(sys.argv[1]) as encoder:
    x = encoder.to_layout(np.ones((32, 64), np.float32), 0)
with alchemist.load(sys.argv[1]) as encoder:
    encoder.submit([x])
"""


def test_a_tensor_of_a_closed_device(programs: Path) -> None:
    """In a process of its own: the card stays open as long as any program of the process is loaded."""
    done = subprocess.run([sys.executable, "-c", CLOSED, str(programs / "encoder")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"InputError: .*x: .*device was closed", done.stderr), done.stderr


def test_a_program_for_two_chips_is_refused(programs: Path, tmp_path: Path) -> None:
    root = ttnn_file.read_ttnn(programs / "head.ttnn")
    for program in root["programs"]:
        program["mesh_shape"] = (1, 2)
    (tmp_path / "two.ttnn").write_bytes(flatbuffer.write(root.table, root, flatbuffer.TTNN))
    with pytest.raises(UserError, match="2 chips") as raised:
        alchemist.load(tmp_path / "two.ttnn")
    assert raised.value.got == "mesh 1x2"


def test_a_binary_needs_its_weights(programs: Path) -> None:
    with pytest.raises(InputError, match="contains no weights") as raised:
        alchemist.load(programs / "head.ttnn")
    assert "scale" in raised.value.expected
    with pytest.raises(InputError, match="weight scale"):
        alchemist.load(programs / "head.ttnn", weights={"scale": np.ones(4, np.float32)})


def test_what_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not an export"):
        alchemist.load(tmp_path)
    with pytest.raises(UserError, match="no such file"):
        alchemist.load(tmp_path / "x.ttnn")


FROM_HOST = """
#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x32xbf16, #ttnn.buffer_type<system_memory>>>
#dram = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x32xbf16, #ttnn.buffer_type<dram>>, <interleaved>>
func.func @main(%arg0: tensor<32x32xbf16, #host>) -> tensor<32x32xbf16, #dram> {
  %0 = "ttnn.get_device"() <{mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device
  %1 = "ttnn.to_device"(%arg0, %0) : (tensor<32x32xbf16, #host>, !ttnn.device) -> tensor<32x32xbf16, #dram>
  %2 = "ttnn.neg"(%1) : (tensor<32x32xbf16, #dram>) -> tensor<32x32xbf16, #dram>
  return %2 : tensor<32x32xbf16, #dram>
}
"""


def test_a_program_that_takes_the_device(tmp_path: Path) -> None:
    """Programs with inputs on the host have the device as their first parameter."""
    (tmp_path / "neg.mlir").write_text(FROM_HOST)
    values = np.arange(1024, dtype=np.float32).reshape(32, 32)
    with alchemist.load(tmp_path / "neg.mlir") as program:
        (result,) = program.submit([program.to_layout(values, 0)])
        np.testing.assert_allclose(program._program.utils.to_numpy(result), -values, rtol=1e-2)

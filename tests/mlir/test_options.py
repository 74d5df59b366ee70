"""Options of the emit pipelines: module and library targets, where tensors come from, freeing, splitting."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from alchemist.cli import main
from alchemist.errors import OptionError
from alchemist.export.standalone import _sources
from alchemist.export.tensorbin import read_tensor
from alchemist.options import CompilerOptions
from tests import running

DATA = Path(__file__).parent / "data"
HOST = """
import sys, ttnn_shim
sys.path.insert(0, str(ttnn_shim.python_path()))
import numpy as np, ttnn, utils, main
device = ttnn.open_device(device_id=0, l1_small_size=utils.MANIFEST["device"]["l1_small_size"])
golden = next(iter(utils.MANIFEST["outputs"].values()))
expected = utils.read_golden(golden["golden"])
stored = {name: ttnn.load_tensor(str(utils.HERE / entry["file"])) for name, entry in utils.MANIFEST["tensors"].items()}
for names in (main.INPUTS, main.ARGUMENTS, main.INPUTS):
    given = [stored.get(name, stored["x"]) for name in names]
    (output,) = main.forward(given, device)
    assert utils.compare(utils.to_numpy(output), expected, golden)["passed"], names
try:
    main.forward([], device)
except ValueError as error:
    assert "expected 1 tensors" in str(error)
else:
    raise AssertionError("no tensors were accepted")
"""


def _generate(out: Path, language: str, options: str, stem: str = "cnn_ttir") -> int:
    return main([f"generate-{language}", str(DATA / f"{stem}.mlir"), "-o", str(out), "--pipeline-options", options])


def test_target_module(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _generate(out, "python", "target-module=true") == 0
    done = subprocess.run([sys.executable, "-c", HOST], cwd=out, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert running.run(out, "--check").returncode == 0


CPP_HOST = """
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "ttnn/distributed/api.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/tensor/serialization.hpp"
#include "ttnn/tensor/tensor.hpp"

int main(int, char** argv) {
    void* library = dlopen(argv[1], RTLD_NOW);
    if (library == nullptr) {
        std::puts(dlerror());
        return 2;
    }
    auto set_device = reinterpret_cast<void (*)(ttnn::MeshDevice*)>(dlsym(library, "setDevice"));
    auto forward = reinterpret_cast<std::vector<ttnn::Tensor> (*)(std::vector<ttnn::Tensor>)>(dlsym(library, "forward"));
    auto mesh = ttnn::distributed::open_mesh_device(ttnn::MeshShape(1, 1), 65536, 0, 1, tt::tt_metal::DispatchCoreConfig{});
    set_device(mesh.get());
    for (int round = 0; round < 2; ++round) {
        const auto out = forward({ttnn::load_tensor_flatbuffer(argv[2])}).at(0).to_vector<float>();
        const auto golden = ttnn::load_tensor_flatbuffer(argv[3]).to_vector<float>();
        double difference = 0, size = 0;
        for (std::size_t i = 0; i < golden.size(); ++i) {
            difference += std::pow(out.at(i) - golden[i], 2);
            size += golden[i] * golden[i];
        }
        if (std::sqrt(difference / size) > 0.02) {
            std::printf("relative error %g\\n", std::sqrt(difference / size));
            return 1;
        }
    }
    try {
        forward({});
        return 3;
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
"""


@pytest.mark.slow
def test_target_dylib(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _generate(out, "cpp", "target-dylib=true") == 0
    assert running.run(out, "--check").returncode == 0
    (tmp_path / "host.cpp").write_text(CPP_HOST)
    _, installed, _ = _sources()
    library = os.environ.get("TTNN_SHIM_LIBRARY", str(installed / "lib"))
    compiler = shutil.which("g++") or pytest.skip("no g++")
    subprocess.run(
        [compiler, "-std=c++20", "host.cpp", "-o", "host", f"-I{installed / 'include'}", f"-L{library}", "-lttnn_shim", f"-Wl,-rpath,{library}", "-ldl"],
        cwd=tmp_path,
        check=True,
        timeout=300,
    )
    manifest = json.loads((out / "manifest.json").read_text())
    files = [out / manifest["tensors"]["x"]["file"], out / next(iter(manifest["outputs"].values()))["golden"]]
    done = subprocess.run([tmp_path / "host", out / "build/simulator/libmodule.so", *files], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_targets_belong_to_a_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _generate(tmp_path / "a", "cpp", "target-module=true") == 1
    assert _generate(tmp_path / "b", "python", "target-dylib=true") == 1
    assert "option target_module needs a Python program" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_freeing(tmp_path: Path) -> None:
    assert _generate(tmp_path / "on", "python", "enable-dealloc=true", "bert_ttir") == 0
    assert _generate(tmp_path / "off", "python", "enable-dealloc=false", "bert_ttir") == 0
    lines = [sum(line.strip().startswith("del ") for line in (tmp_path / name / "main.py").read_text().splitlines()) for name in ("on", "off")]
    assert lines[0] > 0
    assert lines[1] == 0
    written = [next((tmp_path / name / "irs").glob("*ttnn.mlir")).read_text() for name in ("on", "off")]
    assert ["ttnn.deallocate" in text for text in written] == [True, False]
    assert running.run(tmp_path / "off", "--check").returncode == 0


def test_tensors_of_the_caller(tmp_path: Path) -> None:
    """Files `<directory>/<prefix><n>.tensorbin` by the argument's number."""
    assert _generate(tmp_path / "own", "python", "tensor-load-file-prefix=arg", "mlp_stablehlo") == 0
    tensors = tmp_path / "own" / "tensors"
    assert all(file.stem.startswith("arg") and file.stem[3:].isdigit() for file in tensors.iterdir())
    assert running.run(tmp_path / "own", "--check").returncode == 0
    options = f"load-input-tensors-from-disk=true tensor-load-directory={tensors} tensor-load-file-prefix=arg"
    assert _generate(tmp_path / "other", "python", options, "mlp_stablehlo") == 0
    assert not list((tmp_path / "other" / "tensors").iterdir())
    for name in ("own", "other"):
        assert running.run(tmp_path / name, "--outputs", str(tmp_path / f"out_{name}")).returncode == 0
    for file in (tmp_path / "out_own").iterdir():
        assert np.array_equal(np.load(file), np.load(tmp_path / "out_other" / file.name))


def test_no_tensors_from_disk(tmp_path: Path) -> None:
    assert _generate(tmp_path / "out", "python", "load-input-tensors-from-disk=false", "mlp_stablehlo") == 0
    assert not (tmp_path / "out" / "golden").exists()
    assert running.run(tmp_path / "out").returncode == 0


def test_const_eval_off(tmp_path: Path) -> None:
    assert _generate(tmp_path / "out", "python", "enable-const-eval=false split-files=false") == 0
    assert not (tmp_path / "out" / "consteval.py").exists()
    assert running.run(tmp_path / "out", "--check").returncode == 0


@pytest.mark.parametrize("text", ["tensor-load-file-prefix=../x", "tensor-load-file-prefix=a/b", 'tensor-load-directory="a\nb"', "enable-dealloc=maybe"])
def test_bad_values(text: str) -> None:
    with pytest.raises(OptionError):
        CompilerOptions.from_text(text)


def test_options_that_are_left_out(tmp_path: Path) -> None:
    """Values of the file's weights are those of `--init randn --seed 0`, of every public function."""
    file = tmp_path / "m.mlir"
    file.write_text('func.func @f(%x: tensor<4x32xf32> {ttir.name = "x"}) -> tensor<4x32xf32> { return %x : tensor<4x32xf32> }')
    values = []
    for number, words in enumerate([[], ["--init", "randn", "--seed", "0", "--entry", ""], ["--seed", "1"]]):
        assert main(["generate-python", str(file), "-o", str(tmp_path / f"{number}"), *words]) == 0
        values.append(read_tensor(tmp_path / f"{number}" / "tensors" / "x.tensorbin"))
    assert np.array_equal(values[0], values[1]) and not np.array_equal(values[0], values[2])


def test_inputs_directory(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    np.save(given / "x.npy", np.full((1, 3, 32, 32), 0.5, np.float32))
    status = main(["generate-python", str(DATA / "cnn_ttir.mlir"), "-o", str(tmp_path / "out"), "--inputs", str(given), "--seed", "3"])
    assert status == 0
    assert np.allclose(read_tensor(tmp_path / "out" / "tensors" / "x.tensorbin"), 0.5)
    assert running.run(tmp_path / "out", "--check").returncode == 0

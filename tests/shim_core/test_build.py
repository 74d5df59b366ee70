"""What is built and installed: the C++ tests, the CMake package, the exported names, header hygiene."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ttnn_shim

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "ttnn_shim" / "include"

CONSUMER = """
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(TT-NN REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE TTNN::TTNN)
"""
PROGRAM = """
#include <iostream>
#include "ttnn/distributed/api.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn_shim/error.hpp"
int main() {
    const auto mesh = ttnn::distributed::open_mesh_device(ttnn::MeshShape(1, 1), 0, 0, 1, tt::tt_metal::DispatchCoreConfig());
    const ttnn::TensorSpec spec(ttnn::Shape({2, 3}), ttnn::TensorLayout(ttnn::DataType::BFLOAT16, ttnn::PageConfig(ttnn::TILE_LAYOUT), ttnn::L1_MEMORY_CONFIG));
    const auto tensor = ttnn::Tensor::from_vector<float>({1, 2, 3, 4, 5, 6}, spec, mesh.get());
    const auto rows = ttnn::to_layout(ttnn::typecast(tensor, ttnn::DataType::FLOAT32), ttnn::ROW_MAJOR_LAYOUT);
    for (const float value : rows.to_vector<float>()) std::cout << value << " ";
    try {
        ttnn::typecast(rows, ttnn::DataType::BFLOAT8_B);  // block floats need tiles
    } catch (const ttnn_shim::Error& error) {
        std::cout << "| " << error.op();
    }
    ttnn::distributed::close_mesh_device(mesh);
}
"""


def run(command: list[str], **kwargs: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return str(done.stdout)


def test_cpp_tests() -> None:
    """The C++ test program of the newest build, with the CPU's instructions, and with AVX2 alone where the CPU has more."""
    programs = sorted(ROOT.glob("build/*/tests/cpp/shim_tests"), key=lambda path: path.stat().st_mtime)
    programs = [path for path in programs if "asan" not in path.parts[-4]]
    if not programs:
        pytest.skip("no C++ tests (make cpp-tests builds them)")
    run(["cmake", "--build", str(programs[-1].parents[2]), "--target", "shim_tests"])  # those of today's sources
    for isa in ("AVX2",) if ttnn_shim.build_info()["instruction_set"] == "AVX2" else ("DEFAULT", "AVX2"):
        assert " 0 failures" in run([str(programs[-1])], env={**os.environ, "ONEDNN_MAX_CPU_ISA": isa})


def test_cmake_package(tmp_path: Path) -> None:
    """An external project finds TT-NN, builds against its headers and runs."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed")
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER)
    (tmp_path / "main.cpp").write_text(PROGRAM)
    run([cmake, "-S", str(tmp_path), "-B", str(tmp_path / "b"), f"-DTT-NN_DIR={ttnn_shim.cmake_dir()}"])
    run([cmake, "--build", str(tmp_path / "b")])
    assert run([str(tmp_path / "b" / "consumer")]) == "1 2 3 4 5 6 | ttnn.typecast"


@pytest.mark.slow
def test_headers_compile_alone(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "one.cpp"
    for header in sorted(INCLUDE.rglob("*.hpp")):
        name = header.relative_to(INCLUDE)
        source.write_text(f'#include "{name}"\n#include "{name}"\n')
        run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", str(source)])


def test_headers_include_only_std_and_each_other() -> None:
    """Public headers are installed without `src/`: a quoted include must exist below include/."""
    headers = list(INCLUDE.rglob("*.h*"))
    assert len(headers) > 50
    for header in headers:
        for line in header.read_text().splitlines():
            if line.startswith('#include "'):
                assert (INCLUDE / line.split('"')[1]).is_file(), f"{header}: {line}"


@pytest.mark.slow
def test_an_sdist_is_configured_without_python(tmp_path: Path) -> None:
    """It carries the C++ that the build makes of tables; a checkout without Python says what is missing."""
    run([sys.executable, "-c", f"from scikit_build_core.build import build_sdist; build_sdist({str(tmp_path)!r})"], cwd=ROOT)
    run(["tar", "xzf", str(next(tmp_path.glob("*.tar.gz"))), "-C", str(tmp_path), "--strip-components=1"])
    configure = ["cmake", "-S", str(tmp_path / "ttnn_shim"), "-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON", "-DTTNN_SHIM_PYTHON=OFF", "-DTTNN_SHIM_ONEDNN=OFF", "-B"]
    run([*configure, str(tmp_path / "b")])
    shutil.rmtree(tmp_path / "ttnn_shim" / "generated")
    refused = subprocess.run([*configure, str(tmp_path / "b2")], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "python3 is needed to build from a checkout" in refused.stderr

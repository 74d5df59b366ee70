"""An exported C++ model as a library: an application of ten lines, errors that name their line, tensors as text, gdb."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ttnn_shim
from alchemist import codegen_cpp
from tests.e2e.models import torch_mlp

TEN_LINES = """#include "model.hpp"

int main() {
    utils::Device device;
    const auto weights = model::load_weights(device);
    const auto inputs = model::load_inputs(device);
    const auto first = model::forward(device, inputs, weights);
    const auto second = model::forward(device, inputs, weights);
    utils::print(first.output, "first"), utils::print(second.output, "second");
}
"""
REFUSED = """#include <iostream>

#include "model.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"

int main(int, char** argv) {
    utils::Device device;
    const auto weights = model::load_weights(device);
    auto inputs = model::load_inputs(device);
    const std::string what = argv[1];
    try {
        if (what == "empty") inputs = {};
        if (what == "dtype") inputs.@ = ttnn::typecast(inputs.@, ttnn::DataType::BFLOAT16);
        if (what == "shape") weights.set("0.weight_t", inputs.@);
        model::forward(device, inputs, what == "weights" ? weights.scope("0") : weights);
    } catch (const std::exception& error) {
        std::cout << utils::describe(error) << "\\n";
        return 0;
    }
    return 1;
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(app LANGUAGES CXX)
add_subdirectory(model)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE model)
add_executable(refused refused.cpp)
target_link_libraries(refused PRIVATE model)
"""


def command(*words: object) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=600, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_application_of_ten_lines(tmp_path: Path) -> None:
    assert len(TEN_LINES.splitlines()) == 10
    model, args, kwargs = torch_mlp()
    made = codegen_cpp(model, *args, export_path=tmp_path / "model", **kwargs)
    text = (made.path / "model.cpp").read_text()
    field = text.partition("utils::input(")[2].partition("inputs.")[2].partition(",")[0]
    (tmp_path / "app.cpp").write_text(TEN_LINES)
    (tmp_path / "refused.cpp").write_text(REFUSED.replace("@", field))
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    command("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Debug", f"-DTT-NN_DIR={ttnn_shim.cmake_dir()}")
    command("cmake", "--build", tmp_path / "build")

    first, second = command(tmp_path / "build" / "app").splitlines()
    assert first.partition(": ")[2] == second.partition(": ")[2]
    assert first.startswith("first: [")
    assert " min " in first

    refused = tmp_path / "build" / "refused"
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "utils::input(" in row)
    assert f"\n  at model.cpp:{line} in forward\n" in command(refused, "empty")
    assert "expected data type" in command(refused, "dtype")
    assert "error[ALC-0601] no tensor '0.0." in (told := command(refused, "weights"))
    assert "\n  at model.cpp:" in told
    assert "did you mean" in told

    # A call that TT-NN refuses names its own line, and where it was called from.
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "ttnn::linear(" in row)
    told = command(refused, "shape")
    assert told.startswith("error[SHIM-0001] ttnn.linear: ")
    place = re.search(r"\n  at model.cpp:(\d+) in sequential\n  called from model.cpp:\d+ in forward", told)
    assert place, told
    assert line <= int(place[1]) <= line + 10  # a line of the statement: without optimisation that of its last argument

    if shutil.which("gdb"):
        script = ["-nx", "-x", made.path / "gdb_printers.py", "-ex", "break model::forward", "-ex", "run", "-ex", "print (int) getpid()", "-ex", "print inputs"]
        shown = command("gdb", "-batch", *script, tmp_path / "build" / "app")
        if re.search(r"\$1 = \d+", shown):  # some sandboxes do not let a debugger call functions
            assert f"{field} = [3, 40] float32 TILE DRAM  min" in shown
        else:
            assert f"{field} = ttnn::Tensor (" in shown or "ptrace" in shown, shown

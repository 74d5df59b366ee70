"""Emits a model as C++ into a CMake project.    python examples/cpp_in_cmake_project/export.py [DIR]"""

import argparse
import shutil
from pathlib import Path

import torch

from alchemist import codegen_cpp

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=Path("cpp_project"))
    path = parser.parse_args().path
    path.mkdir(parents=True, exist_ok=True)
    for name in ("CMakeLists.txt", "app.cpp"):
        shutil.copy(Path(__file__).parent / name, path)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).eval()
    codegen_cpp(model, torch.randn(32, 64), export_path=path / "model", overwrite=True)
    print(f"try: cmake -S {path} -B {path}/build -DTT-NN_DIR=$(python -m ttnn_shim --cmake-dir) && cmake --build {path}/build")

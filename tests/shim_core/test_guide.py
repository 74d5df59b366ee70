"""The op of `ttnn_shim/README.md`'s guide: its text is compiled as it stands and the op is run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ttnn_shim

ROOT = Path(__file__).parents[2]
# The simulator has this op already: the guide's goes by another name, under which the Python function then finds it.
RUN = """
import ctypes, sys, ttnn_shim
sys.path.insert(0, str(ttnn_shim.python_path()))
import torch, ttnn
from ttnn import _core
device = ttnn.open_device(device_id=0)
ctypes.CDLL(sys.argv[1])
asked = []
def find_op(names, find=_core.find_op):
    asked.extend(names)
    return find(tuple("ttnn.guide_softsign" if name == "ttnn.softsign" else name for name in names))
_core.find_op = find_op
x = torch.linspace(-4, 4, 64).reshape(2, 32)
y = ttnn.to_torch(ttnn.softsign(ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, dtype=ttnn.float32, device=device)))
assert "ttnn.softsign" in asked, asked
assert torch.allclose(y, x / (1 + x.abs()), atol=1e-6), y
try:
    ttnn.softsign(ttnn.from_torch(x, layout=ttnn.ROW_MAJOR_LAYOUT, device=device))
except RuntimeError as error:
    assert "guide_softsign" in str(error) or "softsign" in str(error)
else:
    raise AssertionError("a row-major tensor was accepted")
ttnn.close_device(device)
"""


def test_the_guides_op_compiles_and_runs(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (text,) = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "ttnn_shim/README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert text.count('SHIM_OP("ttnn.softsign"') == 1
    (tmp_path / "softsign.cpp").write_text(text.replace('SHIM_OP("ttnn.softsign"', 'SHIM_OP("ttnn.guide_softsign"'))
    shared = Path(ttnn_shim.cmake_dir()).parents[1]
    words = [compiler, "-std=c++20", "-shared", "-fPIC", "-fopenmp", "-O1", "-march=x86-64-v3", "softsign.cpp", "-o", "softsign.so"]
    words += [f"-I{ROOT / 'ttnn_shim/include'}", f"-I{ROOT / 'ttnn_shim/src'}", f"-L{shared}", "-lttnn_shim", "-Wl,--no-undefined"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-c", RUN, str(tmp_path / "softsign.so")], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

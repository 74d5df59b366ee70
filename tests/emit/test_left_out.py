"""C++ calls with every optional argument left out but the last: what stands in the gaps must convert to the parameters of the library's headers."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from alchemist.ops.spec import ONES, REQUIRED, TTNN_OPS, Kind, OpSpec
from emit_cpp.printer import function_text
from tests.emit.test_forms import OF_KIND, call, function

ROOT = Path(__file__).parents[2]
LAST = (Kind.MEMORY_CONFIG, Kind.COMPUTE_CONFIG, Kind.DTYPE, Kind.BOOL)
ODD = {
    "ttnn.clamp_scalar": "two bounds that are not there: the overloads for numbers and tensors are alike",
    "ttnn.clamp_tensor": "as clamp_scalar",
    "ttnn.conv3d": "kernels of three extents",
    "ttnn.deallocate": "takes a tensor that may change",
    "ttnn.unary_chain": "names of its own",
    "ttnn.constant": "made from a vector",
}
"""Ops whose arguments of typical kinds are no call."""
NAMES = """\
#include "utils.hpp"
namespace {
using std::nullopt;
using ttnn::Tensor;
extern ttnn::MeshDevice* device;
extern const Tensor x, y;
extern const ttnn::ComputeKernelConfig COMPUTE;
extern const ttnn::Conv2dConfig CONV;
"""


def last_optional(spec: OpSpec) -> str:
    args = {arg.name: arg for arg in spec.args}
    found = [one.arg for one in spec.cpp if one.arg in args and args[one.arg].kind in LAST and args[one.arg].default not in (REQUIRED, ONES)]
    return found[-1] if found else ""


def test_gaps_convert(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++")
    specs = {name: spec for name, spec in sorted(TTNN_OPS.items()) if name not in ODD and last_optional(spec)}
    assert len(specs) > 120
    functions = []
    for number, (name, spec) in enumerate(specs.items()):
        given = {arg.name: OF_KIND[arg.kind.name] for arg in spec.args if arg.default in (REQUIRED, ONES) or arg.name == last_optional(spec)}
        functions.append(function_text(replace(function(call(name.removeprefix("ttnn."), given, "made")), name=f"call_{number}")))
    headers = "".join(f'#include "{header}"\n' for header in sorted({spec.header for spec in specs.values()}))
    (tmp_path / "calls.cpp").write_text(f"{headers}{NAMES}{''.join(functions)}}}\n")
    places = [f"-I{ROOT / 'ttnn_shim' / 'include'}", f"-I{ROOT / 'templates' / 'cpp'}", '-DPROGRAM_DIR="."']
    done = subprocess.run([compiler, "-fsyntax-only", "-std=c++20", "-w", *places, "calls.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]

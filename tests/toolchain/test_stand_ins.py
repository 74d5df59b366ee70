"""tt-xla's packages by name: what scripts written for it do here. The scripts are the tests' own, in the spellings of tt-xla's documentation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from alchemist.codegen import mlir_sources
from alchemist.errors import OptionError
from alchemist.stand_ins.request import Request
from tests.running import run_checked
from tests.tables import table

MODEL = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)
    def forward(self, image, scale):
        return self.down(torch.relu(self.up(image))) * scale
model, image, scale = Model().eval(), torch.randn(32, 32), torch.randn(32)
expected = model(image, scale).detach()
def close(value): assert float((value - expected).norm() / expected.norm()) < 1e-2, (value, expected)
"""


def run(folder: Path, script: str, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    file = folder / "script.py"
    file.write_text(script, encoding="utf-8")
    call = [sys.executable, *arguments, str(file)]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=os.environ | ({"PYTHONPATH": path} if path else {}))


def passed(folder: Path, script: str, *arguments: str) -> str:
    done = run(folder, script, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


LAUNCHER = ("-m", "ttnn_shim", "run")

OPTIONS = {
    "what the driver takes": ({"optimization_level": "2", "enable_trace": "true"}, lambda one: (one.options.optimization_level, one.options.enable_trace) == (2, True)),
    "bfp8": ({"experimental_weight_dtype": "bfp8"}, lambda one: one.options.experimental_weight_dtype == "bfp_bf8"),
    "one file": ({"codegen_split_files": False}, lambda one: not one.options.split_consteval),
    "a program is not run": ({"backend": "codegen_py", "export_path": "x"}, lambda one: one.dry_run and one.wants == "python"),
    "a program is run": ({"backend": "codegen_py", "export_path": "x", "dry_run": "false"}, lambda one: not one.dry_run),
    "without tensors": ({"backend": "codegen_cpp", "export_path": "x", "export_tensors": False}, lambda one: not one.export_tensors),
    "no fusing": ({"tt_enable_torch_fx_fusion_pass": False, "tt_enable_composite_ops": True}, lambda one: not one.options.enable_fusing),
}  # fmt: skip
REFUSED = {
    "no place": ({"backend": "codegen_py"}, "Compile option 'export_path' must be provided when backend is not 'TTNNFlatbuffer'"),
    "a backend": ({"backend": "codegen_pi"}, "did you mean codegen_py or codegen_cpp"),
    "a key": ({"optimisation_level": 1}, "did you mean 'optimization_level'"),
    "a key of torch's": ({"tt_enable_composite": True}, "did you mean tt_enable_composite_ops"),
    "a weight's dtype": ({"override_weight_dtype": "fc.weight=int4"}, "bfp_bf8"),
}


@table("case", OPTIONS)
def test_options_mean_something(case: str) -> None:
    given, holds = OPTIONS[case]
    assert holds(Request.of(given))


@table("case", REFUSED)
def test_refused_options(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(OptionError, match=message):
        Request.of(given)


def test_a_weight_dtype_of_mlir_text(tmp_path: Path) -> None:
    """`ttcore.weight_dtype` of an argument, through ops that only move the weight; a concatenation takes the most precise of its parts."""
    file = tmp_path / "x.mlir"
    file.write_text("""
func.func @f(%x: tensor<32x64xbf16>, %w: tensor<64x64xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bfp_bf4"},
             %v: tensor<64x32xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>, ttcore.weight_dtype = "bfp_bf8"}) -> tensor<32x96xbf16> {
  %0 = "ttir.permute"(%w) <{permutation = array<i64: 1, 0>}> : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = "ttir.concat"(%0, %v) <{dim = 1 : si32}> : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x96xbf16>
  %2 = "ttir.matmul"(%x, %1) : (tensor<32x64xbf16>, tensor<64x96xbf16>) -> tensor<32x96xbf16>
  return %2 : tensor<32x96xbf16>
}""")
    text = "".join(mlir_sources(file).values())
    assert ("bfloat8_b" in text, "bfloat4_b" in text) == (True, False)
    text = "".join(mlir_sources(file, compiler_options={"override_weight_dtype": "arg[12]=bf16"}).values())
    assert "bfloat8_b" not in text
    assert "bfloat4_b" not in text


def test_names_without_a_framework(tmp_path: Path) -> None:
    """Importable only on request; what is not offered has a reason; nothing imports torch or jax."""
    passed(tmp_path, """
import sys, importlib.util, alchemist
assert importlib.util.find_spec("torch_xla") is None
alchemist.stand_in()
alchemist.stand_in()
import torch_xla, torch_xla.runtime as xr, torch_xla.core.xla_model, torch_xla.distributed.spmd as spmd
xr.set_device_type("TT")
torch_xla.set_custom_compile_options({"optimization_level": 1})
try:
    spmd.mark_sharding(None, None, None)
except Exception as error:
    assert "codegen_py its mesh" in str(error)
else:
    raise AssertionError("mark_sharding")
assert not {"torch", "jax"} & set(sys.modules)
""")  # fmt: skip


def test_real_packages_are_not_replaced(tmp_path: Path) -> None:
    real = tmp_path / "site" / "torch_xla"
    real.mkdir(parents=True)
    (real / "__init__.py").write_text("REAL = True\n")
    done = run(tmp_path, "import alchemist\nalchemist.stand_in()\n", path=str(real.parent))
    assert done.returncode == 1
    assert str(real) in done.stderr
    done = run(tmp_path, "import torch_xla\nassert torch_xla.REAL\n", *LAUNCHER, path=str(real.parent))
    assert done.returncode == 0, done.stderr


TORCH_SCRIPT = (
    MODEL
    + """
import torch_xla, torch_xla.core.xla_model as xm, tt_torch
torch_xla.set_custom_compile_options({"backend": "codegen_py", "export_path": "options"})
torch.manual_seed(0)
compiled = Model().eval()
compiled.load_state_dict(model.state_dict())
compiled.compile(backend="tt")
with torch.no_grad():
    close(compiled.to(xm.xla_device())(image, scale))
    torch_xla.set_custom_compile_options({})
    torch._dynamo.reset()
    close(torch.compile(model, backend="tt")(image, scale))
    try:
        torch.compile(model, backend="tt-legacy")(image, scale)
    except Exception as error:
        assert 'backend="tt"' in str(error), error
    else:
        raise AssertionError("tt-legacy is no backend")
    torch._dynamo.reset()
    tt_torch.codegen_py(model, image, scale, export_path="function", compiler_options={"codegen_split_files": False})
    close(tt_torch.load_codegen_py(model, image, scale, load_path="function"))
    class Broken(torch.nn.Module):
        def forward(self, a, b):
            total = a + b
            torch._dynamo.graph_break()
            return total * a
    tt_torch.codegen_py(Broken(), image, image, export_path="broken", compiler_options={"dry_run": False})
    torch._dynamo.reset()
    assert tt_torch.apply_weight_dtype_overrides(model, {"down.*": "bfp_bf8"}) == [("down.weight", "bfp_bf8"), ("down.bias", "bfp_bf8")]
    tt_torch.codegen_py(model, image, scale, export_path="blocks")
"""
)

FUSION_SCRIPT = """
import alchemist
alchemist.stand_in()
import sys, torch, tt_torch
from tt_torch.fusion_providers import FusionProvider
class Shifted(FusionProvider):
    @property
    def name(self): return "shifted"
    @staticmethod
    def pattern(x, shift): return torch.sigmoid(x.add(shift).mul(2.0))
    @staticmethod
    def replacement(x, shift): return torch.nn.functional.relu(x) + shift
    @staticmethod
    def match_filter(match, graph, pattern):
        return all(node.meta["example_value"].shape[-1] == 32 for part, node in match.nodes_map.items() if part.target == "x")
class Model(torch.nn.Module):
    def forward(self, x): return torch.sigmoid(2.0 * (x + 1.0))
for size in (32, 64):
    tt_torch.codegen_py(Model(), torch.randn(32, size), export_path=f"of_{size}")
    torch._dynamo.reset()
class Branching(FusionProvider):
    @property
    def name(self): return "branching"
    @staticmethod
    def pattern(x):
        return x if x.sum() > 0 else x + 1
    @staticmethod
    def replacement(x): return x
try:
    tt_torch.codegen_py(Model(), torch.randn(32, 32), export_path="refused")
except Exception as error:
    assert "Branching" in str(error) and "script.py:26" in str(error), error
else:
    raise AssertionError("the pattern was taken")
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where each of the scripts of torch ran. One process runs both: it takes longer to import torch than to run them."""
    root = tmp_path_factory.mktemp("scripts")
    for name, text in (("several", TORCH_SCRIPT), ("fusion", FUSION_SCRIPT)):
        (root / name).mkdir()
        (root / name / "script.py").write_text(text, encoding="utf-8")
    (root / "error").mkdir()
    done = run(root, """
import contextlib, os, runpy, traceback
for name in ("several", "fusion"):
    with contextlib.chdir(name):
        try:
            runpy.run_path("script.py", run_name="__main__")
        except BaseException:
            with open(f"../error/{name}", "w") as file:
                traceback.print_exc(file=file)
""", *LAUNCHER)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: root / name for name in ("several", "fusion", "error")}


def without_error(folders: dict[str, Path], name: str) -> Path:
    error = folders["error"] / name
    assert not error.exists(), error.read_text()
    return folders[name]


def test_torch_scripts(folders: dict[str, Path]) -> None:
    """Options of the process, then `model.compile`; a call without backend; a graph break; a program that is loaded again; single weights in blocks."""
    folder = without_error(folders, "several")
    assert not list(folder.glob("codegen_result*"))
    assert "image = utils.load" in (folder / "options" / "main.py").read_text()
    assert not (folder / "function" / "consteval.py").exists()
    assert sorted(entry.name for entry in (folder / "broken").iterdir()) == ["graph_0", "graph_1", "manifest.json", "run"]
    for export in ("options", "function", "broken", "blocks"):
        run_checked(folder / export)
    consteval = (folder / "blocks" / "consteval.py").read_text()
    assert consteval.count("bfloat8_b") == 1


def test_a_fusion_of_the_user(folders: dict[str, Path]) -> None:
    """`+` in the model, `.add()` in the pattern; the filter decides; a pattern that cannot be traced is named with its line."""
    folder = without_error(folders, "fusion")
    assert "relu" in (folder / "of_32" / "main.py").read_text()
    assert "relu" not in (folder / "of_64" / "main.py").read_text()


def test_jax_scripts(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    passed(tmp_path, """
import jax, jax.numpy as jnp, numpy as np, tt_jax
def model(weight, x): return jax.nn.relu(x @ weight)
weight, x = jax.random.normal(jax.random.key(0), (32, 16)), jnp.ones((32, 32))
wanted = np.asarray(jax.jit(model)(weight, x))
def close(value): assert np.linalg.norm(np.asarray(value) - wanted) < 1e-2 * np.linalg.norm(wanted)
close(jax.jit(model, compiler_options={"backend": "codegen_py", "export_path": "options"})(weight, x))
here = jax.jit(model, compiler_options={"optimization_level": 1})
close(here(weight, x))
close(here(weight, x))
close(jax.jit(model, compiler_options={"backend": "codegen_load_py", "export_path": "options"})(weight, x))
tt_jax.codegen_cpp(model, weight, x, export_path="cpp")
tt_jax.serialize_compiled_artifacts_to_disk(model, weight, x, output_prefix="out/model")
tt_jax.save_system_descriptor_to_disk("out/model")
try:
    jax.devices("tt")
except Exception as error:
    assert "compiler_options" in str(error)
assert jax.devices()
""", *LAUNCHER)  # fmt: skip
    run_checked(tmp_path / "options")
    assert (tmp_path / "cpp" / "model.cpp").is_file()
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["model.ttnn", "model_system_desc.ttsys", "model_ttir.mlir", "model_ttnn.mlir"]

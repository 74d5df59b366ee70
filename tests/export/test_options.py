"""Options: every spelling, every refusal and that it comes before the work, help texts and the README's table."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from alchemist import codegen, codegen_cpp, codegen_py, load_codegen_py, text_generation, torch_backend, tune, tuning
from alchemist.cli import main
from alchemist.codegen import codegen_mlir
from alchemist.errors import OptionError
from alchemist.options import CompilerOptions, pairs, table, without_effect_table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("value", [True, "true", "on", "yes", "1", 1, "True"])
def test_true(value: object) -> None:
    assert CompilerOptions.parse({"fp32_dest_acc_en": value}).fp32_dest_acc_en is True


@pytest.mark.parametrize("value", [False, "false", "off", "no", "0", 0])
def test_false(value: object) -> None:
    assert CompilerOptions.parse({"recover_structure": value}).recover_structure is False


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"fidelity": "hifi4"}, "unknown compiler option"),
        ({"math_fidelty": "hifi4"}, "did you mean 'math_fidelity'"),
        ({"export_golden": "ops"}, "an argument of codegen_py"),
        ({"math_fidelity": "hifi5"}, "expected one of lofi"),
        ({"enable_const_eval": "maybe"}, "expected true or false"),
        ({"arch": "grayskull"}, "wormhole_b0"),
        ({"experimental_weight_dtype": "int4"}, "bfp_bf8"),
        ({"recover_structure": "flase"}, "expected true or false"),
        ({"recover_structure": None}, "expected true or false"),
        ({"optimization_level": True}, "one of 0, 1, 2"),
        ({"tensor_load_directory": 3}, "expected text"),
        ({"tensor_load_directory": "a\nb"}, "expected a path"),
        ({"disable": 3}, "expected names"),
        ({"disable": [3]}, "expected names"),
        ({3: True}, "unknown compiler option '3'"),
        ({"x" * 5000: True}, "unknown compiler option"),
        ({"arch": "x" * 5000}, "one of wormhole_b0"),
        ({"mesh-shape": "2"}, "ROWS,COLUMNS"),
        ({"recover_structure": True, "codegen_try_recover_structure": "no"}, "given twice"),
        ({"load_input_tensors_from_disk": False, "tensor_load_directory": "/tmp"}, "contradicts load_input_tensors_from_disk=false"),
        (3, "is not a dictionary"),
        ("math_fidelity=hifi4", "is not a dictionary"),
        ([("arch", "n300")], "is not a dictionary"),
    ],
)
def test_refusals(given: dict, match: str) -> None:
    with pytest.raises(OptionError) as caught:
        CompilerOptions.parse(given)
    assert match in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_upstream_keys_warn() -> None:
    with pytest.warns(UserWarning, match="no effect") as warned:
        assert CompilerOptions.parse({"backend": "codegen_py"}) == CompilerOptions()
    assert warned[0].filename == __file__, "the line of the caller"


def test_alias_and_text() -> None:
    options = CompilerOptions.parse(pairs("codegen_try_recover_structure=off arch=p150 math-fidelity=hifi2"))
    assert (options.recover_structure, options.card, options.math_fidelity) == (False, "p150", "hifi2")
    assert options.changed() == {"recover_structure": False, "arch": "p150", "math_fidelity": "hifi2"}
    assert CompilerOptions.parse(options) == options


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("enable-optimizer=true", 1),
        ("enable-optimizer=true memory-layout-analysis-enabled=true", 2),
        ("enable-optimizer=false", 0),
        ("memory-layout-analysis-enabled=true", 0),
        ("enable-optimizer=true optimization-level=2", 2),
        ("enable-optimizer=true memory-layout-analysis-enabled=true optimization-level=0", 0),
    ],
)
def test_upstream_switches_are_levels(text: str, level: int) -> None:
    options = CompilerOptions.from_text(text)
    assert options.optimization_level == level
    assert CompilerOptions.parse(options) == options


@pytest.mark.parametrize(("text", "match"), [("a=1 a=2", "given twice"), ("=3", "malformed option"), ("'a", "malformed options")])
def test_malformed_text(text: str, match: str) -> None:
    with pytest.raises(OptionError, match=match):
        pairs(text)


class Forbidden:
    """A model whose capture would be the work that a refusal must come before."""

    def __call__(self, *_: Any) -> Any:
        raise AssertionError("the model was called")


@pytest.mark.parametrize(
    ("function", "arguments", "match"),
    [
        (codegen_py, {"export_golden": "ops", "export_tensors": False}, 'export_golden="ops" contradicts export_tensors=False'),
        (codegen_py, {"export_golden": "ops", "compiler_options": {"load_input_tensors_from_disk": "no"}}, "contradicts load_input_tensors_from_disk"),
        (codegen_py, {"export_golden": "ops", "compiler_options": {"tensor_load_directory": "/tmp"}}, "contradicts tensor_load_directory"),
        (codegen_py, {"export_golden": "all"}, "one of none, outputs, ops"),
        (codegen_py, {"export_golden": ["ops"]}, "one of none, outputs, ops"),
        (codegen_py, {"export_tensors": "maybe"}, "bad value for export_tensors"),
        (codegen_py, {"overwrite": 7}, "bad value for overwrite"),
        (codegen_py, {"compiler_options": 3}, "is not a dictionary"),
        (codegen_py, {"compiler_options": {"target_dylib": True}}, "target_dylib needs a C\\+\\+ program"),
        (codegen_py, {"compiler_options": {"disable": ["fuse-lineer"]}}, "bad value for compiler option 'disable'"),
        (codegen_cpp, {"compiler_options": {"target_module": True}}, "option target_module needs a Python program"),
    ],
)
def test_refused_before_the_work(function: Any, arguments: dict[str, Any], match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen, "detect_framework", lambda *_: pytest.fail("work was begun"))
    with pytest.raises(OptionError, match=match):
        function(Forbidden(), export_path=tmp_path / "out", **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("false", ["false", "no", "off", "0", 0])
def test_false_in_words_is_false(false: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither replaces a directory nor writes tensors."""
    seen: list[object] = []
    monkeypatch.setattr(codegen, "_export", lambda *arguments: seen.extend(arguments[4:7]))
    codegen_py(Forbidden(), export_path=tmp_path, export_tensors=false, overwrite=false)
    assert seen == [False, "outputs", False]


@pytest.mark.parametrize("arguments", [{"language": "rust"}, {"init": "noise"}, {"overwrite": "perhaps"}, {"standalone": "perhaps"}, {"compiler_options": 3}])
def test_codegen_mlir_refuses_before_reading(arguments: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        codegen_mlir(tmp_path / "missing.mlir", export_path=tmp_path / "out", **arguments)


def test_torch_backend_refuses_what_is_no_dictionary() -> None:
    with pytest.raises(OptionError, match="is not a dictionary"):
        torch_backend.backend(None, [], options={"compiler_options": 3})


def test_flags_are_the_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ROOT / "tests/mlir/data/cnn_ttir.mlir"
    assert main(["model-to-python", str(source), "--math-fidelity", "hifi2", "--recover-structure", "no"]) == 0
    assert "HiFi2" in capsys.readouterr().out
    assert main(["model-to-python", str(source), "--arch", "n300", "--pipeline-options", "arch=p150"]) == 1
    assert "given twice" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["generate-python", "--help"])
    said = capsys.readouterr().out
    for name in CompilerOptions.__slots__:
        assert f"--{name.replace('_', '-')}" in said


def test_docs_have_the_tables() -> None:
    """`make docs` writes them."""
    page = (ROOT / "docs/options.md").read_text()
    assert table(markdown=True) in page
    assert without_effect_table() in page


_EXPORT = {
    "export_path": "codegen_result",
    "export_tensors": True,
    "export_golden": "outputs",
    "overwrite": False,
    "compiler_options": None,
    "entry_points": None,
}
_FILE = {"language": "python", "init": "randn", "seed": 0, "inputs": None, "compiler_options": None}
_FILE_EXPORT = _FILE | {"export_path": "codegen_result", "overwrite": False, "standalone": False, "export_golden": "outputs"}
_SPREAD = {"mesh": (1, 1), "shardings": "auto"}
_TUNE = {"cards": ("n150",), "levels": (0, 1, 2), "precisions": ("model", "bfloat16", "bfp8", "bfp8_lofi"), "max_pcc_loss": None, "compiler_options": None}


@pytest.mark.parametrize(
    ("function", "defaults"),
    [
        (codegen_py, _EXPORT | _SPREAD),
        (codegen_cpp, _EXPORT | _SPREAD),
        (codegen_mlir, _FILE_EXPORT | {"entry": ""}),
        (codegen.codegen_onnx, _FILE_EXPORT | {"dims": None}),
        (codegen.mlir_sources, _FILE | {"entry": ""}),
        (codegen.onnx_sources, _FILE | {"dims": None}),
        (load_codegen_py, {"load_path": "codegen_result"}),
        (text_generation, {"prompt_tokens": 128, "total_tokens": 1024, "users": 1}),
        (tune, _TUNE),
        (tuning.tune_source, _TUNE | {"arguments": ()}),
    ],
)
def test_what_need_not_be_given(function: Any, defaults: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    assert {one.name: one.default for one in parameters if one.default is not one.empty} == defaults
    assert {name: type(value) for name, value in defaults.items()} == {one.name: type(one.default) for one in parameters if one.default is not one.empty}

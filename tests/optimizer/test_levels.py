"""`optimization_level`: faster by the clock, same arithmetic, safe choices where nothing is gained."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from modules import attention, decisions, lowered, mlp, times
from xdsl.rewriter import Rewriter

from alchemist.codegen import codegen_mlir, codegen_py, mlir_sources
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.optimizer.compute import of_matmul, repeat_for_equal_calls
from alchemist.options import CARDS
from tests import running

MODELS = {"mlp": mlp(), "tall": mlp(rows=4096, width=256, wide=256), "float32": mlp(dtype="f32"), "attention": attention(), "bfp8": mlp()}
OPTIONS = {"bfp8": {"experimental_weight_dtype": "bfp_bf8"}}
GAINED_AT_LEVEL_0 = ("attention",)
"""Models whose one op has its config at every level."""


@pytest.mark.parametrize("card", ["n150", "p150"])
@pytest.mark.parametrize("name", MODELS)
def test_level_1_is_faster_with_the_arithmetic_of_level_0(name: str, card: str) -> None:
    options = {"arch": card} | OPTIONS.get(name, {})
    module = lowered(MODELS[name], optimization_level=1, **options)
    before, after = (sum(times(each, card).values()) for each in (lowered(MODELS[name], **options), module))
    assert after <= before if name in GAINED_AT_LEVEL_0 else after < before / 1.2, (before, after)
    configured = 0
    for func in functions(module):
        for op in () if is_const_eval(func) else func.body.block.ops:
            config = access.attr(op, "matmul_program_config")
            if config is not None:
                configured += 1
                compute = access.attr(op, "compute_config")
                assert compute is not None, "a program config alone lowers the fidelity"
                assert compute["math_fidelity"] == ("hifi2" if name != "float32" else "hifi4" if CARDS[card][0] == "blackhole" else "hifi3")
            if access.attr(op, "alchemist.program_config") is not None:
                configured += 1
                assert access.attr(op, "alchemist.compute_config") is not None
    assert configured


def test_products_that_stay_as_they_are_name_the_written_out_default_too() -> None:
    """Who edits the constant changes all products of its types."""
    func = next(func for func in functions(lowered(mlp(), optimization_level=1)) if not is_const_eval(func))
    first, second = (op for op in func.body.block.ops if op.name in ("ttnn.matmul", "ttnn.linear"))
    written = access.attr(first, "compute_config")
    access.set_attr(second, "compute_config", None)
    repeat_for_equal_calls(func, "wormhole_b0")
    assert access.attr(second, "compute_config") == written
    access.set_attr(first, "compute_config", None)
    access.set_attr(second, "compute_config", None)
    repeat_for_equal_calls(func, "wormhole_b0")
    assert access.attr(first, "compute_config") is access.attr(second, "compute_config") is None


@pytest.mark.parametrize("text", [mlp(32, 32, 32), mlp(1, 64, 64)], ids=["a tile", "a row"])
def test_small_gains_leave_the_safe_choice(text: str) -> None:
    module = lowered(text, optimization_level=1)
    plain = [op for func in functions(module) for op in func.body.block.ops if op.name == "ttnn.matmul" and not access.attr(op, "alchemist.why")]
    assert len(plain) == 1 and access.attr(plain[0], "matmul_program_config") is None  # the one whose activation is a program of its own gains
    assert "stays as it is" in decisions(text, optimization_level=1)


def test_the_decision_file_names_choice_and_refusals() -> None:
    text = decisions(mlp(), optimization_level=1)
    for part in ("  level 0 ", "  chosen ", "  next ", "  refused ", "us   64 cores", "ttnn.matmul [1024, 768] x [768, 3072]"):
        assert part in text, text
    assert not decisions(mlp())


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("f32", "f32", "f32"), ("hifi3", True)),
        (("f32", "f32", "bf16"), ("hifi3", False)),
        (("f32", "bf16", "f32"), ("hifi2", True)),
        (("bf16", "f32", "f32"), ("hifi2", True)),
        (("bf16", "bf16", "f32"), ("hifi2", True)),
        (("bf16", "bf16", "bf16"), ("hifi2", False)),
        (("bfp_bf8", "bfp_bf8", "bf16"), ("lofi", False)),
    ],
)
def test_the_compute_config_of_a_product_is_the_one_that_it_has_without_program_config(types: tuple[str, ...], expected: tuple[str, bool]) -> None:
    """By dtypes of both inputs and the result: fidelity and 32-bit sums, as the real package (ttnn 0.81.1, Wormhole) builds its kernels."""
    product = next(op for op in lowered(mlp(64, 64, 64, "f32")).walk() if op.name == "ttnn.matmul")
    for value, dtype in zip((*product.operands[:2], product.results[0]), types, strict=True):
        layout = layout_of(value.type)
        assert layout is not None
        Rewriter.replace_value_with_new_type(value, layout.with_(access.shape(value), dtype=dtype).type_for(access.shape(value)))
    config = of_matmul(product, "wormhole_b0").python()
    assert (config["math_fidelity"], config["fp32_dest_acc_en"]) == expected


def test_cap_on_l1() -> None:
    full, capped = (decisions(mlp(), optimization_level=1, tensor_l1_usage_cap=cap) for cap in (0.95, 0.1))
    assert "more L1 than the cap leaves" in capped and full != capped


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_configs_are_named_constants(language: str, tmp_path: Path) -> None:
    source = tmp_path / "mlp.mlir"
    source.write_text(mlp())
    text = mlir_sources(source, language=language, compiler_options={"optimization_level": 1})["main.py" if language == "python" else "model.cpp"]
    head, _, body = text.partition("def mlp(" if language == "python" else "Tensor mlp(")
    for name in ("UP_MATMUL", "HIFI2_BF16_DEST"):
        assert name in head and name in body, text
    assert "us per call, unoptimized " in head
    assert "ProgramConfig" not in body


class Part(torch.nn.Module):
    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(rows, columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dense(x).tanh()


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"query": (512, 512), "output": (512, 2048)}, {"QUERY_DENSE_MATMUL", "OUTPUT_DENSE_MATMUL"}),  # by the module around
        ({"0": (512, 512), "1": (512, 2048)}, {"DENSE_MATMUL_8X2", "DENSE_MATMUL_8X8"}),  # by the shape, where nothing has a name
        ({"only": (512, 512)}, {"DENSE_MATMUL"}),
    ],
    ids=["modules", "shapes", "alone"],
)
def test_constants_are_told_apart_by_words(parts: dict[str, tuple[int, int]], named: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal roles get the module's, the function's or the shape's name: a number would say nothing and move with each edit."""
    monkeypatch.setattr("ttnn_shim.queries.ratio_error", lambda op: 0.0)  # every gain counts
    model = torch.nn.Sequential(OrderedDict((name, Part(*sizes)) for name, sizes in parts.items())).to(torch.bfloat16)
    x = torch.zeros(2048, 512, dtype=torch.bfloat16)
    codegen_py(model, x, export_path=tmp_path / "out", export_tensors=False, export_golden="none", compiler_options={"optimization_level": 1})
    constants = set(re.findall(r"^([A-Z]\w*MATMUL\w*) = ttnn", (tmp_path / "out" / "main.py").read_text(), re.MULTILINE))
    assert constants == named


def test_an_optimized_program_passes_its_check(tmp_path: Path) -> None:
    source = tmp_path / "mlp.mlir"
    source.write_text(mlp(256, 256, 512))
    codegen_mlir(source, export_path=tmp_path / "out", compiler_options={"optimization_level": 1})
    assert (tmp_path / "out/irs/02_decisions.txt").is_file()
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr

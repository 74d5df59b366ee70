"""`alchemist explore DIR --html`: what is linked, what lies over it, and that a model's texts stay texts."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from alchemist import codegen_py
from alchemist.cli import main
from alchemist.driver import explore_page
from alchemist.driver.explore import namespace
from tests.e2e.models import torch_attention, torch_mlp

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, args, _ = torch_mlp()
    return codegen_py(model, *args, export_path=tmp_path_factory.mktemp("explore") / "out").path


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_stages_are_linked_and_priced(export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(export), "--html", "-o", str(tmp_path / "page.html"), "--compare", str(export)]) == 0
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"""(?:src|href)\s*=|url\(|https?:""", text.partition('id="data">')[0])
    first, second = data_of(text)["exports"]
    assert first == second
    assert [stage["name"] for stage in first["stages"]] == ["fx", "ttir", "ttnn"]
    keys = [{key for node in stage["nodes"] for key in node["keys"]} for stage in first["stages"]]
    assert keys[0] & keys[2]
    assert keys[1] & keys[2]
    nodes = [node for node in first["stages"][-1]["nodes"] if "ns" in node]
    assert {node["op"] for node in nodes} == {"ttnn.linear"}
    for node in nodes:
        file, _, line = node["line"].partition(":")
        assert "ttnn.linear(" in first["code"][file][int(line) - 1]
        assert node["ns"] > 0
        assert all(edge["layout"] for edge in node["edges"])
        (line,) = node["overrides"]
        assert re.fullmatch(r'"override_output_layout": "linear(_\d)?=dram:interleaved"', line)


def test_calls_of_repeated_layers_and_their_errors(tmp_path: Path) -> None:
    """Each op of three equal blocks has the time of its own call, and the error of its own value."""
    model, args, _ = torch_attention()
    made = codegen_py(model, *args, export_path=tmp_path / "out", export_golden="ops")
    nodes = data_of(explore_page.page(made.path, namespace))["exports"][0]["stages"][-1]["nodes"]
    for name, key in (("layer_norm", "ns"), ("linear", "ns"), ("linear", "error"), ("linear", "pcc"), ("softmax", "ns")):
        ops = [node for node in nodes if node["op"] == f"ttnn.{name}"]
        assert len(ops) >= 3
        assert all(key in node for node in ops), (name, key)


def test_texts_of_a_model_stay_texts(export: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "irs").symlink_to(export / "irs")
    (copy / "manifest.json").write_text(json.dumps({"model": HOSTILE}))
    (copy / "main.py").write_text(f"# {HOSTILE}\n")
    text = explore_page.page(copy, namespace)
    assert HOSTILE not in text
    assert text.count("<script") == 2
    found = data_of(text)["exports"][0]
    assert found["model"] == HOSTILE
    assert found["note"].startswith("no times")


@pytest.mark.parametrize("text", ["", "{", '{"a": \xff', "[" * 100_000, "3"])
@pytest.mark.parametrize("file", ["manifest.json", "profile/calls.json"])
def test_damaged_files(file: str, text: str, export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "export"
    shutil.copytree(export, target)
    (target / "profile").mkdir()
    (target / "profile" / "calls.json").write_text('{"calls": []}')
    (target / file).write_text(text)
    assert main(["explore", str(target), "--html", "--profile", str(target / "profile"), "-o", str(tmp_path / "page.html")]) == 1
    printed = capsys.readouterr().err
    assert "ALC-09" not in printed
    assert Path(file).name in printed


def test_no_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(tmp_path), "--html"]) == 1
    assert "no export with its compiler stages" in capsys.readouterr().err

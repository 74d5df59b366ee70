"""`alchemist explore DIR --html`: what is linked, what lies over it, and that a model's texts stay texts."""

from __future__ import annotations

import http.client
import json
import queue
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from alchemist import codegen_py
from alchemist.cli import main
from alchemist.driver import explore_page, explore_serve
from alchemist.driver.explore import namespace
from alchemist.errors import InputError
from tests.shared import small_export

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_export(tmp_path_factory, "torch_mlp", codegen_py)


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


def test_calls_of_repeated_layers_and_their_errors(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each op of three equal blocks has the time of its own call, and the error of its own value."""
    made = small_export(tmp_path_factory, "torch_attention", codegen_py, export_golden="ops")
    nodes = data_of(explore_page.page(made, namespace))["exports"][0]["stages"][-1]["nodes"]
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


STAGES = {
    "00_model_fx.txt": """
     # File: /home/me/repo/src/net/layers.py:7 in forward, code: x + y
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, y);  x = y = None
    relu = torch.ops.aten.relu.default(add)
    """
    + f'mul: "f32[2, 3]" = torch.ops.aten.mul.Tensor(relu, add, {"z" * 400})\n',
    "01_ttir.mlir": """
      func.func private @other(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
        return %x : tensor<2x2xf32>
      }
      func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32> {ttir.name = "weight"}) -> tensor<2x3xf32> {
        %0 = "ttir.add"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(fused["a"("m.py":1:2), "b"("m.py":2:2), "c"("m.py":3:2), "d"("m.py":4:2), "e"("m.py":5:2)])
        %1 = "ttir.sum"(%0) <{dim_arg = [1 : i32], keep_dim = true}> : (tensor<2x3xf32>) -> tensor<2x1xf32>
        %2 = "ttir.add"(%0, %1) : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
        return %2 : tensor<2x3xf32>
      }""",
    "02_empty.mlir": "module {}",
    "notes.mlir": "no stage",
}


def test_every_field_of_a_node(tmp_path: Path) -> None:
    (tmp_path / "irs").mkdir()
    for name, text in STAGES.items():
        (tmp_path / "irs" / name).write_text(text)
    (tmp_path / "manifest.json").write_text('{"model": "a model"}')
    found = data_of(explore_page.page(tmp_path, namespace))["exports"][0]
    assert (found["model"], found["code"], [(stage["name"], stage["file"]) for stage in found["stages"]]) == (
        "a model", {}, [("model_fx", "irs/00_model_fx.txt"), ("ttir", "irs/01_ttir.mlir")],
    )  # fmt: skip
    fx, ttir = (stage["nodes"] for stage in found["stages"])
    given = {"module": "", "source": ["src/net/layers.py:7 forward"], "from": []}
    none = {"type": "", "layout": "", "bytes": 0}
    assert fx == [
        given | {"op": "add = aten.add.Tensor", "keys": ["name|add"], "results": [none | {"type": "f32[2, 3]"}], "edges": [], "attributes": [["arguments", "x, y"]]},
        given | {"op": "relu = aten.relu.default", "keys": ["name|relu"], "results": [none], "edges": [{"from": 0, "label": "add", "type": "", "layout": ""}],
                 "attributes": [["arguments", "add"]]},
        given | {"op": "mul = aten.mul.Tensor", "keys": ["name|mul"], "results": [none | {"type": "f32[2, 3]"}],
                 "edges": [{"from": 1, "label": "relu", "type": "", "layout": ""}, {"from": 0, "label": "add", "type": "", "layout": ""}],
                 "attributes": [["arguments", f"relu, add, {'z' * 400}"[:300]]]},
    ]  # fmt: skip

    def edge(producer: int, label: str, type_: str = "2x3 f32") -> dict[str, Any]:
        return {"from": producer, "label": label, "type": type_, "layout": ""}

    plain = {"module": "", "keys": [], "source": [], "from": [], "attributes": [], "overrides": []}
    assert ttir == [
        plain | {"op": "ttir.add", "keys": [*(f"name|{name}" for name in "abcde"), *(f"|m.py:{line}|" for line in range(1, 6))], "source": [f"m.py:{line}" for line in range(1, 5)],
                 "results": [{"type": "2x3 f32", "layout": "", "bytes": 24}], "edges": [edge(-1, "arg0"), edge(-1, "weight")]},
        plain | {"op": "ttir.sum", "results": [{"type": "2x1 f32", "layout": "", "bytes": 8}], "edges": [edge(0, "ttir.add")], "attributes": [["keep_dim", "True"], ["dim_arg", "(1,)"]]},
        plain | {"op": "ttir.add", "results": [{"type": "2x3 f32", "layout": "", "bytes": 24}], "edges": [edge(0, "ttir.add"), edge(1, "ttir.sum", "2x1 f32")]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "note"),
    [
        ("#!/bin/sh\nexit 3\n", "no times: ./run --estimate ended with 3"),
        ("#!/bin/sh\nexit 0\n", "no times: ./run --estimate ended with 0"),
        ("", "no times: [Errno"),
    ],
)
def test_an_export_that_does_not_run_has_no_times(program: str, note: str, tmp_path: Path) -> None:
    (tmp_path / "irs").mkdir()
    (tmp_path / "irs" / "01_ttir.mlir").write_text(STAGES["01_ttir.mlir"])
    (tmp_path / "manifest.json").write_text("{}")
    if program:
        (tmp_path / "run").write_text(program)
        (tmp_path / "run").chmod(0o755)
    assert data_of(explore_page.page(tmp_path, namespace))["exports"][0]["note"].startswith(note)


def test_a_profile_that_is_none(export: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no profile"):
        explore_page.page(export, namespace, tmp_path)
    (tmp_path / "calls.json").write_text("[]")
    with pytest.raises(InputError, match="not the calls of a profiled run"):
        explore_page.page(export, namespace, tmp_path)


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


@pytest.fixture
def address(export: Path) -> Iterator[tuple[str, int]]:
    """Host and port of a server of the export's page."""
    servers: queue.Queue[HTTPServer] = queue.Queue()
    thread = threading.Thread(target=explore_serve.serve, args=(export, 0, namespace, servers.put), daemon=True)
    thread.start()
    server = servers.get(timeout=300)
    yield str(server.server_address[0]), server.server_port
    server.shutdown()
    thread.join()


def _ask(address: tuple[str, int], method: str, body: str = "", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(*address, timeout=600)
    connection.request(method, "/", body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_served_page_emits_prices_and_compares(address: tuple[str, int]) -> None:
    assert address[0] == "127.0.0.1"
    status, text = _ask(address, "GET")
    assert status == 200 and len(data_of(text)["exports"]) == 1
    token = re.search(r'name="token" value="([\w-]+)"', text)
    assert token
    status, text = _ask(address, "POST", urlencode({"token": token[1], "options": "optimization_level=2"}))
    before, after = data_of(text)["exports"]
    assert status == 200 and 0 < after["device_ns"] < before["device_ns"]
    assert f"A {before['device_ns'] / 1000:.1f} us, B {after['device_ns'] / 1000:.1f} us" in text
    _, text = _ask(address, "POST", urlencode({"token": token[1], "options": "override_output_layout=<none>=l1 optimization_level=2"}))
    assert "&lt;none&gt;" in text and "<none>" not in text and len(data_of(text)["exports"]) == 1
    assert _ask(address, "POST", urlencode({"token": "x", "options": "optimization_level=2"}))[0] == 403
    assert _ask(address, "GET", Host="example.com:80")[0] == 403


def test_what_cannot_be_served(tmp_path: Path, capsys: pytest.CaptureFixture[str], export: Path) -> None:
    assert main(["explore", "--serve", str(tmp_path)]) == 1
    assert "no export with its compiler stages" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["explore", "--serve", str(export), "--port", str(taken.getsockname()[1])]) == 1
    assert "cannot be used" in capsys.readouterr().err

"""Reading and printing takes time in proportion to the text: measured in processor time, as a ratio, and bounded for 2 MB with layouts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from alchemist.ir.layout import TTNNLayout
from alchemist.ir.printer import attribute_text

pytestmark = pytest.mark.slow  # whoever shares the cores changes the times

MEASURE = """
import json, re, sys, time
from alchemist.driver import mlir_files
from alchemist.ir.text import print_module
found = []
for text in sys.stdin.read().split("@@@"):
    start = time.process_time()
    module = mlir_files.read(mlir_files.Chunk(text, "x.mlir"))
    printed = print_module(module)
    found.append(time.process_time() - start)
# not ru_maxrss: it begins with what the parent held when it forked
peak_kilobytes = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps({"seconds": found, "megabytes": peak_kilobytes / 1024}))
"""


def _text(ops: int, *, distinct: int, aliases: bool) -> str:
    """`ops` TTNN ops on tensors with `distinct` layouts, written out at every use or as aliases."""
    types, head = [], []
    for index in range(distinct):
        dims = (2, 32 * (index % 97 + 1), 32 * (index // 97 + 1))
        layout = attribute_text(TTNNLayout.make(dims, "bf16"))
        if aliases:
            head.append(f"#ttnn_layout{index} = {layout}")
            layout = f"#ttnn_layout{index}"
        types.append(f"tensor<{'x'.join(map(str, dims))}xbf16, {layout}>")
    arguments = ", ".join(f"%arg{index}: {type_}" for index, type_ in enumerate(types))
    body = [
        f'%{index} = "ttnn.relu"(%arg{index % distinct}) : ({types[index % distinct]}) -> {types[index % distinct]} loc("layer{index // 9}"("m.py":{index}:3))'
        for index in range(ops)
    ]
    return "\n".join([*head, f"func.func @f({arguments}) {{", *body, "return", "}"])


def _measure(*texts: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", MEASURE], input="@@@".join(texts), capture_output=True, text=True, timeout=300, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("aliases", [False, True])
def test_time_is_linear(aliases: bool) -> None:
    small, large = _text(1500, distinct=50, aliases=aliases), _text(12000, distinct=50, aliases=aliases)
    for _ in range(2):  # whoever shares the core costs processor time too
        warm, first, second = _measure(small, small, large)["seconds"]  # type: ignore[misc]
        if second < 13 * max(first, warm / 2):  # eight times the ops
            break
    assert second < 13 * max(first, warm / 2)
    assert second < 10


def test_two_megabytes_of_layouts() -> None:
    text = _text(4200, distinct=2000, aliases=False)
    assert len(text) > 2_000_000
    found = _measure(text)
    assert found["seconds"][0] < 5  # type: ignore[index]
    assert found["megabytes"] < 500  # type: ignore[operator]

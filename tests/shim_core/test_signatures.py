"""One table of signatures: what is made from it is current, and says what the table says."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from ttnn import _core

PYTHON = Path(__file__).parents[2] / "ttnn_shim" / "python"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PYTHON / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


make_arguments, check_layers = script("make_arguments"), script("check_layers")
TABLE = json.loads((PYTHON / "ttnn" / "_signatures.json").read_text())


@pytest.mark.parametrize(
    ("op", "member"),
    [
        ("ttnn.fold", "uint32_t stride_h;"),  # required, width from the table
        ("ttnn.softmax", "int32_t dim = -1;"),
        ("ttnn.softmax", "bool numeric_stable = true;"),
        ("ttnn.conv2d", "std::array<uint32_t, 2> stride = {1, 1};"),
        ("ttnn.add", "Operand input_tensor_b;"),  # a tensor in one overload, a number in the other
        ("ttnn.argmax", "std::optional<int32_t> dim = {};"),
        ("ttnn.gelu", "ttnn::operations::unary::GeluVariant variant = ttnn::operations::unary::GeluVariant::Accurate;"),
        ("ttnn.topk", "std::optional<Unsupported> output_tensor = {};"),  # a row of argument_types.csv
    ],
)
def test_members(op: str, member: str) -> None:
    text = make_arguments.arguments_text(TABLE, rows())
    block = text[text.index(f"/// {op}\n") :]
    assert member in re.sub(r"\s+", " ", block[: block.index("\n};")])


def rows() -> dict[tuple[str, str], dict[str, str]]:
    import csv

    with open(PYTHON / "argument_types.csv", newline="", encoding="utf-8") as handle:
        return {(row["op"], row["parameter"]): row for row in csv.DictReader(handle)}


def test_a_changed_table_makes_other_structs() -> None:
    changed = json.loads(json.dumps(TABLE))
    for param in changed["params"]:
        if param[0] == "numeric_stable":
            param[3:] = [False]
    assert make_arguments.arguments_text(changed, rows()) != make_arguments.arguments_text(TABLE, rows())


def test_every_row_is_used() -> None:
    """A row for a parameter that no overload has would be a quirk that is gone."""
    known = {(name, TABLE["params"][i][0]) for name, (index, _) in TABLE["functions"].items() for o in TABLE["sets"][index] for i in o[1:]}
    known |= {(name, TABLE["params"][i][0]) for name, index in TABLE["wrapped"].items() for o in TABLE["sets"][index] for i in o[1:]}
    known |= {("*", parameter) for _, parameter in known}
    assert set(rows()) <= known


def test_registered_ops_have_structs() -> None:
    text = make_arguments.arguments_text(TABLE, rows())
    described = set(re.findall(r"^/// (ttnn\.[\w.]+)$", text, re.MULTILINE))
    described |= {"ttnn." + name.rsplit(".", 1)[-1] for name in described if ".operations." in name}
    assert set(_core.op_names()) <= described


@pytest.mark.parametrize(
    ("path", "line", "crossing"),
    [
        ("ops/launch.cpp", '#include "strategy/op_config.hpp"', False),
        ("abi/abi.cpp", '#include "ops/registry.hpp"', False),
        ("sim/engine.cpp", '#include "strategy/common.hpp"', True),
        ("tensor/storage.cpp", '#include "ops/launch.hpp"', True),
        ("strategy/conv.cpp", '#include "tensor/dtype.hpp"', True),
        ("ops/launch.cpp", '#include "abi/reports.hpp"', True),
        ("abi/sim_abi.cpp", '#include "ops/registry.hpp"', True),
        ("include/ttnn/core.hpp", "#include <tensor/storage.hpp>", True),
    ],
)
def test_layers(path: str, line: str, crossing: bool) -> None:
    assert bool(check_layers.crossings(path, [line])) is crossing


def test_no_file_crosses_the_layers() -> None:
    assert check_layers.main() == 0

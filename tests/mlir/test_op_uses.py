"""Every op of both op lists in a valid use: parsed, verified, printed, parsed again, equal; and refused when spoilt."""

from __future__ import annotations

import re

import pytest

from alchemist.driver import mlir_files
from alchemist.errors import VerifyError
from alchemist.ir.dialects import op_table
from alchemist.ir.printer import print_module
from tests.mlir.op_uses import Use, uses
from tests.tables import table

USES = [use for dialect in ("ttir", "ttnn") for use in uses(dialect)]


@pytest.mark.parametrize("dialect", ["ttir", "ttnn"])
def test_every_op_has_a_use(dialect: str) -> None:
    assert {use.name for use in USES if use.name.startswith(dialect)} == set(op_table(dialect))


@table("use", USES, ids=lambda use: use.name)
def test_use_is_verified_and_survives(use: Use) -> None:
    module = mlir_files.read(mlir_files.Chunk(use.text, "use.mlir"))
    printed = print_module(module)
    again = mlir_files.read(mlir_files.Chunk(printed, "printed.mlir"))
    assert any(op.name == use.name for op in again.walk())
    assert print_module(again) == printed
    assert module.is_structurally_equivalent(again)


REQUIRED = [use for use in USES if any(info.required for info in op_table(use.name[:4])[use.name].attributes.values()) and "<{" in use.text]


@table("use", REQUIRED, ids=lambda use: use.name)
def test_use_without_its_attributes_is_refused(use: Use) -> None:
    head, _, rest = use.text.partition(f'"{use.name}"')
    segments = re.search(r"operandSegmentSizes = array<i32: [^>]*>", rest)
    kept = f"<{{{segments[0]}}}>" if segments else ""
    start, end = rest.index("<{"), rest.index("}> :") + 2
    with pytest.raises(VerifyError, match="missing required attribute") as error:
        mlir_files.read(mlir_files.Chunk(f'{head}"{use.name}"{rest[:start]}{kept}{rest[end:]}', "use.mlir"))
    assert error.value.op == use.name

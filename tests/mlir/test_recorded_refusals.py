"""Every change of what is refused, in which words and where, and of what single ops become, is seen: against the recorded ones."""

from __future__ import annotations

import pytest

from tests.mlir.recorded import RECORDED, said, texts

_TEXTS = list(texts())


def test_every_text_is_recorded() -> None:
    assert [line.partition("\t")[0] for line in RECORDED.read_text().splitlines()] == [name for name, _ in _TEXTS]


@pytest.mark.parametrize("first", range(0, len(_TEXTS), 100))
def test_refusals_are_as_recorded(first: int) -> None:
    lines = RECORDED.read_text().splitlines()
    for line, (name, text) in zip(lines[first : first + 100], _TEXTS[first : first + 100], strict=True):
        now = f"{name}\t{said(name, text)}"
        assert now == line, f"explain it in the commit and run `python -m tests.mlir.recorded`\n{text[-2000:]}"

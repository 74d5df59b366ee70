"""The linter of pages finds what it says and nothing in code, tables or generated blocks."""

from __future__ import annotations

import pytest

from tools.prose import findings, over_budget

LONG = " ".join(["word"] * 31) + "."


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("Short sentence. Another one.\n", []),
        (f"{LONG[:80]}\n{LONG[80:]}\n", [(1, "sentence")]),
        ("x" * 101 + "\n", [(1, "line")]),
        ("The tensor is turned before the product.\n", [(1, "word")]),
        ("The pass moves the reshape; `what lies` in code does not count.\n", []),
        (f"```text\n{'x' * 120}\n{LONG}\n```\n", []),
        (f"| {LONG} |\n|---|\n", []),
        (f"<!-- shown: levels -->\n{LONG}\n<!-- /shown -->\nFine.\n", []),
        (f"- one item\n- {LONG[:90]}\n  {LONG[90:]}\n", [(2, "sentence")]),
    ],
)
def test_findings(page: str, found: list[tuple[int, str]]) -> None:
    assert [(number, kind) for number, kind, _ in findings(page)] == found


def test_a_page_may_not_have_more_findings_than_before() -> None:
    none, some = {"sentence": 0, "line": 0, "word": 0}, {"sentence": 2, "line": 0, "word": 0}
    assert over_budget({"a.md": some}, {"a.md": some}) == []
    assert over_budget({"a.md": none, "new.md": none}, {"a.md": some}) == []
    assert [line.split(":")[0] for line in over_budget({"a.md": some, "new.md": some}, {"a.md": none})] == ["a.md", "new.md"]

"""The linter of pages finds what it says and nothing in code, tables or generated blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.prose import bytes_by_hand, findings, is_for_users, over_budget, too_long

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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The gain is [1.34x](lab/gains.md#all-rows), the error\n[12.5 %, 35.7 %](lab/gains.md).\n", []),
        ("The gain is 1.34x.\n", ["'1.34x'"]),
        ("Off by 3\nto 9 % on 8 cores, and in 2,000 ms.\n", ["'3\\nto 9 %'", "'2,000 ms'"]),
        ("The gain is [1.3x](lab/gains.md).\n", ["1.3 is not in lab/gains.md"]),
        ("The gain is [1.34x](lab/gains.md#others) or [9x](lab/gains.md#others).\n", ["1.34 is not in lab/gains.md"]),
        ("The gain is [1.34x](lab/none.md) and [1.34x](optimizer.md).\n", ["1.34 is not in lab/none.md", "'1.34x'"]),
        ("A 2x4 mesh, 512 x 512 values, `4.7 ms` in code, 32 times.\n", []),
        ("<!-- shown: levels -->\n5 ms\n<!-- /shown -->\n    check: 20.9x\n", []),
    ],
)
def test_a_measured_figure_is_a_link_to_the_page_that_has_it(tmp_path: Path, text: str, found: list[str]) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "gains.md").write_text("# Gains\n\n## All rows\n\n| model | 1.34x | 12.5 % | 35.7 % |\n\n## Others\n\n| model | 9x |\n")
    said = [what for _, kind, what in findings(text, tmp_path) if kind == "figure"]
    assert len(said) == len(found) and all(what.startswith(start) for what, start in zip(said, found, strict=True)), said


def test_what_users_read_has_a_limit() -> None:
    assert [path for path in ("README.md", "docs/a.md", "docs/ops.md", "docs/lab/a.md", "tests/README.md") if is_for_users(path)] == ["README.md", "docs/a.md"]
    assert bytes_by_hand("ab\n<!-- shown: x -->\nlong\n<!-- /shown -->\n```console\n$ ls\n```\n```sh\nls\n```\n") == len("ab\n\n\n```sh\nls\n```\n")
    assert too_long({"docs/a.md": 8 << 10}) == []
    assert [line.split(":")[0] for line in too_long({f"docs/{number}.md": 8 << 10 for number in range(10)} | {"docs/long.md": 8193})] == [
        "docs/long.md",
        "pages of users",
    ]


def test_a_page_may_not_have_more_findings_than_before() -> None:
    none, some = dict.fromkeys(("sentence", "line", "word", "figure"), 0), {"sentence": 2, "line": 0, "word": 0, "figure": 0}
    assert over_budget({"a.md": some}, {"a.md": some}) == []
    assert over_budget({"a.md": none, "new.md": none}, {"a.md": some}) == []
    assert [line.split(":")[0] for line in over_budget({"a.md": some, "new.md": some}, {"a.md": none})] == ["a.md", "new.md"]

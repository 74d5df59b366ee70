"""Where calls are broken, comments cut and floats shortened: on both sides of the width."""

from __future__ import annotations

import pytest

from alchemist.program.text import WIDTH, comment, float_digits, lines_of_text
from emit_cpp.layout import Call, lines
from emit_py.layout import call_lines

HEAD = "function_of_a_name"


@pytest.mark.parametrize("note", ["", "why"])
@pytest.mark.parametrize("over", [0, 1])
def test_calls_of_python(over: int, note: str) -> None:
    behind = "  # why" if note else ""
    first = "x" * (WIDTH + over - len(f"    {HEAD}(, y){behind}"))
    assert call_lines(HEAD, [first, "y"], "    ", note) == (
        [f"    {HEAD}(", f"        {first}, y", f"    ){behind}"] if over else [f"    {HEAD}({first}, y){behind}"]
    )
    first = "x" * (WIDTH + over - len("        , y"))
    assert call_lines(HEAD, [first, "y"], "    ", note) == (
        [f"    {HEAD}(", f"        {first},", "        y,", f"    ){behind}"] if over else [f"    {HEAD}(", f"        {first}, y", f"    ){behind}"]
    )
    assert call_lines("f" * WIDTH, [], "    ", note) == [f"    {'f' * WIDTH}(){behind}"]


@pytest.mark.parametrize("note", ["", "why"])
@pytest.mark.parametrize("over", [0, 1])
def test_calls_of_cpp(over: int, note: str) -> None:
    behind = "  // why" if note else ""
    first = "x" * (WIDTH + over - len(f"    {HEAD}(, y);{behind}"))
    assert lines(Call(HEAD, [first, "y"], ";"), "    ", note) == (
        [f"    {HEAD}(", f"        {first}, y);{behind}"] if over else [f"    {HEAD}({first}, y);{behind}"]
    )
    first = "x" * (WIDTH + over - len(f"        , y);{behind}"))
    assert lines(Call(HEAD, [first, "y"], ";"), "    ", note) == (
        [f"    {HEAD}(", f"        {first},", f"        y);{behind}"] if over else [f"    {HEAD}(", f"        {first}, y);{behind}"]
    )
    assert lines(Call("f" * WIDTH, [], ";"), "    ", note) == [f"    {'f' * WIDTH}();{behind}"]


def test_calls_inside_calls_of_cpp() -> None:
    """A call inside one that is broken has a line of its own, braces stay where they are."""
    long = "x" * (WIDTH - 20)
    assert lines(Call(HEAD, [Call("g", ["1"]), long], ";"), "") == [f"{HEAD}(", "    g(1),", f"    {long});"]
    assert lines(Call(HEAD, [Call("g", ["1"], opening="{", closing="}"), long], ";"), "") == [f"{HEAD}(", f"    g{{1}}, {long});"]
    longer = "x" * (WIDTH - 10)
    assert lines(Call("f", [Call("g", [longer, "1", "2"])], ";"), "") == ["f(", "    g(", f"        {longer},", "        1, 2));"]
    assert lines(Call("f", ["a", Call("g", ["1"], ".b")], ";"), "") == ["f(a, g(1).b);"]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("12345678", 8, "12345678"),
        ("123456789", 8, "12345..."),
        ("1234 6789", 8, "1234..."),
        ("123\\\\6789", 8, "123..."),
        ("ends \\ \\", 20, "ends"),
        ("1234", 3, "..."),
        ("1234", 2, "..."),
        ("a\nb\u202ec\t d", 20, "a b c d"),
    ],
)
def test_comments(text: str, width: int, shown: str) -> None:
    assert comment(text, width) == shown


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (9999999.0, "9999999.0"), (1e7, "1e7"), (-1e9, "-1e9"), (123456789.0, "123456789.0"), (1.5e20, "1.5e20"), (3.4028234663852886e38, "3.4028234663852886e38")],
)  # fmt: skip
def test_floats(value: float, text: str) -> None:
    assert float_digits(value) == text
    assert float(text) == value


def test_what_is_said_of_a_tensor_stays_on_one_line() -> None:
    text = "[1, 32] uint32 row-major in DRAM -> states [1, 32, 128], keys 4 x [1, 4, 32, 32] in DRAM and probabilities.{0..3} [1, 4, 32, 32]."
    for width in range(37, len(text) + 1):
        found = lines_of_text(text, width)
        assert " ".join(found) == text and max(map(len, found)) <= width
        assert all(line.count("[") == line.count("]") for line in found)
    assert lines_of_text("[1, 2, 3] bfloat16", 8) == ["[1, 2,", "3]", "bfloat16"], "no room for it"
    assert lines_of_text("x" * 20, 8) == ["x" * 20]

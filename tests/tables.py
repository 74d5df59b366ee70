"""Tests of a table of cases: one test tries every row, goes on where one fails, and prints all that failed by name.

`--row TEXT` tries the rows alone whose names contain the text; a single one fails with its own traceback.
`groups` and `together`: cases that are captured or exported together, because most of the time of each is the same work.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.device import as_found

Row = tuple[str, dict[str, Any]]
ONLY: list[str] = []
"""The text of `--row`, where it is given (conftest.py)."""
_MOST_SHOWN = 20
_OF_EACH_ROW = ("monkeypatch", "tmp_path", "capsys")


def table(names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], Any] | Sequence[str] | None = None) -> Callable[[Any], Any]:
    """As `pytest.mark.parametrize`, in one test. Several are stacked as its are. A row gets a monkeypatch and an empty tmp_path of its own."""
    split = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    axis = [_row(split, row, number, ids) for number, row in enumerate(rows)]
    assert axis, "a table without rows tests nothing"

    def decorate(function: Any) -> Any:
        inner = getattr(function, "function_of_a_row", function)
        axes = [*getattr(function, "axes", ()), axis]
        signature = inspect.signature(inner)
        given = {name for rows in axes for name in rows[0][1]}

        @wraps(inner)
        def all_rows(**fixtures: Any) -> None:
            cases = [("-".join(name for name, _ in parts), {key: value for _, values in parts for key, value in values.items()}) for parts in product(*axes)]
            _try(inner, [case for case in cases if all(text in case[0] for text in ONLY)], fixtures)

        all_rows.__signature__ = signature.replace(parameters=[one for name, one in signature.parameters.items() if name not in given])  # type: ignore[attr-defined]
        all_rows.function_of_a_row, all_rows.axes = inner, axes  # type: ignore[attr-defined]
        return all_rows

    return decorate


def groups(cases: Mapping[str, Any], size: int, kind: Callable[[str, Any], object] = lambda name, case: None, nightly: Collection[str] = ()) -> list[Any]:
    """Parameters for pytest: dictionaries of up to `size` cases of one kind, named after their first case.

    nightly: cases of the slow suite, in groups of their own.
    """
    assert set(nightly) <= cases.keys(), set(nightly) - cases.keys()
    of_kind: dict[tuple[bool, object], list[str]] = {}
    for name, case in cases.items():
        of_kind.setdefault((name in nightly, kind(name, case)), []).append(name)
    parts = [(names[start : start + size], late) for (late, _), names in of_kind.items() for start in range(0, len(names), size)]
    return [pytest.param({name: cases[name] for name in part}, id=f"{part[0]}+{len(part) - 1}", marks=pytest.mark.slow if late else ()) for part, late in parts]


def together(cases: Mapping[str, Any], check: Callable[[list[Any]], object]) -> None:
    """Checks all cases at once; if that fails, checks each alone and names those that fail. A failure that none has alone is raised as it is."""
    assert cases
    chosen = {name: case for name, case in cases.items() if all(text in name for text in ONLY)}
    if not chosen:
        pytest.skip("--row names none of these cases")
    try:
        check(list(chosen.values()))
    except Exception:
        failed = []
        for name, case in chosen.items() if len(chosen) > 1 else ():
            try:
                check([case])
            except Exception as error:  # noqa: BLE001 (whatever a test may raise)
                failed.append(f"{name}: {type(error).__name__} {str(error).strip()[:600]}")
        if not failed:
            raise
        pytest.fail("\n".join([f"{len(failed)} of {len(chosen)} cases fail (--row NAME: one with its traceback)", *failed]), pytrace=False)


def _row(names: Sequence[str], row: Any, number: int, ids: Callable[[Any], Any] | Sequence[str] | None) -> Row:
    values, name = row, None
    if isinstance(row, type(pytest.param())):
        assert not row.marks, "rows with marks are cases of pytest.mark.parametrize"
        values, name = row.values if len(names) > 1 else row.values[0], row.id
    values = [values] if len(names) == 1 else list(values)
    assert len(values) == len(names)
    if name is None and ids is not None and not callable(ids):
        name = ids[number]
    if name is None:
        name = "-".join(_name(value, key, number, ids if callable(ids) else None) for key, value in zip(names, values, strict=True))
    return str(name), dict(zip(names, values, strict=True))


def _name(value: Any, key: str, number: int, ids: Callable[[Any], Any] | None) -> str:
    said = ids(value) if ids is not None else None
    if said is None:
        said = value if isinstance(value, str | int | float | bool | None) else getattr(value, "__name__", None)
    return f"{key}{number}" if said is None else str(said)


def _try(function: Callable[..., Any], cases: Sequence[Row], fixtures: dict[str, Any]) -> None:
    failed = []
    for number, (name, values) in enumerate(cases):
        own = dict(fixtures)
        if "tmp_path" in own:
            own["tmp_path"] = fixtures["tmp_path"] / f"row_{number}"
            own["tmp_path"].mkdir()
        if "capsys" in own:
            own["capsys"].readouterr()
        try:
            with pytest.MonkeyPatch.context() as patch, as_found():
                function(**values, **(own | {"monkeypatch": patch} if "monkeypatch" in own else own))
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            if len(cases) == 1:
                raise
            failed.append(f"{name}: {_said(error, function)}")
    if failed:
        more = (
            [f"... and {len(failed) - _MOST_SHOWN} more: {', '.join(text.partition(': ')[0] for text in failed[_MOST_SHOWN:])}"]
            if len(failed) > _MOST_SHOWN
            else []
        )
        pytest.fail("\n".join([f"{len(failed)} of {len(cases)} rows fail (--row NAME: one with its traceback)", *failed[:_MOST_SHOWN], *more]), pytrace=False)


def _said(error: BaseException, function: Callable[..., Any]) -> str:
    """Where in the test, and what the error says."""
    file = inspect.getsourcefile(function)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    place = f"{Path(str(file)).name}:{lines[-1]} " if lines else ""
    return f"{place}{type(error).__name__} {str(error).strip()[:600]}"

"""Every function, enum, class and parameter that the simulator offers, against the facts of the real package (ttnn 0.81.1).

What is looked at are the live objects, not the table they are made from. Differences are listed in EXPLAINED with a reason; an
entry that no longer differs fails the test too.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any

import pytest
import ttnn
from ttnn import _facts
from ttnn._binding import Overloads
from ttnn._convert import default_value

from tests.tables import table

# Full name -> why it differs from the real package.
EXPLAINED = {
    "ttnn.device.open_device": "the real one publishes a hand-written text without defaults; its documentation gives them",
    "ttnn.core.set_printoptions": "the real one publishes a hand-written text without defaults; its documentation gives them",
}
# Methods of real classes that the simulator leaves out: several devices, or parts of the real runtime.
METHODS_ABSENT = {
    "ttnn.Device": {"dram_core_from_logical_core", "get_optimal_dram_bank_to_logical_worker_assignment", "get_view"},
    "ttnn.Tensor": {"experimental_per_core_buffer_address", "update_tensor_topology"},
    "ttnn.Config": {"apply_json_overrides", "load_from_file", "save_to_file"},
}  # fmt: skip
# Classes that exist to be named in annotations, or whose constructor the real package publishes as text of another form.
NO_CONSTRUCTOR_CHECK = {"ttnn.Config", "ttnn.Device", "ttnn.MeshEvent", "ttnn.DispatchCoreConfig"}


def live(name: str) -> Any:
    value: Any = ttnn
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def names(table: str) -> list[str]:
    return sorted(_facts.facts()[table])


Row = list[Any]


def real_rows(overloads: list[dict[str, Any]]) -> list[list[Row]]:
    """[[name, kind, default or "<required>"], ...] per overload."""
    rows = []
    for one in overloads:
        rows.append([[p[0], p[1], default_value(p[3], p[2]) if len(p) > 3 else "<required>"] for p in one["p"]])
    return rows


def live_rows(function: Any) -> list[list[Row]]:
    """The same of a live callable: its overload list, else its Python signature."""
    overloads = getattr(function, "__overloads__", None)
    if isinstance(overloads, Overloads):
        return [
            [[p.name, p.kind, "<required>" if p.default is _facts.REQUIRED else default_value(p.default, p.type)] for p in one.params]
            for one in overloads.overloads
        ]
    kinds = {0: "P", 1: "", 2: "*", 3: "K", 4: "**"}
    rows = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            default = "<required>" if parameter.default is parameter.empty else parameter.default
            rows.append([parameter.name, kinds[parameter.kind], default])
    return [rows]


def same(real: list[list[Row]], ours: list[list[Row]]) -> bool:
    def clean(rows: list[list[Row]]) -> Any:
        return [[(name, kind, None if kind in ("*", "**") else repr(default)) for name, kind, default in one] for one in rows]

    return bool(clean(real) == clean(ours))


@table("name", names("functions"))
def test_function(name: str, api: dict[str, Any]) -> None:
    """Names, order, kinds, defaults, overloads."""
    function = live(name)
    assert callable(function)
    differs = not same(real_rows(api[name]["ov"]), live_rows(function))
    if name in EXPLAINED:
        assert differs, f"{name} agrees now: take it out of EXPLAINED"
    else:
        assert not differs, f"real {real_rows(api[name]['ov'])}\nours {live_rows(function)}"


def test_functions_of_the_door_take_what_is_left_out_for_the_tables_default() -> None:
    """Their own defaults are what runs: those of the table, or None and () where they look the value up."""
    compared = 0
    for name in names("functions"):
        function = live(name)
        own = inspect.signature(getattr(function, "__wrapped__", test_function)).parameters
        for param in (param for overload in getattr(getattr(function, "__overloads__", None), "overloads", ()) for param in overload.params):
            if param.name in own and param.default is not _facts.REQUIRED and own[param.name].default not in (None, ()):
                assert str(own[param.name].default) == str(default_value(param.default, param.type)), (name, param.name)
                compared += 1
    assert compared > 15


@table("name", names("functions"))
def test_call_is_bound_by_that_signature(name: str, api: dict[str, Any]) -> None:
    """An unknown keyword and a surplus positional argument are TypeErrors, before anything else is looked at."""
    function = live(name)
    if any(p[1] == "**" for one in api[name]["ov"] for p in one["p"]) and name not in _facts.facts()["wrapped"]:
        return  # takes any keyword
    with pytest.raises(TypeError):
        _enter(function(no_such_argument=1))
    with pytest.raises(TypeError):
        _enter(function(*([object()] * 40)))


def _enter(result: Any) -> None:
    """Context managers check their arguments on entry."""
    if hasattr(result, "__enter__"):
        result.__enter__()


@table("name", names("enums"))
def test_enum(name: str, api: dict[str, Any]) -> None:
    cls = live(name)
    assert issubclass(cls, enum.Enum)
    assert cls.__name__ == api[name]["of"]
    assert {member: value.value for member, value in cls.__members__.items()} == api[name]["m"]


@table("name", names("classes"))
def test_class(name: str, api: dict[str, Any]) -> None:
    """Constructor, methods and properties (readable or writable)."""
    cls, entry = live(name), api[name]
    assert isinstance(cls, type)
    assert cls.__name__ == entry["of"]
    if "init" in entry and name not in NO_CONSTRUCTOR_CHECK and not any(p[1] == "*" for one in entry["init"] for p in one["p"]):
        assert same(real_rows(entry["init"]), live_rows(cls.__init__)), f"real {entry['init']}\nours {live_rows(cls.__init__)}"
    absent = METHODS_ABSENT.get(name, set())
    for method, facts in entry.get("methods", {}).items():
        found = getattr(cls, method, None)
        if method in absent:
            assert found is None, f"{name}.{method} exists now: take it out of METHODS_ABSENT"
            continue
        assert callable(found), f"{name}.{method} is missing"
        plain = facts["ov"] and not any("raw" in one or any(p[1] in ("*", "**") for p in one["p"]) for one in facts["ov"])
        if plain and method not in ("__eq__", "__ne__", "from_json", "__getitem__"):
            assert same(real_rows(facts["ov"]), live_rows(found)), f"{name}.{method}: real {facts['ov']}\nours {live_rows(found)}"
    for prop, (_, access) in entry.get("props", {}).items():
        found = inspect.getattr_static(cls, prop, None)
        if name == "ttnn.Config":
            assert hasattr(cls(), prop)
            continue
        assert found is not None, f"{name}.{prop} is missing"
        if isinstance(found, property):
            assert (found.fset is not None) == (access == "rw"), f"{name}.{prop}: real is {access}"


@table("name", names("values"))
def test_value(name: str, api: dict[str, Any]) -> None:
    value, real = live(name), api[name]
    if real["type"] == "Config":
        assert type(value).__name__ == "Config"
    elif isinstance(real["v"], str):
        text = repr(value)
        assert type(value).__name__ == real["type"]
        assert text.startswith(real["v"].removesuffix("...")), text
    else:
        assert value == real["v"]


@table("name", names("aliases"))
def test_alias(name: str, api: dict[str, Any]) -> None:
    entry = api[name]
    if entry["k"] == "alias":
        assert live(name) is live(entry["to"])
    else:
        assert live(name) == live("ttnn." + name.rsplit(".", 1)[1])


def test_every_absent_name_says_so(api: dict[str, Any]) -> None:
    """Each name of the real package is offered, or its use says that the simulator lacks it."""
    missing = [name for name in api if name.count(".") == 1 and not _known(name)]
    assert not missing


def _known(name: str) -> bool:
    try:
        live(name)
    except AttributeError as error:
        return "not in the simulator" in str(error)
    return True


def test_at_least_140_ops() -> None:
    ops = [name for name, (_, kind) in _facts.facts()["functions"].items() if kind == "op"]
    assert len(ops) >= 140

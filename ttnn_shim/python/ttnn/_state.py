"""What the parts of `ttnn` share while a program runs: the options, and the devices that are open."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

from ttnn_shim.machine import card_of, cards

from ttnn._extras import extra
from ttnn._facts import facts
from ttnn_shim import session

open_devices: dict[int, Any] = {}
"""By number, in the order of their opening."""


def latest() -> Any:
    """The device opened last, or None."""
    return next(reversed(open_devices.values()), None)


def arch_name(device: Any = None) -> str:
    """ "WORMHOLE_B0" or "BLACKHOLE": of a device, else of the run's card."""
    if device is not None:
        return str(device.arch().name)
    return card_of(session.settings.card).architecture.upper()


def dram_alignment(device: Any) -> int:
    """In bytes; of the run's card where no device is given."""
    return cards()[arch_name(device).lower()].dram_align_bytes


class Config:
    """`ttnn.CONFIG`. The simulator acts on enable_fast_runtime_mode (hooks and comparison mode need it off), on the options of comparison mode, and on
    those of graph captures (stack traces, the report of a test); nothing falls back to the host. The others are kept so that programs can set and
    read them."""

    __module__ = "ttnn"

    def __init__(self, arg: Config | None = None) -> None:
        cache = pathlib.Path.home() / ".cache" / "ttnn"
        values: dict[str, Any] = dict.fromkeys(facts()["classes"]["ttnn.Config"]["props"], False)
        values |= {
            "cache_path": cache, "model_cache_path": cache / "models", "tmp_dir": pathlib.Path("/tmp/ttnn"), "enable_fast_runtime_mode": True,
            "comparison_mode_pcc": 0.9999, "root_report_path": pathlib.Path("generated/ttnn/reports"), "report_name": None,
        }  # fmt: skip
        del values["report_path"]
        self.__dict__["_values"] = dict(arg._values) if arg is not None else values

    _values: dict[str, Any]

    @property
    def report_path(self) -> pathlib.Path | None:
        name = self._values["report_name"]
        return None if name is None else pathlib.Path(self._values["root_report_path"]) / name

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"'Config' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._values:
            raise AttributeError(f"'Config' object has no attribute '{name}'; it has {', '.join(sorted(self._values))}")
        old = self._values[name]
        if isinstance(old, bool) and not isinstance(value, bool):
            raise TypeError(f"Config.{name}: expected bool, got {type(value).__name__}")
        self._values[name] = pathlib.Path(value) if isinstance(old, pathlib.Path) else value
        if name == "enable_comparison_mode" and self is CONFIG:
            extra("comparison").compare(value)

    def keys(self) -> list[str]:
        return sorted(self._values)

    def __repr__(self) -> str:
        return "Config{" + ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in self._values.items()) + "}"


CONFIG = Config()


@contextlib.contextmanager
def manage_config(name: str, value: Any) -> Iterator[None]:
    """Sets an option of `ttnn.CONFIG` for a `with` block."""
    before = getattr(CONFIG, name)
    setattr(CONFIG, name, value)
    try:
        yield
    finally:
        CONFIG._values[name] = before
        if name == "enable_comparison_mode":
            extra("comparison").compare(before)

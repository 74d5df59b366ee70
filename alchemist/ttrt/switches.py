"""Every switch of every command, as data: the command line, `API.X.registered_args` and the messages come from here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from alchemist.errors import OptionError, quoted
from alchemist.options import Init

COMMANDS = {
    "read": "print sections of binaries (.ttnn) and system descriptors (.ttsys)",
    "query": "write the system descriptor of a card, which need not be installed",
    "run": "run programs of binaries on the simulator and report times and outputs",
    "perf": "write the times of every device program in the CSV format of the profiler",
    "check": "check whether binaries match a system descriptor",
    "emitpy": "run exported Python programs on the simulator",
}
SECTIONS = ("all", "version", "system_desc", "mlir", "cpp", "inputs", "outputs", "op_stats", "mesh_shape", "programs")
CARDS = ("n150", "n300", "p100", "p150")
_RUNS = "run perf"


@dataclass(frozen=True, slots=True)
class Switch:
    """commands: those that take it, in words. choices: of a value; lacks: why it does nothing on the simulator, "" where it does something."""

    default: Any
    commands: str
    help: str
    choices: tuple[str, ...] = ()
    lacks: str = ""


_EVERY = "read query run perf check emitpy"
_CARD_ONLY = "a switch of the card's runtime; it has no effect on the simulator"
SWITCHES: dict[str, Switch] = {
    "clean-artifacts": Switch(False, _EVERY, "remove the artifacts of earlier runs first"),
    "save-artifacts": Switch(False, _EVERY, "store tensors and programs in the artifact directory"),
    "log-file": Switch("", _EVERY, "also write the log to this file"),
    "artifact-dir": Switch("", _EVERY, "default: ttrt-artifacts in TT_MLIR_HOME or in the current directory"),
    "result-file": Switch("", _EVERY, "default: <command>_results.json in the current directory"),
    "quiet": Switch(False, _EVERY, "print no log"),
    "section": Switch("all", "read", "section to print", SECTIONS),
    "card": Switch("", "query run perf", "card to simulate; default: the card of the binary", CARDS),
    "output": Switch("", "query", "write the descriptor to this file"),
    "like": Switch("", "query", "copy schema hash, git hash and version from this descriptor of a tt-mlir build"),
    "seed": Switch(0, _RUNS, "seed of the inputs"),
    "init": Switch("randn", _RUNS, "how to generate inputs", get_args(Init)),
    "identity": Switch(False, "run", "check that outputs equal the inputs, within --rtol and --atol"),
    "rtol": Switch(1e-5, "run", "relative tolerance"),
    "atol": Switch(1e-8, "run", "absolute tolerance"),
    "pcc": Switch(0.99, "run emitpy", "lowest PCC with golden outputs that passes"),
    "loops": Switch(1, "run perf emitpy", "number of runs"),
    "program-index": Switch("all", "run perf emitpy", "number of a program in the file, or all"),
    "enable-golden": Switch(False, "run", "compare outputs with reference results of the ops, computed with numpy in float32"),
    "disable-golden": Switch(False, "run emitpy", "do not compare (the default of run)"),
    "print-input-output-tensors": Switch(False, "run", "print values"),
    "benchmark": Switch(False, "run", "run the first program twice"),
    "ignore-version": Switch(False, "run perf check", "do not compare versions; old binaries run in any case"),
    "host-only": Switch(False, "perf", "measure only host times, without the device CSV"),
    "filter": Switch("", "perf", "omit these rows: const_eval, input_layout_conversion"),
    "system-desc": Switch("", "check", "a .ttsys file or a directory of them; default: the simulated card of the binary"),
    "flatbuffer": Switch("", "emitpy", "compare with the outputs that `ttrt run --save-artifacts` stored for this binary"),
    **{
        name: Switch(default, "run perf", "", (), _CARD_ONLY)
        for name, default in {
            "fabric-config": "", "trace-region-size": 0, "enable-perf-trace": False, "enable-program-cache": False, "blocking-cq": False,
            "dirty-tensor-schedule": "", "disable-eth-dispatch": False, "dump-device-rate": 1000, "debugger": False, "dump-kernels": False,
            "load-kernels": False, "kernel-source-dir": "", "use-loc-for-kernel-name": False, "disable-ttrt-callbacks": False, "memory": False,
            "memory-log-level": "", "check-memory-leak": False, "disable-swap-binary-operands": False, "disable-read-update-index-for-kv-cache": False,
            "disable-blackhole-workarounds": False, "disable-device-address-validation": False, "port": 0,
        }.items()
    },
}  # fmt: skip


def of(command: str) -> dict[str, Switch]:
    """The switches that a command takes."""
    return {name: switch for name, switch in SWITCHES.items() if command in switch.commands.split()}


def defaults(command: str) -> dict[str, Any]:
    """`API.X.registered_args`: default by name; `binary`, where the command takes files."""
    return {**({} if command == "query" else {"binary": ""}), **{name: switch.default for name, switch in of(command).items()}}


def checked(command: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults and given values, names with or without leading dashes.

    Raises:
        OptionError: an unknown name (near ones are named), a value of another kind or outside the choices.
    """
    known = defaults(command)
    values = dict(known)
    for key, value in given.items():
        name = str(key).lstrip("-").replace("_", "-")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            raise OptionError(f"ttrt {command}: no argument {name!r}", expected=", ".join(near) or ", ".join(known), hint=f"`ttrt {command} --help` lists all")
        values[name] = _converted(name, value)
    return values


def _converted(name: str, value: Any) -> Any:
    if name == "binary":
        return str(value)
    switch = SWITCHES[name]
    kind = type(switch.default)
    try:
        converted = value.lower() in ("true", "1") if kind is bool and isinstance(value, str) else kind(value)
    except (TypeError, ValueError):
        raise OptionError(f"bad --{name}", expected=f"a {kind.__name__}", got=quoted(value)) from None
    if switch.choices and converted not in switch.choices and converted != switch.default:
        near = difflib.get_close_matches(str(converted), switch.choices, n=1)
        hint = f"did you mean {near[0]}?" if near else ""
        raise OptionError(f"bad --{name}", expected=", ".join(switch.choices), got=quoted(value), hint=hint)
    if (name == "loops" and converted < 1) or (name == "seed" and converted < 0):
        raise OptionError(f"bad --{name}", expected="a whole number from 1" if name == "loops" else "a whole number from 0", got=quoted(value))
    return converted


def lacking(command: str, values: Mapping[str, Any]) -> list[str]:
    """A line about every given switch that does nothing here."""
    return [f"--{name}: {switch.lacks}" for name, switch in of(command).items() if switch.lacks and values[name] != switch.default]

"""Compiler options: names, values, defaults, and the reading of a user's dictionary or `key=value` text."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from alchemist.errors import OptionError

# Keys that upstream's compile options know and that change nothing about the code emitted here.
UPSTREAM_KEYS_WITHOUT_EFFECT = frozenset(
    {
        "backend",
        "dry_run",
        "export_model_name",
        "codegen_split_files",
        "enable_const_eval_on_cpu",
        "enable_const_eval_inputs_to_system_memory",
        "enable_create_d2m_subgraphs",
        "experimental_enable_fusing_conv2d_with_multiply_pattern",
        "experimental_enable_permute_matmul_fusion",
        "ttnn_perf_metrics_enabled",
        "ttnn_perf_metrics_output_file",
    }
)
# Upstream's names of options that exist here under another one.
_ALIASES = {"codegen_try_recover_structure": "recover_structure", "try_recover_structure": "recover_structure"}

_TRUE, _FALSE = {"true", "on", "yes", "1"}, {"false", "off", "no", "0"}
FIDELITIES = ("lofi", "hifi2", "hifi3", "hifi4")
WEIGHT_DTYPES = ("none", "bfp_bf8", "bfp_bf4")
CARDS: dict[str, tuple[str, str]] = {  # name -> (architecture, card)
    "wormhole_b0": ("wormhole_b0", "n150"),
    "wormhole": ("wormhole_b0", "n150"),
    "blackhole": ("blackhole", "p150"),
    "n150": ("wormhole_b0", "n150"),
    "n300": ("wormhole_b0", "n300"),
    "p100": ("blackhole", "p100"),
    "p150": ("blackhole", "p150"),
}


@dataclass(frozen=True, slots=True)
class CompilerOptions:
    """Options of `codegen_py` and `codegen_cpp`; field defaults are the options' defaults.

    math_fidelity, fp32_dest_acc_en, math_approx_mode, packer_l1_acc: None = the library's own choice; otherwise written into
    every compute config. enable_dealloc: intermediate tensors are freed after their last use. target_module (Python): also
    `forward(inputs, device)`. target_dylib (C++): also a shared library with `setDevice` and `forward`. load_input_tensors_from_disk:
    False = the program makes ones; tensor_load_directory, tensor_load_file_prefix: tensors come from `DIRECTORY/PREFIX<n>.tensorbin`.
    arch: an architecture or card, see `CARDS`. disable: names of fusing passes to switch off.
    """

    optimization_level: Literal[0, 1, 2] = 0
    enable_const_eval: bool = True
    enable_trace: bool = False
    experimental_weight_dtype: Literal["none", "bfp_bf8", "bfp_bf4"] = "none"
    math_fidelity: str | None = None
    fp32_dest_acc_en: bool | None = None
    math_approx_mode: bool | None = None
    packer_l1_acc: bool | None = None
    recover_structure: bool = True
    split_consteval: bool = True
    arch: str = "wormhole_b0"
    dump_irs: bool = True
    disable: tuple[str, ...] = ()
    enable_dealloc: bool = True
    target_module: bool = False
    target_dylib: bool = False
    load_input_tensors_from_disk: bool | None = None
    tensor_load_directory: str = ""
    tensor_load_file_prefix: str = ""

    @property
    def architecture(self) -> str:
        """"wormhole_b0" or "blackhole"."""
        return CARDS[self.arch][0]

    @property
    def card(self) -> str:
        return CARDS[self.arch][1]

    @staticmethod
    def parse(given: Mapping[str, Any] | None) -> CompilerOptions:
        """Checks and converts a user's options.

        Raises:
            OptionError: unknown key (lists the known ones), bad value, or an option that is not implemented yet.
        """
        known = {field.name for field in fields(CompilerOptions)}
        values: dict[str, Any] = {}
        for given_key, value in (given or {}).items():
            key = _ALIASES.get(str(given_key), str(given_key))
            if key in UPSTREAM_KEYS_WITHOUT_EFFECT:
                warnings.warn(f"compiler option {key!r} has no effect here and is ignored", stacklevel=3)
                continue
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                raise OptionError(
                    f"unknown compiler option {key!r}",
                    expected="one of " + ", ".join(sorted(known)),
                    hint=f"did you mean {near[0]!r}?" if near else "",
                )
            values[key] = _convert(key, value)
        options = CompilerOptions(**values)
        if options.optimization_level != 0:
            raise OptionError(
                f"optimization_level {options.optimization_level} is not implemented yet",
                expected="0 (every tensor in interleaved DRAM)",
                hint="leave the option out; placement and sharding can be edited by hand in the emitted code",
            )
        if options.enable_trace:
            raise OptionError(
                "enable_trace is not implemented yet", expected="false", hint="leave the option out to emit untraced code"
            )
        return options

    def changed(self) -> dict[str, Any]:
        """Options that differ from their defaults, for headers and the manifest."""
        default = CompilerOptions()
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != getattr(default, field.name)
        }


def parse_option_text(text: str) -> dict[str, str]:
    """`"k=v k=v"` as on upstream's command line; dashes in keys become underscores."""
    pairs: dict[str, str] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals:
            raise OptionError(f"malformed option {word!r}", expected="key=value")
        pairs[key.replace("-", "_")] = value
    return pairs


def _plain_name(key: str, value: str) -> str:
    if not value.isprintable() or len(value) > 1000 or (key.endswith("prefix") and not set(value).isdisjoint("/\\")):
        raise OptionError(f"bad {key}", expected="a path" if key.endswith("directory") else "the beginning of file names", got=repr(value)[:80])
    return value


def _convert(key: str, value: Any) -> Any:
    if key in (
        "enable_const_eval", "enable_trace", "recover_structure", "split_consteval", "dump_irs", "enable_dealloc", "target_module",
        "target_dylib",
    ):  # fmt: skip
        return _boolean(key, value)
    if key in ("tensor_load_directory", "tensor_load_file_prefix"):
        return _plain_name(key, str(value))
    if key in ("fp32_dest_acc_en", "math_approx_mode", "packer_l1_acc", "load_input_tensors_from_disk"):
        return None if value is None else _boolean(key, value)
    if key == "optimization_level":
        return int(_choice(key, str(value), ("0", "1", "2")))
    if key == "experimental_weight_dtype":
        return _choice(key, "none" if value is None else str(value).lower(), WEIGHT_DTYPES)
    if key == "math_fidelity":
        if value is None or str(value).lower() == "undefined":
            return None
        return _choice(key, str(value).lower(), FIDELITIES)
    if key == "arch":
        return _choice(key, str(value).lower(), tuple(CARDS))
    names = value.replace(",", " ").split() if isinstance(value, str) else value
    return tuple(str(name) for name in names)


def _boolean(key: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise OptionError(f"bad value for compiler option {key!r}", expected="true or false", got=repr(value))


def _choice(key: str, value: str, allowed: tuple[str, ...]) -> str:
    if value in allowed:
        return value
    raise OptionError(f"bad value for compiler option {key!r}", expected="one of " + ", ".join(allowed), got=repr(value))

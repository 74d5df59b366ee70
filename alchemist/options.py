"""Compiler options. An option is a field of `CompilerOptions`, and everything else is made from it: reading of the caller's dictionary and
of `key=value` text, command line flags and `--help`, the real driver's spelling, the README's table (`alchemist options`).

To add an option: a field with `option(default, doc, ...)`, and the code that reads it. Its annotation says how values are read: `bool`, `int`,
`float`, `str`, `tuple[str, ...]` (names), or `bool | None` and `str | None`, where None means that the library decides.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal

from ttnn_shim.machine import cards

from alchemist.errors import InternalError, OptionError, quoted, warn_user
from alchemist.toolchain.cards import agree, card_of_file, card_of_text, named_descriptor

Language = Literal["python", "cpp"]
Init = Literal["ones", "zeros", "randn", "arange"]
"""How values of arguments and weights are made up."""

CARDS = {name: (card.architecture, card.name) for name, card in cards().items()}
"""name -> (architecture, card)."""


@dataclass(frozen=True, slots=True)
class Option:
    """What a field says about its option beside name, type and default.

    doc: a line for people. choices: the values there are, () = any of the type. upstream: the real driver's and upstream Python's names for it.
    language: "" = both.
    aliases: other names of choices. smallest, largest: of a number, both allowed. bad: text -> what was expected instead, "" when the text is good.
    """

    doc: str
    choices: tuple[Any, ...] = ()
    upstream: tuple[str, ...] = ()
    language: Language | Literal[""] = ""
    smallest: float = -math.inf
    largest: float = math.inf
    bad: Callable[[str], str] | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)


def option(default: Any, doc: str, **details: Any) -> Any:
    """A field of `CompilerOptions`; details: see `Option`."""
    return field(default=default, metadata={"option": Option(doc, **details)})


def _bad_path(text: str) -> str:
    return "" if text.isprintable() and len(text) <= 1000 else "a path"


def _bad_stem(text: str) -> str:
    return "the beginning of file names" if _bad_path(text) or not set(text).isdisjoint("/\\") else ""


def _bad_weight_dtypes(text: str) -> str:
    rows = [row.rpartition("=") for row in text.split(",")] if text else []
    return "" if all(name and dtype in WEIGHT_DTYPES for name, _, dtype in rows) else f"NAME=DTYPE, with {', '.join(WEIGHT_DTYPES)}"


ONE_CHIP = "1,1"
_MESH = re.compile(r"[1-9]\d{0,3},[1-9]\d{0,3}")
_BLOCKS = {"bfp8": "bfp_bf8", "bfp4": "bfp_bf4"}
WEIGHT_DTYPES = ("bfp_bf4", "bfp_bf8", "bf16")
"""What a single weight may be converted to, in the order of precision; bf16 leaves it as it is."""


@dataclass(frozen=True, slots=True)
class CompilerOptions:
    """Options of `codegen_py` and `codegen_cpp`; field defaults are the options' defaults, values are those that `parse` returns."""

    optimization_level: int = option(
        0,
        "0: TT-NN's default program configs; 1: choose the program config of each op by simulated time; 2: also choose the memory of every tensor, "
        "over the whole graph",
        choices=(0, 1, 2),
        upstream=("optimization-level",),
    )
    enable_optimizer: bool | None = option(None, "tt-mlir's switch: level 1, or 2 with memory_layout_analysis_enabled; optimization_level overrides it")
    memory_layout_analysis_enabled: bool | None = option(None, "tt-mlir's switch for level 2, together with enable_optimizer")
    layout_policy: str = option(
        "time",
        "how level 2 compares plans: by simulated time, or by tt-mlir's rule (L1 before DRAM, sharded before interleaved)",
        choices=("time", "lexicographic"),
    )
    override_output_layout: str = option(
        "",
        "NAME=GRID:BUFFER:MEMORY,NAME2=...: memory of the results of ops, for example linear_3=4x8:l1:block_sharded; "
        "GRID is rows x columns of cores; each of the three parts is optional; "
        "irs/*_decisions.txt lists the names; * matches any part of a name",
        upstream=("override-output-layout",),
    )
    override_conv2d_config: str = option(
        "", "NAME=field#value:field#value,...: fields of conv2d configs, for example conv2d=act_block_h_override#64", upstream=("override-conv2d-config",)
    )
    override_matmul_config: str = option("", "NAME=field#value:...: fields of matmul program configs, for example linear_3=in0_block_w#4:out_subblock_h#1")
    insert_memreconfig: str = option(
        "",
        "NAME=OPERAND:OPERAND,NAME2=...: numbers (from 0) of operands to move to another memory just before the op, for example linear_3=0,add_1=0:1",
        upstream=("insert-memreconfig",),
    )
    tensor_l1_usage_cap: float = option(0.95, "fraction of a core's L1 that tensors and buffers of an op may use", smallest=0.05, largest=1.0)
    arch: str = option("wormhole_b0", "target card; an architecture means its smallest card", choices=tuple(CARDS), upstream=("mock-system-desc-arch",))
    system_desc_path: str = option(
        "", "a .ttsys file that describes the target card; default: TT_COMPILE_ONLY_SYSTEM_DESC or SYSTEM_DESC_PATH", upstream=("system-desc-path",)
    )
    mesh_shape: str = option(
        ONE_CHIP,
        "rows,columns of the mesh for MLIR text; for models, see docs/several_chips.md",
        bad=lambda text: "" if _MESH.fullmatch(text) else "ROWS,COLUMNS",
        upstream=("mesh-shape",),
    )
    recover_structure: bool = option(
        True,
        "keep functions, loops and names of the model; false: write one flat function",
        upstream=("try-recover-structure", "codegen-try-recover-structure"),
    )
    recover_loops: bool = option(True, "write repeated layers as loops; false: write each layer out, so that you can edit each one")
    enable_const_eval: bool = option(True, "compute values that depend only on weights once, before the first run", upstream=("enable-const-eval",))
    split_consteval: bool = option(True, "write const-eval code to its own file", upstream=("split-files", "codegen-split-files"))
    enable_dealloc: bool = option(True, "free intermediate tensors after their last use", upstream=("enable-dealloc",))
    enable_trace: bool = option(
        False,
        "capture the forward function as a trace; each call copies the inputs to the trace's tensors and replays it",
        upstream=("enable-trace",),
    )
    experimental_weight_dtype: str = option(
        "none", "dtype of matmul weights", choices=("none", "bfp_bf8", "bfp_bf4"), upstream=("experimental-weight-dtype",), aliases=_BLOCKS
    )
    override_weight_dtype: str = option(
        "",
        "NAME=DTYPE,NAME2=...: dtype of single matmul weights by parameter name: bfp_bf8, bfp_bf4, or bf16 (no change); * and ? are wildcards",
        bad=_bad_weight_dtypes,
    )
    experimental_kv_cache_dtype: str = option(
        "none",
        "dtype of the key and value caches of attention; none: the model's dtype, or bfloat8_b with precision bfp8 and bfp8_lofi",
        choices=("none", "bfp_bf8"),
        upstream=("experimental-kv-cache-dtype",),
    )
    precision: str = option(
        "model",
        "model: the model's dtypes; bfloat16: convert inputs, weights and results of a float32 model to bfloat16; bfp8: also convert matmul weights, "
        "the values between matmuls, and caches to bfloat8_b, at HiFi2; bfp8_lofi: the same at LoFi. Norms, softmax and the residual stream stay bfloat16",
        choices=("model", "bfloat16", "bfp8", "bfp8_lofi"),
    )
    math_fidelity: str | None = option(
        None,
        "math fidelity of every compute config; unset: TT-NN's default",
        choices=("lofi", "hifi2", "hifi3", "hifi4"),
        upstream=("compute-cfg-math-fidelity",),
    )
    fp32_dest_acc_en: bool | None = option(
        None,
        "32-bit sums in every compute config; unset: 32-bit sums for float32 operands and for bfloat16 convolutions with sums of 512 terms and more, "
        "else TT-NN's default",
        upstream=("compute-cfg-fp32-dest-acc-en",),
    )
    wide_sum_terms: int = option(
        0,
        "use HiFi4 and 32-bit sums for convolutions and matmuls with sums of at least this many terms; 0: the export sets a number only if the program "
        "would fail its check",
        smallest=0,
    )
    round_weights: bool = option(
        False,
        "round float32 matmul weights to the 10 significant bits that the matrix unit reads, and scale them up by 0.033 % to compensate for the "
        "truncated other operand; by default, the export does so only if the program would fail its check",
    )
    math_approx_mode: bool | None = option(None, "approximate mode in every compute config; unset: TT-NN's default", upstream=("compute-cfg-math-approx-mode",))
    packer_l1_acc: bool | None = option(None, "L1 accumulation in every compute config; unset: TT-NN's default", upstream=("compute-cfg-packer-l1-acc",))
    enable_fusing: bool = option(True, "run the fusing passes", upstream=("enable-fusing-pass",))
    disable: tuple[str, ...] = option((), "names of fusing passes not to run (`alchemist opt --list`)")
    target_module: bool = option(False, "also write `forward(inputs, device)`, which a host program can call", language="python", upstream=("target-module",))
    target_dylib: bool = option(False, "also build a shared library with `setDevice` and `forward`", language="cpp", upstream=("target-dylib",))
    load_input_tensors_from_disk: bool | None = option(None, "false: the program fills its tensors with ones", upstream=("load-input-tensors-from-disk",))
    tensor_load_directory: str = option(
        "", "the program reads tensors from `DIRECTORY/PREFIX<n>.tensorbin`", bad=_bad_path, upstream=("tensor-load-directory",)
    )
    tensor_load_file_prefix: str = option("", "PREFIX of these files", bad=_bad_stem, upstream=("tensor-load-file-prefix",))
    dump_irs: bool = option(True, "write the captured graph and the TTIR and TTNN modules to `irs/`")

    @property
    def architecture(self) -> str:
        """ "wormhole_b0" or "blackhole"."""
        return CARDS[self.arch][0]

    @property
    def card(self) -> str:
        return CARDS[self.arch][1]

    @staticmethod
    def parse(given: Mapping[str, Any] | CompilerOptions | None, *, warn: bool = True) -> CompilerOptions:
        """Checks and converts a user's options.

        Args:
            given: values by name, ours or upstream's, with underscores or dashes.
            warn: say which of upstream's options have no effect here.

        Raises:
            OptionError: no dictionary, an unknown key (near ones are listed), a bad value, or options that contradict each other.
        """
        if isinstance(given, CompilerOptions):
            given = given.changed() | {"optimization_level": given.optimization_level}  # settled, whatever upstream's switches say
        if given is not None and not isinstance(given, Mapping):
            raise OptionError(
                "compiler_options is not a dictionary",
                expected="a dictionary from option names to values",
                got=_short(given),
                hint='compiler_options={"math_fidelity": "hifi4"}',
            )
        values: dict[str, Any] = {}
        spelled: dict[str, Any] = {}
        for key, value in (given or {}).items():
            plain = str(key).lstrip("-").replace("-", "_")
            if plain in WITHOUT_EFFECT:
                _check_without_effect(str(key), plain, value)
                if warn:
                    warn_user(f"compiler option {str(key)!r} has no effect{_DECIDES.get(plain, '')}")
                continue
            described = SPELLINGS.get(plain)
            if described is None:
                raise _unknown(str(key))
            read = read_value(described, str(key), value)
            name = described.name
            if name in values and values[name] != read:
                raise OptionError(f"compiler option {name!r} is given twice", expected="one value", got=f"{spelled[name]} and {key}={_short(value)}")
            values[name] = read
            spelled[name] = f"{key}={_short(value)}"
        path, where = named_descriptor(values.pop("system_desc_path", ""))
        if path:  # the card alone is kept: a path says nothing to who gets the program
            values["arch"] = agree(values.get("arch", ""), card_of_file(path), CARDS, where)
        if values.get("enable_optimizer") is not None and "optimization_level" not in values:
            values["optimization_level"] = (2 if values.get("memory_layout_analysis_enabled") else 1) if values["enable_optimizer"] else 0
        options = CompilerOptions(**values)
        options._check_conflicts()
        return options

    @staticmethod
    def for_module(given: Mapping[str, Any] | CompilerOptions | None, text: str, *, warn: bool = True) -> CompilerOptions:
        """Like `parse`; the card is that of the module's own system descriptor, if its text has one.

        Raises:
            OptionError: as `parse`, and where the descriptor contradicts the other options.
        """
        options = CompilerOptions.parse(given, warn=warn)
        card = card_of_text(text)
        if not card:
            return options
        keys = {str(key).lstrip("-").replace("-", "_") for key in (given.changed() if isinstance(given, CompilerOptions) else given or {})}
        chosen = bool(keys & {"arch", "mock_system_desc_arch", "system_desc_path"}) or bool(named_descriptor("")[0])
        return replace(options, arch=agree(options.arch if chosen else "", card, CARDS, "the module"))

    @staticmethod
    def from_text(text: str) -> CompilerOptions:
        """Options of `"k=v k=v"`, see `pairs`; upstream's options without effect are taken silently. Raises: as `parse`."""
        return CompilerOptions.parse(pairs(text), warn=False)

    def changed(self) -> dict[str, Any]:
        """Options that differ from their defaults, for headers and the manifest."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if getattr(self, entry.name) != entry.default}

    def check_language(self, language: Language) -> None:
        """Raises: OptionError for an option of the other language."""
        for entry in fields(self):
            wanted = about(entry).language
            if wanted and wanted != language and getattr(self, entry.name) != entry.default:
                spoken = {"python": "Python", "cpp": "C++"}
                raise OptionError(f"option {entry.name} needs a {spoken[wanted]} program", expected=f"a {spoken[wanted]} program", got=spoken[language])

    def _check_conflicts(self) -> None:
        if self.load_input_tensors_from_disk is False:
            for name in ("tensor_load_directory", "tensor_load_file_prefix"):
                if getattr(self, name):
                    raise OptionError(
                        f"{name} contradicts load_input_tensors_from_disk=false",
                        expected="only one of them",
                        hint="if the program loads no tensors from disk, it fills them with ones",
                    )


# Options of the real driver and of upstream's Python API that change nothing here: accepted at the value given, or whatever it is when that is None.
WITHOUT_EFFECT: dict[str, str | None] = {
    "argument_types": "",
    "backend": None,
    "check_unique_locs": None,
    "composite_resolution": None,
    "compute_cfg_dst_full_sync_en": "unset",
    "decision_trace_dir": None,
    "disable_workarounds": None,
    "dry_run": None,
    "enable_activation_dtype_lowering": "false",
    "enable_commute_downwards": None,
    "enable_commute_upwards": None,
    "enable_compile_time_stats": None,
    "enable_const_eval_inputs_to_system_memory": None,
    "enable_const_eval_on_cpu": None,
    "enable_cpu_hoisted_const_eval": None,
    "enable_create_d2m_subgraphs": "false",
    "enable_d2m_elementwise_fusion": "false",
    "enable_decision_trace": "false",
    "enable_decomposition_workaround_pass": None,
    "enable_dram_space_saving_optimization_pass": None,
    "enable_erase_inverse_ops_pass": "true",
    "enable_fusing_conv2d_with_multiply_pattern": None,
    "enable_implicit_broadcast_folding_pass": "true",
    "enable_layout_workaround_pass": None,
    "enable_permute_matmul_fusion": None,
    "enable_permute_slice_after_matmul_fusion": None,
    "enable_quant_dequant_conversion_pass": None,
    "enable_remove_dead_values": None,
    "enable_ttnn_decomposition_pass": None,
    "experimental_enable_fusing_conv2d_with_multiply_pattern": None,
    "experimental_enable_permute_matmul_fusion": None,
    "export_model_name": None,
    "force": None,
    "max_fallback_attempts": None,
    "max_legal_layouts": None,
    "memory_layout_analysis_policy": None,
    "mesh_topology": "disabled",
    "override_conv3d_config": "",
    "row_major_enabled": "false",
    "target_bit_width": "32",
    "ttnn_perf_metrics_enabled": "false",
    "ttnn_perf_metrics_output_file": None,
    "ttnn_perf_metrics_verbose_output_enabled": None,
    "tuplify_input_if_empty": None,
    "use_mock_allocator_state": None,
}


_DECIDES = {"memory_layout_analysis_policy": "; layout_policy sets how level 2 compares plans"}
"""What decides in the place of an option without effect."""


def about(entry: Field[Any]) -> Option:
    """What the field of an option says."""
    found: Option = entry.metadata["option"]
    return found


def spellings(options: type[CompilerOptions]) -> dict[str, Field[Any]]:
    """Every name of every option, with underscores. Raises: InternalError when two share a name, or values cannot be read."""
    found: dict[str, Field[Any]] = {}
    for entry in fields(options):
        for name in {entry.name, *(name.replace("-", "_") for name in about(entry).upstream)}:
            if name in found or name in WITHOUT_EFFECT:
                raise InternalError(f"two compiler options are called {name!r}")
            found[name] = entry
        if entry.type not in _READERS:
            raise InternalError(f"compiler option {entry.name!r} has an annotation that no reader knows", expected=", ".join(_READERS), got=str(entry.type))
    return found


# --- reading of values --------------------------------------------------------------------------------------------------------------------------------

_TRUE, _FALSE = {"true", "on", "yes", "1"}, {"false", "off", "no", "0"}
_UNSET = {"unset", "undefined", "none", ""}


def boolean(name: str, value: Any) -> bool:
    """True or false of a bool or of its names in text: "false" is no truth because it is not empty.

    Raises:
        OptionError: anything else.
    """
    text = _word(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise OptionError(f"bad value for {name}", expected="true or false", got=_short(value))


def choice(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """The one of `allowed` that `value` spells, in any case. Raises: OptionError."""
    choices = tuple(allowed)
    text = _word(value).strip().lower()
    for candidate in choices:
        if text == str(candidate).lower():
            return candidate
    raise OptionError(f"bad value for {name}", expected="one of " + ", ".join(map(str, choices)), got=_short(value))


def _number(name: str, value: Any, entry: Field[Any], read: Callable[[Any], float], what: str) -> Any:
    said = about(entry)
    limits = "" if said.smallest == -math.inf and said.largest == math.inf else f" from {said.smallest:g} to {said.largest:g}"
    try:
        number = math.nan if isinstance(value, bool) else read(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not said.smallest <= number <= said.largest:  # false for NaN
        raise OptionError(f"bad value for {name}", expected=what + limits, got=_short(value))
    return number


def _text(name: str, value: Any, entry: Field[Any]) -> str:
    bad = about(entry).bad
    if not isinstance(value, str | os.PathLike):
        raise OptionError(f"bad value for {name}", expected="text", got=_short(value))
    text = os.fspath(value)
    if not isinstance(text, str) or (bad is not None and bad(text)):
        raise OptionError(f"bad value for {name}", expected=bad(_word(text)) if bad else "text", got=_short(value))
    return text


def _names(name: str, value: Any, entry: Field[Any]) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        items = tuple(value)
        if all(isinstance(item, str) for item in items):
            return items
    raise OptionError(f"bad value for {name}", expected="names", got=_short(value))


# Annotation of a field -> reader of its values.
_READERS: dict[str, Callable[[str, Any, Field[Any]], Any]] = {
    "bool": lambda name, value, entry: boolean(name, value),
    "bool | None": lambda name, value, entry: boolean(name, value),
    "int": lambda name, value, entry: _number(name, value, entry, lambda given: int(str(given)), "a whole number"),
    "float": lambda name, value, entry: _number(name, value, entry, float, "a number"),
    "str": _text,
    "str | None": _text,
    "tuple[str, ...]": _names,
}


def read_value(entry: Field[Any], spelled: str, value: Any) -> Any:
    """The value of an option's field, of `CompilerOptions` or of a pass. Raises: OptionError for a bad one."""
    said, name = about(entry), f"compiler option {spelled!r}"
    if entry.default in (None, "none") and (value is None or _word(value).strip().lower() in _UNSET):
        return entry.default
    value = said.aliases.get(value, value) if isinstance(value, str) else value
    choices = (*said.choices, "unset") if entry.default is None else said.choices
    return choice(name, value, choices) if said.choices else _READERS[str(entry.type)](name, value, entry)


def _check_without_effect(key: str, plain: str, value: Any) -> None:
    wanted = WITHOUT_EFFECT[plain]
    if wanted is not None and shown(value).strip().lower() != wanted:
        raise OptionError(f"{key}={shown(value)[:80]} is not supported", expected=f"{key}={wanted}" if wanted else f"no {key}")


def known_names() -> list[str]:
    """Every name that `CompilerOptions.parse` takes."""
    return [*SPELLINGS, *WITHOUT_EFFECT]


def _unknown(key: str) -> OptionError:
    plain = key.lstrip("-").replace("-", "_")
    near = difflib.get_close_matches(plain, known_names(), n=3, cutoff=0.5)
    ours = list(dict.fromkeys(SPELLINGS[name].name if name in SPELLINGS else name for name in near))
    if "-" in key:  # as the caller spells
        ours = [name.replace("_", "-") for name in ours]
    hint = f"did you mean {' or '.join(map(repr, ours))}?" if ours else "`alchemist options` lists all options"
    return OptionError(
        f"unknown compiler option {key[:80]!r}",
        expected="one of " + ", ".join(sorted(entry.name for entry in fields(CompilerOptions))),
        hint=f"{plain} is an argument of codegen_py and codegen_cpp: pass it outside of compiler_options" if plain in _ARGUMENTS else hint,
    )


_ARGUMENTS = ("export_path", "export_tensors", "export_golden", "overwrite")
"""What codegen_py and codegen_cpp take that is no compiler option."""


def _word(value: Any) -> str:
    """`str(value)`, "" for an object that has none: its own method fails."""
    try:
        return str(value)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return ""


def _short(value: Any) -> str:
    text = quoted(value)
    return text if len(text) <= 80 else text[:77] + "..."


def pairs(text: str) -> dict[str, str]:
    """`k=v` words of an option text; quotes group words, braces and quotes around the whole are dropped, a key alone is `true`.

    Raises:
        OptionError: a malformed word, or a key with two values.
    """
    body = text.strip()
    if len(body) > 1 and body[0] + body[-1] in ("{}", '""', "''"):
        body = body[1:-1]
    try:
        words = shlex.split(body)
    except ValueError as error:
        raise OptionError(f"malformed options: {error}", got=_short(text)) from None
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key:
            raise OptionError(f"malformed option {word[:80]!r}", expected="key=value")
        value = value if equals else "true"
        if found.setdefault(key, value) != value:
            raise OptionError(f"option {key[:80]!r} is given twice", expected="one value", got=f"{_short(found[key])} and {_short(value)}")
    return found


SPELLINGS = spellings(CompilerOptions)
"""Every name of every option, with underscores -> its field."""


# --- what people read ---------------------------------------------------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """A value as in option text: true, hifi4, unset."""
    if value is None:
        return "unset"
    return str(value).lower() if isinstance(value, bool) else ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def values_of(entry: Field[Any]) -> list[str]:
    """The values of an option, default first."""
    said = about(entry)
    kinds = {"int": "N", "float": "X", "str": "TEXT", "str | None": "TEXT", "tuple[str, ...]": "NAME,NAME"}
    every = [entry.default, *(said.choices or ((True, False) if str(entry.type).startswith("bool") else ()))]
    named = list(dict.fromkeys(shown(value) for value in every if value not in ("", ())))
    return named if said.choices or "bool" in str(entry.type) else [*named, kinds[str(entry.type)]]


def described(entry: Field[Any]) -> str:
    """Doc and status of an option in a line."""
    said = about(entry)
    notes = [said.doc]
    if said.language:
        notes.append({"python": "Python only", "cpp": "C++ only"}[said.language])
    return "; ".join(notes)


def table(*, markdown: bool = False) -> str:
    """Every option with its values, meaning and upstream's names: the README's table, or text for a terminal."""
    if markdown:
        rows = ["| compiler option | values (default first) | meaning |", "|---|---|---|"]
        rows += [f"| `{entry.name}` | {', '.join(f'`{value}`' for value in values_of(entry))} | {described(entry)} |" for entry in fields(CompilerOptions)]
        return "\n".join(rows).replace("*", r"\*")
    rows = []
    for entry in fields(CompilerOptions):
        others = [name for name in about(entry).upstream if name.replace("-", "_") != entry.name]
        rows += [f"{entry.name} = {' | '.join(values_of(entry))}", f"    {described(entry)}" + (f" (tt-mlir: {', '.join(others)})" if others else "")]
    return "\n".join(rows)


def without_effect_table() -> str:
    """The options of upstream that are taken and change nothing, with the values at which they are taken, as Markdown."""
    rows = ["| option of tt-mlir or tt-xla | accepted value |", "|---|---|"]
    for name, wanted in WITHOUT_EFFECT.items():
        rows.append(f"| `{name}` | {'any value' if wanted is None else f'`{wanted}`' if wanted else 'empty only'} |")
    return "\n".join(rows)

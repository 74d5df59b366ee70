"""Maps lower-case names of the IR to the TT-NN library's: data types, fidelities, classes of configs and their fields."""

from __future__ import annotations

import re

from alchemist.errors import EmitError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.:]+[A-Za-z_][A-Za-z0-9_]*)*")

DTYPES = {
    "bf16": "bfloat16",
    "f32": "float32",
    "u32": "uint32",
    "ui32": "uint32",
    "si32": "int32",
    "i32": "int32",
    "u16": "uint16",
    "ui16": "uint16",
    "u8": "uint8",
    "ui8": "uint8",
    "bfp_bf8": "bfloat8_b",
    "bfp_bf4": "bfloat4_b",
}
"""IR data type -> TT-NN's name."""
FIDELITIES = {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}
_WORDS = {"1d": "1D", "dram": "DRAM", "sdpa": "SDPA", "layernorm": "LayerNorm", "multicore": "MultiCore"}
_FIELD_NAMES = {"per_core_m": "per_core_M", "per_core_n": "per_core_N"}


def class_name(attribute: str) -> str:
    """ "ttnn.sdpa_program_config" -> "SDPAProgramConfig", "ttnn.conv2d_config_attr" -> "Conv2dConfig"."""
    words = attribute.rpartition(".")[2].removesuffix("_attr").split("_")
    return "".join(_WORDS.get(word, word[:1].upper() + word[1:]) for word in words)


DEFAULTS = {"ttnn.matmul_multi_core_reuse_multi_cast_program_config": {"fuse_batch": True}}
"""Fields that the library's class has by itself, by config attribute; programs leave them out."""


def field_name(field: str) -> str:
    """ "per_core_m" -> "per_core_M"; most fields are equal."""
    return _FIELD_NAMES.get(field, field)


def check_names(*names: str) -> None:
    """Checks that a name for emitted sources is a name of the library: an attribute of a file may contain any text.

    Raises:
        EmitError: a text that is no name, with or without dots.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise EmitError("an attribute holds what is no name of the library", expected="a name", got=ascii(name)[:300])


def looked_up(table: dict[str, str], key: str) -> str:
    """The library's name for a name of the IR.

    Raises:
        EmitError: there is none.
    """
    if key not in table:
        raise EmitError("an attribute holds a name that the library does not have", expected=", ".join(table), got=ascii(key)[:300])
    return table[key]

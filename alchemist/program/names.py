"""Identifiers that are valid and unsurprising in Python and in C++."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from alchemist.ops import TTNN_OPS

_CPP_KEYWORDS = """
alignas alignof and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool case catch char char8_t char16_t
char32_t co_await co_return co_yield compl concept const consteval constexpr constinit const_cast decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not_eq nullptr operator or_eq private protected public reflexpr register reinterpret_cast requires return short
signed sizeof static static_assert static_cast struct switch synchronized template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
""".split()
_MACROS = """
NULL EOF assert errno stdin stdout stderr linux unix i386 major minor makedev INFINITY NAN TRUE FALSE BUFSIZ R_OK W_OK X_OK F_OK INT_MAX INT_MIN
UINT_MAX LONG_MAX LONG_MIN SIZE_MAX CHAR_BIT PATH_MAX NAME_MAX RAND_MAX EIO EDOM ERANGE EINVAL M_E M_PI M_PI_2 M_LN2 M_SQRT2 HUGE_VAL NDEBUG NZERO
""".split()
_PROGRAM = (
    "ttnn tt std utils const_eval consteval main prepare sys device weights stored Weights Tensor Device release nullopt Shape i name "
    "Inputs Outputs load_inputs load_weights prepare_weights named"
).split()
RESERVED = frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_CPP_KEYWORDS, *_MACROS, *_PROGRAM])
"""Names that no variable or function of an emitted program has."""
MOST_NUMBER = 3
"""The highest number behind a name, as long as there are other names."""
MAIN_RESERVED = RESERVED | {"args", "argc", "argv", "loop", "outputs", "error"}
"""The same for the variables of main()."""

ORDINALS = tuple("fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth".split())
"""In front of names whose numbers are used up: of values that live at one time and have nothing else to tell them apart."""


def result_name(target: str) -> str:
    """What the result of a TT-NN function is called when nothing better is known."""
    return _nouns().get(target) or target.rpartition(".")[2]


@cache
def _nouns() -> dict[str, str]:
    return {spec.target: spec.noun for spec in TTNN_OPS.values() if spec.noun}


def identifier(text: str, fallback: str = "value") -> str:
    """`text` as an ASCII identifier that is no reserved word of either language."""
    plain = unicodedata.normalize("NFKD", text[:200]).encode("ascii", "ignore").decode()
    name = re.sub(r"_{2,}", "_", re.sub(r"[^0-9A-Za-z_]", "_", plain)).strip("_")
    if not name:
        return fallback
    if name[0].isdigit():
        name = f"{fallback}_{name}"
    return f"{name}_" if name in RESERVED else name


_WORDS = re.compile(r"ViT|DeiT|BEiT|ReLU|SiLU|GELU|ResNet|MobileNet|EfficientNet|DenseNet|ConvNeXt|UNet|VGG|YOLO|CNN|MLP|MoE|LoRA|DoRA|RoPE|SwiGLU|GeGLU|ReGLU")
"""Names with capitals of their own that are one word."""


def snake_case(text: str) -> str:
    """BertSelfOutput -> bert_self_output, GPT2Block -> gpt2_block, ViTMLP -> vit_mlp."""
    text = _WORDS.sub(lambda match: match[0].capitalize(), text)
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", text)
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text)
    return identifier(re.sub(r"(?<=[A-Za-z])_(?=\d)", "_", text).lower(), "function")


def constant_case(text: str) -> str:
    return identifier(snake_case(text).upper(), "CONSTANT")


def nth(name: str, number: int) -> str:
    """Of values of one name that live together: a small number behind, an ordinal in front, a number for the rest."""
    spelled = MOST_NUMBER < number <= MOST_NUMBER + len(ORDINALS)
    return f"{ORDINALS[number - MOST_NUMBER - 1]}_{name}" if spelled else f"{name}_{number}"


def unique(candidates: Iterable[str], available: Callable[[str], bool], fallback: str = "value", numbers: dict[str, int] | None = None) -> str:
    """The first candidate that is available, else the first one with a small number behind or an ordinal in front, else the first with the next number.

    numbers: of names that have got one, the number to go on from: all below are taken.
    """
    names = [name for name in candidates if name and name != "_"]
    for name in names:
        if available(name):
            return name
    bases = list(dict.fromkeys(base for name in names if (base := name.rstrip("_0123456789"))))
    for base in bases:
        for number in range(2, MOST_NUMBER + 1):
            if available(f"{base}_{number}"):
                return f"{base}_{number}"
    for ordinal in ORDINALS if bases else ():
        if available(f"{ordinal}_{bases[0]}"):
            return f"{ordinal}_{bases[0]}"
    base = bases[0] if bases else fallback
    numbers = {} if numbers is None else numbers
    number = numbers.get(base, 2)
    while not available(f"{base}_{number}"):
        number += 1
    numbers[base] = number
    return f"{base}_{number}"


_COUNTED = re.compile(r"(?<=[._])(\d{1,8})(?=[._]|$)")


def numbered(names: Sequence[str]) -> tuple[str, int, str] | None:
    """(text before, first number, text behind) of names that count up by one in one place: `keys.0`, `keys.1` ...; None for others."""
    parts = [_COUNTED.split(name) for name in names]
    differing = [place for place, column in enumerate(zip(*parts, strict=False)) if len(set(column)) > 1]
    if len(differing) != 1 or len({len(one) for one in parts}) > 1 or not differing[0] % 2:
        return None
    place = differing[0]
    first = int(parts[0][place])
    if [one[place] for one in parts] != [str(first + index) for index in range(len(parts))]:
        return None
    return "".join(parts[0][:place]), first, "".join(parts[0][place + 1 :])

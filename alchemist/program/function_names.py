"""Functions of one class are told apart by where their modules stand (`_stage_2`, `_decoder`) and what these have (`_shortcut`), not by numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence

from alchemist.ir.scopes import weight_path
from alchemist.program import model
from alchemist.program.names import MAIN_RESERVED, identifier, snake_case
from alchemist.program.walk import read_by

_MOST_WORDS = 3
"""Words behind the name of a class; more say less than a number."""
_Token = tuple[int, str]
"""Depth in the modules' path and the word that stands there; a list's element is one word: `stage_2`."""


_KEPT = -1
"""Depth of a word that a label cannot do without."""


def tell_apart(functions: Sequence[model.Function], paths: Mapping[str, Sequence[str]], bases: Mapping[str, str], taken: Collection[str]) -> dict[str, str]:
    """New names of functions that are numbered, and of the first of their class, by the old ones.

    paths: of the modules that each function stands for. bases: what functions are called without a number. taken: names that variables have.
    """
    groups: dict[str, list[model.Function]] = {}
    for function in functions:
        base = bases.get(function.name, "")
        if base and re.fullmatch(rf"{re.escape(base)}(_\d+)?", function.name):
            groups.setdefault(base, []).append(function)
    used = {function.name for function in functions} | set(taken)
    renamed: dict[str, str] = {}
    for base, members in groups.items():
        if len(members) < 2:
            continue
        labels = _labels(members, [[path_words(path) for path in dict.fromkeys(paths.get(member.name, ()))] for member in members])
        names = [identifier(_behind(base, label), base) for label in labels]
        own = {member.name for member in members}
        if len(set(names)) == len(names) and not any(name in MAIN_RESERVED or (name in used and name not in own) for name in names):
            renamed |= {member.name: name for member, name in zip(members, names, strict=True) if member.name != name}
            used |= set(names)
    return renamed


def _behind(base: str, label: Sequence[str]) -> str:
    """`swin_layer` and `layer_0` are `swin_layer_0`, `t5_attention` and `enc_dec_attention` are `t5_attention_enc_dec`."""
    kind = base.rpartition("_")[2]
    for word in label:
        last = base.rpartition("_")[2]
        base = f"{base}_{word.removeprefix(f'{last}_').removesuffix(f'_{kind}').removesuffix(f'_{kind}s')}"
    return base


def _labels(members: Sequence[model.Function], rows: Sequence[Sequence[Sequence[str]]]) -> list[tuple[str, ...]]:
    """What is said behind the name of each member, () for nothing; labels that are equal tell nothing apart."""
    found: list[list[_Token]] = [[] for _ in members]
    parts = [_parts(member) for member in members]

    def split(group: list[int], depth: int) -> None:
        if len(group) < 2:
            return
        deepest = max((len(path) for index in group for path in rows[index]), default=0)
        extras = {index: _extra(parts, group, index) for index in group}
        for place in range(depth, deepest):
            words = _words(rows, group, place)
            if having := _overlap(rows, group, place) and _of_some(parts, group):
                _divide(group, having, place - 1, kept=True)
                return
            if len(set(words.values())) > 1 and not _innermost(rows, group, place):
                numbered = all(len(path) == place + 1 for index in group for path in rows[index]) and all(map(_NUMBERED.search, words.values()))
                if numbered and len(set(extras.values())) > 1:  # what a layer has says more than its number
                    break
                if _told_by_attribute(rows, words, place):
                    continue
                _divide(group, _first(rows, _with_own_elements(rows, words, place), place), place)
                return
        if len(set(extras.values())) > 1:
            _divide(group, extras, deepest)
            return
        elements = {index: _own_elements(rows[index]) for index in group}
        general = [index for index in group if len({_number(path) for path in rows[index]}) > 1]
        elements |= {index: "" for index in general} if len(general) == 1 else {}
        elements = _first(rows, elements, deepest) if general else elements
        if len(set(elements.values())) > 1:
            _divide(group, elements, deepest)

    def _divide(group: list[int], words: Mapping[int, str], place: int, *, kept: bool = False) -> None:
        classes: dict[Hashable, list[int]] = {}
        for index in group:
            if words[index]:
                found[index].append((_KEPT if kept else place, words[index]))
            classes.setdefault(words[index], []).append(index)
        for inner in classes.values():
            split(inner, place + 1)

    split(list(range(len(members))), 0)
    return _shortened(found, parts, rows)


def _told_by_attribute(rows: Sequence[Sequence[Sequence[str]]], words: Mapping[int, str], place: int) -> bool:
    """Whether the words are numbers in a list, and attributes further inside tell the same functions apart: `enc_dec_attention` says more than `layer_1`."""
    if not all(map(_NUMBERED.search, words.values())):
        return False
    inner = {index: {path[-1] for path in rows[index] if len(path) > place + 1} for index in words}
    names = [next(iter(found)) for found in inner.values() if len(found) == 1]
    return len(set(names)) == len(words) and not any(map(_NUMBERED.search, names))


def _first(rows: Sequence[Sequence[Sequence[str]]], words: Mapping[int, str], place: int) -> dict[int, str]:
    """The words; of the only function with one, beside those for all other elements of a list, the number 0 would look like a count."""
    inner = any(_NUMBERED.search(word) for index in words for path in rows[index] for word in path[place + 1 :])
    pair = sum(map(bool, words.values())) == 1 < len(words) and not inner
    return {index: "first" if pair and re.fullmatch(r"[a-z_]+_0", word) else word for index, word in words.items()}


def _with_own_elements(rows: Sequence[Sequence[Sequence[str]]], words: Mapping[int, str], place: int) -> dict[int, str]:
    """The words; of one element of a list of which another function stands for a part, with the elements inside: `stage_1_layer_2`; "first" for the first."""
    found = dict(words)
    for index, word in words.items():
        path = rows[index][0] if len(rows[index]) == 1 else ()
        others = [path for other in words if words[other] != word for path in rows[other] if word and path[place : place + 1] == [word]]
        if path and others:
            elements = [word, *(inner for inner in path[place + 1 :] if _NUMBERED.search(inner))][:_MOST_WORDS]
            found[index] = "first" if all(element.endswith("_0") for element in elements) else "_".join(elements)
    return found


def _shortened(found: Sequence[Sequence[_Token]], parts: Sequence[set[str]], rows: Sequence[Sequence[Sequence[str]]]) -> list[tuple[str, ...]]:
    """The labels, where one word that no other function has in its label, modules or paths stands for all of them."""
    out: list[tuple[str, ...]] = []
    for index, label in enumerate(found):
        words = tuple(word for _, word in label)
        others = {word for place, other in enumerate(found) if place != index for _, word in other}
        others.update(snake_case(word) for place, other in enumerate(parts) if place != index for word in other)
        others.update(word for place, paths in enumerate(rows) if place != index for path in paths for word in path)
        alone = [word for word in words if word not in others and word.partition("_")[0] not in others]
        short = alone and len(words) > 1 and all(place != _KEPT for place, _ in label)
        out.append((alone[-1],) if short else words[-_MOST_WORDS:])
    return out


def path_words(path: str) -> list[str]:
    """`encoder.stages.0.layers.1` -> encoder, stage_0, layer_1; `layer1.0` -> layer1, item_0."""
    tokens: list[str] = []
    for part in filter(None, weight_path(path).split(".")):
        if not (part.isascii() and part.isdigit()):
            tokens.append(snake_case(part))
        elif tokens and not tokens[-1][-1:].isdigit():
            tokens[-1] = f"{singular(tokens[-1])}_{part}"
        else:
            tokens.append(f"item_{part}")
    return tokens


def singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and re.search(r"(?<!s)(?<![xsh]e)s$", word) else word


def _words(rows: Sequence[Sequence[Sequence[str]]], group: Sequence[int], place: int) -> dict[int, str]:
    """The word that all paths of each function have at the place, "" if they differ.

    Where a function stands for several elements of a list: the list, or the elements if other functions stand for its other elements.
    """
    found = {index: {path[place] if place < len(path) else "" for path in rows[index]} for index in group}
    words = {index: next(iter(several)) if len(several) == 1 else "" for index, several in found.items()}
    lists = {index: {_NUMBERED.sub("", word) for word in several} for index, several in found.items()}
    unnamed = [index for index in group if not words[index]]
    for index in unnamed if len(unnamed) > 1 else ():  # one alone is the general form
        if len(lists[index]) > 1:
            continue
        (name,) = lists[index]
        numbers = sorted(int(match[1]) for word in found[index] if (match := _NUMBERED.search(word)))
        shared = any(name in lists[other] for other in group if other != index)
        words[index] = _elements(name, numbers) if shared and len(numbers) == len(found[index]) > 1 else name
    return words


def _overlap(rows: Sequence[Sequence[Sequence[str]]], group: Sequence[int], place: int) -> bool:
    """Whether two functions stand for the same element of a list, and one of them for more."""
    found = [frozenset(path[place] if place < len(path) else "" for path in rows[index]) for index in group]
    return any(one & other and one != other for one in found for other in found)


def _of_some(parts: Sequence[set[str]], group: Sequence[int]) -> dict[int, str]:
    """The only module that some functions of the group have and others have not; {} where there are none or several."""
    counts = Counter(word for index in group for word in parts[index])
    words = [word for word, count in counts.items() if count < len(group) and not word.startswith(("constant_", "initial_"))]
    return {index: snake_case(words[0]) if words[0] in parts[index] else "" for index in group} if len(words) == 1 else {}


_NUMBERED = re.compile(r"_(\d{1,6})$")


def _elements(name: str, numbers: Sequence[int]) -> str:
    """`stage_1_to_3`, `stage_0_and_3`, `stage_0_2_and_3`; "" for more parts of a list."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{name}_{numbers[0]}_to_{numbers[-1]}"
    return "_".join([name, *map(str, numbers[:-1]), "and", str(numbers[-1])]) if len(numbers) <= _MOST_WORDS else ""


def _innermost(rows: Sequence[Sequence[Sequence[str]]], group: Sequence[int], place: int) -> bool:
    """Whether the words at the place are elements of the list that the modules themselves are in."""
    words = [path[place:] for index in group for path in rows[index]]
    return all(len(rest) == 1 and _NUMBERED.search(rest[0]) for rest in words) and len({_NUMBERED.sub("", rest[0]) for rest in words}) == 1


def _parts(function: model.Function) -> set[str]:
    """Modules of whose weights the function reads some."""
    keys = [one.key for one in read_by(function.body) if isinstance(one, model.WeightRef)]
    keys += [
        (f"{one.key[0]}.", *one.key[1:]) for one in read_by(function.body) if isinstance(one, model.ScopeArgument) and one.key and isinstance(one.key[0], str)
    ]
    words = {key[0].split(".")[0] for key in keys if key and isinstance(key[0], str) and ("." in key[0] or len(key) > 1)}
    return {word for word in words if word and not word.isdigit()}


def _extra(parts: Sequence[set[str]], group: Sequence[int], index: int) -> str:
    """The module that only this one of the group has; "" where none or several are."""
    others = set().union(*(parts[other] for other in group if other != index))
    more = {word for word in parts[index] - others if not word.startswith(("constant_", "initial_"))}
    return snake_case(next(iter(more))) if len(more) == 1 else ""


def _own_elements(paths: Sequence[Sequence[str]]) -> str:
    """`layer_2`, `layer_3_and_4`, of many the first one; "" where these are no elements of one list."""
    words = {_NUMBERED.sub("", path[-1]) for path in paths if path}
    numbers = sorted({_number(path) for path in paths})
    if len(words) != 1 or not numbers or numbers[0] < 0:
        return ""
    name = words.pop()
    return (_elements(name, numbers) if len(numbers) > 1 else "") or f"{name}_{numbers[0]}"


def _number(path: Sequence[str]) -> int:
    match = _NUMBERED.search(path[-1]) if path else None
    return int(match[1]) if match else -1

"""Bodies: from a definition's items to statements with names, comments and lifetimes."""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from alchemist.ir.location import Frame, SourceInfo
from alchemist.program import model
from alchemist.program.functions import INITIAL, CallItem, Definition, Item, LoopItem, frame_at, framed_scopes, reads, writes
from alchemist.program.graph import Node, Raw, TensorType, Value, map_raw, values_of
from alchemist.program.names import RESERVED, identifier, result_name, snake_case, unique
from alchemist.program.scopes import chain_of_source, is_library, weight_path
from alchemist.program.source import Sources, Statement
from alchemist.program.weights import MOVING, SHAPING

FOREVER = 1 << 60
_MODULES = frozenset({"jax", "jnp", "lax", "np", "nn", "nnx", "linen", "math", "self"})
"""Names that statements read, but not for their value."""
_CUSTOMARY = {
    "ttnn.transformer.split_query_key_value_and_split_heads": ("query", "key", "value"),
    "ttnn.experimental.nlp_create_qkv_heads": ("query", "key", "value"),
    "ttnn.experimental.nlp_create_qkv_heads_decode": ("query", "key", "value"),
    "ttnn.topk": ("values", "indices"),
    "ttnn.sort": ("values", "indices"),
}
"""What the results of ops with several are called."""


@dataclass(slots=True)
class Context:
    """What all functions of a program share.

    functions: names taken by functions. rebind_parameters: whether a parameter's name may be reused (not in C++, where
    parameters are const). root: the entry function. main_file: the file that bare line numbers refer to. typical: dtype and placement not mentioned.
    flat: one function for the whole program. hints: a parameter's name at the function's first call.
    """

    sources: Sources
    functions: set[str]
    rebind_parameters: bool
    main_file: str
    typical: TensorType
    root: Definition
    uses_weights: Mapping[int, bool]
    flat: bool = False
    hints: dict[int, list[str]] = field(default_factory=dict)

    def comment(self, frame: Frame, statement: Statement | None, op: str) -> str:
        line = statement.line if statement else frame.line
        where = f"{line}" if frame.file == self.main_file or not frame.file else f"{frame.file.rpartition('/')[2]}:{line}"
        text = statement.text if statement else op
        return f"{where}: {text}" if text else where


class Finals:
    """Runs of items that belong to one source statement; other items may stand in between, but not many."""

    _GAP = 6

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], list[list[int]]] = {}

    def add(self, statement: Statement, index: int) -> None:
        """To be called with growing indices."""
        runs = self._runs.setdefault((statement.file, statement.line), [])
        if runs and index - runs[-1][1] <= self._GAP:
            runs[-1][1] = index
        else:
            runs.append([index, index])

    def end(self, statement: Statement, index: int) -> int:
        """Last item of the run around `index`; `index` itself if there is none."""
        runs = self._runs.get((statement.file, statement.line), [])
        place = bisect.bisect_right(runs, [index, FOREVER]) - 1
        return runs[place][1] if place >= 0 and runs[place][0] <= index <= runs[place][1] else index


class Body:
    """Builds one function."""

    def __init__(self, definition: Definition, context: Context) -> None:
        self._definition = definition
        self._context = context
        self._level = -1 if context.flat else len(definition.chain) - 1
        self._names: dict[int, str] = {}
        self._loop_keys: Mapping[str, model.Key] = {}
        self._offsets: Mapping[int, Mapping[str, Mapping[int, int]]] = {}
        self._kept: dict[int, str] = {}  # values of an iteration that are appended to a list, and its name
        self._constants: set[str] = set()  # names that may not be rebound
        self.parameters: list[str] = []
        self.local_names: set[str] = set()

    def build(self) -> tuple[model.Statement, ...]:
        definition = self._definition
        self._name_parameters()
        held = {name: id(value) for name, value in zip(self.parameters, definition.parameters, strict=True)}
        if not self._context.rebind_parameters:
            self._constants.update(self.parameters)
        survivors = {id(value) for value in definition.returns}
        body = self._block(definition.items, held, survivors)
        device = self._device(definition.items)
        if device is not None:
            body.insert(0, model.GetDevice(device))
        self._return(body)
        return tuple(_tidy(body))

    # ------------------------------------------------------------------------------------------------------- parameters

    def _name_parameters(self) -> None:
        definition, sources = self._definition, self._context.sources
        found = sources.function_of_class(definition.class_name)
        forward = found[1].parameters if found and not definition.method else ()
        hints = self._context.hints.get(id(definition), [])
        taken: set[str] = set()
        for index, value in enumerate(definition.parameters):
            hint = hints[index] if index < len(hints) else ""
            given = identifier(value.name, "arg") if value.name and not value.key else ""
            candidates = [given] if self._context.root is definition else []
            named = [identifier("_".join(value.key.split(".")[-2:]))] if value.key else []
            unnamed = value.key.startswith(("constant_", "initial_"))  # a number of the model that has no name
            read = [name for name in self._read_as(value, forward) if name not in taken]
            candidates += [*read, *named] if unnamed else [*named, *read]
            candidates += [hint] if hint in forward else []
            if len(definition.parameters) == 1 and forward:
                candidates.append(forward[0])
            candidates += [hint, given, "tensor"]
            name = unique([identifier(one) for one in candidates if one], lambda one: one not in taken and self._legal(one))
            taken.add(name)
            self.parameters.append(name)
            self._names[id(value)] = name
        self.local_names |= taken

    def _read_as(self, value: Value, forward: Sequence[str]) -> list[str]:
        """Parameters of the source's forward that the first statement using the value reads."""
        assigned: set[str] = set()
        for item in _flat(self._definition.items):
            statements = self._own_statements(item)
            if any(value is one for one in reads(item)):
                names = [name for statement in statements for name in statement.reads if name not in statement.containers]
                if INITIAL.fullmatch(value.key) and isinstance(item, CallItem):
                    return []
                if INITIAL.fullmatch(value.key):  # unpacked from the parameter that carries a loop's values
                    return [name for name in dict.fromkeys(names) if name not in (*forward, *assigned, *_MODULES)]
                return [name for name in dict.fromkeys(names) if name in forward and name not in assigned]
            assigned.update(name for statement in statements for name in statement.targets)
        return []

    def _legal(self, name: str) -> bool:
        return name not in RESERVED and name not in self._context.functions

    # ------------------------------------------------------------------------------------------------------------ blocks

    def _block(
        self,
        items: Sequence[Item],
        held: dict[str, int],
        survivors: set[int],
        *,
        locked: frozenset[str] = frozenset(),
        preset: Mapping[int, str] | None = None,
        quiet: bool = False,
    ) -> list[model.Statement]:
        """Statements of a block.

        held: names bound before, with the id of the value that each holds. locked: names that stay bound through the block.
        preset: names of results decided outside (loop variables). quiet: the comments stand above the loop already.
        """
        out: list[model.Statement] = []
        last = _last_uses(items, survivors)
        finals = self._final_items(items)
        preferred = self._loop_preferences(items, finals, last)
        group: set[tuple[str, int]] = set()
        inherited = set(held.values())
        for index, item in enumerate(items):
            comments = self._comments(item)
            if not quiet and not comments.keys() <= group:
                out += [model.Blank(), *[model.Comment(text) for key, text in comments.items() if key not in group]]
                group = set(comments) | (group if group & comments.keys() else set())
            elif not comments and isinstance(item, LoopItem):
                out.append(model.Blank())
                group = set()
            if isinstance(item, LoopItem):
                out += self._loop(item, index, held, last, locked, finals)
            else:
                self._name_results(item, index, items, held, last, locked, finals, preset or {}, preferred)
                note = item.note if isinstance(item, Node) else ""
                if note:
                    out.append(model.Comment(note))
                out.append(self._statement(item))
                for value in writes(item):
                    if id(value) in self._kept:
                        out.append(model.Append(self._list_name(value, held), self._reference(value)))
            dying = self._dying(item, index, held, last, inherited)
            following = index + 1 < len(items)
            if dying and following:
                out.append(model.Free(tuple(dying)))
            for name in dying:
                held.pop(name)
        return out

    def _dying(self, item: Item, index: int, held: dict[str, int], last: Mapping[int, int], inherited: set[int]) -> list[str]:
        """Names whose value is used here for the last time and that this statement did not rebind."""
        found: dict[str, None] = {}
        for value in (*reads(item), *writes(item)):
            name = self._names.get(id(value))
            if name is None or value.key or id(value) in inherited or held.get(name) != id(value) or id(value) in self._kept:
                continue
            if last.get(id(value), -1) <= index and name != "_":
                found[name] = None
        return list(found)

    def _name_results(
        self,
        item: Node | CallItem,
        index: int,
        items: Sequence[Item],
        held: dict[str, int],
        last: Mapping[int, int],
        locked: frozenset[str],
        finals: Finals,
        preset: Mapping[int, str],
        preferred: Mapping[int, list[str]],
    ) -> None:
        chosen: set[str] = set()

        def available(name: str) -> bool:
            if name in chosen or name in locked or name in self._constants or name in preset.values() or not self._legal(name):
                return False
            return name not in held or last.get(held[name], -1) <= index

        candidates = self._candidates(item, index, items, finals, last)
        for number, value in enumerate(writes(item)):
            if id(value) in preset:
                name = preset[id(value)]
            elif len(writes(item)) > 1 and id(value) not in last:
                name = "_"
            else:
                name = unique([*preferred.get(id(value), []), *candidates[number]], available)
            chosen.add(name)
            self._names[id(value)] = name
            self.local_names.add(name)
        for value in writes(item):
            name = self._names[id(value)]
            held[name] = id(value)

    def _loop(
        self,
        loop: LoopItem,
        index: int,
        held: dict[str, int],
        last: Mapping[int, int],
        locked: frozenset[str],
        finals: Finals,
    ) -> list[model.Statement]:
        out: list[model.Statement] = []
        preset: dict[int, str] = {}
        inner_held: dict[str, int] = {}
        renamed: dict[int, str] = {}  # carried values that keep their own name outside
        for carried in loop.carried:
            initial = self._names.get(id(carried.initial), "")
            dies = last.get(id(carried.initial), -1) <= index
            if not (dies and initial and initial not in self._constants and initial not in locked):
                candidates = self._carried_candidates(loop, carried.first)
                name = unique(
                    candidates,
                    lambda one: one not in held and one not in locked and one not in self._constants and one not in preset.values() and self._legal(one),
                )
                out.append(model.Assign(name, self._reference(carried.initial)))
                held[name] = id(carried.first)
                renamed[id(carried.initial)] = name
            else:
                name = initial
            preset[id(carried.first)] = name
            inner_held[name] = id(carried.initial)
        used = {self._names[id(value)] for value in reads(loop) if id(value) in self._names}
        alive = {name for name, value in held.items() if last.get(value, -1) > index}
        lock = frozenset((locked | used | alive) - set(inner_held))
        outer_names, self._names = self._names, self._names | renamed
        outer_keys, self._loop_keys = self._loop_keys, loop.keys
        outer_offsets, self._offsets = self._offsets, loop.offsets
        self._kept.update((id(one.first), "") for one in loop.collected)
        survivors = {id(carried.first) for carried in loop.carried}
        body = self._block(loop.body, inner_held, survivors, locked=lock, preset=preset, quiet=len(loop.body) == 1)
        self._loop_keys, self._names, self._offsets = outer_keys, outer_names, outer_offsets
        stop = model.Literal(loop.start + loop.count * loop.step)
        for one in loop.collected:
            name = self._kept[id(one.first)]
            out.append(model.NewList(name))
            self._names.update((id(value), name) for value in one.values)
            held[name] = id(one.values[-1])
        out.append(model.Loop(loop.variable, loop.start, stop, loop.step, tuple(_tidy(body)), loop.container))
        for carried in loop.carried:
            name = preset[id(carried.first)]
            self._names[id(carried.last)] = name
            held[name] = id(carried.last)
        return out

    # --------------------------------------------------------------------------------------------------------- statements

    def _statement(self, item: Node | CallItem) -> model.Statement:
        results = tuple(self._names[id(value)] for value in writes(item))
        if isinstance(item, Node):
            arguments = tuple((arg, self._counted(item, arg.name, self._argument(raw))) for arg, raw in item.arguments)
            return model.Call(item.spec, arguments, results, self._shape_note(item))
        given: list[model.Argument] = [self._reference(value) for value in item.arguments]
        if self._context.uses_weights[id(item.function)]:
            scope = self._definition.relative(item.path) if item.path != self._definition.path else ""
            given.append(model.ScopeArgument("weights", self._key(scope)))
        hints = [value.name if isinstance(value, model.TensorRef) else "" for value in given]
        self._context.hints.setdefault(id(item.function), hints)
        return model.CallFunction(item.function.name, tuple(given), results)

    def _list_name(self, value: Value, held: Mapping[str, int]) -> str:
        """Of the list that keeps this value of every iteration."""
        if not self._kept[id(value)]:
            source = value.node.inputs()[0] if value.node is not None and value.node.spec.name in SHAPING and value.node.inputs() else value
            base = self._names.get(id(source), self._names[id(value)])
            plural = base if base.endswith("s") else f"{base}s"
            taken = {*held, *self.local_names, *self._kept.values()}
            name = unique([plural, f"{base}_list"], lambda one: one not in taken and self._legal(one))
            self._kept[id(value)] = name
            self.local_names.add(name)
        return self._kept[id(value)]

    def _argument(self, raw: Raw) -> model.Value:
        made = map_raw(raw, self._reference)
        lists = [model.TensorRef(name) for name in self._kept.values()]
        if isinstance(made, model.Items) and len(set(made.items)) == 1 and any(made.items[0] == one for one in lists):
            return made.items[0]  # all that a loop has collected
        return made

    def _counted(self, item: Node, name: str, value: model.Value) -> model.Value:
        """The argument with the loop variable in it."""
        offsets = self._offsets.get(id(item), {}).get(name)
        if not offsets or not isinstance(value, model.Items):
            return value
        numbers = {index: f"i + {n}" if n > 0 else f"i - {-n}" if n else "i" for index, n in offsets.items()}
        return model.Items(tuple(model.NumberRef(numbers[i]) if i in numbers else one for i, one in enumerate(value.items)))

    def _reference(self, value: Value) -> model.Value:
        name = self._names.get(id(value))
        if name is not None:
            return model.TensorRef(name)
        return model.WeightRef(self._key(self._definition.relative(value.key)))

    def _key(self, relative: str) -> model.Key:
        form = self._loop_keys.get(relative)
        if form is not None:
            return form
        return (relative,) if relative else ()

    def _return(self, body: list[model.Statement]) -> None:
        returns = self._definition.returns
        if not returns:
            return
        final = self._definition.items[-1] if self._definition.items else None
        if isinstance(final, Node | CallItem) and [id(v) for v in writes(final)] == [id(v) for v in returns]:
            call = body[-1]
            if isinstance(call, model.Call):
                body[-1] = model.Call(call.spec, call.arguments, (), call.note, returned=True)
                return
            if isinstance(call, model.CallFunction):
                body[-1] = model.CallFunction(call.function, call.arguments, (), call.note, returned=True)
                return
        body += [model.Blank(), model.Return(tuple(self._reference(value) for value in returns))]

    def _device(self, items: Sequence[Item]) -> model.Value | None:
        """A tensor to ask for the device, if a call of this function takes the device."""
        nodes = [item for item in _flat(items) if isinstance(item, Node)]
        if not any(isinstance(raw, model.DeviceRef) for node in nodes for _, raw in node.arguments):
            return None
        for value, name in zip(self._definition.parameters, self.parameters, strict=True):
            if value.type.config is not None:
                return model.TensorRef(name)
        for node in nodes:
            for value in node.inputs():
                if value.key and value.type.config is not None:
                    return model.WeightRef((self._definition.relative(value.key),))
        return model.DeviceRef()

    # ----------------------------------------------------------------------------------------------------------- comments

    def _comments(self, item: Item) -> dict[tuple[str, int], str]:
        """Identities and texts of the source statements that the item implements, in their order."""
        parts = item.body if isinstance(item, LoopItem) else [item]
        if len(parts) > 1:
            return {}
        texts: dict[tuple[str, int], str] = {}
        for info, frame in _display_frames(parts[0], self._context.sources, self._level):
            statement = self._context.sources.statement(frame)
            line = statement.line if statement else frame.line
            texts.setdefault((frame.file, line), self._context.comment(frame, statement, info.op))
        first = next(iter(texts), ("", 0))[0]
        ordered = sorted(texts, key=lambda key: (key[0] != first, key))
        return {key: texts[key] for key in ordered}

    def _shape_note(self, node: Node) -> str:
        if not node.results or any(arg.name == "shape" for arg, _ in node.arguments):
            return ""  # the call itself says the shape
        first = next((value.type for _, raw in node.arguments for value in values_of(raw)), None)
        shown = [describe(value.type, first, self._context.typical) for value in node.results]
        if not any(shown):
            return ""
        return f"{len(shown)} x {shown[0]}" if len(shown) > 1 and len(set(shown)) == 1 else ", ".join(filter(None, shown))

    # -------------------------------------------------------------------------------------------------------------- names

    def _own_statements(self, item: Item) -> list[Statement]:
        """Statements of this function's source that the item belongs to."""
        part = item.body[-1] if isinstance(item, LoopItem) else item
        infos = part.sources if isinstance(part, Node) else ((part.source,) if part.source else ())
        found: dict[tuple[str, int], Statement] = {}
        for info in infos:
            frame = frame_at(info, self._level, self._context.sources)
            statement = self._context.sources.statement(frame) if frame else None
            if statement is not None:
                found.setdefault((statement.file, statement.line), statement)
        return list(found.values())

    def _inner_statement(self, call: CallItem) -> Statement | None:
        if call.source is None or len(call.chain) - 2 <= self._level:
            return None
        frame = frame_at(call.source, len(call.chain) - 2, self._context.sources)
        return self._context.sources.statement(frame) if frame else None

    def _final_items(self, items: Sequence[Item]) -> Finals:
        """For every statement, where the runs of items that belong to it end."""
        finals = Finals()
        for index, item in enumerate(items):
            part = item.body[-1] if isinstance(item, LoopItem) else item
            inner = self._inner_statement(part) if isinstance(part, CallItem) else None
            for statement in [*self._own_statements(item), *([inner] if inner else [])]:
                finals.add(statement, index)
        return finals

    def _candidates(self, item: Node | CallItem, index: int, items: Sequence[Item], finals: Finals, last: Mapping[int, int]) -> list[list[str]]:
        """Names for each result, best first."""
        count = len(writes(item))
        out: list[list[str]] = [[] for _ in range(count)]
        if isinstance(item, CallItem):
            self._add_targets(item, out, [inner] if (inner := self._inner_statement(item)) else [], index, finals)
        own = self._own_statements(item)
        self._add_targets(item, out, own, index, finals)
        first, intermediate = self._same_value(item, index, items, finals, last), ""
        if len(own) == 1 and count == 1 and len(own[0].targets) >= 1:
            final = finals.end(own[0], index)
            if index < final and last.get(id(writes(item)[0]), -1) <= final:
                intermediate = own[0].targets[0]
                rest = items[index + 1 : final + 1]
                only_shaped = all(isinstance(one, Node) and one.spec.name in SHAPING for one in rest)
                # `x = f(self.g(x))` calls everything x, and so does `x = self.g(y).view(...)`; otherwise a new name is kept
                # for the finished value if g says what its result is.
                if intermediate in own[0].reads or only_shaped:
                    first.append(intermediate)
        module, others = self._attribute_names(item)
        customary = _CUSTOMARY.get(item.spec.target, ()) if isinstance(item, Node) else ()
        returned = self._returned_as(item) if isinstance(item, CallItem) and count > 1 else []
        for slot, names in enumerate(out):
            names += returned[slot : slot + 1]
            names += customary[slot : slot + 1] if len(customary) == count else ()
            names += [*first, *module, intermediate, *others]
        return [[identifier(name) for name in names if name and name != "_"] for names in out]

    def _returned_as(self, call: CallItem) -> list[str]:
        """What the called function's source calls its results."""
        names = []
        for value in call.function.returns:
            infos = value.node.sources if value.node is not None else ()
            frames = [info.frames[-1] for info in infos if info.frames]
            statement = self._context.sources.statement(frames[-1]) if frames else None
            names.append(statement.targets[0] if statement is not None and len(statement.targets) == 1 else "")
        return names if len(set(names)) == len(names) else []

    def _same_value(self, item: Node | CallItem, index: int, items: Sequence[Item], finals: Finals, last: Mapping[int, int]) -> list[str]:
        """The name of a value of another statement that this op only gives another form, if nobody needs the old one."""
        if not isinstance(item, Node) or item.spec.name not in SHAPING or not item.inputs():
            return []
        source = item.inputs()[0]
        name = self._names.get(id(source))
        if name is None or last.get(id(source), -1) > index:
            return []
        here = {(one.file, one.line) for one in self._own_statements(item)}
        for before in reversed(items[max(index - 8, 0) : index]):
            if any(value is source for value in writes(before)):
                return [] if here & {(one.file, one.line) for one in self._own_statements(before)} else [name]
        return [name]

    def _of_another_module(self, item: Node | CallItem, statement: Statement) -> bool:
        """In a flat program: `y = self.f(self.g(x))` names f's value, but g's op may be all that is left at this level."""
        if self._level >= 0 or not statement.method or not isinstance(item, Node):
            return False
        leaves = {_last_word(info.scopes[-1].path) for info in item.sources if info.scopes}
        return bool(leaves) and statement.method not in leaves

    def _add_targets(self, item: Node | CallItem, out: list[list[str]], statements: Sequence[Statement], index: int, finals: Finals) -> None:
        final = [one for one in statements if finals.end(one, index) == index and not self._of_another_module(item, one)]
        if not final:
            return
        together = list(dict.fromkeys(name for statement in statements for name in statement.targets))
        if len(together) == len(out):
            names = together
        elif len(out) == 1 or len(final[-1].targets) >= len(out):
            names = list(final[-1].targets[: len(out)])
        else:
            names = []
        for slot, name in enumerate(names):
            out[slot].append(name)

    def _attribute_names(self, item: Node | CallItem) -> tuple[list[str], list[str]]:
        """(names by the module that computes the value, last resorts)."""
        if isinstance(item, CallItem):
            attribute = "" if item.function.method else _last_word(self._definition.relative(item.path))
            names = [name for name in (item.function.method.lstrip("_"), attribute) if name]
            return [*names, *(f"{name}_output" for name in names)], [f"{item.function.base_name}_output"]
        module: list[str] = []
        if item.spec.name in MOVING or item.spec.name == "ttnn.typecast":
            module += self._moved_names(item)
        info = item.sources[-1] if item.sources else SourceInfo()
        chain = chain_of_source(info)
        inner = chain[self._level + 1].path if 0 <= self._level < len(chain) - 1 else ""
        dissolved = _last_word(inner) if inner and weight_path(inner) != weight_path(chain[self._level].path) else ""
        leaf = info.scopes[-1] if info.scopes and is_library(info.scopes[-1].class_name) else None
        weight = next((_last_word(value.key.rpartition(".")[0]) for value in item.inputs() if value.key), "")
        # An op made of several (one projection for query, key and value) is known by its weight, not by one of its modules.
        own = _last_word(leaf.path) if leaf is not None else ""
        module += [dissolved, weight, own] if len(item.sources) > 1 else [dissolved, own, weight]
        module = [name for name in module if name]
        return module, [result_name(item.spec.target)]

    def _moved_names(self, node: Node) -> list[str]:
        source = next(iter(node.inputs()), None)
        name = self._names.get(id(source)) if source is not None else None
        if name is None:
            return []
        before, after = (source.type if source else self._context.typical), node.results[0].type
        if before.dtype != after.dtype:
            return [name, f"{name}_{after.dtype}"]
        if before.layout != after.layout:
            return [name, f"{name}_{'tiled' if after.layout == 'tile' else 'row_major'}"]
        return [name]

    def _loop_preferences(self, items: Sequence[Item], finals: Finals, last: Mapping[int, int]) -> dict[int, list[str]]:
        """Names wanted for values that a later loop carries on, so that no copy is needed."""
        wanted = self._unpacked_names(items, finals, last)
        for index, item in enumerate(items):
            if isinstance(item, LoopItem):
                for carried in item.carried:
                    if last.get(id(carried.initial), -1) <= index:
                        wanted[id(carried.initial)] = self._carried_candidates(item, carried.first)[:1]
        return wanted

    def _unpacked_names(self, items: Sequence[Item], finals: Finals, last: Mapping[int, int]) -> dict[int, list[str]]:
        """`query, key, value = f(x).unbind(0)`: as many values live on behind the statement as it has targets, in their order.

        What only becomes such a value (a slice that is reshaped) has its name already.
        """
        runs: dict[tuple[str, int, int], tuple[Statement, list[int]]] = {}
        for index, item in enumerate(items):
            for statement in self._own_statements(item) if isinstance(item, Node) else ():
                if len(set(statement.targets)) >= 2:
                    key = (statement.file, statement.line, finals.end(statement, index))
                    runs.setdefault(key, (statement, []))[1].append(index)
        wanted: dict[int, list[str]] = {}
        for (_, _, end), (statement, members) in runs.items():
            made = [value for index in members for value in writes(items[index])]
            alive = [value for value in made if last.get(id(value), -1) > end]
            targets = [name for name in statement.targets if name and name != "_"]
            if len(alive) != len(targets) or any(len(writes(items[index])) > 1 for index in members):
                continue
            named = {id(value): name for value, name in zip(alive, targets, strict=True)}
            for index in reversed(members):
                item = items[index]
                inputs = [value for value in reads(item) if not value.key]
                name = named.get(id(writes(item)[0]), "") if writes(item) else ""
                if name and isinstance(item, Node) and item.spec.name in SHAPING and len(inputs) == 1:
                    source = inputs[0]
                    if any(value is source for value in made) and last.get(id(source), -1) <= index:
                        named.setdefault(id(source), name)
            wanted |= {value: [identifier(name)] for value, name in named.items()}
        return wanted

    def _carried_candidates(self, loop: LoopItem, first: Value) -> list[str]:
        finals = self._final_items(loop.body)
        for index, item in enumerate(loop.body):
            for number, value in enumerate(writes(item)):
                if value is first:
                    return self._candidates(item, index, loop.body, finals, {id(first): FOREVER})[number]
        return []


def describe(type_: TensorType, before: TensorType | None, typical: TensorType) -> str:
    """`[1, 128] uint32 row-major`, or "" when nothing changed that a reader needs to know."""
    if before is not None and before.shape == type_.shape and before.placement == type_.placement and before.dtype == type_.dtype:
        return ""
    words = [f"[{', '.join(str(extent) for extent in type_.shape)}]"]
    if type_.dtype != typical.dtype:
        words.append(type_.dtype)
    if type_.layout != typical.layout:
        words.append("row-major" if type_.layout == "row_major" else "tiled")
    if type_.config is None:
        words.append("on the host")
    elif typical.config is not None and (type_.config.buffer, type_.config.memory) != (typical.config.buffer, typical.config.memory):
        memory = type_.config.memory.replace("_", "-")
        words.append(f"{memory} in {type_.config.buffer.upper()}" if memory != "interleaved" else f"in {type_.config.buffer.upper()}")
    return " ".join(words)


def _display_frames(item: Item, sources: Sources, level: int) -> list[tuple[SourceInfo, Frame]]:
    if isinstance(item, LoopItem):
        return []
    if isinstance(item, Node):
        return [(info, _innermost(info, sources)) for info in item.sources if info.frames]
    if item.source is None:
        return []
    place = len(item.chain) - 1 if item.function.method else max(len(item.chain) - 2, level)
    frame = frame_at(item.source, place, sources) or frame_at(item.source, level, sources)
    return [(item.source, frame)] if frame else []


def _innermost(info: SourceInfo, sources: Sources) -> Frame:
    """The op's statement in model code: that of the module that uses an activation, not the activation's own."""
    chain = chain_of_source(info)
    if chain and len(info.frames) == len(framed_scopes(info)):
        return frame_at(info, len(chain) - 1, sources) or info.frames[-1]
    return info.frames[-1]


_GIVEN = re.compile(r"[A-Z][A-Za-z0-9]*_\d+")
"""What flax calls a module without a name: `Dense_0`."""


def _last_word(path: str) -> str:
    """The attribute a module is known by; numbers of lists say nothing, nor does `attention.self`."""
    for part in reversed(weight_path(path).split(".")):
        if part and not part.isdigit() and part != "self":
            return snake_case(part.rpartition("_")[0]) if _GIVEN.fullmatch(part) else part
    return ""


def _flat(items: Sequence[Item]) -> list[Node | CallItem]:
    out: list[Node | CallItem] = []
    for item in items:
        out += item.body if isinstance(item, LoopItem) else [item]
    return out


def _last_uses(items: Sequence[Item], survivors: set[int]) -> dict[int, int]:
    last: dict[int, int] = {}
    for index, item in enumerate(items):
        for value in reads(item):
            last[id(value)] = index
    for value_id in survivors:
        last[value_id] = FOREVER
    return last


def _tidy(body: Sequence[model.Statement]) -> list[model.Statement]:
    """Drops blank lines at the start and doubled ones."""
    out: list[model.Statement] = []
    for statement in body:
        if isinstance(statement, model.Blank) and (not out or isinstance(out[-1], model.Blank)):
            continue
        out.append(statement)
    return out

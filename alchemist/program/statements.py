"""Bodies: from a definition's items to statements with names, comments and lifetimes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from alchemist.ir.location import Frame, SourceInfo
from alchemist.ir.scopes import chain_of_source, is_library, weight_path
from alchemist.ops.spec import PRODUCTS, RESHARD, SHAPING
from alchemist.program import model
from alchemist.program.functions import LAYER, OF_LAYERS, CallItem, Definition, Item, LoopItem, frame_at, framed_scopes, frees, is_move, reads, writes
from alchemist.program.graph import Kept, Node, Raw, TensorType, Value, map_raw, values_of
from alchemist.program.kept import UNNAMED
from alchemist.program.loops import element_name, is_counted
from alchemist.program.model_source import Sources
from alchemist.program.names import identifier, unique
from alchemist.program.naming import Naming
from alchemist.program.parameter_names import Context, Hint
from alchemist.program.roles import STATISTICS, computed_role, explanation, fused, noun_of, number_note, unshaped
from alchemist.program.runs import FOREVER, Finals, flat_items
from alchemist.program.state import lists_of
from alchemist.program.text import note_lines

STEP = "step"
"""What a loop over a sequence counts."""
_UNCONFIGURED = "no program_config: none that was tried is clearly faster than TT-NN's own choice"
_LAYER = re.compile(r"_layer\d+$")

_HANDS_ON = "*args, **kwargs)"
"""In a statement of a decorator that calls another function with all arguments: it says nothing of the values."""


class Body(Naming):
    """Builds one function."""

    def __init__(self, definition: Definition, context: Context) -> None:
        super().__init__(definition, context)
        self._loop_keys: Mapping[str, model.Key] = {}
        self._offsets: Mapping[int, tuple[str, Mapping[str, Mapping[int, int]]]] = {}  # of ops of a loop's body, with the loop's variable
        self._kept: dict[int, str] = {}  # values of an iteration that are appended to a list, and its name
        self._leaders: dict[int, int] = {}  # of several values of an iteration that go into one list, the first one
        self._collected: dict[tuple[int, ...], str] = {}  # all values of such a list in an op's order, and its name
        self._added: dict[int, str] = {}  # values made behind the iterations that such a list ends with, and its name
        self._at_front: set[int] = set()  # those of both that are put at the list's front
        self._returned_lists: dict[int, Sequence[Value]] = {}  # first value of a list that the function returns, and all
        self._elements: dict[int, model.Element] = {}  # of such a list
        self._constants: set[str] = set()  # names that may not be rebound
        self._taken: set[int] = set()  # values that leave their collection with the present item
        self._said_wide: set[int] = set()  # the first of values of which a comment has said that they are not cast
        self._said: set[str] = set()  # notes on ops, each of which a function says once
        self._numbers: dict[str, int] = {}  # base of numbered names -> the number below which none is free

    def build(self) -> tuple[model.Statement, ...]:
        definition = self._definition
        self._name_parameters()
        held = {name: id(value) for name, value in zip(self.parameters, self.parameter_values, strict=True) if value is not None}
        self._constants.update(self._lists.values())
        survivors = {id(value) for value in definition.returns}
        body = self._block(definition.items, held, survivors)
        device = self._device(definition.items)
        if definition.is_root:
            body[:0] = self._gathered()
            body[:0] = [model.NewCollection(name) for name in self._context.collections[id(definition)] if name != "weights"]
        if device is not None:
            body.insert(0, model.GetDevice(device))
        self._return(body)
        return tuple(_tidy(body))

    def _gathered(self) -> list[model.Statement]:
        """The lists that the entry function makes of its arguments and weights."""
        out: list[model.Statement] = []
        for group in self._definition.argument_lists().values():
            name = self._lists[group.name]
            if group.values[0].key:
                before, _, behind = group.pattern.partition("#")
                key = tuple(piece for piece in (before, model.Index("i"), behind) if piece != "")
                out.append(model.Gather(name, key, len(group.values)))
            else:
                out.append(model.NewList(name, tuple(model.TensorRef(self._names[id(value)]) for value in group.values)))
        return [*out, model.Blank()] if out else out

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
        said: frozenset[tuple[str, int]] = frozenset(),
        repeats: bool = False,
        carried: Mapping[int, bool] | None = None,
    ) -> list[model.Statement]:
        """Statements of a block.

        held: names bound before, with the id of the value that each holds. locked: names that stay bound through the block.
        preset: names of results decided outside (loop variables). quiet: the comments stand above the loop already. said: what stands there.
        repeats: a loop's body, whose variables would live on into its next turn. carried: values from before whose variables it binds anew, and
            whether its later turns free theirs.
        """
        out: list[model.Statement] = []
        last = _ends(items, survivors)
        finals = self._final_items(items)
        preferred = self._loop_preferences(items, finals, last)
        group: set[tuple[str, int]] = set(said)
        inherited = set(held.values()) - (carried or {}).keys()
        for index, item in enumerate(items):
            behind = next((other for other in items[index:] if not _is_reshard(other)), item)  # a move is part of the statement that reads its result
            early = behind is not item and all(value not in reads(behind) for value in writes(item))  # moved long before it is read
            comments = {} if early or (behind is not item and isinstance(behind, LoopItem)) else self._comments(behind)
            if not quiet and not comments.keys() <= group:
                out += [model.Blank(), *[model.Comment(text) for key, text in comments.items() if key not in group]]
                group = set(comments) | (group if group & comments.keys() else set())
            elif isinstance(item, LoopItem):
                out.append(model.Blank())
                group = group if {key for part in item.body for key in self._comments(part)} <= group else set()
            if isinstance(item, LoopItem):
                out += self._loop(item, index, held, last, locked, frozenset(group))
                made = [carried.last for carried in item.carried]
            else:
                self._name_results(item, index, items, held, last, locked, finals, preset or {}, preferred)
                note = self._note(item) if isinstance(item, Node) else ""
                statement = self._statement(item)
                if note.startswith(RESHARD) and isinstance(statement, model.Call):  # beside the call; the shape stays
                    where, _, why = note.removeprefix(RESHARD).partition(";")
                    dtype = item.results[0].type.dtype if isinstance(item, Node) and item.results[0].type.dtype != self._context.typical.dtype else ""
                    text = f"to {where.partition(' of ')[0].removeprefix('L1 ')}{why}"
                    statement = replace(statement, note=", ".join(filter(None, (dtype, text))))
                elif (note := "; ".join(filter(None, (note, self._kept_wide(item), self._computed_before(item))))) and note not in self._said:
                    self._said.add(note)
                    out += map(model.Comment, note_lines(note))
                out += self._with_kept(item, statement)
                made = [*writes(item)]
            for value in made:
                if id(value) in self._kept or id(value) in self._added:
                    out.append(model.Append(self._list_name(value, held), self._reference(value), id(value) in self._at_front))
            done = self._done(item, index, held, last, inherited)
            freed = tuple(name for name, value in done.items() if (value in frees(item) or (carried or {}).get(id(value))) and not _only_kept(item, value))
            if freed and (repeats or index + 1 < len(items)):  # behind a function's last statement its variables go by themselves
                out.append(model.Free(freed))
            for name in done:
                held.pop(name)
                self._free_number(name)
        return out

    def _free_number(self, name: str) -> None:
        base, _, number = name.rpartition("_")
        if number.isdigit() and base in self._numbers:
            self._numbers[base] = min(self._numbers[base], int(number))

    def _done(self, item: Item, index: int, held: dict[str, int], last: Mapping[int, int], inherited: set[int]) -> dict[str, Value]:
        """Names that are free again behind the item and that it did not rebind, with their values."""
        found: dict[str, Value] = {}
        for value in (*reads(item), *writes(item), *frees(item)):
            name = self._names.get(id(value))
            if name is None or value.key or id(value) in inherited or held.get(name) != id(value) or id(value) in self._kept:
                continue
            if last.get(id(value), -1) <= index and name != "_":
                found[name] = value
        return found

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

        for value in reads(item):
            if last.get(id(value), -1) <= index:
                self._free_number(self._names.get(id(value), ""))
        candidates = self._candidates(item, index, items, finals, last)
        results = [[writes(item)[place] for place in places] for places in item.function.results()] if isinstance(item, CallItem) else []
        listed = {id(value): values for values in results if len(values) > 1 for value in values}
        for number, value in enumerate(writes(item)):
            if (values := listed.get(id(value))) and value is not values[0]:
                self._names[id(value)] = self._names[id(values[0])]
                continue
            if values:
                name = unique(self._list_names(values, ""), available)
            elif id(value) in preset:
                name = preset[id(value)]
            elif _only_kept(item, value):  # no variable holds it
                name = unique(candidates[number], self._legal)
            elif len(writes(item)) > 1 and last.get(id(value), index) <= index and id(value) not in self._kept:
                name = "_"
            else:
                wanted = [*preferred.get(id(value), []), *candidates[number]]
                if wanted and wanted[0] in self._made_up and not any(available(name) for name in wanted):
                    wanted.reverse()  # numbers stand behind the name of an op, not of a module
                name = unique(wanted, available, numbers=self._numbers)
            chosen.add(name)
            self._names[id(value)] = name
            self.local_names.add(name)
        for value in writes(item):
            if not _only_kept(item, value):
                held.setdefault(self._names[id(value)], id(value)) if id(value) in listed else held.update({self._names[id(value)]: id(value)})

    def _loop(
        self,
        loop: LoopItem,
        index: int,
        held: dict[str, int],
        last: Mapping[int, int],
        locked: frozenset[str],
        said: frozenset[tuple[str, int]],
    ) -> list[model.Statement]:
        out: list[model.Statement] = []
        preset: dict[int, str] = {}
        inner_held: dict[str, int] = {}
        renamed: dict[int, str] = {}  # carried values that keep their own name outside
        for carried in loop.carried:
            initial = self._names.get(id(carried.initial), "")
            listed = any((one.entering and one.first is carried.initial) or carried.initial in one.before for one in loop.collected)
            dies = last.get(id(carried.initial), -1) <= index or listed
            if not (dies and initial and initial not in self._constants and initial not in locked):
                candidates = self._carried_candidates(loop, carried.first)
                name = unique(
                    candidates,
                    lambda name: name not in held and name not in locked and name not in self._constants and name not in preset.values() and self._legal(name),
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
        outer_keys, self._loop_keys = self._loop_keys, {**loop.keys, **{name: form for name, form in self._loop_keys.items() if is_counted(form)}}
        outer_offsets, self._offsets = self._offsets, {**self._offsets, **{item: (loop.variable, found) for item, found in loop.offsets.items()}}
        outer_variable, self._variable = self._variable, loop.variable
        self._kept.update((id(value), "") for collected in loop.collected if not collected.entering for value in (collected.first, *collected.also))
        self._leaders.update((id(value), id(collected.first)) for collected in loop.collected for value in collected.also)
        self._returned_lists.update((id(one.first), one.values) for one in loop.collected if one.returned)
        self._at_front.update(id(collected.first) for collected in loop.collected if collected.reverse)
        survivors = {id(carried.first) for carried in loop.carried}
        ending = {id(each.initial): any(each.first in user.frees for user in each.first.users) for each in loop.carried}
        outer_numbers, self._numbers = self._numbers, {}
        body = self._block(
            loop.body,
            inner_held,
            survivors,
            locked=lock,
            preset=preset,
            quiet=bool(self._comments(loop)) or len(loop.body) == 1,
            said=said,
            repeats=True,
            carried=ending,
        )
        self._loop_keys, self._names, self._offsets, self._numbers, self._variable = outer_keys, outer_names, outer_offsets, outer_numbers, outer_variable
        in_l1 = {
            self._kept[id(one.first)] for one in loop.collected if not one.returned and not one.entering and any(value.type.l1_elements for value in one.values)
        }
        _free_appended(body, in_l1, {preset[id(carried.first)] for carried in loop.carried})
        for one in loop.collected:
            if one.entering:
                variable = next(preset[id(carried.first)] for carried in loop.carried if carried.initial is one.first)
                self._kept[id(one.first)] = name = unique(self._list_names(one.values, variable), lambda name: self._is_new(name, held))
                self.local_names.add(name)
                body.insert(0, model.Append(name, model.TensorRef(variable)))
        stop = model.Literal(loop.start + loop.count * loop.step)
        for one in loop.collected:
            name = self._kept[id(one.first)]
            out.append(model.NewList(name, tuple(self._reference(value) for value in one.before)))
            for value in one.before:  # the list holds them from here on
                own = self._names[id(value)]
                if own not in inner_held and held.pop(own, None) is not None and any(value in user.frees for user in value.users):
                    out.append(model.Free((own,)))
            self._names.update((id(value), name) for value in (*one.before, *one.values))
            variables = {id(carried.last) for carried in loop.carried}
            held[name] = next(id(value) for value in reversed(one.values) if id(value) not in variables)
            if one.returned:  # what reads the last layer's value finds it in the list
                self._elements.update((id(value), model.Element(name, place)) for place, value in enumerate(one.values) if id(value) not in variables)
            self._added.update((id(value), name) for value in one.behind)
            self._at_front.update(id(value) for value in one.behind if one.reverse)
            kept = (*one.before, *one.values, *one.behind)
            self._collected[tuple(id(value) for value in (kept[::-1] if one.reverse else kept))] = name
        steps = any(isinstance(part, CallItem) and part.step_of is not None for part in loop.body)
        out.append(model.Loop(loop.variable, loop.start, stop, loop.step, tuple(_tidy(body)), loop.container or STEP * steps))
        for carried in loop.carried:
            name = preset[id(carried.first)]
            self._names[id(carried.last)] = name
            held[name] = id(carried.last)
        return out

    # --------------------------------------------------------------------------------------------------------- statements

    def _with_kept(self, item: Node | CallItem, statement: model.Statement) -> list[model.Statement]:
        """The statement between those that put what it reads or makes into collections and those that drop from there what it read twice."""
        before: list[model.Statement] = []
        behind: list[model.Statement] = []
        for one in item.kept if isinstance(item, Node) else ():
            target = model.WeightRef(self._key(self._definition.relative(one.copy.key)), collection=one.copy.collection)
            self._note_saved(one)
            if _only_kept(item, one.value) and isinstance(statement, model.Call):
                statement = replace(statement, results=(target,))
            else:
                (behind if one.value in writes(item) else before).append(model.Store(target, self._reference(one.value)))
        for value in dict.fromkeys(frees(item)):
            if value.collection != "weights" and id(value) not in self._taken and value in reads(item) and id(value) not in self._names:
                place = self._reference(value)
                assert isinstance(place, model.WeightRef)
                behind.append(model.Drop(replace(place, taken=True)))
        return [*before, statement, *behind]

    def _note_saved(self, one: Kept) -> None:
        """An activation gets the name of the variable that would hold it, in all functions of the class."""
        number = one.copy.key.partition(UNNAMED)[2]
        if not number or number in self._context.saved_names:
            return
        alike = f"{number.rpartition('/')[0]}/"
        taken = {name for other, name in self._context.saved_names.items() if other.startswith(alike)}
        name, node = self._names[id(one.value)], one.value.node
        assert node is not None
        leaf = next((info.scopes[-1] for info in reversed(node.sources) if info.scopes and is_library(info.scopes[-1].class_name)), None)
        module = identifier(weight_path(leaf.path).rpartition(".")[2]) if leaf is not None and not is_library(self._definition.class_name) else ""
        step = name if name in STATISTICS else computed_role(node, self._names) or noun_of(node)
        if node.spec.name in SHAPING and node.inputs():  # another form of a value, without a variable
            name = self._names.get(id(unshaped(node.inputs()[0])), self._names.get(id(node.inputs()[0]), name))
        words = ["_".join(filter(None, (module, step)))] if leaf is not None and step in (*STATISTICS, "normalized") else []
        self._context.saved_names[number] = unique([*words, name, f"{name}_{noun_of(node)}"], lambda candidate: candidate not in taken)

    def _statement(self, item: Node | CallItem) -> model.Statement:
        self._taken = {id(value) for value in frees(item) if value.collection != "weights" and reads(item).count(value) == 1}
        if isinstance(item, Node):
            results = tuple(self._names[id(value)] for value in writes(item))
            held = tuple(value.type.l1_elements for value in writes(item))
            arguments = tuple((arg, self._counted(item, arg.name, self._argument(raw))) for arg, raw in item.arguments)
            if item.helper:
                given = tuple(model.NumberArgument(arg.name, value) if isinstance(value, model.Literal) else value for arg, value in arguments)
                return model.CallFunction(item.helper, given, results, self._shape_note(item), l1_elements=held)
            return model.Call(item.spec, arguments, results, ", ".join(filter(None, (self._shape_note(item), fused(item)))), l1_elements=held)
        handed: list[model.Argument] = []
        values: list[Value] = []
        lists = lists_of(item.function.parameters)
        for parameter, value in zip(item.function.parameters, item.arguments, strict=True):
            together = parameter.group is not None and parameter.group.name in lists and value.group is not None
            made = model.TensorRef(self._lists[value.group.name]) if together and value.group is not None else self._reference(value)
            if not (together and made in handed):
                handed.append(made)
                values.append(value)
        scope = self._definition.relative(item.path) if item.path != self._definition.path else ""
        handed += [model.ScopeArgument(name, self._key(scope)) for name in self._context.collections[id(item.function)]]
        hints = [self._hint(item, argument, value) for argument, value in zip(handed, values, strict=False)]
        hints = self._bound_in_order(item, handed, [*hints, *[Hint()] * (len(handed) - len(hints))])
        self._context.hints.setdefault(id(item.function), hints)
        lists_made = [[item.results[place] for place in places] for places in item.function.results()]
        results = tuple(self._names[id(listed[0])] for listed in lists_made)
        held = tuple(sum(value.type.l1_elements for value in listed) for listed in lists_made)
        return model.CallFunction(item.function.name, tuple(handed), results, l1_elements=held)

    def _computed_before(self, item: Node | CallItem) -> str:
        """A comment on activations that are computed with the weights, where the function finds them there."""
        found = [value for value in reads(item) if value.by_layers and value.collection == "weights" and id(value) not in self._names]
        names = dict.fromkeys(value.variable or value.key.rpartition(".")[2] for value in found)
        return f"the layers up to {' and '.join(names)} read no input: computed once at start, with the weights" if names else ""

    def _list_name(self, value: Value, held: Mapping[str, int]) -> str:
        """Of the list that keeps this value of every iteration."""
        if id(value) in self._added:
            return self._added[id(value)]
        leader = self._leaders.get(id(value), id(value))
        if not self._kept[leader]:
            source = value.node.inputs()[0] if value.node is not None and value.node.spec.name in SHAPING and value.node.inputs() else value
            base = self._names.get(id(source), self._names[id(value)])
            base = base if _LAYER.search(base) else base.rstrip("_0123456789")  # hidden_layer0 of layer 0, not the second of a name
            of_layers = [f"{base}{OF_LAYERS}"] if self._variable == LAYER else []
            name = unique([*of_layers, *self._list_names(self._returned_lists.get(id(value), ()), base)], lambda name: self._is_new(name, held))
            self._kept[leader] = name
            self.local_names.add(name)
        return self._kept[leader]

    def _is_new(self, name: str, held: Mapping[str, int]) -> bool:
        return name not in {*held, *self.local_names, *self._kept.values()} and self._legal(name)

    def _list_names(self, values: Sequence[Value], variable: str) -> list[str]:
        """Names of a list: what the program's outputs call those that it returns, the plural of the variable that is appended."""
        word = next((word for value in values if (word := self._context.output_words.get(id(value)))), "")
        plural = variable if variable.endswith("s") else f"{variable}s"
        return [*([word, f"all_{word}"] if word else []), *([plural, f"{variable}_list"] if variable else [])]

    def _argument(self, raw: Raw) -> model.Value:
        if isinstance(raw, tuple) and (name := self._collected.get(tuple(id(value) for value in values_of(raw)))):
            return model.TensorRef(name)  # all that a loop has collected
        return map_raw(raw, self._reference)

    def _counted(self, item: Node, name: str, value: model.Value) -> model.Value:
        """The argument with the loop variable in it."""
        variable, places = self._offsets.get(id(item), ("", {}))
        offsets = places.get(name)
        if not offsets or not isinstance(value, model.Items):
            return value
        numbers = {index: f"{variable} {'+' if n > 0 else '-'} {abs(n)}" if n else variable for index, n in offsets.items()}
        return model.Items(tuple(model.NumberRef(numbers[i]) if i in numbers else one for i, one in enumerate(value.items)))

    def _reference(self, value: Value) -> model.Value:
        if value.group is not None and value.group.name in self._lists:
            form = self._loop_keys.get(element_name(value), ())
            counted = form[-1] if form and isinstance(form[-1], model.Index) else value.place
            return model.Element(self._lists[value.group.name], counted)
        name = self._names.get(id(value))
        if name is not None:
            return self._elements.get(id(value)) or model.TensorRef(name)
        return model.WeightRef(self._key(self._definition.relative(value.key)), collection=value.collection, taken=id(value) in self._taken)

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
            if isinstance(call, model.Call | model.CallFunction):
                note = call.note if _is_reshard(final) else fused(final) if isinstance(final, Node) else ""  # the shape stands in the docstring
                body[-1] = replace(call, results=(), note=note, returned=True)
                return
        listed = {tuple(id(value) for value in one): name for one in self._returned_lists.values() if (name := self._kept[id(one[0])])}
        values = []
        for places in self._definition.results():
            name = listed.get(tuple(id(returns[place]) for place in places), "") if len(places) > 1 else ""
            values.append(model.TensorRef(name) if name else self._reference(returns[places[0]]))
        body += [model.Blank(), model.Return(tuple(values))]

    def _device(self, items: Sequence[Item]) -> model.Value | None:
        """A tensor to ask for the device, if a call of this function takes the device."""
        nodes = [item for item in flat_items(items) if isinstance(item, Node)]
        if not any(isinstance(raw, model.DeviceRef) for node in nodes for _, raw in node.arguments):
            return None
        for value, name in zip(self.parameter_values, self.parameters, strict=True):
            if value is not None and value.type.config is not None:
                return model.TensorRef(name)
        for node in nodes:
            for value in node.inputs():
                if value.key and value.type.config is not None:
                    return model.WeightRef((self._definition.relative(value.key),))
        return model.DeviceRef()

    # ----------------------------------------------------------------------------------------------------------- comments

    def _comments(self, item: Item) -> dict[tuple[str, int], str]:
        """Identities and texts of the source statements that the item implements, in their order."""
        definition = self._definition
        of_library = not definition.is_root and is_library(definition.class_name)
        if definition.is_container or definition.is_recurrent_layer or of_library:  # the call has the comment
            return {}
        if isinstance(item, LoopItem):
            first, *others = [self._comments(part) for part in item.body]
            return first if all(other == first for other in others) else {}
        texts: dict[tuple[str, int], str] = {}
        for info, frame in self._display_frames(item):
            statement = self._context.sources.statement(frame)
            calls_this = statement is not None and definition.method and f"{definition.method}(" in statement.text  # what stands at the call
            if calls_this or (statement is not None and _HANDS_ON in statement.text):
                continue
            line = statement.line if statement else frame.line
            texts.setdefault((frame.file, line), self._context.comment(frame, statement, info.op))
        file = next(iter(texts), ("", 0))[0]
        ordered = sorted(texts, key=lambda key: (key[0] != file, key))
        return {key: texts[key] for key in ordered}

    def _display_frames(self, item: Item) -> list[tuple[SourceInfo, Frame]]:
        """What is quoted above an item. Of a module that has become one op, the statement that calls it stands for several of its own."""
        sources = self._context.sources
        if isinstance(item, LoopItem):
            return []
        if isinstance(item, Node) and self._definition.helper is not None:
            return [(info, info.helper) for info in item.sources if info.helper is not None]
        if isinstance(item, Node):
            shown = [(info, _innermost(info, sources)) for info in item.sources if info.frames]
            callers = [frame_at(info, self._level, sources) for info, _ in shown] if self._level >= 0 else []
            inner: dict[Frame, set[Frame]] = {}
            for (info, quoted), caller in zip(shown, callers, strict=False):
                if caller is not None and caller != quoted and self._calls_module(info, caller):
                    inner.setdefault(caller, set()).add(quoted)
            several = {caller for caller, frames in inner.items() if len(frames) > 1}
            return [(info, caller if caller in several else quoted) for (info, quoted), caller in zip_longest(shown, callers)]
        if item.function.in_parts and isinstance(first := flat_items(item.function.items)[0], Node):
            return self._display_frames(first)
        if item.source is None:
            return []
        place = len(item.chain) - 1 if item.function.method else max(len(item.chain) - 2, self._level)
        frame = frame_at(item.source, place, sources) or frame_at(item.source, self._level, sources)
        return [(item.source, frame)] if frame else []

    def _calls_module(self, info: SourceInfo, caller: Frame) -> bool:
        """Whether the statement names the op's next module: one that hands a method to a helper says nothing of it."""
        statement, chain = self._context.sources.statement(caller), chain_of_source(info)
        name = chain[self._level + 1].path.rpartition(".")[2] if self._level + 1 < len(chain) else ""
        return statement is None or not name or name.isdigit() or name in statement.text

    def _kept_wide(self, item: Node | CallItem) -> str:
        """A comment on the first cast for an attention of a value that is also an output, which names all such values."""
        cast = next((value for value in writes(item) if id(value) in self._narrowed), None)
        outputs = [value for value in self._narrowed[id(cast)] if value.returned] if cast is not None else []
        if not outputs or id(outputs[0]) in self._said_wide or any(id(value) not in self._names for value in outputs):
            return ""
        self._said_wide.add(id(outputs[0]))
        names, dtype = [self._names[id(value)] for value in outputs], outputs[0].type.dtype
        stay, are = ("stay", "they are program outputs") if len(names) > 1 else ("stays", "it is a program output")
        return f"{' and '.join(names)} {stay} {dtype}: {are}"

    def _note(self, node: Node) -> str:
        """What the pass that created the op says of it, and what the program does; a move's memory alone."""
        if node.note.startswith(RESHARD):
            return node.note
        return "; ".join(filter(None, (node.note, explanation(node), number_note(node)))) or self._unconfigured(node)

    def _unconfigured(self, node: Node) -> str:
        """A comment on a product without a program config, where most products of the program have one."""
        plain = node.spec.name in PRODUCTS and all(arg.name not in ("program_config", "core_grid") for arg, _ in node.arguments)
        return _UNCONFIGURED if plain and self._context.tuned else ""

    def _shape_note(self, node: Node) -> str:
        if not node.results:
            return ""
        said = any(arg.name == "shape" for arg, _ in node.arguments)  # the call itself says the shape
        first = next((value.type for _, raw in node.arguments for value in values_of(raw)), None)
        shown = [describe(value.type, first, self._context.typical, shape=not said) for value in node.results]
        if not any(shown):
            return ""
        note = f"{len(shown)} x {shown[0]}" if len(shown) > 1 and len(set(shown)) == 1 else ", ".join(filter(None, shown))
        outputs = [value for value in node.results if value.returned]
        if not outputs or not note.endswith("in DRAM"):
            return note
        named = f"{', '.join(self._names[id(value)] for value in outputs)} {'are' if len(outputs) > 1 else 'is'} " if len(outputs) < len(shown) else ""
        return f"{note}: {named}{'program outputs' if len(outputs) > 1 else 'a program output'}"


def describe(type_: TensorType, before: TensorType | None, typical: TensorType, *, shape: bool = True) -> str:
    """`[1, 128] uint32 row-major`; without the shape where `before` has it or the call says it (`shape`). "" for a typical tensor without a new shape."""
    same = before is not None and before.shape == type_.shape and before.placement == type_.placement and before.dtype == type_.dtype
    words = [f"[{', '.join(str(extent) for extent in type_.shape)}]"] if shape and not same else []
    if type_.dtype != typical.dtype:
        words.append(type_.dtype)
    if type_.layout != typical.layout:
        words.append("row-major" if type_.layout == "row_major" else "tiled")
    if type_.config is None:
        words.append("on the host")
    elif typical.config is not None and (type_.config.buffer, type_.config.memory) != (typical.config.buffer, typical.config.memory):
        memory = type_.config.memory.replace("_", "-")
        where = f"in {type_.config.buffer.upper()}"
        words.append(where if memory == "interleaved" else memory if type_.config.buffer == typical.config.buffer else f"{memory} {where}")
    return " ".join(words)


def _innermost(info: SourceInfo, sources: Sources) -> Frame:
    """The op's statement in model code: that of the module that uses an activation, not the activation's own."""
    chain = chain_of_source(info)
    if chain and len(info.frames) == len(framed_scopes(info)):
        return frame_at(info, len(chain) - 1, sources) or info.frames[-1]
    return info.frames[-1]


def _is_reshard(item: Item) -> bool:
    return is_move(item) and isinstance(item, Node) and item.note.startswith(RESHARD)


def _free_appended(body: list[model.Statement], lists: set[str], carried: set[str]) -> None:
    """Ends the variables of a loop's body that these lists hold: the last iteration's tensors would stay in L1 when the lists are gone."""
    held = [one.value.name for one in body if isinstance(one, model.Append) and one.name in lists and isinstance(one.value, model.TensorRef)]
    names = [name for name in dict.fromkeys(held) if name not in carried]
    if names:
        last = body[-1]
        body[-1:] = [model.Free((*names, *last.names))] if isinstance(last, model.Free) else [last, model.Free(tuple(names))]


def _only_kept(item: Item, value: Value) -> bool:
    """Whether the item makes the value for a collection alone."""
    return isinstance(item, Node) and len(item.results) == 1 and any(one.value is value for one in item.kept) and value in item.results and value in item.frees


def _ends(items: Sequence[Item], survivors: set[int]) -> dict[int, int]:
    """Until which item each value's name is taken: until the value is freed; one that the caller keeps, until nothing reads it any more."""
    last: dict[int, int] = {}
    for index, item in enumerate(items):
        for value in (*reads(item), *frees(item)):
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

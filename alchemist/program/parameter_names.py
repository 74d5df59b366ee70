"""Names of a function's parameters: what the caller and the source call them, else what reads them; and what all functions share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from alchemist.frontends.base import RECURRENT_CELLS, STATES
from alchemist.ir.location import Frame
from alchemist.ir.scopes import chain_of_source, is_library, weight_path
from alchemist.ops.spec import PRODUCTS
from alchemist.program import model
from alchemist.program.functions import INITIAL, CallItem, Definition, Item, calls_of, frame_at, reads, writes
from alchemist.program.gradients import Flow, begins_backward, is_gradient
from alchemist.program.graph import SAVED, Node, TensorType, Value
from alchemist.program.kept import UNNAMED
from alchemist.program.model_source import Sources, Statement
from alchemist.program.names import RESERVED, identifier, unique
from alchemist.program.roles import argument_role
from alchemist.program.runs import flat_items
from alchemist.program.state import lists_of
from alchemist.program.updates import input_roles, update_role, updated

_MODULES = frozenset({"jax", "jnp", "lax", "np", "nn", "nnx", "linen", "math", "self"})
"""Names that statements read, but not for their value."""


@dataclass(frozen=True, slots=True)
class Hint:
    """An argument of a call. name: the caller's variable; bound: the parameter that the source gives it to, "" if unknown;
    of_source: the variable's name is one of the source."""

    name: str = ""
    bound: str = ""
    of_source: bool = False


@dataclass(slots=True)
class Context:
    """What all functions of a program share.

    functions: names taken by functions. flow: what the values of a backward pass are.
    root: the entry function. main_file: the file that bare line numbers refer to. typical: dtype and placement
    not mentioned. flat: one function for the whole program. tuned: most products have a program config.
    hints: what a function's first call gives its parameters. collections: those that a
    function needs. saved_names: of activations, by their key behind kept.UNNAMED. output_words: of values that the program returns in a list, the
    word before the number in their names. result_names: what a function calls its results, "" where it has no telling name. parameter_names: what it calls its
    tensors. orders: places of a function's tensor parameters in the order in which it takes them.
    """

    sources: Sources
    functions: set[str]
    flow: Flow
    main_file: str
    typical: TensorType
    root: Definition
    collections: Mapping[int, tuple[str, ...]]
    flat: bool = False
    tuned: bool = False
    hints: dict[int, list[Hint]] = field(default_factory=dict)
    saved_names: dict[str, str] = field(default_factory=dict)
    output_words: Mapping[int, str] = field(default_factory=dict)
    result_names: dict[int, list[str]] = field(default_factory=dict)
    parameter_names: dict[int, list[str]] = field(default_factory=dict)
    orders: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def comment(self, frame: Frame, statement: Statement | None, op: str) -> str:
        line = statement.line if statement else frame.line
        if frame.file == RECURRENT_CELLS:  # no file that the user has
            return statement.text if statement else op
        where = f"{line}" if frame.file == self.main_file or not frame.file else f"{frame.file.rpartition('/')[2]}:{line}"
        text = statement.text if statement else op
        return f"{where}: {text}" if text else where


_FLOATS = ("float32", "bfloat16")
_OF_CELL = re.compile(rf"(?:initial_({'|'.join(STATES)})(?:_\d+)?|((?:weight|bias)(?:_[ih]h)?)(?:_.*)?)")
"""Last words of the names of states and weights in recurrent layers."""


def _is_transposed(value: Value) -> bool:
    return value.key.endswith("_t") and value.key.removesuffix("_t") in value.made_from


class ParameterNames:
    """Names a function's parameters.

    names: of values, by identity. level: of the function's module in its ops' chains, -1 in a flat program.
    """

    def __init__(self, definition: Definition, context: Context) -> None:
        self._definition = definition
        self._context = context
        self._level = -1 if context.flat else len(definition.chain) - 1
        self._names: dict[int, str] = {}
        self.parameters: list[str] = []
        self.parameter_values: list[Value | None] = []  # None for a list
        self._lists: dict[str, str] = {}  # group -> the variable that holds the list
        self.local_names: set[str] = set()
        self._source_names: set[str] = set()  # parameters, and variables that the source assigns here
        self._made_up: set[str] = set()  # names after ops and modules
        self._roles: dict[int, str] = {}  # what an attention calls its inputs
        self._narrowed: dict[int, list[Value]] = {}  # inputs of an attention cast for it alone, and what was cast and lives on
        self._variable = ""  # of the loop around the present items
        self._unclear: set[tuple[str, int, int]] = set()  # statements of which it is unknown what each target is

    def _name_parameters(self) -> None:
        """Sure names first (weights, what the caller's source binds, the only parameter that a statement reads), then likely ones."""
        definition, sources = self._definition, self._context.sources
        found = sources.function_of_class(definition.class_name)
        forward = tuple(parameter for parameter in found[1].parameters if parameter not in found[1].plain) if found and not definition.method else ()
        if found and found[0].startswith("torch/"):  # `torch.nn.Sequential.forward(self, input)`: a name of Python's
            forward = tuple("x" if parameter == "input" else parameter for parameter in forward)
        plain = found[1].plain if found else frozenset[str]()
        hints = self._context.hints.get(id(definition), [])
        of_cells = definition.is_step or definition.is_recurrent_layer
        roles_given = input_roles(definition.parameters) if definition.takes_weights else {}
        wanted: list[tuple[list[str], list[str]]] = []
        reading: list[list[str]] = []
        together: dict[tuple[str, ...], list[int]] = {}  # nameless values, and all of a step, by the parameters that their statement reads
        for index, value in enumerate(definition.parameters):
            hint = hints[index] if index < len(hints) else Hint()
            exact = identifier(value.name, "arg") if value.name and not value.key else ""
            element = [value.group.name.removesuffix("s")] if value.group is not None and not value.group.name[-1].isdigit() else []
            first = [exact] if self._context.root is definition else element
            named = [*([value.variable] if value.variable else []), *self._key_names(value.key)] if value.key and value.collection != SAVED else []
            if unnamed_key := value.key.partition(UNNAMED)[2]:
                first += [name for name in (self._context.saved_names.get(unnamed_key),) if name]
            # A number of the model that has no name; or a step of a loop gets other weights elsewhere.
            unnamed = value.key.startswith(("constant_", "initial_")) or (bool(value.key) and of_cells and bool(forward))
            read, used = self._read_as(value, forward)
            reading.append(read)
            bound = "x" if hint.bound == "input" and "input" not in forward else hint.bound
            sure = [*([bound] if bound and bound not in plain else []), *(read if len(read) == 1 else [])]
            if value.part is not None or definition.takes_weights:
                role = roles_given.get(id(value)) or update_role(value, updated(definition.parameters)) if definition.takes_weights else self._part(value)
                first.append(role)
            if role := argument_role(value):
                first.append(hint.name if hint.of_source and role.rstrip("s") in hint.name else role)
            if unnamed or of_cells:
                together.setdefault(tuple(read), []).append(index)
            first += [*sure, *([] if definition.is_root else self._named_by_callee(value)), *named] if unnamed else [*sure[: bool(hint.bound)], *named, *sure]
            if len(definition.parameters) == 1 and forward:
                first += [*read, forward[0]]
            known = [hint.name] if hint.name in forward or hint.name in used else []
            source = [without_number(hint.name, definition.paths), hint.name] if hint.of_source else []
            likely = [] if unnamed else [name for name in read if "mask" not in name or not any(user.spec.name in PRODUCTS for user in value.users)]
            plainly = [] if hint.of_source else [re.sub(r"_[23]$", "", hint.name)]  # the caller's number tells nothing apart here
            if is_gradient(value) and not definition.takes_weights:
                own = (
                    [hint.name] if hint.name.startswith("d_") and len(definition.paths) == 1 else []
                )  # `d_logits`: the forward function's parameter is another tensor
                told = ["output", "residual"] if self._of_library() else [*own, *first, self._context.flow.module_of(value)]
                first = [f"d_{name.removeprefix('d_')}" for name in told if name]
            elif self._of_library() and (value.collection == SAVED or (not value.key and value.type.dtype in _FLOATS and begins_backward(definition))):
                first = ["x"]  # as the forward function calls its input
            wanted.append((first, [*known, *source, *likely, *plainly, hint.name, exact, *self._by_reader(value, named), "tensor"]))
        for read_names, members in together.items():
            # As many as parameters: used in the order in which the statement reads them. The bias of a step, which stands last, may be none.
            if len(read_names) == len(members) > 1 or (definition.is_step and len(read_names) > len(members) > 1):
                for index, name in zip(members, read_names, strict=False):
                    wanted[index][0].insert(0, name)
        computed = [index for index, parameter in enumerate(definition.parameters) if not parameter.key]
        others = [name for index in computed for name in wanted[index][0][:1] or reading[index]]
        for index, (first, _) in enumerate(wanted):  # of the two variables that a statement reads, the one that is no other parameter
            left = [name for name in reading[index] if name not in others]
            if definition.parameters[index].key and len(reading[index]) == 2 and len(left) == 1 and not of_cells:
                first.insert(0, left[0])
        names: dict[int, str] = {}
        kept_as_lists = lists_of(definition.parameters) if not definition.is_root else {}
        listed = {value for group in kept_as_lists.values() for value in group.values}
        for sure_ones in (True, False):
            for index, (first, later) in enumerate(wanted):
                if index not in names and (first or not sure_ones) and definition.parameters[index] not in listed:
                    candidates = [identifier(one) for one in (first if sure_ones else [*first, *later]) if one]
                    if of_cells and _is_transposed(definition.parameters[index]):
                        candidates = [f"{one.removesuffix('_t')}_t" for one in candidates]
                    free = [name for name in candidates if name not in names.values() and self._legal(name)]
                    if sure_ones and not free:
                        continue
                    names[index] = free[0] if free else unique(candidates, lambda name: name not in names.values() and self._legal(name))
        for index, value in enumerate(definition.parameters):
            if index in names:
                self.parameters.append(names[index])
                self.parameter_values.append(value)
                self._names[id(value)] = names[index]
            elif value.group is not None and value.group.name not in self._lists:
                self._name_list(value.group.name, set(names.values()))
                self.parameters.append(self._lists[value.group.name])
                self.parameter_values.append(None)
        if definition.is_root:
            for group in definition.argument_lists():
                if group not in self._lists:
                    self._name_list(group, set(names.values()))
        self.local_names |= {*names.values(), *self._lists.values()}
        self._source_names = {*forward, *names.values()}
        for item in flat_items(definition.items):
            self._source_names.update(name for statement in self._own_statements(item) for name in statement.targets)

    def _name_list(self, group: str, taken: set[str]) -> None:
        held = {*taken, *self._lists.values()}
        self._lists[group] = unique([group, f"{group}_list"], lambda name: name not in held and self._legal(name))

    def _named_by_callee(self, value: Value) -> list[str]:
        """What the first function that is handed the value calls its parameter, where that function has been named."""
        for call in (call for item in self._definition.items for call in calls_of(item)):
            names = self._context.parameter_names.get(id(call.function), ())
            if value in call.arguments and len(names) == len(call.arguments):
                return [names[call.arguments.index(value)]]
        return []

    def _by_reader(self, value: Value, names: Sequence[str]) -> list[str]:
        """Where another weight has its name: with the module that reads it, `layers_layernorm_weight`."""
        for item in flat_items(self._definition.items) if names else ():
            if any(value is one for one in reads(item)):
                path = item.path if isinstance(item, CallItem) else next((info.scopes[-1].path for info in item.sources if info.scopes), "")
                words = [word for word in self._definition.relative(weight_path(path)).split(".") if word.isidentifier()]
                return [f"{words[-1]}_{names[-1]}"] if words else []
        return []

    def _key_names(self, key: str) -> list[str]:
        """Parameter names for a weight that is handed over: `model.cos` is cos, `shared.weight` is shared_weight."""
        words = key.split(".")
        if (self._definition.is_step or self._definition.is_recurrent_layer) and (match := _OF_CELL.fullmatch(words[-1])):
            return [match[1] or match[2], *(["bias_hh"] if match[2] == "bias" else [])]
        whole = identifier("_".join(words[-2:]))
        own = words[-1].partition("_")[0] not in ("weight", "bias", "kernel", "scale", "embedding") and not words[-1].isdigit()
        last = without_number(identifier(words[-1]), self._definition.paths)
        return [last, identifier(words[-1]), whole] if own else [whole]

    def _bound_to(self, call: CallItem, name: str) -> str:
        """The parameter of the called module's forward that the source gives the variable to, through modules without a function."""
        if call.source is None or call.function.method:
            return ""
        for level in range(max(self._level, 0), len(call.chain) - 1):
            frame = frame_at(call.source, level, self._context.sources)
            statement = self._context.sources.statement(frame) if frame else None
            found = self._context.sources.function_of_class(call.chain[level + 1].class_name)
            if frame is None or statement is None or found is None:
                return ""
            names = [name, *self._context.sources.aliases(frame, name)]
            name = next((bound for name in names if (bound := statement.binding(name, found[1].parameters))), "")
            if not name:  # the source does not hand it on under a name: no later statement says more
                return ""
        return name

    def _bound_in_order(self, call: CallItem, handed: Sequence[model.Argument], hints: list[Hint]) -> list[Hint]:
        """Elements of lists that have no telling name are bound to the parameters that are left in the called function's source, if as many are."""
        found = self._context.sources.function_of_class(call.function.class_name)
        nameless = [place for place, one in enumerate(handed) if isinstance(one, model.Element) and one.name[-1].isdigit()]
        spare = [name for name in found[1].parameters if name not in found[1].plain and all(name != hint.bound for hint in hints)] if found else []
        if len(spare) == len(nameless) and not call.function.method:
            for place, name in zip(nameless, spare, strict=True):
                hints[place] = replace(hints[place], bound=name)
        return hints

    def _hint(self, call: CallItem, argument: model.Argument, value: Value) -> Hint:
        if isinstance(argument, model.Element):
            return Hint(argument.name.removesuffix("s"), "", True)
        if isinstance(argument, model.WeightRef) and value.variable:
            return Hint(bound=self._bound_to(call, value.variable))
        if not isinstance(argument, model.TensorRef):
            return Hint()
        names = [*self._assigned(call, value), argument.name]
        bound = self._assigned_inside(call, value) or next((bound for name in names if (bound := self._bound_to(call, name))), "")
        return Hint(argument.name, bound, argument.name not in self._made_up or argument.name in self._source_names)

    def _assigned_inside(self, call: CallItem, value: Value) -> str:
        """The variable of the called function's source to which it assigns the value, "" where it does not: all layers compute it once, in front of them."""
        given_back = any(value in one.results for item in self._definition.items for one in calls_of(item))
        for info in value.node.sources if value.node is not None and self._level >= 0 and not (call.function.method or given_back) else ():
            chain = chain_of_source(info)
            if chain and info.frames and f"{weight_path(chain[-1].path)}.".startswith(f"{call.path}."):
                statement = self._context.sources.statement(info.frames[-1])
                unfinished = any(one.frames and one.frames[-1] == info.frames[-1] for user in value.users for one in user.sources)
                return statement.targets[0] if statement is not None and len(statement.targets) == 1 and not unfinished else ""
        return ""

    def _assigned(self, call: CallItem, value: Value) -> list[str]:
        """The variable of this function's source that holds the value when the call reads it; [] for one that another op in the call's statement makes."""
        infos = [info for info in (value.node.sources if value.node is not None else ())[-1:] if self._level >= 0]
        frames = [frame_at(info, self._level, self._context.sources) for info in (*infos, *([call.source] if call.source else []))]
        made, read = ([self._context.sources.statement(frame) if frame else None for frame in frames] + [None, None])[:2]
        makers = [item for item in (*self._definition.items, *flat_items(self._definition.items)) if value in writes(item)]
        if made is None or len(made.targets) != 1 or not makers:
            return []
        return [] if isinstance(makers[-1], Node) and made == read else [made.targets[0]]

    def _read_as(self, value: Value, forward: Sequence[str]) -> tuple[list[str], list[str]]:
        """(parameters of the source's forward that the first statement using the value reads, all that it reads)."""
        assigned: set[str] = set()
        for item in flat_items(self._definition.items):
            statements = self._own_statements(item)
            if any(value is one for one in reads(item)):
                names = [name for statement in statements for name in statement.reads if name not in statement.containers]
                if isinstance(item, CallItem) and (INITIAL.fullmatch(value.key) or self._definition.is_recurrent_layer):
                    return [], []
                if INITIAL.fullmatch(value.key) and not (forward and self._definition.is_step):  # unpacked from the parameter that carries a loop's values
                    return [name for name in dict.fromkeys(names) if name not in (*forward, *assigned, *_MODULES)], []
                return [name for name in dict.fromkeys(names) if name in forward and name not in assigned], names
            assigned.update(name for statement in statements for name in statement.targets)
        return [], []

    def _part(self, value: Value) -> str:
        """What a value is to a weight of the function: `d_mlp_w` is the gradient of `mlp.w`; "" for one of other functions."""
        if value.part is None:
            return ""
        before, path = value.part
        if self._definition.takes_weights:
            return "new_weight" if before == "new_" else before.rstrip("_")
        own = self._definition.path
        if own and not path.startswith(f"{own}."):
            return ""
        return identifier(before + self._definition.relative(path).replace(".", "_"))

    def _legal(self, name: str) -> bool:
        return name not in RESERVED and name not in self._context.functions and name not in self._context.collections[id(self._definition)]

    def _of_library(self) -> bool:
        """Whether the function is that of a library's module, whose statements the program does not show."""
        return self._level > 0 and is_library(self._definition.class_name)

    def _own_statements(self, item: Item) -> list[Statement]:
        """Statements of this function's source that the item belongs to; none of a library's module, whose callers have them."""
        if self._of_library():
            return []
        part = flat_items([item])[-1]
        infos = part.sources if isinstance(part, Node) else ((part.source,) if part.source else ())
        found: dict[tuple[str, int], Statement] = {}
        for info in infos:
            frame = info.helper if self._definition.helper is not None else frame_at(info, self._level, self._context.sources)
            statement = self._context.sources.statement(frame) if frame else None
            if statement is not None:
                found.setdefault((statement.file, statement.line), statement)
        return list(found.values())


def without_number(name: str, paths: Sequence[str]) -> str:
    """`key_cache_3` in layer 3 is `key_cache`."""
    base, _, number = name.rpartition("_")
    return base if base and number.isdigit() and any(number in path.split(".") for path in paths[:1]) else name

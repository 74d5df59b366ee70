"""Names of a function's values, best first: what the source calls them, else the module, else the op."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from alchemist.ir.location import SourceInfo
from alchemist.ir.op_class import named
from alchemist.ir.scopes import chain_of_source, is_library, is_norm, weight_path
from alchemist.ops.matmul import ACTIVATIONS
from alchemist.ops.spec import COLUMN_MATRICES, MOVING, PRODUCTS, SHAPING
from alchemist.program import model
from alchemist.program.function_names import singular
from alchemist.program.functions import LAYER, OF_LAYERS, CallItem, Definition, Item, LoopItem, calls_of, frame_at, reads, writes
from alchemist.program.gradients import adds_residual, begins_backward, forms_before, gradient_name, is_gradient, of_backward, stored_as
from alchemist.program.graph import SAVED, Node, Value
from alchemist.program.kept import UNNAMED
from alchemist.program.model_source import Statement
from alchemist.program.names import identifier, nth, result_name, snake_case
from alchemist.program.parameter_names import ParameterNames
from alchemist.program.pieces import depends, is_form_of, piece, placed_parts, slots
from alchemist.program.roles import (
    COMPARED,
    JOINED_HEADS,
    NOT_IN_SOURCE,
    ROLES,
    SPLITTING_HEADS,
    STATISTICS,
    STEPS,
    applies_number,
    are_logits,
    argument_role,
    column_matrix,
    computed_role,
    cut_patches,
    feeds_heads,
    fused_activation,
    given_role,
    noun_of,
    parameter_name,
    projected_name,
    table_part,
    users_of,
    value_name,
    zeroes_rows,
)
from alchemist.program.runs import FOREVER, Finals, flat_items
from alchemist.program.scopes import MOVE, NORMS

_CUSTOMARY = {
    **dict.fromkeys(SPLITTING_HEADS, ("query", "key", "value")),
    "ttnn.topk": ("values", "indices"),
    "ttnn.sort": ("values", "indices"),
}
"""What the results of ops with several are called."""
_UNTELLING = frozenset({"result", "res", "ret", "out", "output", "outputs", "tmp"})
"""What functions call whatever they return."""
_ARITHMETIC = named("ttnn", "arithmetic", "extreme") | {"ttnn.divide"}
_LONGEST_DERIVATIVE = 32
"""Ops from a factor of a derivative to the gradient that it is multiplied with."""
_PAGED = "ttnn.to_layout"
"""Changes tiles to rows or back: no reader of the source knows of it."""
_FORMING = SHAPING | {"ttnn.concatenate_heads"}


class Naming(ParameterNames):
    """Proposes names of values within one function."""

    def _inner_statement(self, call: CallItem) -> Statement | None:
        if call.source is None or len(call.chain) - 2 <= self._level:
            return None
        frame = frame_at(call.source, len(call.chain) - 2, self._context.sources)
        return self._context.sources.statement(frame) if frame else None

    def _final_items(self, items: Sequence[Item]) -> Finals:
        """For every statement, where the runs of items that belong to it end."""
        finals = Finals()
        for index, item in enumerate(items):
            part = flat_items([item])[-1]
            inner = self._inner_statement(part) if isinstance(part, CallItem) else None
            backward = isinstance(part, Node) and of_backward(part)
            for statement in [*self._own_statements(item), *([inner] if inner else []), *self._helper_statements(part)]:
                finals.add(statement, index, backward=backward)
        return finals

    def _helper_statements(self, item: Node | CallItem) -> list[Statement]:
        """Statements of functions that this function's source calls, which are no functions of the program."""
        frames = dict.fromkeys(info.helper for info in item.sources if info.helper is not None) if isinstance(item, Node) else ()
        return [statement for frame in frames if (statement := self._context.sources.statement(frame)) is not None]

    def _helper_target(self, item: Node | CallItem, index: int, items: Sequence[Item], finals: Finals) -> list[str]:
        """What such a statement assigns the finished value to."""
        for statement in reversed(self._helper_statements(item)):
            run = finals.run(statement, index)
            if statement.targets and _UNTELLING.issuperset(statement.targets):
                continue
            if len(statement.targets) == 1 and index == run[-1]:
                return [statement.targets[0]]
            members = [place for place in run if isinstance(one := items[place], Node) and statement in self._helper_statements(one)]
            if len(statement.targets) == len(members) > 1:
                return [statement.targets[members.index(index)]]
        return []

    def _candidates(self, item: Node | CallItem, index: int, items: Sequence[Item], finals: Finals, last: Mapping[int, int]) -> list[list[str]]:
        """Names for each result, best first."""
        count = len(writes(item))
        out: list[list[str]] = [[] for _ in range(count)]
        called = self._called_there(item) if isinstance(item, CallItem) else []
        returned = called if count > 1 and any(called) else self._returned_as(item) if isinstance(item, CallItem) else []
        if isinstance(item, CallItem):
            inner = self._inner_statement(item)
            self._add_targets(item, out, [inner] if inner else [], index, finals, returned)
            if inner is not None and count == len(inner.targets) == 1 and inner.targets[0] in inner.reads:  # `x = layer(x)` calls what each layer makes x
                out[0].append(inner.targets[0])
        own = self._own_statements(item)
        backward = isinstance(item, Node) and count == 1 and (of_backward(item) or id(item.results[0]) in self._context.flow.gradients)
        if backward and isinstance(item, Node):
            out[0] += self._of_gradient(item)
            out[0].append(self._gradient(item.results[0], own[-1] if own else None, self._definition))
        else:
            self._add_targets(item, out, [] if _is_step(item) and any(returned) else own, index, finals, returned)
        first, intermediate = self._same_value(item, index, items, last), ""
        if own and count == 1 and own[0].targets and not self._is_deeper(item) and not (backward and len(own[0].targets) > 1):
            final = finals.end(own[0], index)
            if index < final and last.get(id(writes(item)[0]), -1) <= final:
                rest = items[index + 1 : final + 1]
                only_shaped = all(isinstance(item, Node) and (item.spec.name in _FORMING or zeroes_rows(item)) for item in rest)
                intermediate = self._intermediate(item, own[0]) or (own[0].targets[0] if only_shaped else "")
                if not only_shaped and _is_of_module(items[final], intermediate):  # `down_proj = self.down_proj(...)`: what goes in is none yet
                    intermediate = ""
                # `x = f(self.g(x))` calls everything x, and so does `x = self.g(y).view(...)`; otherwise a new name is kept
                # for the finished value if g says what its result is.
                if intermediate in own[0].reads or only_shaped:
                    first.append(intermediate)
                if backward and isinstance(item, Node):  # a factor of the derivative is no gradient of the target
                    intermediate = f"d_{intermediate}" if intermediate and any(map(is_gradient, item.inputs())) else ""
        module, others = self._attribute_names(item)
        if isinstance(item, CallItem) and count == 1 and any(returned) and out[0] and _UNTELLING.issuperset(out[0]):
            out[0][:0] = returned
        if isinstance(item, CallItem) and count == 1 and (place := self._place_in_list(item)) and self._is_reassigned(item, index, items, own, last):
            out[0].insert(0, place)
        customary = _CUSTOMARY.get(item.spec.target, ()) if isinstance(item, Node) else ()
        for slot, value in enumerate(writes(item)):
            role = argument_role(value)
            out[slot].insert(0 if role in NOT_IN_SOURCE else len(out[slot]), role)
        roles = [self._roles[id(value)] for value in writes(item) if id(value) in self._roles]
        on_the_way = self._on_the_way(item, own)
        helper = self._helper_target(item, index, items, finals) if count == 1 else []
        if made_up := {*module, *others, *customary, *on_the_way} - self._made_up:
            self._made_up |= made_up.difference(self._names.values())
        for slot, names in enumerate(out):
            names += self._of_step(item, returned[slot : slot + 1]) if count > 1 or _is_step(item) else [value_name(item)] if isinstance(item, Node) else []
            names += self._distinguished(item, called[slot : slot + 1])
            names += customary[slot : slot + 1] if len(customary) == count else ()
            names[:0] = self._placed_name(item)
            names[:0] = [part] if (part := self._part(writes(item)[slot])) else []
            joined = [JOINED_HEADS] if isinstance(item, Node) and feeds_heads(item) else []
            names[:0] = joined if len(own) > 1 else []  # `queries` is the first of three statements' targets
            names[:0] = self._step_of_training(item, own) if count == 1 else []
            names[:0] = [given] if (given := given_role(item)) else []
            names += [*joined, *first, *roles, *module, intermediate, *helper, *self._made_from(item, index, last), *on_the_way, *others]
        if isinstance(item, CallItem):
            gradient = item.results[0].node if count == 1 and is_gradient(item.results[0]) else None
            if gradient is not None and is_library(item.function.class_name) and not is_norm(item.function.class_name):
                out[0].insert(0, self._context.flow.name_of(gradient, self._saved_name))
            if item.function.helper is not None:  # the gradients of a loss are those of what it reads
                for names, value in zip(out, writes(item), strict=True):
                    names[:0] = self._of_equal_size(value, item.arguments) if is_gradient(value) else ["loss"] * (not value.type.shape)
            if adds_residual(item.function):
                out[0].insert(0, self._names.get(id([value for value in item.arguments if is_gradient(value)][-1]), ""))
            for value, names in zip(writes(item), out, strict=True):
                names[:] = [f"d_{name.removeprefix('d_')}" for name in names if name] if is_gradient(value) else names
        return [[identifier(name) for name in names if name and name != "_"] for names in out]

    def _step_of_training(self, item: Node | CallItem, own: Sequence[Statement]) -> list[str]:
        """What a backward pass reads again, or what is on the way to that or to the loss, is known by its role."""
        if not self._context.flow.trains or (isinstance(item, Node) and of_backward(item)):
            return []
        if are_logits(writes(item)[0]):
            return ["logits"]
        if not isinstance(item, Node):
            return []
        if (role := computed_role(item, self._names)) in STEPS:
            return [role]
        targets = [name for statement in own for name in statement.targets if "loss" in name] or ["loss"] * (self._definition.helper is not None)
        if targets and not item.results[0].type.shape:
            return targets[:1]
        users = {id(user): user for user in item.results[0].users}
        if len(users) == 1 and next(iter(users.values())).spec.name.removeprefix("ttnn.") in ACTIVATIONS and len(item.inputs()) == 2:
            return ["preactivation"]
        numbers = (item.spec.name in _ARITHMETIC and len(item.inputs()) == 1) or applies_number(item)
        return [name] if numbers and (name := self._names.get(id(item.inputs()[0]), "")) else []

    def _of_gradient(self, node: Node) -> list[str]:
        """`d_scores` for the gradient of the scores; a step on the way to one keeps the name of the gradient; `derivative` for a factor without one."""
        flow, role = self._context.flow, computed_role(node, self._names)
        if self._of_library() and id(node.results[0]) in map(id, self._definition.returns):
            return ["d_input"]
        if not flow.gradients:
            return []
        if stored := stored_as(node.results[0]):
            return [f"d_{stored}"]
        read = node.inputs()
        if is_norm(self._definition.class_name) and node.spec.name == "ttnn.multiply" and len(read) == 2 and role not in STATISTICS:
            kinds = {value.collection if value.key else "" for value in read}
            if "" in kinds and len(kinds) == 2:
                return ["d_normalized" if "weights" in kinds else "d_normalized_product"]
        if self._definition.helper is not None and node.results[0] in self._definition.returns:  # of the loss
            return [f"d_{name}" for name in self._of_equal_size(node.results[0], self._definition.parameters)]
        if id(node.results[0]) not in flow.gradients:
            called = [self._names.get(id(value), "") for value in node.inputs()]
            own = [] if node.spec.name in SHAPING else ["rstd"] if noun_of(node) == result_name("ttnn.rsqrt") else self._of_derivative(node, role)
            return [*own, *called[: len(node.inputs()) == 1], *(f"{name}_{noun_of(node)}" for name in called if name)]
        if role in STATISTICS:
            return [role]
        called = [self._names.get(id(value), "") for value in node.inputs() if id(value) in flow.gradients]
        called = sorted(filter(None, called), key=lambda name: not name.startswith("d_"))
        told = "" if self._of_library() else flow.name_of(node, self._saved_name)
        if not told and node.spec.name == "ttnn.multiply" and any(self._names.get(id(value)) == "rstd" for value in node.inputs()):
            told = "input"  # of the norm
        summed = node.spec.name == "ttnn.add" and len(called) > 1  # of a residual
        return [*called[:summed], *([f"d_{told}"] if told else []), *called, *(f"{name}_{noun_of(node)}" for name in called[:1])]

    def _saved_name(self, key: str) -> str:
        return self._context.saved_names.get(key.partition(UNNAMED)[2], "")

    def _of_equal_size(self, value: Value, others: Sequence[Value]) -> list[str]:
        """What the first of the others with as many elements is called."""
        return [self._names.get(id(one), "") for one in others if math.prod(one.type.shape) == math.prod(value.type.shape)][:1]

    def _of_derivative(self, node: Node, role: str) -> list[str]:
        """`gelu_derivative` for what d_gelu is multiplied with, `inner_derivative` for a second one on the way to it."""
        if role and role != "scaled":
            return [role]
        pending = [node.results[0]]
        for value in pending:
            pending += [user.results[0] for user in value.users if user.spec.name in _ARITHMETIC and len(pending) < _LONGEST_DERIVATIVE]
        read = (one for value in pending for user in value.users for one in user.inputs() if id(one) in self._context.flow.gradients)
        names = [self._names.get(id(value), "").removeprefix("d_") for value in read]
        saved = [self._saved_name(value.key) for value in node.inputs() if value.collection == SAVED]
        names += ["tanh"] * ("tanh" in saved) + ["loss"] * (not begins_backward(self._definition))  # scaled * (1 - tanh^2)
        return [*(f"{name}_derivative" for name in filter(None, names)), "inner_derivative"]

    def _of_step(self, item: Item, returned: Sequence[str]) -> list[str]:
        """What a function's source calls a result; of a recurrent layer, or of its only one's step, with the layer's number: hidden_layer1."""
        layer = _last_word(item.step_of or item.path) if _is_step(item) and isinstance(item, CallItem) else ""
        layer = _NUMBER.sub("", layer) if self._variable == LAYER else layer  # `hidden_reverse` in each layer
        layer = re.sub(r"^l(?=\d)", "layer", layer)  # "l1" reads as the L1 memory
        if not layer:
            return list(returned)
        if isinstance(item, CallItem) and item.function.is_recurrent_layer and len(item.results) == 1:
            returned = ["output"] if not any(returned) else returned
            siblings = {call.path.removesuffix("_reverse") for one in self._definition.items for call in calls_of(one) if call.path.endswith("_reverse")}
            if layer.startswith("l") and item.path.removesuffix("_reverse") in siblings:
                number = layer.removesuffix("_reverse")
                return [f"{'forward' if layer == number else 'reverse'}_{number}"]
        return [name for one in returned if one for name in ([one] if layer == "step" else [f"{one}_{layer}", one])]

    def _is_deeper(self, item: Node | CallItem) -> bool:
        """An op that another module's function has handed up: the statement of this level names that function's result."""
        infos = item.sources if isinstance(item, Node) and self._level >= 0 else ()
        called = {_ANY_NUMBER.sub("#", call.path) for item in self._definition.items for call in calls_of(item)}  # of a loop's calls, one for all
        chains = [chain_of_source(info) for info in infos]
        return bool(chains) and all(any(_ANY_NUMBER.sub("#", weight_path(scope.path)) in called for scope in chain[self._level + 1 :]) for chain in chains)

    def _intermediate(self, item: Node | CallItem, statement: Statement) -> str:
        """What a value on the way to the statement's targets is called: like the target, like the input that is one of several."""
        if len(statement.targets) == 1:
            return statement.targets[0]
        names = [self._names.get(id(value), "") for value in reads(item)]
        return next((name for name in names if name in statement.targets), "")

    def _note_roles(self, items: Sequence[Item], last: Mapping[int, int]) -> None:
        """Values that only an attention of the same statement reads are its query, key and value.

        So are all casts before it where one of the wide values lives on: `key = typecast(key_states)` with `query = typecast(query_states)`.
        """
        for index, item in enumerate(items):
            if isinstance(item, Node) and item.spec.name in named("ttnn", "attention"):
                own = {(statement.file, statement.line) for statement in self._own_statements(item)}
                for value, role in zip(item.inputs(), ("query", "key", "value"), strict=False):
                    while value.node is not None and len({id(user) for user in value.users}) == 1 and not value.key:
                        if own.isdisjoint((statement.file, statement.line) for statement in self._own_statements(value.node)):
                            break
                        self._roles[id(value)] = role
                        inputs = [tensor for tensor in value.node.inputs() if not tensor.key]
                        if value.node.spec.name not in SHAPING or len(inputs) != 1:
                            break
                        value = inputs[0]
                casts = [value for value in item.inputs()[:3] if value.node is not None and value.node.spec.name == "ttnn.typecast" and len(value.users) == 1]
                wide = [value.node.inputs()[0] for value in casts if value.node is not None]
                alive = [value for value in wide if last.get(id(value), -1) > index and not value.key]
                if alive:
                    self._narrowed |= {id(value): alive for value in casts}
                    self._roles |= {id(value): role for value, role in zip(item.inputs(), ("query", "key", "value"), strict=False) if value in casts}

    def _gradient(self, value: Value, statement: Statement | None, definition: Definition) -> str:
        nodes = (item for item in flat_items(definition.items) if isinstance(item, Node))
        return gradient_name(value, statement, nodes, self._names)

    def _returned_as(self, call: CallItem) -> list[str]:
        """What the called function's source calls its results, "" where it does not say."""
        names = self._targets_of(call, -1)
        for place, value in enumerate(call.function.returns):
            if is_gradient(value) and value.node is not None:
                frames = value.node.sources[-1].frames
                names[place] = self._gradient(value, self._context.sources.statement(frames[-1]) if frames else None, call.function)
        if len(set(names)) < len(names):
            own = self._targets_of(call, len(call.chain) - 1)
            names = own if len(set(own)) == len(own) and all(own) else names
        return [nth(name, before + 1) if name and (before := names[:index].count(name)) else name for index, name in enumerate(names)]

    def _called_there(self, call: CallItem) -> list[str]:
        """What the called function, where it has been named, calls each of its tensors."""
        names = [""] * len(call.results)
        for places, name in zip(call.function.results(), self._context.result_names.get(id(call.function), ()), strict=False):
            names[places[0]] = name
        return names

    def _distinguished(self, item: Node | CallItem, names: Sequence[str]) -> list[str]:
        """Such a name, and one with what the called function's own name says beside it: `cross_attention_key_states`."""
        if not isinstance(item, CallItem) or not any(names):
            return [*names]
        common = {*self._definition.base_name.split("_"), "layer", "block", "module", "model"}
        calls = (call for one in self._definition.items for call in calls_of(one))
        siblings = any(call.function.class_name == item.function.class_name and call.path != item.path for call in calls)
        told = _element_word(self._definition.relative(item.path)) if siblings else item.function.base_name  # `self_attn` beside `encoder_attn`
        words = [word for word in told.split("_") if siblings or word not in common]
        return [names[0], *([f"{'_'.join(words)}_{names[0]}"] if words else [])]

    def telling_names(self, returned: Sequence[model.Value]) -> list[str]:
        """Names of the variables that are returned; a single one counts where it is not only called after an op or module."""
        names = [one.name if isinstance(one, model.TensorRef) else "" for one in returned]
        return names if len(names) > 1 else ["" if name in self._made_up else name for name in names]

    def _targets_of(self, call: CallItem, level: int) -> list[str]:
        """Of the statements that make the function's results: at a level of its modules, or with -1 the innermost ones."""
        statements: list[Statement | None] = []
        for value in call.function.returns:
            infos = [info for info in value.node.sources if info.frames] if value.node is not None else []
            frame = infos[-1].frames[-1] if infos and level < 0 else frame_at(infos[-1], level, self._context.sources) if infos else None
            statements.append(self._context.sources.statement(frame) if frame else None)
        names = []
        for index, (value, statement) in enumerate(zip(call.function.returns, statements, strict=True)):
            targets = [name for name in statement.targets if name != "_"] if statement is not None else []
            alike = [place for place, other in enumerate(statements) if other == statement]
            if len(targets) > 1 and len(alike) == len(targets):
                targets = [targets[alike.index(index)]]
            elif len(targets) > 1:
                targets = [targets[slot] for slot in slots(value, len(targets))]
            names.append(targets[0] if len(targets) == 1 else "")
        return names

    def _same_value(self, item: Node | CallItem, index: int, items: Sequence[Item], last: Mapping[int, int]) -> list[str]:
        """The name of a value of another statement that this op only gives another form, if nobody needs the old one."""
        if not isinstance(item, Node) or item.spec.name not in SHAPING or not item.inputs():
            return []
        source = item.inputs()[0]
        name = self._names.get(id(source))
        if name is None or last.get(id(source), -1) > index:
            return []
        one_of_targets = any(name in statement.targets and len(statement.targets) > 1 for statement in self._own_statements(item))
        if item.spec.name == _PAGED or one_of_targets:  # `q, k, v = (part.view(...).transpose(1, 2) for part in (q, k, v))`
            return [name]
        here = {(statement.file, statement.line) for statement in self._own_statements(item)}
        while source.node is not None and source.node.spec.name == _PAGED and source.node.inputs():
            source = source.node.inputs()[0]
        for before in reversed(items[max(index - 8, 0) : index]):
            if any(value is source for value in writes(before)):
                return [] if here & {(statement.file, statement.line) for statement in self._own_statements(before)} else [name]
        return [name]

    def _made_from(self, item: Node | CallItem, index: int, last: Mapping[int, int]) -> list[str]:
        """What numbers are added to or multiplied with keeps its name, if nobody needs the old value."""
        inputs = item.inputs() if isinstance(item, Node) and item.spec.name in _ARITHMETIC else []
        name = self._names.get(id(inputs[0]), "") if len(inputs) == 1 and last.get(id(inputs[0]), -1) <= index else ""
        return [name] if name and name not in self._made_up else []

    def _on_the_way(self, item: Node | CallItem, own: Sequence[Statement]) -> list[str]:
        """A value that its statement's target cannot name yet: `rel_att_product`; where nothing is assigned, after what it is made of."""
        if not isinstance(item, Node) or len(item.results) != 1 or computed_role(item, self._names) or item.spec.name in SHAPING:
            return []
        if joined := self._of_directions(item):
            return [joined]
        innermost = self._context.sources.statement(item.sources[-1].frames[-1]) if item.sources and item.sources[-1].frames else None
        if innermost is not None and len(innermost.targets) == 1 and self._is_deeper(item):  # handed up by the function of that statement
            return [innermost.targets[0]]
        noun = noun_of(item)
        bases = [statement.targets[0] for statement in [*self._helper_statements(item), *own] if len(statement.targets) == 1]
        called = [self._names.get(id(value)) or self._context.saved_names.get(value.key.partition(UNNAMED)[2], "") for value in item.inputs()]
        bases = bases or [name.removesuffix(OF_LAYERS) for name in called if name and name not in STEPS and name.rstrip("_0123456789") not in self._made_up]
        return [f"{bases[0]}_{noun}"] if bases and bases[0] and not bases[0].endswith(noun) else []

    def _placed_name(self, item: Node | CallItem) -> list[str]:
        """A tensor that only goes elsewhere stays what it is; where the old name is still taken, with the place: `hidden_states_l1`, from shards
        `hidden_states_interleaved`."""
        if not isinstance(item, Node) or item.spec.name != "ttnn.to_memory_config" or not item.inputs():
            return []
        name, before, config = self._names.get(id(item.inputs()[0])), item.inputs()[0].type.config, item.results[0].type.config
        if name is None or config is None:
            return []
        moved = before is None or before.buffer != config.buffer
        return [name, f"{name}_{'sharded' if config.memory != 'interleaved' else config.buffer if moved else 'interleaved'}"]

    def _of_another_module(self, item: Node | CallItem, statement: Statement) -> bool:
        """In a flat program: `y = self.f(self.g(x))` names f's value, but g's op may be all that is left at this level. Otherwise: whether the
        statement is one of modules that share the value, called from here."""
        if not isinstance(item, Node):
            return False
        if self._level >= 0:
            return self._context.sources.in_another_class(self._definition.class_name, statement)
        if not statement.method:
            return False
        leaves = {_last_word(info.scopes[-1].path) for info in item.sources if info.scopes}
        return bool(leaves) and statement.method not in leaves

    def _add_targets(
        self,
        item: Node | CallItem,
        out: list[list[str]],
        statements: Sequence[Statement],
        index: int,
        finals: Finals,
        returned: Sequence[str] = (),
    ) -> None:
        ends = [one for one in statements if finals.end(one, index) == index or (isinstance(item, CallItem) and len(one.targets) == len(out) > 1)]
        final = [statement for statement in ends if not self._of_another_module(item, statement)]
        # A form of a value with which several statements begin is not what the one assigns of which nothing else is left.
        if not final or (isinstance(item, Node) and item.spec.name in SHAPING and len(final) < len(statements)):
            return
        together = list(dict.fromkeys(name for statement in statements for name in statement.targets))
        unpacked = self._unpacked(item, final[-1], returned) if isinstance(item, CallItem) and len(final[-1].targets) > 1 else []
        if unpacked:
            names = unpacked
        elif len(together) == len(out):
            names = together
        elif (final[-1].file, final[-1].line, index) in self._unclear and len(final[-1].targets) > 1:
            names = []
        elif len(out) == 1 or len(final[-1].targets) >= len(out):
            names = list(final[-1].targets[: len(out)])
        else:  # `loss, gradients = f(...)` names the only result that is no gradient
            plain = [slot for slot, value in enumerate(writes(item)) if not is_gradient(value)]
            names = [""] * plain[0] + [final[-1].targets[0]] if len(plain) == 1 and len(final[-1].targets) == 2 else []
        for slot, name in enumerate(names):
            if name and name != "_":
                out[slot].append(name)

    def _unpacked(self, call: CallItem, statement: Statement, returned: Sequence[str]) -> list[str]:
        """`x, _, y = self.f(...)` by the places that the results have in f's return statement, where expressions are in order; "" for results without one."""
        found = self._context.sources.function_of_class(call.function.class_name)
        places = found[1].returned if found and not call.function.method else ()
        if len(places) != len(statement.targets):
            return []
        names = [statement.targets[places.index(name)] if name and name in places else "" for name in returned]
        if not any(names):
            return []
        left = [target for target in statement.targets if target != "_" and target not in names]
        if len(left) == names.count("") == 1:  # `return x, y` where y is another name of the result
            return [name or left[0] for name in names]
        expressions = [target for target, place in zip(statement.targets, places, strict=True) if not place]
        rest = iter(expressions if len(expressions) == names.count("") else [])
        return [name or next(rest, "") for name in names]

    def _attribute_names(self, item: Node | CallItem) -> tuple[list[str], list[str]]:
        """(names by the module that computes the value, last resorts)."""
        if isinstance(item, CallItem):
            attribute = "" if item.function.method else _element_word(self._definition.relative(item.path))
            names = [name for name in (item.function.in_parts or item.function.method.lstrip("_"), attribute) if name]
            places = [place] if (place := self._place_in_list(item)) else []  # of several elements of a list: `down_output`, `down_1`
            first = [] if any(map(is_gradient, writes(item))) else [_output_of(attribute)]
            return [*first, *names, *places, *map(_output_of, names)], [f"{item.function.base_name}_output"]
        if own := self._of_gates(item) or table_part(item) or cut_patches(item):
            return [own], []
        module: list[str] = []
        moved, others = self._moved_names(item)
        module += moved
        info = item.sources[-1] if item.sources else SourceInfo()
        chain = chain_of_source(info)
        inner = chain[self._level + 1].path if 0 <= self._level < len(chain) - 1 and self._is_of_one_module(item) else ""
        dissolved = self._last_own_word(inner) if inner and weight_path(inner) != weight_path(chain[self._level].path) and not self._is_deeper(item) else ""
        leaf = info.scopes[-1] if info.scopes and is_library(info.scopes[-1].class_name) else None
        if leaf is not None and weight_path(leaf.path) in self._recurrent_layers():  # its name is for what it returns
            return module, [*others, self._of_directions(item) or noun_of(item)]
        if column_matrix(item):
            return [name for name in module if name], [*others, noun_of(item)]
        weights = [value for value in item.inputs() if value.collection == "weights" and self._definition.covers(value)]
        weight = next((_element_word(self._definition.relative(value.key).rpartition(".")[0]) for value in weights), "")
        # An op made of several (one projection for query, key and value) is known by its weight, not by one of its modules.
        enters = item.spec.name in SHAPING and any(user.spec.name in PRODUCTS and user.sources == item.sources for user in users_of(item.results[0]))
        own = self._last_own_word(leaf.path) if leaf is not None and not self._of_library() and not enters else ""  # `proj` is what comes out of it
        module += [dissolved, weight, own] if len(item.sources) > 1 else [dissolved, own, weight]
        role = computed_role(item, self._names)
        if len(item.sources) > 1 and (activation := fused_activation(item)):  # `gate_proj_silu` is no result of gate_proj
            module = [f"{name}_{activation}" if name in (weight, own) and name != dissolved else name for name in module if name]
        if item.spec.name in NORMS:
            module = [_output_of(name) if name in (weight, own) else name for name in module]
        module = [name for name in module if name] or ([parameter_name(item)] if item.spec.name in PRODUCTS and not role else [])
        if not module and weights and not self._own_statements(item):  # of a Sequential: each of its modules makes another x
            module = [self._names.get(id(item.inputs()[0]), "")]
        return [name for name in module if name], [role, *others, COMPARED.get(item.spec.name.removeprefix("ttnn."), "") if role else noun_of(item)]

    def _last_own_word(self, path: str) -> str:
        """The last word of a module's path: `down.0` around an element of the function's own list says what one caller calls it."""
        path = weight_path(path)
        return _element_word(self._definition.relative(path) if path.startswith(f"{self._definition.path}.") else path)

    def _place_in_list(self, call: CallItem) -> str:
        """`down_1` for what the second of the modules `down` makes; "" for modules that are in no list."""
        attribute = "" if call.function.method else _element_word(self._definition.relative(call.path))
        number = call.path.rpartition(".")[2]
        return f"{attribute}_{number}" if attribute and number.isdigit() else ""

    def _is_reassigned(self, call: CallItem, index: int, items: Sequence[Item], own: Sequence[Statement], last: Mapping[int, int]) -> bool:
        """Whether the source assigns the variable anew while the value is still needed: it keeps the value in a list."""
        targets = own[-1].targets if own and len(own[-1].targets) == 1 else ()
        final = _end_of(writes(call)[0], items, last)
        between = [one for item in items[index + 1 : final] for one in self._own_statements(item) if one != own[-1]] if targets else []
        return final < len(items) and any(one.targets == targets for one in between)

    def _recurrent_layers(self) -> set[str]:
        """Paths of recurrent layers, whose steps this function calls."""
        calls = (call for item in self._definition.items for call in calls_of(item))
        return {weight_path(call.path).rpartition(".")[0] for call in calls if _is_step(call)}

    def _of_directions(self, node: Node) -> str:
        """What a recurrent layer's steps give in both directions, side by side: `outputs_layer0`."""
        names = [self._names.get(id(value), "") for value in node.inputs()] if node.spec.name == "ttnn.concat" else []
        if len(names) != 2 or not self._recurrent_layers():
            return ""
        if names[0].startswith("forward_layer") and names[1] == names[0].replace("forward", "reverse"):
            return names[0].replace("forward", "outputs")
        if names[1] != f"{names[0]}_reverse":
            return ""
        word, layer, number = names[0].partition("_layer")
        return f"{word}s{layer}{number}"

    def _of_gates(self, node: Node) -> str:
        """Of what a recurrent layer gives its steps: the input's part of all gates, and of a step's."""
        name = projected_name(node)
        if self._variable == LAYER:
            name = re.sub(r"_layer\d+", "", name)
        if not name and node.spec.name == "ttnn.slice_static" and node.inputs():
            source = node.inputs()[0]
            before = self._names.get(id(source), "")
            return f"{before}_step" if source.node is not None and projected_name(source.node) else ""
        return name

    def _is_of_one_module(self, node: Node) -> bool:
        """Whether no more than one module inside of this function's has made the value, and nothing else."""
        chains = [chain_of_source(info) for info in node.sources]
        return len({chain[self._level + 1].path if len(chain) > self._level + 1 else "" for chain in chains}) <= 1

    def _moved_names(self, node: Node) -> tuple[list[str], list[str]]:
        """(names after the value of which this is another form, such names as last resorts)."""
        source = next(iter(node.inputs()), None)
        name = self._names.get(id(source)) if source is not None else None
        if name is not None and (matrix := column_matrix(node)):
            return [], [f"{name}_part" if matrix == COLUMN_MATRICES[-1] else f"{name}_turned"]
        if source is not None and name is not None and node.spec.name == "ttnn.slice_static" and (name not in self._made_up or name in ROLES):
            return [], [*placed_parts(node, name), f"{name}_part"]
        if source is None or name is None or node.spec.name not in SHAPING:
            return [], []
        before, after = source.type, node.results[0].type
        if before.dtype != after.dtype:
            return [name, f"{name}_{after.dtype}"], []
        if node.spec.name not in MOVING:
            return [], [f"{name}_{result_name(node.spec.target)}"]
        if before.layout != after.layout:
            return [name, f"{name}_{'tiled' if after.layout == 'tile' else 'row_major'}"], []
        return [name], [f"{name}_{result_name(node.spec.target)}"]

    def _loop_preferences(self, items: Sequence[Item], finals: Finals, last: Mapping[int, int]) -> dict[int, list[str]]:
        """Names wanted for values that a later loop carries on, so that no copy is needed."""
        self._note_roles(items, last)
        wanted = self._unpacked_names(items, finals, last) | {value: [self._roles[value]] for value in self._narrowed}
        for index, item in enumerate(items):
            if isinstance(item, LoopItem):
                for carried in item.carried:
                    if last.get(id(carried.initial), -1) <= index:
                        layers = item.variable == LAYER
                        named = self._of_layers(carried.initial, items[:index], finals) if layers else self._carried_candidates(item, carried.first)
                        wanted[id(carried.initial)] = named[:1]
        return wanted

    def _of_layers(self, value: Value, items: Sequence[Item], finals: Finals) -> list[str]:
        """What goes through recurrent layers keeps the name that the source assigns it before, else it is x, as the layers call their input."""
        maker = next((index for index, item in enumerate(items) if value in writes(item)), None)
        own = [] if maker is None else self._own_statements(items[maker])
        assigned = maker is None or any(len(one.targets) == 1 and finals.end(one, maker) == maker for one in own)
        return [] if assigned else ["x"]

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
            alive = [value for value in made if last.get(id(value), -1) > end and argument_role(value) not in NOT_IN_SOURCE]
            targets = [name for name in statement.targets if name and name != "_"]
            heads = next((items[index] for index in members if _names_its_results(items[index], len(targets))), None)
            if heads is not None:  # its results are in the order of the targets, however many forms of them live on
                for value, name in zip(writes(heads), targets, strict=True):
                    wanted[id(value)] = [identifier(name)]
                    wanted |= {id(form): [identifier(name)] for form in made if form.node is not None and is_form_of(form.node, value)}
                continue
            if any(map(is_gradient, made)):  # a backward pass joins the gradients of `q, k, v = split(x)` in the order of the targets
                joined = next((item for index in members if isinstance(item := items[index], Node) and item.spec.name == "ttnn.concat"), None)
                if joined is not None and len(joined.inputs()) == len(targets):
                    for value, name in zip(joined.inputs(), targets, strict=True):
                        wanted |= {id(form): [identifier(f"d_{name}")] for form in forms_before(value)}
                continue
            apart = not any(depends(value, [other for other in alive if other is not value], made) for value in alive)
            if not apart or len(alive) != len(targets) or any(len(writes(items[index])) not in (1, len(targets)) for index in members):
                if len(alive) > 1:
                    self._unclear.add((statement.file, statement.line, end))
                for value in made:
                    place = piece(value, len(statement.targets))
                    if place is not None and statement.targets[place] not in ("", "_"):
                        wanted[id(value)] = [identifier(statement.targets[place])]
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
            if isinstance(item, LoopItem):
                for carried in item.carried:
                    if carried.last is first:
                        return self._carried_candidates(item, carried.first)
                continue
            for number, value in enumerate(writes(item)):
                if value is first:
                    return self._candidates(item, index, loop.body, finals, {id(first): FOREVER})[number]
        return []


def _is_of_module(item: Item, name: str) -> bool:
    """Whether an op is that of a module with this name."""
    scopes = item.sources[-1].scopes if isinstance(item, Node) and item.sources else ()
    return bool(name) and bool(scopes) and _last_word(scopes[-1].path) == name


def _is_step(item: Item) -> bool:
    return isinstance(item, CallItem) and (item.step_of is not None or item.function.is_recurrent_layer)


def _names_its_results(item: Item, count: int) -> bool:
    return isinstance(item, Node) and item.spec.target in _CUSTOMARY and len(item.results) == count


_NUMBER = re.compile(r"^l\d+_?")
_ANY_NUMBER = re.compile(r"\d+")
_GIVEN = re.compile(r"[A-Z][A-Za-z0-9]*_\d+")
"""What flax calls a module without a name: `Dense_0`."""


def _last_word(path: str) -> str:
    """The attribute a module is known by; numbers of lists say nothing, nor does `attention.self`."""
    for part in reversed(weight_path(path).split(".")):
        if part and not part.isdigit() and part != "self":
            return snake_case(part.rpartition("_")[0]) if _GIVEN.fullmatch(part) else part
    return ""


def _element_word(path: str) -> str:
    """The same; `norm` of an element of the list `norms`."""
    word = _last_word(path)
    return singular(word) if path.rpartition(".")[2].isdigit() else word


def _output_of(module: str) -> str:
    """`mlp_output`: the module's own name would read as the module."""
    return module if not module or module.rpartition("_")[2] in ("output", "outputs") else f"{module}_output"


def _end_of(value: Value, items: Sequence[Item], last: Mapping[int, int]) -> int:
    """The last item that reads the value or, where a move to another memory is that, the moved one."""
    final = last.get(id(value), -1)
    item = items[final] if 0 <= final < len(items) else None
    return _end_of(item.results[0], items, last) if isinstance(item, Node) and item.spec.name == MOVE else final

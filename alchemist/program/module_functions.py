"""A call of a module's weights that a program writes out many times becomes a function of its own, which is given the scope of the weights.

A norm, a linear layer or a convolution takes a line for each argument, the module around it a line:
`input_layernorm = rms_norm(hidden_states, weights.scope("input_layernorm"))`. Works on finished functions, after `tail_merging`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from alchemist.ir.scopes import common_prefix
from alchemist.ops.spec import Arg, Kind
from alchemist.program import model
from alchemist.program.alignment import Aligned, align, constant_kind
from alchemist.program.alpha_renaming import Mismatch
from alchemist.program.casts import casting_inside
from alchemist.program.lengths import lines_of
from alchemist.program.names import MAIN_RESERVED, RESERVED, unique
from alchemist.program.recipes import module_of
from alchemist.program.walk import mapped, read_by, reads_device, with_values, without_unread_device
from alchemist.program.weights import PART, is_part

MIN_CALLS = 3
"""Calls in the program's text that are worth a function."""
MIN_ARGUMENTS = 5
"""Arguments of a call that is printed in several lines."""
MIN_GAIN = 5
"""Lines that must be saved."""
_X, _RESIDUAL = model.Parameter("x"), model.Parameter("residual")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What calls of an op become. constants: those in which calls of one function may differ, at most."""

    name: str
    doc: str
    constants: int


_KINDS = {
    "ttnn.layer_norm": _Kind("layer_norm", "Layer norm of {}, with the weights of one module.", 1),
    "ttnn.rms_norm": _Kind("rms_norm", "RMS norm of {}, with the weights of one module.", 1),
    "ttnn.linear": _Kind("linear", "Matrix product of {} and the weight of one module, plus its bias.", 1),
    "ttnn.conv2d": _Kind("conv2d", "Convolution of {} with the weights of one module.", 4),
    "ttnn.conv_transpose2d": _Kind("conv_transpose2d", "Transposed convolution of {} with the weights of one module.", 5),
    "ttnn.max_pool2d": _Kind("max_pool2d", "Max pooling of {}.", 4),
    "ttnn.avg_pool2d": _Kind("avg_pool2d", "Average pooling of {}.", 4),
}
_WEIGHTLESS = frozenset(name for name in _KINDS if name.endswith("_pool2d"))
_SAID = {"dtype": "dtype", "activation": "text"}
"""Constants that must be seen where the function is called, and their kinds."""
_TENSORS = {"input_tensor": _X, "input_tensor_a": _X, "residual_input_tensor": _RESIDUAL}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A call as a function of its own: `tensors` are what the program gives it, `module` the scope of its weights.

    kind: equal for calls that may be one function. said: constants that a reader must see at the call, or in the function's name where all are equal.
    """

    function: model.Function
    tensors: tuple[model.Value, ...]
    module: model.Key
    kind: Hashable
    call: model.Call
    said: tuple[model.NumberArgument, ...]


@dataclass(slots=True)
class _Cluster:
    members: list[_Candidate]
    aligned: Aligned

    def constants(self, index: int) -> list[model.NumberArgument]:
        added = (model.NumberArgument(word, _passed(values[index]) or values[index]) for word, values in self.aligned.added.items())
        return [*self._said(self.members[index]), *added]

    def _said(self, member: _Candidate) -> list[model.NumberArgument]:
        return [one for one in member.said if one not in self.fixed]

    @property
    def fixed(self) -> list[model.NumberArgument]:
        """What all calls say alike: the function's name says it once."""
        return [one for one in self.members[0].said if one.name in _SAID and all(one in member.said for member in self.members)]

    def function(self, name: str, doc: str) -> model.Function:
        fixed = {one.name: one.value for one in self.fixed}
        made = self.aligned.function
        body = mapped(made.body, lambda one: with_values(one, lambda old: fixed.get(old.name, old) if isinstance(old, model.ParameterRef) else old))
        return replace(made, name=name, doc=doc, body=body, parameters=tuple(one for one in made.parameters if one.name not in fixed))

    def gain(self) -> int:
        usual = {word: max(values, key=values.count) for word, values in self.aligned.added.items()}  # the default, which calls leave out
        rows = [self.constants(index) for index in range(len(self.members))]
        named = [[one for one in row if constant_kind(one.value) == "number" or one.value != usual.get(one.name)] for row in rows]
        after = sum(lines_of([_called(member, member.function.name, said)]) for member, said in zip(self.members, named, strict=True))
        return sum(lines_of([member.call]) for member in self.members) - after - lines_of(self.aligned.function.body) - 4


def share_module_calls(functions: Sequence[model.Function], taken: set[str], classes: Mapping[str, str]) -> list[model.Function]:
    """The functions, with the new ones in front. taken: names that functions must not have, to which theirs are added. classes: of the model, by op."""
    clusters: dict[Hashable, list[_Cluster]] = {}
    for function in functions:
        for statement in model.statements(function.body):
            candidate = _candidate(statement)
            if candidate is not None:
                _place(candidate, clusters.setdefault(candidate.kind, []))
    made: list[model.Function] = []
    called = {function.name for function in functions}
    calls: dict[Hashable, tuple[str, list[model.NumberArgument]]] = {}
    listed = (cluster for found in clusters.values() for cluster in found)
    for cluster in sorted(listed, key=lambda one: (len(one.members[0].said), len(_inner_modules(one.members[0].function)))):  # fewest words first
        kept = any(_passed(value) for one in model.statements(cluster.aligned.function.body) if isinstance(one, model.Call) for _, value in one.arguments)
        if kept or len(cluster.members) < MIN_CALLS or cluster.gain() < MIN_GAIN:
            continue
        first = cluster.members[0]
        plain = "_".join([first.function.name, *map(_word, cluster.fixed)])
        telling = [f"{plain}_with_{one.name}" for one in first.said if one not in cluster.fixed]
        telling += [f"{word}_{plain}" for word in _inner_modules(first.function) if not plain.startswith(word)]
        in_memory = _in_memory(plain, first)
        telling += [*(word for word in in_memory if "sharded" in word), *_with_kernel(plain, first)]
        variables = [f"apply_{plain}"] if plain in taken and plain not in called else []  # a variable has the name, no other function
        name = unique([plain, *telling, *variables, *in_memory], lambda name: name not in taken and name not in RESERVED and name not in MAIN_RESERVED)
        taken.add(name)
        called.add(name)
        of_class = classes.get(first.call.spec.target)
        doc = f"{of_class}: {first.function.doc}" if of_class else first.function.doc
        made.append(cluster.function(name, doc))
        for index, member in enumerate(cluster.members):
            calls[_identity(member)] = (name, cluster.constants(index))
    if not made:
        return list(functions)

    def change(statement: model.Statement) -> model.Statement:
        candidate = _candidate(statement)
        call = calls.get(_identity(candidate)) if candidate is not None else None
        return _called(candidate, *call) if candidate is not None and call is not None else statement

    made, calling = casting_inside(made, [replace(function, body=without_unread_device(mapped(function.body, change))) for function in functions])
    return [*made, *calling]


_PASSED = "ttnn.Matmul"
"""The class of what stands for a program config that a call passes on from its function's parameters: it differs from every other call's."""


def _passed(value: model.Value) -> model.Value | None:
    return value.fields[0][1] if isinstance(value, model.Record) and value.class_name == _PASSED else None


def _identity(candidate: _Candidate) -> Hashable:
    return repr(candidate.function.body), candidate.said


def _inner_modules(function: model.Function) -> list[str]:
    """Modules, from that around all weights, to the first weight: the rest of a batch norm in a convolution's bias is the block's."""
    keys = [value.key[0] for value in read_by(function.body) if isinstance(value, model.WeightRef)]
    return [word for word in str(keys[0]).split(".")[:-1] if word.isidentifier()] if keys else []


def _word(said: model.NumberArgument) -> str:
    """`to_bfloat16`, `relu`: what the name of a function says of such a constant."""
    return f"to_{said.value.name}" if isinstance(said.value, model.DType) else str(said.value.value) if isinstance(said.value, model.Literal) else ""


def _in_memory(name: str, candidate: _Candidate) -> list[str]:
    """`width_sharded_rms_norm`, `linear_in_dram`."""
    memories = [value for arg, value in candidate.call.arguments if arg.name == "memory_config" and isinstance(value, model.MemoryConfig)]
    return [f"{name}_in_{one.buffer}" if one.memory == "interleaved" else f"{one.memory}_{name}" for one in memories]


def _with_kernel(name: str, candidate: _Candidate) -> list[str]:
    """`conv2d_5x5`."""
    sizes = [value for arg, value in candidate.call.arguments if arg.name == "kernel_size" and isinstance(value, model.Items)]
    sides = [str(side.value) for size in sizes for side in size.items if isinstance(side, model.Literal)]
    return [f"{name}_{'x'.join(sides)}"] if sides else []


def _called(candidate: _Candidate, name: str, constants: Sequence[model.NumberArgument]) -> model.CallFunction:
    call = candidate.call
    scopes = (model.ScopeArgument("weights", candidate.module),) if any(one.kind == "weights" for one in candidate.function.parameters) else ()
    arguments = (*candidate.tensors, *scopes, *constants)
    return model.CallFunction(name, arguments, call.results, call.note, call.returned)


def _place(candidate: _Candidate, clusters: list[_Cluster]) -> None:
    most = _KINDS[candidate.call.spec.target].constants
    for cluster in clusters:
        try:
            aligned = align([*(member.function for member in cluster.members), candidate.function], set())
        except Mismatch:
            continue
        if len(aligned.added) <= most:
            cluster.members.append(candidate)
            cluster.aligned = aligned
            return
    clusters.append(_Cluster([candidate], align([candidate.function], set())))


def _candidate(statement: model.Statement) -> _Candidate | None:
    """A call of one module's weights whose other arguments are tensors and constants."""
    if not isinstance(statement, model.Call) or statement.spec.target not in _KINDS or len(statement.arguments) < MIN_ARGUMENTS:
        return None
    cut = [_without_part(value.key) for _, value in statement.arguments if isinstance(value, model.WeightRef)]
    part = cut[0][1] if cut and all(number == cut[0][1] for _, number in cut) else None
    keys = [key for key, _ in cut] if part is not None else [value.key for _, value in statement.arguments if isinstance(value, model.WeightRef)]
    if any(one.stored or one.collection != "weights" for _, one in statement.arguments if isinstance(one, model.WeightRef)):
        return None
    weightless = statement.spec.target in _WEIGHTLESS and not keys
    module = () if weightless else _module(keys)
    if module is None or len(statement.results) + statement.returned != 1 or not all(isinstance(result, str) for result in statement.results):
        return None
    tensors: list[model.Value] = []
    said = [model.NumberArgument(PART, part)] if part is not None else []
    parameters: list[model.Parameter] = []
    arguments: list[tuple[Arg, model.Value]] = []
    for arg, value in statement.arguments:
        inner = value
        if isinstance(value, model.TensorRef | model.Element):
            parameter = _TENSORS.get(arg.name)
            if parameter is None:
                return None
            tensors.append(value)
            parameters.append(parameter)
            inner = model.TensorRef(parameter.name)
        elif isinstance(value, model.WeightRef):
            inner = replace(value, key=_behind(value.key, module) if part is None else (*_behind(_without_part(value.key)[0], module), model.Index(PART)))
        elif arg.name in _SAID and not weightless and constant_kind(value) == _SAID[arg.name]:
            said.append(model.NumberArgument(arg.name, value))
            inner = model.ParameterRef(arg.name)
        elif isinstance(value, model.ParameterRef) and arg.kind is Kind.PROGRAM_CONFIG:
            inner = model.Record(_PASSED, (("parameter", value), ("call", model.Literal(repr(statement)))))
        elif (arg.name in _SAID and not weightless) or isinstance(value, model.NumberRef | model.ParameterRef) or _has_numbers(value):
            return None
        arguments.append((arg, inner))
    if not tensors:
        return None
    kind = _KINDS[statement.spec.target]
    summed = _RESIDUAL in parameters
    call = replace(statement, arguments=tuple(arguments), results=(), note="", returned=True)
    body = (model.GetDevice(model.TensorRef(_X.name)), call) if reads_device([call]) else (call,)
    name, doc = f"add_{kind.name}" if summed else f"{kind.name}{_activation(statement)}", kind.doc.format("x + residual" if summed else "x")
    if part is not None:
        name, doc = f"{name}_{PART}", f"{doc[:-1]}: one part of them."
    constants = (model.Parameter(one.name, _SAID.get(one.name, "number")) for one in said)
    collections = () if weightless else (model.Parameter("weights", "weights"),)
    function = model.Function(name, (*parameters, *collections, *constants), body, 1, doc)
    alike = (statement.spec.name, name, tuple((arg.name, type(value)) for arg, value in arguments))
    return _Candidate(function, tuple(tensors), module, alike, statement, tuple(said))


def _activation(call: model.Call) -> str:
    """What a convolution's name says of its config."""
    configs = [value for _, value in call.arguments if isinstance(value, model.Record) and value.class_name == "ttnn.Conv2dConfig"]
    found = [value.op for config in configs for name, value in config.fields if name == "activation" and isinstance(value, model.Unary)]
    return f"_{found[0].lower()}" if found else ""


def _module(keys: Sequence[model.Key]) -> model.Key | None:
    """The scope that the weights share; None where there is none."""
    if not keys or any(not isinstance(key[-1], str) for key in keys):
        return None
    modules = {module_of(key) for key in keys}
    if len(modules) == 1:
        return modules.pop()
    names = [key[0].split(".")[:-1] for key in keys if len(key) == 1 and isinstance(key[0], str)]
    shared = common_prefix(names)
    return (".".join(shared),) if shared and len(names) == len(keys) else None


def _without_part(key: model.Key) -> tuple[model.Key, model.Value | None]:
    """A part's key up to its number, and the number; None for the key of another weight."""
    *head, last = key
    if isinstance(last, model.Index) and head and isinstance(head[-1], str) and head[-1].endswith(f"_{PART}_") and last.scale == 1 and not last.text:
        return tuple(head), model.NumberRef(f"{last.variable} {'+' if last.offset > 0 else '-'} {abs(last.offset)}" if last.offset else last.variable)
    if isinstance(last, str) and is_part(last):
        text, _, number = last.rpartition("_")
        return (*head, f"{text}_"), model.Literal(int(number))
    return key, None


def _behind(key: model.Key, module: model.Key) -> model.Key:
    """The name of a weight inside of the module."""
    last, end = key[-1], module[-1] if module else ""
    assert isinstance(last, str)
    head = f"{end}." if isinstance(end, str) and end and len(module) == len(key) else ""
    return (last.removeprefix(head) if head else last.removeprefix("."),)


def _has_numbers(value: model.Value) -> bool:
    return isinstance(value, model.Items) and any(isinstance(item, model.NumberRef | model.ParameterRef) or _has_numbers(item) for item in value.items)

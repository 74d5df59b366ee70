"""Statements and functions as C++ text, formatted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from alchemist.errors import EmitError
from alchemist.ops.spec import REQUIRED, Arg, Kind
from alchemist.program import model
from alchemist.program.extract import to_value
from alchemist.program.text import WIDTH, comment, lines_of_text
from alchemist.program.walk import bound_in
from emit_cpp import layout
from emit_cpp.text import quoted
from emit_cpp.values import render, render_float, render_key, unary_list

_PARAMETERS = {
    "tensor": "const Tensor&",
    "tensors": "const std::vector<Tensor>&",
    "weights": "const Weights&",
    "output": "const Weights&",
    "stored": "const Weights&",
    "kept": "const Weights&",
    "device": "ttnn::MeshDevice*",
    "number": "int",
    "bool": "bool",
    "float": "float",
    "text": "const std::string&",
    "dtype": "ttnn::DataType",
    "layout": "ttnn::Layout",
    "memory_config": "const ttnn::MemoryConfig&",
    "conv2d_config": "const ttnn::Conv2dConfig&",
    "attention_config": "const ttnn::operations::transformer::SDPAProgramConfig&",
    "matmul_config": "const ttnn::operations::matmul::MatmulProgramConfig&",
    "norm_config": "const ttnn::prim::LayerNormShardedMultiCoreProgramConfig&",
    "compute_config": "const ttnn::WormholeComputeKernelConfig&",
}


def function_text(function: model.Function, lists: Mapping[str, tuple[int, ...]] | None = None) -> str:
    """A function definition with its comment. lists: results of the program's functions that are lists."""
    creates = [parameter.kind for parameter in function.parameters] == ["stored"]
    returned = "Weights" if creates or returns_names(function) else _returned(function)
    notes = [f"{parameter.name}: {parameter.note}" for parameter in function.parameters if parameter.note]
    by_line = bool(function.brief) and len(notes) > 3  # a line for each, which can say its shape
    told = [function.brief, *notes] if by_line else [function.doc] if function.doc else []
    out = [f"// {line}" for text in told for line in _wrap(text)]
    rebound = bound_in(function.body)
    parameters = [_parameter(parameter, rebound) for parameter in function.parameters]
    out += layout.lines(layout.Call(f"{returned} {function.name}", parameters, " {"), "")
    printer = _Printer({parameter.name for parameter in function.parameters}, lists or {})
    if creates:
        out.append("    Weights weights;")
    out += printer.block(function.body, "    ")
    if creates:
        out.append("    return weights;")
    return "\n".join([*out, "}"]) + "\n"


def _parameter(parameter: model.Parameter, rebound: set[str]) -> str:
    """A tensor that the function rebinds is passed by value: a tensor is a handle, and the caller keeps its own."""
    default = "" if parameter.default is None else f" = {render(parameter.default)}"
    kind = "Tensor" if parameter.kind == "tensor" and parameter.name in rebound else _type(parameter.kind)
    return f"{kind} {parameter.name}{default}"


def _type(kind: str) -> str:
    bundle, plain = model.bundle_type(kind), model.plain_kind(kind)
    if plain != kind:
        return f"const std::optional<{_PARAMETERS[plain].removeprefix('const ').removesuffix('&')}>&"
    return f"const {bundle}&" if bundle else _PARAMETERS[kind]


def struct_lines(name: str, fields: Sequence[model.Parameter]) -> list[str]:
    """The struct of a function's configs."""
    return [f"struct {name} {{", *(f"    {_field(field)};" for field in fields), "};"]


def _field(field: model.Parameter) -> str:
    """With a default for what some calls do not read."""
    return f"{_type(field.kind).removeprefix('const ').removesuffix('&')} {field.name}{'' if field.default is None else '{}'}"


def _wrap(text: str) -> list[str]:
    width = WIDTH - 3
    return [line[start : start + width].rstrip("\\ ") for line in lines_of_text(comment(text, 100_000), width) for start in range(0, max(len(line), 1), width)]


def returns_names(function: model.Function) -> bool:
    """Whether it returns its outputs in a collection."""
    return bool(function.body) and isinstance(function.body[-1], model.ReturnNamed)


def _returned(function: model.Function) -> str:
    kinds = ["std::vector<Tensor>" if place in function.lists else "Tensor" for place in range(function.returns)]
    if len(kinds) < 2:
        return kinds[0] if kinds else "void"
    return f"std::tuple<{', '.join(kinds)}>"


class _Printer:
    """Prints a function's body. declared: variables that exist at this point, per open block."""

    def __init__(self, parameters: set[str], lists: Mapping[str, tuple[int, ...]]) -> None:
        self._list_results = lists
        self._declared: list[set[str]] = [parameters]
        self._lists: set[str] = set()  # variables that hold several tensors
        self._unused = 0

    def block(self, body: Sequence[model.Statement], pad: str) -> list[str]:
        out: list[str] = []
        for index, statement in enumerate(body):
            ends = index + 1 == len(body) and len(self._declared) > 1
            if ends and isinstance(statement, model.Free) and self._declared[-1].issuperset(statement.names):
                break  # the block's variables end with it
            if isinstance(statement, model.Blank) and (not out or not out[-1].strip()):
                continue
            out += self._lines(statement, pad)
        while out and not out[-1].strip():
            out.pop()
        return out

    def _inner(self, head: str, body: Sequence[model.Statement], pad: str) -> list[str]:
        self._declared.append(set())
        out = [f"{pad}{head} {{", *self.block(body, pad + "    "), f"{pad}}}"]
        self._declared.pop()
        return out

    def _known(self, name: str) -> bool:
        return any(name in names for names in self._declared)

    def _lines(self, statement: model.Statement, pad: str) -> Iterable[str]:
        match statement:
            case model.Blank():
                return [""]
            case model.Comment(text):
                return [f"{pad}// {comment(text, WIDTH - len(pad) - 3)}"]
            case model.Call():
                return self._bind(statement, call_parts(statement), pad, _adapter(statement))
            case model.CallFunction():
                self._lists.update(result for place in self._list_results.get(statement.function, ()) if isinstance(result := statement.results[place], str))
                return self._bind(statement, (statement.function, [_argument(argument) for argument in statement.arguments]), pad, None)
            case model.Assign(name, value):
                return [f"{pad}{self._declare(name)} = {render(value)};"]
            case model.NewList(name, values):
                self._lists.add(name)
                return (
                    layout.lines(layout.Call(f"std::vector<Tensor> {name}", [render(value) for value in values], ";", "{", "}"), pad)
                    if values
                    else [f"{pad}std::vector<Tensor> {name};"]
                )
            case model.NewCollection(name):
                return [f"{pad}const Weights {name};"]
            case model.Gather(name, key, count):
                self._lists.add(name)
                filled = self._inner(f"for (int i = 0; i < {count}; ++i)", [model.Append(name, model.WeightRef(key))], pad)
                return [f"{pad}std::vector<Tensor> {name};", *filled]
            case model.Append(name, value, index=index) if index:
                return [f"{pad}{name}[{index}] = {render(value)};"]
            case model.Append(name, value, front):
                flag = f"{front.name} ? {name}.begin() : {name}.end()" if isinstance(front, model.ParameterRef) else f"{name}.begin()"
                place = f"insert({flag}, " if front else "push_back("
                return [f"{pad}{name}.{place}{render(value)});"]
            case model.Store(target, value):
                return [f"{pad}{target.collection}.set({render_key(target.key)}, {render(value)});"]
            case model.Drop(place):
                return [f"{pad}{render(place)};"]
            case model.Free(names):
                lists = [name for name in names if name in self._lists]
                tensors = [name for name in names if name not in lists]
                released = [f"{pad}release({', '.join(tensors)});"] if tensors else []
                return [*released, *(f"{pad}{name}.clear();" for name in lists)]
            case model.GetDevice(tensor):
                return [f"{pad}auto* device = {render(tensor)}.device();"]
            case model.Return(values):
                return [self._return(values, pad)]
            case model.Loop(variable, length=model.ConstantRef(name)):
                return self._inner(f"for (int {variable} = {name} - 1; {variable} >= 0; --{variable})", statement.body, pad)
            case model.Loop(variable, _, stop, backwards=model.ParameterRef(name)):
                self._lists.update(statement.fills)
                lists = [f"{pad}std::vector<Tensor> {filled}({render(stop)});" for filled in statement.fills]
                out = self._inner(f"for (int t = 0; t < {render(stop)}; ++t)", statement.body, pad)
                return [*lists, out[0], f"{pad}    const int {variable} = {name} ? {render(stop)} - 1 - t : t;", *out[1:]]
            case model.Loop(variable, start, stop, step):
                variable = "i" if variable == "_" else variable
                if turns := statement.listed:
                    return self._inner(f"for (int {variable} : {{{', '.join(map(str, turns))}}})", statement.body, pad)
                advance = f"++{variable}" if step == 1 else f"{variable} += {step}"
                head = f"for (int {variable} = {start}; {variable} {'<' if step > 0 else '>'} {render(stop)}; {advance})"
                return self._inner(head, statement.body, pad)
            case model.ReturnNamed(collection):
                return [f"{pad}return {collection};"]
            case model.NameLoop(variable, _, body, collection) if collection:
                return self._inner(f"for (const std::string& {variable} : {collection}.names())", body, pad)
            case model.NameLoop(variable, names, body):
                parts = [_as_string(name) for name in names]
                start_line = f"for (const std::string& {variable} : std::vector<std::string>"
                out = layout.lines(layout.Call(start_line, parts, ") {", "{", "}"), pad)
                self._declared.append(set())
                out += [*self.block(body, pad + "    "), f"{pad}}}"]
                self._declared.pop()
                return out
            case model.RowLoop(columns, rows, body):
                types = [_type(column.kind).removeprefix("const ").removesuffix("&") for column in columns]
                cells = [f"{pad}    {{{', '.join(_cell(cell) for cell in row)}}}," for row in rows]
                table = [f"{pad}using Row = std::tuple<{', '.join(types)}>;", f"{pad}const std::vector<Row> rows{{", *cells, f"{pad}}};"]
                self._declared.append({column.name for column in columns})
                loop = self._inner(f"for (const auto& [{', '.join(column.name for column in columns)}] : rows)", body, pad)
                self._declared.pop()
                return [*table, *loop]
            case model.If(condition, body, otherwise, results):
                fresh = [name for name in results if not self._known(name)]
                self._declared[-1].update(fresh)
                out = [f"{pad}Tensor {name};" for name in fresh]
                out += self._inner(f"if ({render(condition)})", body, pad)
                if otherwise:
                    out[-1] += " else {"
                    out += self._inner("", otherwise, pad)[1:]
                return out
            case model.Extents(names, tensor):
                extents = [(place, name) for place, name in enumerate(names) if name != "_"]
                return [f"{pad}const int {name} = static_cast<int>({render(tensor)}.logical_shape()[{place}]);" for place, name in extents]
            case _:
                raise EmitError("a statement without C++ form", got=type(statement).__name__)

    def _return(self, values: Sequence[model.Value], pad: str) -> str:
        if len(values) == 1:
            return f"{pad}return {render(values[0])};"
        return f"{pad}return {{{', '.join(render(value) for value in values)}}};"

    def _declare(self, name: str) -> str:
        if self._known(name):
            return name
        self._declared[-1].add(name)
        return f"auto {name}"

    def _bind(
        self,
        call: model.Call | model.CallFunction,
        parts: tuple[str, Sequence[str | layout.Call]],
        pad: str,
        adapter: str | None,
    ) -> list[str]:
        head, arguments = parts
        note = comment(call.note) if call.note else ""
        tail = ";"
        if adapter is not None:
            opening, _, closing = adapter.partition("%")
            head, tail = opening + head, closing + ";"
        if call.returned:
            return layout.lines(layout.Call(f"return {head}", arguments, tail), pad, note)
        if len(call.results) == 1 and isinstance(call.results[0], model.WeightRef):
            inner = layout.Call(head, arguments, tail.removesuffix(";"))
            return layout.lines(layout.Call(f"{call.results[0].collection}.set", [render_key(call.results[0].key), inner], ";"), pad, note)
        before, target = self._targets(call.results, pad)
        if target.startswith("std::tie(") and adapter is not None and adapter.startswith("utils::unpack"):
            head, tail = f"std::tuple_cat({head}", f"){tail}"  # an array does not assign to a tuple of references
        return [*before, *layout.lines(layout.Call(f"{target}{head}", arguments, tail), pad, note)]

    def _targets(self, results: Sequence[model.Target], pad: str) -> tuple[list[str], str]:
        """(declarations before, text up to and with `= `)."""
        names: list[str] = []
        for result in results:
            if not isinstance(result, str):
                raise EmitError("several results cannot be kept as weights at once")
            if result == "_":
                self._unused += 1
                result = f"unused_{self._unused}"
            names.append(result)
        if not names:
            return [], ""
        if len(names) == 1:
            return [], f"{self._declare(names[0])} = "
        if not any(self._known(name) for name in names):
            self._declared[-1].update(names)
            return [], f"auto [{', '.join(names)}] = "
        fresh = [name for name in names if not self._known(name)]
        self._declared[-1].update(fresh)
        kinds = ["std::vector<Tensor>" if name in self._lists else "Tensor" for name in fresh]
        return [f"{pad}{kind} {name};" for kind, name in zip(kinds, fresh, strict=True)], f"std::tie({', '.join(names)}) = "


def _adapter(call: model.Call) -> str | None:
    """What is around the call to get tensors out of its result; `%` stands for the call."""
    count = max(len(call.results), 1)
    if call.spec.cpp_result == "variant":
        return "std::get<Tensor>(%)"
    if call.spec.cpp_result == "vector":
        return "utils::only(%)" if count == 1 else f"utils::unpack<{count}>(%)"
    return None


def _cell(value: model.Value) -> str:
    """A text's literal becomes the tuple's string by itself."""
    return quoted(value.value) if isinstance(value, model.Literal) and isinstance(value.value, str) else render(value)


def _as_string(key: model.Key) -> str:
    text = render_key(key)
    return text if any(not isinstance(piece, str) for piece in key) or text.startswith('"') else f"std::string({text})"


def _argument(argument: model.Argument) -> str:
    if isinstance(argument, model.ScopeArgument):
        return f"{argument.collection}.scope({render_key(argument.key)})" if argument.key else argument.collection
    if isinstance(argument, model.NumberArgument):
        return f"/*{argument.name}=*/{render(argument.value)}"
    return render(argument)


def callee(call: model.Call) -> str:
    return (call.spec.cpp_target or call.spec.target).replace(".", "::")


def call_parts(call: model.Call) -> tuple[str, list[str | layout.Call]]:
    """Callee and positional arguments; literals and gaps are labelled, trailing defaults left out."""
    present = {arg.name: (arg, value) for arg, value in call.arguments}
    if call.spec.target == "ttnn.Tensor":
        return _from_vector({name: value for name, (_, value) in present.items()})
    arguments = {parameter.arg for parameter in call.spec.cpp}
    missing = [name for name in present if name not in arguments]
    if missing:
        raise EmitError(f"the C++ overload has no parameter for {', '.join(missing)}", op=call.spec.name, hint="emit Python, or change the option")
    parameters = list(call.spec.cpp)
    while parameters and parameters[-1].arg not in present and parameters[-1].default and not parameters[-1].always:
        parameters.pop()
    out: list[str | layout.Call] = []
    for parameter in parameters:
        if parameter.arg in present:
            arg, value = present[parameter.arg]
            out.append(_labelled(parameter.name, arg, value))
        else:
            default = parameter.default or _python_default(call, parameter.arg)
            out.append(f"/*{parameter.name}=*/{'nullopt' if default == 'std::nullopt' else default}")
    return callee(call), out


_ELEMENTS = {"float32": "float", "bfloat16": "float", "bfloat8_b": "float", "bfloat4_b": "float"}
"""Element type of the vector that a small constant is made of; integers are `<dtype>_t`."""


def _from_vector(arguments: dict[str, model.Value]) -> tuple[str, list[str | layout.Call]]:
    """A constant written in the program: C++ has no constructor from values, but a static function."""
    data, dtype = arguments["data"], arguments["data_type"]
    if not isinstance(data, model.Items) or not isinstance(dtype, model.DType):
        raise EmitError("a constant without values", got=repr(data))
    element = _ELEMENTS.get(dtype.name, f"{dtype.name}_t")
    numbers = [item.value if isinstance(item, model.Literal) else 0 for item in data.items]
    values = ", ".join(render_float(float(number or 0)) if element == "float" else str(int(number or 0)) for number in numbers)
    shape = ", ".join(render(item) for item in arguments["shape"].items) if isinstance(arguments["shape"], model.Items) else ""
    memory = render(arguments["memory_config"]) if "memory_config" in arguments else "ttnn::DRAM_MEMORY_CONFIG"
    layout_ = f"ttnn::TensorLayout({render(dtype)}, ttnn::PageConfig({render(arguments['layout'])}), {memory})"
    out: list[str | layout.Call] = [f"std::vector<{element}>{{{values}}}", f"ttnn::TensorSpec(ttnn::Shape({{{shape}}}), {layout_})"]
    return "ttnn::Tensor::from_vector", out + ([render(arguments["device"])] if "device" in arguments else [])


def _python_default(call: model.Call, name: str) -> str:
    """The Python default of an argument that C++ has no default for."""
    arg = next((arg for arg in call.spec.args if arg.name == name), None)
    if arg is None or arg.default is REQUIRED:
        raise EmitError(f"C++ parameter {name or '?'} has no value", op=call.spec.name)
    value = to_value(arg.default, arg)
    return render(value, arg) if value is not None else "nullopt"


def _labelled(name: str, arg: Arg, value: model.Value) -> str | layout.Call:
    if isinstance(value, model.Items) and arg.kind is Kind.UNARY_LIST:
        vector = unary_list(value.items)
        return replace(vector, head=f"/*{name}=*/{vector.head}") if name.endswith("activations") else vector
    if arg.kind is Kind.DEVICE:
        return f"*{render(value)}" if arg.cpp_type == "reference" else render(value)
    text = render(value, arg)
    plain = isinstance(value, model.Literal | model.NumberRef | model.InverseRoot) and not (arg.kind is Kind.INT_LIST and arg.cpp_type)
    unnamed = isinstance(value, model.TensorRef) or (isinstance(value, model.WeightRef) and not str(value.key[-1]).endswith(name))
    optional_tensor = arg.kind is Kind.TENSOR and arg.keyword and unnamed
    numbers = isinstance(value, model.Items) and arg.cpp_type.startswith("std::array")
    return f"/*{name}=*/{text}" if plain or optional_tensor or numbers or isinstance(value, model.DType | model.Layout) else text

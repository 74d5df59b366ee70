"""Structure recovery, naming, loops and const-eval never change what a program computes: random graphs, run on symbols."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import emit_py
from alchemist.frontends.base import FrontendResult, Output
from alchemist.ir.location import Frame, Scope, SourceInfo
from alchemist.ops.spec import TTNN_OPS, Arg
from alchemist.options import CompilerOptions
from alchemist.program import model
from alchemist.program.build import build_from_graph
from alchemist.program.graph import ConstEval, Graph, Node, Raw, TensorType, Use, Value
from tests.program.evaluate import Name, Tensor, freeze, run, symbol
from tests.program.models import CLASSES, FILE, TRANSFORMER_SOURCE, program_of, transformer

TYPE = TensorType((1, 32, 64))
UNARY, BINARY = ("ttnn.relu", "ttnn.exp", "ttnn.reshape", "ttnn.typecast"), ("ttnn.add", "ttnn.multiply", "ttnn.matmul")
SOURCE_LINES = len(TRANSFORMER_SOURCE.splitlines())


def node(name: str, inputs: list[Value], source: SourceInfo | None, rows: int = 1) -> Node:
    spec = TTNN_OPS[name]
    arguments: list[tuple[Arg, Raw]] = []
    tensors = iter(inputs)
    for arg in spec.args:
        if arg.source.startswith("operand:"):
            value = next(tensors, None)
            if value is not None:
                arguments.append((arg, Use(value)))
        elif arg.name == "shape":
            arguments.append((arg, model.Items((model.Literal(rows), model.Literal(-1)))))
        elif arg.name == "dtype" and name == "ttnn.typecast":
            arguments.append((arg, model.DType("bfloat16")))
    return Node(spec, tuple(arguments), (Value(TYPE),), (source,) if source else ())


class Generator:
    """A random graph: nested module calls with repetition, interleaving, shared and scoped weights, const-eval."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: list[Node] = []
        self.inputs = [Value(TYPE, name) for name in ("x", "lambda", "hidden_states")[: self.random.randint(1, 3)]]
        self.weights: dict[str, Value] = {}
        self.const_evals: list[ConstEval] = []
        self.layers = self.random.randint(2, 4)
        self.recipes: dict[str, Callable[[Random], None]] = {}

    def rows(self) -> int:
        """An integer that differs between instances of a module now and then."""
        return self.random.choice((1, 1, 1, 2, 32))

    def source(self, scopes: tuple[Scope, ...], choice: random.Random) -> SourceInfo | None:
        if choice.random() < 0.1:
            return None
        frames = tuple(Frame(FILE, choice.randint(1, SOURCE_LINES), "forward") for _ in range(choice.randint(0, len(scopes))))
        if choice.random() < 0.2:
            leaf = choice.choice(("norm", "fc", "0"))
            scopes = (*scopes, Scope(f"{scopes[-1].path}.{leaf}".strip("."), "torch.nn.modules.linear.Linear"))
        return SourceInfo(scopes, frames, "aten.op", "v")

    def weight(self, key: str, choice: random.Random) -> Value:
        if key not in self.weights:
            value = Value(TYPE, key, key, (key,))
            if choice.random() < 0.5:
                inner = Value(TYPE, key, key, (key,))
                steps = [node("ttnn.relu", [inner], None)]
                if choice.random() < 0.5:
                    steps.append(node("ttnn.exp", list(steps[-1].results), None))
                if choice.random() < 0.5:
                    steps.append(node("ttnn.reshape", list(steps[-1].results), None, self.rows()))
                result = Value(TYPE)
                self.const_evals.append(ConstEval(f"c{len(self.const_evals)}", (inner,), tuple(steps), steps[-1].results, (result,)))
                value = result
            self.weights[key] = value
        return self.weights[key]

    def module(self, scopes: tuple[Scope, ...], given: list[Value], plan: int, depth: int) -> Value:
        """One call of a module; equal `plan` gives equal bodies."""
        choice = random.Random(plan)
        local = list(given)
        path = scopes[-1].path
        for step in range(choice.randint(1, 5)):
            kind = choice.random()
            first = local[-1] if choice.random() < 0.7 else choice.choice(local)
            if kind < 0.25 and depth < 3:
                name = choice.choice(("attn", "mlp", "body"))
                inner = Scope(f"{path}.{name}".strip("."), f"tiny.model.{choice.choice(('Attention', 'FeedForward', 'Block'))}")
                local.append(self.module((*scopes, inner), [choice.choice(local), first], plan * 7 + step, depth + 1))
            elif kind < 0.4 and depth < 2:
                container = Scope(f"{path}.layer".strip("."), "torch.nn.modules.container.ModuleList")
                inner_plan, varied = plan * 11 + step, choice.random() < 0.3
                carried, extra = first, choice.choice(local)
                for index in range(self.layers):
                    inner = Scope(f"{container.path}.{index}", "tiny.model.Block")
                    body = inner_plan + (1 if varied and index == 1 else 0)
                    carried = self.module((*scopes, container, inner), [extra, carried], body, depth + 1)
                local.append(carried)
            elif kind < 0.6:
                key = f"{path}.{choice.choice(('w', 'fc.weight', '0.weight'))}".strip(".")
                if choice.random() < 0.15:
                    key = "shared.table"
                local.append(self.add(choice.choice(BINARY), [first, self.weight(key, choice)], scopes, choice))
            elif kind < 0.8:
                local.append(self.add(choice.choice(BINARY), [first, choice.choice(local)], scopes, choice))
            else:
                local.append(self.add(choice.choice(UNARY), [first], scopes, choice))
        return local[-1]

    def add(self, name: str, inputs: list[Value], scopes: tuple[Scope, ...], choice: random.Random) -> Value:
        made = node(name, inputs, self.source(scopes, choice), self.rows())
        self.nodes.append(made)
        return made.results[0]

    def graph(self) -> Graph:
        last = self.module((Scope("", "tiny.model.Tiny"),), list(self.inputs), self.random.randint(0, 10**6), 0)
        produced = [value for one in self.nodes for value in one.results]
        outputs = [last, *self.random.sample(produced, min(len(produced), self.random.randint(0, 2)))]
        self._shuffle()
        self._free(outputs)
        names = ("logits", "a.b", "x")[: len(outputs)]
        return Graph(tuple(self.inputs), tuple(self.weights.values()), self.nodes, tuple(outputs), names, tuple(self.const_evals))

    def _free(self, outputs: list[Value]) -> None:
        """Every value ends behind its last use, or some nodes later."""
        last = {value: index for index, one in enumerate(self.nodes) for value in (*one.results, *one.inputs()) if value.node in self.nodes}
        for value, index in last.items():
            if value not in outputs:
                self.nodes[min(index + self.random.choice((0, 0, 0, 1, 4)), len(self.nodes) - 1)].frees.append(value)

    def _shuffle(self) -> None:
        """Swaps independent neighbours, as passes that hoist or sink ops do."""
        for _ in range(self.random.randint(0, len(self.nodes))):
            place = self.random.randrange(max(len(self.nodes) - 1, 1))
            if place + 1 < len(self.nodes):
                one, two = self.nodes[place : place + 2]
                if not any(value.node is one for value in two.inputs()):
                    self.nodes[place : place + 2] = [two, one]


Random = random.Random


def expected(graph: Graph) -> dict[str, Tensor]:
    """The outputs' terms, straight from the graph: the symbols that calls in the spec's argument order make."""
    terms: dict[int, Tensor] = {id(value): symbol(("input", value.name)) for value in graph.inputs}
    terms.update({id(value): symbol(("file", value.name)) for value in graph.weights if value.name})

    def call(one: Node, known: dict[int, Tensor]) -> None:
        positional, named, gap = [], [], False
        given = {arg.name: raw for arg, raw in one.arguments}
        for arg in one.spec.args:
            if arg.name not in given:
                gap = True
                continue
            gap = gap or arg.keyword
            raw = given[arg.name]
            value: object = known[id(raw.value)] if isinstance(raw, Use) else _plain(raw)
            if gap:
                named.append((arg.name, value))
            else:
                positional.append(value)
        known[id(one.results[0])] = symbol((one.spec.target, tuple(positional), tuple(sorted(named, key=lambda pair: pair[0]))))

    for const_eval in graph.const_evals:
        inner = {id(value): symbol(("file", value.name)) for value in const_eval.inputs}
        for one in const_eval.nodes:
            call(one, inner)
        for output, result in zip(const_eval.outputs, const_eval.results, strict=True):
            terms[id(result)] = inner[id(output)]
    for one in graph.nodes:
        call(one, terms)
    return {name: terms[id(value)] for name, value in zip(graph.output_names, graph.outputs, strict=True)}


def _plain(raw: object) -> object:
    if isinstance(raw, model.Items):
        return tuple(freeze(item.value) for item in raw.items if isinstance(item, model.Literal))
    if isinstance(raw, model.DType):
        return Name(f"ttnn.{raw.name}")
    raise AssertionError(raw)


def result(graph: Graph) -> FrontendResult:
    return FrontendResult(
        None,  # type: ignore[arg-type]
        "torch",
        "Tiny",
        [],
        [Output(name, (), "bfloat16") for name in graph.output_names],
        None,
        source_files={FILE: TRANSFORMER_SOURCE},
        class_sources=CLASSES,
    )


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 5))])
def test_random_graphs(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit_py, "_MAX_BLACK_LINES", 0)
    structured = looped = merged = 0
    plain = ("python", CompilerOptions())
    others = (("cpp", CompilerOptions()), ("python", CompilerOptions(recover_structure=False)), ("python", CompilerOptions(split_consteval=False)))
    for seed in range(block * 40, block * 40 + 40):
        for language, options in (plain, others[seed % 3]):
            graph = Generator(seed).graph()
            wanted = expected(graph)
            program = build_from_graph(graph, result(graph), options, language)
            files = emit_py.emit(program)
            got = run(files)
            assert got == wanted, f"seed {seed}, {options.recover_structure}, {language}\n" + files["main.py"]
            structured += len(program.functions) > 1
            merged += any(one.kind == "number" for function in program.functions for one in function.parameters)
            looped += any(isinstance(one, model.Loop) for function in program.functions for one in model.statements(function.body))
    assert structured > 25  # the generator really makes functions
    assert looped > 0  # and loops
    assert merged > 0  # and functions with integers as parameters


@pytest.mark.parametrize("const_eval", [True, False])
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_transformer_is_the_same_flat_and_structured(const_eval: bool, language: str) -> None:
    outputs = []
    for recover in (True, False):
        made = transformer(4, const_eval=const_eval)
        outputs.append(run(emit_py.emit(program_of(made, CompilerOptions(recover_structure=recover), language)), 2))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("layers", [1, 3])
def test_a_constant_that_layers_share_is_handed_to_all_alike(layers: int) -> None:
    """CSE leaves a mask with the first layer's source; it still is nobody's own: one function, one loop, made once."""
    root = Scope("", "tiny.model.Tiny")
    scopes = [(root, Scope(f"layer.{index}", "tiny.model.Block")) for index in range(layers)]
    sources = [SourceInfo(one, (Frame(FILE, 1, "forward"), Frame(FILE, 2, "forward")), "aten.op", "v") for one in scopes]
    positions = Node(TTNN_OPS["ttnn.arange"], (), (Value(TYPE),), (sources[0],))
    mask = node("ttnn.ge", [positions.results[0], positions.results[0]], sources[0])
    shared = Value(TYPE)
    made = ConstEval("c0", (), (positions, mask), mask.results, (shared,))
    start = carried = Value(TYPE, "x")
    nodes = []
    for source in sources:
        for name, inputs in (("ttnn.add", [carried, shared]), ("ttnn.softmax", [])):
            nodes.append(node(name, inputs or [carried], source))
            carried = nodes[-1].results[0]
    graph = Graph((start,), (), nodes, (carried,), ("y",), (made,))
    wanted = expected(graph)
    program = build_from_graph(graph, result(graph), CompilerOptions())
    assert shared.key == ("causal_mask" if layers > 1 else "layer.0.causal_mask")
    text = emit_py.emit(program)
    assert run(text) == wanted
    assert text["consteval.py"].count("ttnn.ge(") == 1
    if layers > 1:
        assert [one.name for one in program.functions] == ["block", "tiny"]
        assert 'causal_mask = weights["causal_mask"]\n' in text["main.py"] and "block(x, causal_mask)" in text["main.py"]
        assert "for " not in text["consteval.py"]

"""Fusions of the user: subclasses of `tt_torch.fusion_providers.FusionProvider`, applied to each graph before it is exported."""

from __future__ import annotations

import operator
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx
from torch.fx.subgraph_rewriter import replace_pattern_with_filters

from alchemist.errors import UserError, quoted

_METHODS: dict[Callable[..., Any], str] = {
    operator.add: "add", operator.mul: "mul", operator.sub: "sub", operator.truediv: "div", operator.pow: "pow", operator.neg: "neg",
    operator.matmul: "matmul",
}  # fmt: skip
_COMMUTATIVE = ("add", "mul")


def apply_providers(graph: fx.GraphModule) -> int:
    """Replaces what the patterns of all providers match, in place; returns how many matches there were.

    Raises:
        UserError: a pattern or a replacement that cannot be traced.
    """
    module = sys.modules.get("tt_torch.fusion_providers")
    providers = module.FusionProvider.get_registered_providers() if module is not None else []
    if not providers:
        return 0
    _use_methods(graph)
    total = 0
    for kind in providers:
        provider = kind()
        for pattern, replacement in provider.get_patterns():
            traced = _use_methods(_traced(pattern, kind))
            _traced(replacement, kind)
            found = replace_pattern_with_filters(graph, traced, replacement, match_filters=provider.get_match_filters())
            for match in found:
                _keep_places(match)
            total += len(found)
    if total:
        graph.graph.lint()
        graph.recompile()
    return total


def _traced(function: Any, provider: type) -> fx.GraphModule:
    try:
        return fx.symbolic_trace(function)
    except Exception as error:  # the user's code may raise anything
        file = function.__code__.co_filename if hasattr(function, "__code__") else ""
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        raise UserError(f"{provider.__name__}: cannot trace the pattern: {error}", location=f"{file}:{lines[-1]}" if lines else quoted(function),
                        hint="write patterns as straight-line tensor code") from error  # fmt: skip


def _keep_places(match: Any) -> None:
    """New nodes are from the line of the user's code that was replaced."""
    origin: Mapping[str, Any] = next((node.meta for node in match.nodes_map.values() if isinstance(node, fx.Node) and "stack_trace" in node.meta), {})
    for node in match.replacements:
        node.meta.update({key: value for key, value in origin.items() if key in ("stack_trace", "nn_module_stack", "source_fn_stack") and key not in node.meta})


def _use_methods(graph: fx.GraphModule) -> fx.GraphModule:
    """`a + b` becomes `a.add(b)`, with the tensor in front: the form in which patterns for tt-xla are written."""
    for node in graph.graph.nodes:
        name = _METHODS.get(node.target) if node.op == "call_function" else None
        if name is None or not any(isinstance(value, fx.Node) for value in node.args):
            continue
        args = list(node.args)
        if not isinstance(args[0], fx.Node):
            if name not in _COMMUTATIVE:
                continue
            args.reverse()
        example = args[0].meta.get("example_value") if isinstance(args[0], fx.Node) else None
        if example is not None and not isinstance(example, torch.Tensor):
            continue
        node.op, node.target, node.args = "call_method", name, tuple(args)
    graph.recompile()
    return graph

"""Exports training steps: torch.export does not trace gradients, so the model is traced to a graph with gradient ops first."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import fx
from torch._decomp import decomposition_table
from torch._functorch import eager_transforms
from torch._functorch._aot_autograd.logging_utils import setup_stacktrace_preservation_hooks
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from alchemist.ir.location import GRADIENT

_BACKWARD = "alchemist_gradient"
_aten = torch.ops.aten
_WRITTEN_OUT = {
    op: decomposition_table[op] for op in (_aten.native_layer_norm.default, _aten.native_batch_norm.default, _aten._native_batch_norm_legit.default)
}
"""Ops whose further results a backward pass reads, which device ops do not have; batch_norm also updates its running statistics."""


def is_gradient(node: fx.Node) -> bool:
    """Whether a node belongs to the backward pass of its statement."""
    return bool((node.meta.get("custom") or {}).get(_BACKWARD))


def takes_gradients(graph: fx.Graph) -> bool:
    return any(map(is_gradient, graph.nodes))


def framework_op(node: fx.Node) -> str:
    """The node's op as a source names it."""
    return f"{node.target}{GRADIENT if is_gradient(node) else ''}"


def has_wrapped(constants: Any) -> bool:
    """Whether a program contains tensors of a gradient that torch.export did not trace."""
    return any(isinstance(value, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(value) for value in constants.values())


def differentiated(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.nn.Module | None:
    """The model with its gradients as ops: nodes of a backward pass have the modules and lines of the forward pass's; None where it takes none."""
    leaves, form = pytree.tree_flatten((args, kwargs))
    tensors = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    weights = {name for name, value in model.named_parameters() if value.is_floating_point()}
    named = dict(model.named_parameters()) | dict(model.named_buffers())

    def call(state: list[torch.Tensor], inputs: list[torch.Tensor]) -> Any:
        filled = list(leaves)
        for place, value in zip(tensors, inputs, strict=True):
            filled[place] = value
        inner_args, inner_kwargs = pytree.tree_unflatten(filled, form)
        with _reparametrize_module(model, dict(zip(named, state, strict=True))):
            return model(*inner_args, **inner_kwargs)

    used_lines = 0
    graph: fx.GraphModule | None = None
    for requires_grad in (False, True):  # torch.func takes gradients of anything, torch.autograd of what asks for them
        state = [value.detach().clone().requires_grad_(requires_grad and name in weights) for name, value in named.items()]
        with _gradients() as count, _scopes(model), sdpa_kernel(SDPBackend.MATH), torch.enable_grad():
            try:
                graph = make_fx(call, _WRITTEN_OUT, "fake", _allow_non_fake_inputs=True, record_stack_traces=True)(state, [leaves[place] for place in tensors])
            except RuntimeError as error:
                if requires_grad or "does not require grad" not in str(error):
                    raise
            used_lines = next(count)
        if graph is not None:
            break
    if graph is None or not used_lines:
        return None
    _mark(graph.graph)
    return _with_forward(model, graph, tensors)


def _with_forward(model: torch.nn.Module, graph: fx.GraphModule, tensors: list[int]) -> torch.nn.Module:
    """A module of the same parameters that runs the graph."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        state = [*dict(traced.named_parameters()).values(), *dict(traced.named_buffers()).values()]
        with traceback.preserve_node_meta():
            out = fx.Interpreter(graph).run(*state, *(leaves[place] for place in tensors))
        return out

    traced = copy.copy(model)
    traced.forward = forward
    return traced


@contextmanager
def _gradients() -> Iterator[Iterator[int]]:
    """Backward passes say which forward op each of theirs belongs to; yields a count that says how many there were."""
    taken = 0
    patched = [(eager_transforms, "_autograd_grad"), (torch.autograd, "grad")]
    originals = [getattr(owner, name) for owner, name in patched]

    def hooked(original: Callable[..., Any]) -> Callable[..., Any]:
        def grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal taken
            taken += 1
            functions = [leaf.grad_fn for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor) and leaf.grad_fn is not None]
            setup_stacktrace_preservation_hooks(functions)
            return original(outputs, *args, **kwargs)

        return grad

    def count() -> Iterator[int]:
        while True:
            yield taken

    with traceback.preserve_node_meta():
        try:
            for (owner, name), original in zip(patched, originals, strict=True):
                setattr(owner, name, hooked(original))
            yield count()
        finally:
            for (owner, name), original in zip(patched, originals, strict=True):
                setattr(owner, name, original)


@contextmanager
def _scopes(model: torch.nn.Module) -> Iterator[None]:
    """Records the modules around each node, as torch.export does."""
    paths = {module: path for path, module in reversed(list(model.named_modules()))}
    numbers = itertools.count()
    stacks: list[Any] = [traceback.current_meta.get("nn_module_stack")]

    def enter(module: torch.nn.Module, _args: Any) -> None:
        stack = dict(stacks[-1] or {})
        if module in paths:
            stack[f"call_{next(numbers)}"] = (paths[module], type(module))
        stacks.append(stack)
        traceback.current_meta["nn_module_stack"] = stack

    def leave(_module: torch.nn.Module, _args: Any, _out: Any) -> None:
        stacks.pop()
        traceback.current_meta["nn_module_stack"] = stacks[-1] or {}

    with ExitStack() as hooks:
        for handle in (register_module_forward_pre_hook(enter), register_module_forward_hook(leave)):
            hooks.callback(handle.remove)
        yield


def _mark(graph: fx.Graph) -> None:
    """Nodes of backward passes get the modules and lines of the forward op whose gradient they are."""
    forward: dict[int, fx.Node] = {}
    nodes = [node for node in graph.nodes if node.op == "call_function"]
    backward = [place for place, node in enumerate(nodes) if node.meta.get("autograd_backward")]
    for place, node in enumerate(nodes):
        number = node.meta.get("seq_nr", -1)
        if node.meta.get("autograd_backward") or (backward and backward[0] < place < backward[-1]):
            # autograd itself adds up the gradients of a value that is read several times: no forward op has such a number
            is_gradient = node.meta.get("autograd_backward") and number in forward
            _mark_as(node, forward[number].meta if is_gradient else _around(node))
        else:
            forward.setdefault(number, node)


def _mark_as(node: fx.Node, meta: dict[str, Any]) -> None:
    node.meta["custom"] = {**(node.meta.get("custom") or {}), _BACKWARD: True}
    node.meta.update({key: meta[key] for key in ("nn_module_stack", "stack_trace") if key in meta})


def _around(node: fx.Node) -> dict[str, Any]:
    """Of a sum of gradients: where the module is called that made the last of them; one of several results belongs to its op."""
    meta = node.all_input_nodes[-1].meta if node.all_input_nodes else {}
    if node.target is operator.getitem:
        return dict(meta)
    stack = dict(list((meta.get("nn_module_stack") or {}).items())[:-1])
    return {**meta, "nn_module_stack": stack} if stack else dict(meta)

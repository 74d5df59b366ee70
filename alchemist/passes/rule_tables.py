"""The passes that are tables of `alchemist/rules`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from alchemist.optimizer.movement import are_faster
from alchemist.options import CompilerOptions
from alchemist.passes.registry import Pass, register
from alchemist.rewrite.driver import Rules
from alchemist.rules.activations import ACTIVATIONS
from alchemist.rules.attention import GROUPED_HEADS
from alchemist.rules.layers import PADDING
from alchemist.rules.linear import KEEP_RANK, LINEAR, SHARED_WEIGHTS, TRANSPOSED_PRODUCTS
from alchemist.rules.norms import NORMS
from alchemist.rules.reductions import MERGED
from alchemist.rules.ttnn_fusions import ADDCMUL, CENTRED, PIECEWISE, RESIDUAL_NORM, ROLLS


class _RulePass(Pass):
    rules: ClassVar[Rules]

    def run(self, module: ModuleOp) -> None:
        self.rules.apply(module)


@dataclass(frozen=True)
class _PricedRulePass(Pass):
    rules: ClassVar[Rules]
    options: CompilerOptions

    def run(self, module: ModuleOp) -> None:
        self.rules.apply(module, lambda new_op, replaced: are_faster([new_op], replaced, self.options))


def _table(name: str, rules: Rules, doc: str, base: type[_RulePass | _PricedRulePass] = _RulePass, from_level: int = 0) -> None:
    register(name, fusing=True, from_level=from_level)(type(name, (base,), {"rules": rules, "__doc__": doc}))


_table(
    "fuse-patterns",
    Rules("ttir", *ACTIVATIONS.rules, *NORMS.rules),
    "Written-out sigmoid, silu, gelu, softmax, rms_norm, layer_norm and group_norm become one op each.",
)
_table(
    "keep-rank",
    KEEP_RANK,
    "reshape(linear(reshape(x, [B*S, K])), [B, S, N]) becomes linear(reshape(x, [B, S, K])); typecast(reshape(w)) of a vector becomes reshape(typecast(w)).",
)
_table(
    "share-weights", SHARED_WEIGHTS, "matmul(a, broadcast(w)) becomes matmul(a, w): one product of all rows, not one for each batch with a copy of the weight."
)
_table(
    "turned-products",
    TRANSPOSED_PRODUCTS,
    "permute(x @ y) that swaps rows and columns becomes y^T @ x^T, and a permute of the rest: gradients of weights in JAX.",
)
_table("fuse-linear", LINEAR, "add(matmul(a, b), bias) becomes linear(a, b, bias).")
_table(
    "merge-reductions",
    MERGED,
    "sum(sum(x, a), b) becomes sum(x, a and b); mean, max and min too: one device program. mean(x * x) - mean(x)^2 becomes mean((x - mean(x))^2).",
)
_table("fold-padding", PADDING, "conv2d(pad(x)) with zeros becomes a convolution with more padding.")
_table(
    "group-attention-heads",
    GROUPED_HEADS,
    "attention(query, repeat(key), repeat(value)) becomes attention(query, key, value) where heads are repeated for groups.",
)
_table(
    "fuse-piecewise",
    PIECEWISE,
    "TTNN: where(x > 0, x, a * expm1(min(x, 0))) becomes ttnn.elu; log(1 + exp(x)) in the forms of torch, JAX and ONNX becomes ttnn.softplus.",
)
_table("fuse-residual-norm", RESIDUAL_NORM, "ttnn.layer_norm(ttnn.add(a, b)) becomes ttnn.add_layer_norm(a, b): one device program.")
_table("fuse-roll", ROLLS, "concat(x[k:], x[:k]) becomes roll(x, -k); rolls of one value along several dimensions become one call.")
_table("fuse-centred", CENTRED, "x - (m + mean(x - m)), as where a mean is computed in two passes, becomes (x - m) - mean(x - m).")
_table("fuse-addcmul", ADDCMUL, "a + b * c and a - b * c are one addcmul(a, b, c, value=1 or -1), where the clock prices that as faster.", _PricedRulePass, 1)

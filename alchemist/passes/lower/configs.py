"""Configs that lowering sets on ops according to compiler options."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from alchemist.ir.access import argument_attrs, struct
from alchemist.ir.attributes import StructAttr
from alchemist.ir.dialects import named
from alchemist.options import WEIGHT_DTYPES, CompilerOptions

BLOCK_PRECISIONS = ("bfp8", "bfp8_lofi")
LONG_SUM_TERMS = 512
"""From here on bfloat16 sums of convolutions are 32 bits wide. Shorter ones are too large by some 1 % at four steps a product (HiFi4, docs/numerics.md),
which folded batch norms never set right: a ResNet-50 of random weights is off by 0.21 at the end with 2,048 here, by 0.09 with 1,024, by 0.03 with 512
(0.60 without). That costs VGG-16 1 % of its time at level 0, no network more than 0.6 % at level 2."""
WEIGHT_SPLIT = 2.0**14 + 1
"""`t = WEIGHT_SPLIT * x; t - (t - x)` in float32 is x rounded to the nearest number of 10 significant bits (Veltkamp's splitting): what the
matrix engine reads of a weight, five bits in each of two passes (docs/numerics.md)."""
TRUNCATED_PART = 2 / 3 * 2.0**-11
"""What the engine drops of the other operand, relative to it: half a unit of the 11th significant bit over a mantissa in [1, 2) whose logarithm is
evenly spread, each weighted by its square. Products with weights that are larger by this are right on average."""
_FIELDS = ("math_fidelity", "math_approx_mode", "fp32_dest_acc_en", "packer_l1_acc")


def compute_config(options: CompilerOptions) -> StructAttr | None:
    """The compute config that the options set; None leaves the choice to the library."""
    values = {name: getattr(options, name) for name in _FIELDS}
    if all(value is None for value in values.values()):
        return None
    return struct("ttnn.device_compute_kernel_config", values)


def wide_sums_config(options: CompilerOptions) -> StructAttr:
    """The options' compute config, with float32 accumulation unless the options set it."""
    return _with_defaults(options, {"math_fidelity": "hifi4", "fp32_dest_acc_en": True})


def has_wide_sums(options: CompilerOptions, terms: int) -> bool:
    """Whether `wide_sum_terms` requires 32-bit accumulation for sums of this many products."""
    return 0 < options.wide_sum_terms <= terms and options.precision not in BLOCK_PRECISIONS


def product_config(options: CompilerOptions, terms: int) -> StructAttr | None:
    """The compute config of a matrix product whose sums have `terms` products."""
    return wide_sums_config(options) if has_wide_sums(options, terms) else compute_config(options)


def convolution_config(options: CompilerOptions, dtype: str, terms: int) -> StructAttr | None:
    """The compute config of a convolution whose sums have `terms` products: bfloat16 adds long ones in 32 bits where the options say nothing of it.

    The library's default rounds a bfloat16 sum at each of its steps; matrix products add the blocks of theirs in L1 and do not need this.
    """
    if dtype == "bf16" and terms >= LONG_SUM_TERMS and options.precision not in BLOCK_PRECISIONS:
        return wide_sums_config(options)
    return product_config(options, terms)


def pointwise_config(options: CompilerOptions, dtype: str, terms: int) -> StructAttr | None:
    """The compute config of a convolution that runs as a matrix product: with conv2d's default fidelity, which is higher than a product's."""
    if has_wide_sums(options, terms):
        return wide_sums_config(options)
    if dtype != "bf16" or options.precision in BLOCK_PRECISIONS:
        return compute_config(options)
    return _with_defaults(options, {"math_fidelity": "hifi4", "math_approx_mode": False, "fp32_dest_acc_en": False, "packer_l1_acc": True})


def _with_defaults(options: CompilerOptions, defaults: Mapping[str, str | bool]) -> StructAttr:
    """The options' compute config, with these values for fields that they do not set."""
    values = {name: getattr(options, name) for name in _FIELDS}
    return struct("ttnn.device_compute_kernel_config", {name: defaults.get(name) if value is None else value for name, value in values.items()})


def weight_dtype(options: CompilerOptions) -> str | None:
    """Block format of matmul weights, None for the model's own."""
    if options.experimental_weight_dtype != "none":
        return options.experimental_weight_dtype
    return "bfp_bf8" if options.precision in BLOCK_PRECISIONS else None


_SAME_WEIGHT = named("ttir", "keeps_weight")
"""Ops through which tt-mlir's PropagateWeightDtype follows a weight."""


def weight_dtype_of(options: CompilerOptions, func: FuncOp, weight: SSAValue) -> str | None:
    """Block format of this matmul weight: what its argument's `ttcore.weight_dtype` or the option by name asks for, else `weight_dtype`.

    Of a concatenation: the most precise of its parts'.
    """
    facts = func.arg_attrs
    if not options.override_weight_dtype and not (facts and any("ttcore.weight_dtype" in part.data for part in facts.data)):
        return weight_dtype(options)
    dtypes = {_asked_for(options, func, argument) for argument in _arguments_behind(weight)} - {""}
    if not dtypes:
        return weight_dtype(options)
    dtype = next(dtype for dtype in reversed(WEIGHT_DTYPES) if dtype in dtypes)
    return None if dtype == "bf16" else dtype


def _arguments_behind(weight: SSAValue) -> list[BlockArgument]:
    pending, arguments = [weight], []
    while pending:
        value = pending.pop()
        if isinstance(value, BlockArgument):
            arguments.append(value)
        elif value.owner.name in _SAME_WEIGHT:  # type: ignore[union-attr]
            pending += value.owner.operands if value.owner.name == "ttir.concat" else value.owner.operands[:1]  # type: ignore[union-attr]
    return arguments


def _asked_for(options: CompilerOptions, func: FuncOp, argument: BlockArgument) -> str:
    facts = argument_attrs(func)[argument.index]
    own = str(facts.get("ttcore.weight_dtype", ""))
    for row in filter(None, options.override_weight_dtype.split(",")):
        pattern, _, dtype = row.rpartition("=")
        if fnmatchcase(str(facts.get("ttir.name", "")), pattern):
            own = dtype
    return own if own in WEIGHT_DTYPES else ""

"""Modules that a pass changes, and modules that it must leave alone: pass, module and, for the former, the ops after it."""

from __future__ import annotations

from functools import partial

from pass_graphs import (
    BIAS,
    CHANNELS,
    COLUMNS,
    CONV,
    CUBE,
    HEADS,
    HIDDEN,
    IMAGE,
    KERNEL,
    NCDHW,
    ONE_HEAD,
    PIXELS,
    ROWS,
    SQUARE,
    SQUARES,
    TAP,
    TAP_BIAS,
    TAPS,
    TURNED_COLUMNS,
    TURNED_WAVE,
    VECTOR,
    VECTOR_32,
    VOLUME,
    WAVE,
    B,
    F,
    V,
    W,
    X,
    attention,
    build,
    conv_norm,
    flat,
    for_groups,
    frozen_norm,
    gelu_factored,
    gelu_tanh_written_out,
    gelu_written_out,
    group_norm_written_out,
    layer_norm_by_division,
    layer_norm_written_out,
    moving,
    normed,
    one_pass,
    over_one_plus,
    padded_twice,
    reduced,
    rms_norm_by_division,
    rms_norm_written_out,
    scores,
    softmax_written_out,
    spread,
    spreading,
    tap,
    turned,
    viewed,
    volume,
    wave,
    written_attention,
)
from xdsl.dialects.builtin import ModuleOp

CHANGES: dict[str, tuple[str, ModuleOp, list[str]]] = {
    "a query and a key with a factor each": ("merge-factors", build(scores, ROWS, ROWS), ["full", "multiply", "permute", "matmul"]),
    "a query and a key with a factor each, and their gradients": (
        "merge-factors",
        build(partial(scores, gradients=True), ROWS, ROWS),
        ["full", "multiply", "permute", "matmul", "matmul", "matmul", "full", "multiply"],
    ),
    "a mean of a mean": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("mean", [-1], (2, 4), False), ("mean", [-1], (2,), False)), X),
        ["mean"],
    ),
    "a sum over dims before and behind another's": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("sum", [1], (2, 64, 8), False), ("sum", [0, 2], (64,), False)), ((2, 4, 64, 8), F, "input")),
        ["sum"],
    ),
    "three maxima whose dims stay": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("max", [2], (2, 4, 1), True), ("max", [1, 2], (2, 1, 1), True), ("max", [0], (1, 1, 1), True)), X),
        ["max"],
    ),
    "isnan of a softmax in bfloat16": (
        "fuse-patterns",
        build(lambda g, x: g("ne", y := g("typecast", g("softmax", x, of="bf16", dimension=2, numericStable=True)), y, of="i1"), ((2, 4, 64), "bf16", "input")),
        ["max", "abs", "full", "eq", "broadcast"],
    ),
    "isnan of a quotient in bfloat16": (
        "fuse-patterns",
        build(lambda g, x, y: g("ne", z := g("div", x, y, of="bf16"), z, of="i1"), *[((2, 4, 64), "bf16", "input")] * 2),
        ["typecast", "typecast", "div", "ne"],
    ),
    "isnan of a value masked by NaN in bfloat16": (
        "fuse-patterns",
        build(
            lambda g, m, x: g("ne", y := g("where", m, x, g.number(float("nan"), (1, 1, 1), "bf16"), out=(2, 4, 64), of="bf16"), y, out=(2, 4, 64), of="i1"),
            ((4, 64), "i1", "input"),
            ((2, 4, 64), "bf16", "input"),
        ),
        ["reshape", "broadcast", "logical_not"],
    ),
    "isnan of a value rounded to bfloat16": (
        "fuse-patterns",
        build(lambda g, x: g("ne", y := g("typecast", g("exp", x), of="bf16"), y, of="i1"), X),
        ["exp", "ne"],
    ),
    "a variance in one pass": ("merge-reductions", build(one_pass, X), ["mean", "subtract", "square", "mean", "reshape"]),
    "a covariance of sums": (
        "merge-reductions",
        build(lambda g, x, y: one_pass(g, x, y, "sum", 1 / 64), X, X),
        ["mean", "subtract", "mean", "subtract", "multiply", "sum", "reshape"],
    ),
    "a conv1d whose result is turned": (
        "conv1d-channels-last",
        build(lambda g, x, w: turned(g, wave(g, x, w)), WAVE, TAPS),
        ["permute", "conv1d", "permute", "permute"],
    ),
    "conv1ds with activations between": (
        "conv1d-channels-last",
        build(lambda g, x, w, v: g("exp", wave(g, g("gelu", g("relu", wave(g, x, w))), v)), WAVE, TAPS, ((16, 16, 3), F, "parameter")),
        ["permute", "conv1d", "relu", "gelu", "conv1d", "exp", "permute"],
    ),
    "a conv1d whose result is sliced and turned": (
        "conv1d-channels-last",
        build(lambda g, x, w: turned(g, g("slice_static", wave(g, x, w), out=(2, 16, 12), begins=[0, 0, 0], ends=[2, 16, 12], step=[1, 1, 1])), WAVE, TAPS),
        ["permute", "conv1d", "slice_static", "permute", "permute"],
    ),
    "a conv1d between joined values, of which a mean is taken": (
        "conv1d-channels-last",
        build(lambda g, x, w: g("mean", padded_twice(g, wave(g, x, w)), out=(2, 32), dim_arg=[2], keep_dim=False), WAVE, TAPS),
        ["permute", "conv1d", "pad", "multiply", "concat", "mean"],
    ),
    "a gated conv1d of one tap": (
        "conv1d-channels-last",
        build(lambda g, x, w, b: g("multiply", (y := tap(g, turned(g, x, (2, 8, 12)), w, b)), g("sigmoid", y)), TURNED_WAVE, TAP, TAP_BIAS),
        ["permute", "permute", "reshape", "permute", "reshape", "linear", "sigmoid", "multiply", "permute"],
    ),
    "identities": (
        "fold",
        build(lambda g, x: g("reshape", g("multiply", g("dropout", x), g.number(1.0)), out=(2, 4, 64), shape=(2, 4, 64)), X),
        [],
    ),
    "constants": (
        "fold",
        build(lambda g, x: g("add", x, g("add", g.number(1.0), g.number(2.0))), X),
        ["full", "add"],
    ),
    "views": (
        "fold",
        build(
            lambda g, x: g(
                "unsqueeze",
                g("transpose", g("transpose", x, out=(2, 64, 4), dim0=1, dim1=2), out=(2, 4, 64), dim0=1, dim1=2),
                out=(1, 2, 4, 64),
                dim=0,
            ),
            X,
        ),
        ["reshape"],
    ),
    "equal ops": ("fold", build(lambda g, x: g("add", g("exp", x), g("exp", x)), X), ["exp", "add"]),
    "mask": (
        "fold",
        build(
            lambda g, m: g("logical_and", g("ne", m, g.number(0, (1, 1), "i64"), of="i1"), g.number(1, (2, 8), "i1"), of="i1"),
            ((2, 8), "i64", "input"),
        ),
        ["full", "ne"],
    ),
    "broadcast": (
        "implicit-broadcast",
        build(lambda g, x, w: g("add", x, g("broadcast", w, out=(2, 4, 64), broadcast_dimensions=[2, 4, 1])), X, ((1, 1, 64), F, "input")),
        ["add"],
    ),
    "softmax": ("fuse-patterns", build(softmax_written_out, X), ["softmax"]),
    "layer norm": ("fuse-patterns", build(layer_norm_written_out, X, V, V), ["layer_norm"]),
    "group norm": ("fuse-patterns", build(group_norm_written_out, PIXELS, VECTOR), ["group_norm"]),
    "rms norm": ("fuse-patterns", build(rms_norm_written_out, X, V), ["rms_norm"]),
    "attention": ("fuse-attention", build(written_attention, HEADS, HEADS, HEADS), ["scaled_dot_product_attention"]),
    "attention with a mask that is added": (
        "fuse-attention",
        build(written_attention, HEADS, HEADS, HEADS, BIAS),
        ["scaled_dot_product_attention"],
    ),
    "attention with scores replaced": (
        "fuse-attention",
        build(lambda g, *x: written_attention(g, *x, chosen=True), HEADS, HEADS, HEADS, BIAS),
        ["full", "gt", "full", "full", "where", "scaled_dot_product_attention"],
    ),
    "attention with a scaled query": (
        "fuse-attention",
        build(lambda g, q, k, v: written_attention(g, g("multiply", q, g.number(2.0, (1, 1, 1, 1))), k, v), HEADS, HEADS, HEADS),
        ["scaled_dot_product_attention"],
    ),
    "one key-value head of [B, S, D], repeated for two query heads": (
        "group-attention-heads",
        build(lambda g, q, k, v: g("scaled_dot_product_attention", q, for_groups(g, k), for_groups(g, v), is_causal=False), HEADS, ONE_HEAD, ONE_HEAD),
        ["reshape", "reshape", "scaled_dot_product_attention"],
    ),
    "layer norm by division": ("fuse-patterns", build(layer_norm_by_division, X, V, V), ["layer_norm"]),
    "rms norm by division": ("fuse-patterns", build(rms_norm_by_division, X, V), ["rms_norm"]),
    "gelu with x taken out": ("fuse-patterns", build(gelu_factored, X), ["gelu"]),
    "silu by division": ("fuse-patterns", build(lambda g, x: over_one_plus(g, x, x), X), ["silu"]),
    "sigmoid by division": ("fuse-patterns", build(lambda g, x: over_one_plus(g, g.number(1.0, (1, 1, 1)), x), X), ["sigmoid"]),
    "sigmoid by reciprocal": (
        "fuse-patterns",
        build(lambda g, x: g("reciprocal", g("add", g("exp", g("neg", x)), g.number(1.0, (1, 1, 1)))), X),
        ["sigmoid"],
    ),
    "gelu": ("fuse-patterns", build(gelu_written_out, X), ["gelu"]),
    "gelu_new": ("fuse-patterns", build(gelu_tanh_written_out, X), ["gelu"]),
    "silu": ("fuse-patterns", build(lambda g, x: g("multiply", x, g("sigmoid", x)), X), ["silu"]),
    "dot": (
        "canonicalize-dots",
        build(
            lambda g, x, w: g("dot_general", x, w, out=(2, 4, 32), batch_dims_lhs=[], batch_dims_rhs=[], contract_dims_lhs=[2], contract_dims_rhs=[1]),
            X,
            W,
        ),
        ["matmul"],
    ),
    "linear": ("fuse-linear", build(lambda g, x, w, b: g("add", g("matmul", x, w, out=(2, 4, 32), transpose_b=True), b), X, W, B), ["linear"]),
    "activation": (
        "fuse-activation",
        build(lambda g, x, w, b: g("relu", g("linear", x, w, b, out=(2, 4, 32), transpose_b=True)), X, W, B),
        ["linear"],
    ),
    "rank": (
        "keep-rank",
        build(
            lambda g, x, w, b: g(
                "reshape",
                g("linear", g("reshape", x, out=(8, 64), shape=(8, 64)), w, b, out=(8, 32), transpose_b=True),
                out=(2, 4, 32),
                shape=(2, 4, 32),
            ),
            X,
            W,
            B,
        ),
        ["linear"],
    ),
    "an image between whose pixels are new ones": (
        "resize-by-product",
        build(lambda g, x: g("upsample2d", x, out=(2, 12, 12, 16), scale_factor=[2, 2], mode="bilinear"), PIXELS),
        ["reshape", "constant", "matmul", "reshape"],
    ),
    "batch norm": (
        "fold-batch-norm",
        build(conv_norm, IMAGE, KERNEL, VECTOR, VECTOR, VECTOR, VECTOR),
        ["full", "add", "rsqrt", "multiply", "reshape", "reshape", "multiply", "reshape", "multiply", "subtract", "conv2d"],
    ),
    "batch norm of a volume": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *vectors: g(
                "batch_norm_inference",
                g("conv3d", x, w, out=(2, 6, 3, 4, 5), **NCDHW, groups=1, stride=[1, 1, 1], padding=[0, 0, 0]),
                *vectors,
                epsilon=1e-5,
                dimension=1,
            ),
            VOLUME,
            ((6, 4, 3, 3, 3), F, "parameter"),
            *[((6,), F, "parameter")] * 4,
        ),
        ["full", "add", "rsqrt", "multiply", "reshape", "reshape", "multiply", "reshape", "multiply", "subtract", "conv3d"],
    ),
    "batch norm of a linear layer": (
        "fold-batch-norm",
        build(lambda g, x, w, b, *v: normed(g, g("linear", x, w, b, out=(4, 32)), *v), ROWS, COLUMNS, VECTOR_32, *[VECTOR_32] * 4),
        ["full", "add", "rsqrt", "multiply", "reshape", "multiply", "subtract", "multiply", "subtract", "linear"],
    ),
    "batch norm of a linear layer's rows, flattened": (
        "fold-batch-norm",
        build(lambda g, x, w, *v: normed(g, viewed(g, g("matmul", x, w, out=(2, 4, 32)), 8, 32), *v), ((2, 4, 16), F, "input"), COLUMNS, *[VECTOR_32] * 4),
        ["full", "add", "rsqrt", "multiply", "reshape", "multiply", "multiply", "subtract", "linear", "reshape"],
    ),
    "batch norm of a product with turned weights": (
        "fold-batch-norm",
        build(lambda g, x, w, *v: normed(g, g("matmul", x, w, out=(4, 32), transpose_b=True), *v), ROWS, TURNED_COLUMNS, *[VECTOR_32] * 4),
        ["full", "add", "rsqrt", "multiply", "reshape", "multiply", "multiply", "subtract", "linear"],
    ),
    "a product of three operands by einsum": (
        "drop-unit-dims",
        build(lambda g, x, y: flat(g, g("multiply", spread(g, x, 1), spread(g, y, 2), out=(2, 4, 8, 1))), CUBE, SQUARES),
        ["reshape", "reshape", "reshape", "multiply", "reshape", "reshape"],
    ),
    "rows times columns": (
        "drop-unit-dims",
        build(lambda g, x, y: g("matmul", x, y, out=(6, 1, 1)), ((6, 1, 8), F, "input"), ((6, 8, 1), F, "input")),
        ["reshape", "reshape", "multiply", "sum", "reshape"],
    ),
    "batch norm in arithmetic": (
        "fold-batch-norm",
        build(frozen_norm, IMAGE, KERNEL, CHANNELS, CHANNELS),
        ["reshape", "reshape", "multiply", "reshape", "reshape", "conv2d"],
    ),
    "batch norm in arithmetic, behind a bias": (
        "fold-batch-norm",
        build(frozen_norm, IMAGE, KERNEL, CHANNELS, CHANNELS, ((1, 1, 1, 16), F, "parameter")),
        ["reshape", "reshape", "multiply", "reshape", "reshape", "multiply", "reshape", "add", "conv2d"],
    ),
    "volume windows": (
        "decompose-conv",
        build(volume((2, 6, 3, 6, 3), stride=[2, 1, 2], padding=[1, 1, 0]), VOLUME, ((6, 4, 3, 3, 3), F, "parameter"), ((1, 6, 1, 1, 1), F, "parameter")),
        ["pad", *["slice_static"] * 3, *["reshape"] * 3, "concat", "permute", "reshape", "reshape", "reshape", "conv2d", "reshape", "permute"],
    ),
    "volume of single images": (
        "decompose-conv",
        build(volume((2, 6, 3, 4, 5), stride=[2, 1, 1], padding=[0, 0, 0]), VOLUME, ((6, 4, 1, 3, 3), F, "parameter"), ((1, 6, 1, 1, 1), F, "parameter")),
        ["slice_static", "permute", "reshape", "reshape", "reshape", "conv2d", "reshape", "permute"],
    ),
    "volume tubelets": (
        "decompose-conv",
        build(volume((2, 6, 2, 3, 3), stride=[2, 2, 2], padding=[0, 0, 0]), VOLUME, ((6, 4, 2, 2, 2), F, "parameter"), ((1, 6, 1, 1, 1), F, "parameter")),
        ["slice_static", "reshape", "permute", "reshape", "reshape", "reshape", "conv2d", "reshape", "permute"],
    ),
    "volume groups, channels last": (
        "decompose-conv",
        build(
            lambda g, x, w: g("conv3d", x, w, out=(1, 5, 4, 4, 8), groups=2, stride=[1, 1, 1], padding=[0, 0, 0]),
            ((1, 5, 6, 6, 4), F, "input"),
            ((8, 2, 1, 3, 3), F, "parameter"),
        ),
        ["permute", "reshape", "permute", "reshape", "reshape", "conv2d", "reshape", "permute", "permute"],
    ),
    "windows of computed weights": (
        "decompose-conv",
        build(moving((2, 6, 4, 3), stride=[2, 2], padding=[1, 0, 1, 0], dilation=[1, 1], groups=2), ((2, 4, 7, 8), F, "input"), ((6, 2, 2, 3), F, "input")),
        ["pad", *["slice_static", "reshape"] * 6, "concat", "reshape", "broadcast", "reshape", "matmul", "reshape"],
    ),
    "spread windows of computed weights": (
        "decompose-conv",
        build(
            spreading((2, 6, 8, 10), stride=[2, 1], padding=[1, 0], output_padding=[1, 0], dilation=[1, 2], groups=2),
            ((2, 4, 4, 6), F, "input"),
            ((4, 3, 3, 3), F, "input"),
        ),
        "reshape reshape pad reshape pad pad reverse reshape permute reshape".split()
        + ["slice_static", "reshape"] * 9
        + "concat reshape broadcast reshape matmul reshape".split(),
    ),
    "spread windows that are cut": (
        "decompose-conv",
        build(
            spreading((1, 2, 5, 3), stride=[1, 3], padding=[2, 2], output_padding=[0, 0], dilation=[1, 1], groups=1),
            ((1, 3, 7, 3), F, "input"),
            ((3, 2, 3, 1), F, "input"),
        ),
        "reshape pad reshape reshape slice_static reverse reshape permute reshape".split()
        + ["slice_static", "reshape"] * 3
        + "concat reshape reshape matmul reshape".split(),
    ),
    "places of a weight gradient": (
        "decompose-conv",
        build(moving((3, 5, 2, 2), stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1), ((3, 2, 7, 7), F, "input"), ((5, 2, 6, 6), F, "input")),
        [*["slice_static", "reshape"] * 4, "concat", "reshape", "broadcast", "reshape", "matmul", "reshape"],
    ),
    "padding": (
        "fold-padding",
        build(
            lambda g, x, w: g("conv2d", g("pad", x, out=(1, 8, 8, 7), padding=[0, 0, 0, 0, 1, 1, 0, 1], value=0.0), w, out=(1, 16, 8, 7), **CONV),
            IMAGE,
            KERNEL,
        ),
        ["conv2d"],
    ),
    "split heads": (
        "project-heads",
        build(attention, HIDDEN, SQUARE, SQUARE, SQUARE),
        ["concat", "matmul", "split_query_key_value_and_split_heads", "scaled_dot_product_attention"],
    ),
    "concat heads": (
        "fuse-concat-heads",
        build(
            lambda g, x: g("reshape", g("permute", x, out=(2, 32, 2, 32), permutation=[0, 2, 1, 3]), out=(2, 32, 64), shape=(2, 32, 64)),
            ((2, 2, 32, 32), F, "input"),
        ),
        ["concatenate_heads"],
    ),
    "concat heads whose rows are joined too": (
        "fuse-concat-heads",
        build(
            lambda g, x: g("reshape", g("permute", x, out=(2, 32, 2, 32), permutation=[0, 2, 1, 3]), out=(64, 64), shape=(64, 64)),
            ((2, 2, 32, 32), F, "input"),
        ),
        ["concatenate_heads", "reshape"],
    ),
}

UNCHANGED: dict[str, tuple[str, ModuleOp]] = {
    "a key with a factor that something else reads": ("merge-factors", build(partial(scores, also=True), ROWS, ROWS)),
    "a query with a factor, a key without": ("merge-factors", build(partial(scores, key_factor=None), ROWS, ROWS)),
    "a query and a key with a factor each, and a gradient without": (
        "merge-factors",
        build(partial(scores, gradients=True, gradient_factor=None), ROWS, ROWS),
    ),
    "isnan of a bfloat16 input": ("fuse-patterns", build(lambda g, x: g("ne", x, x, of="i1"), ((2, 4, 64), "bf16", "input"))),
    "a difference that is no covariance": ("merge-reductions", build(lambda g, x, y: one_pass(g, x, y, "sum", 1 / 32), X, X)),
    "a sum of means": ("merge-reductions", build(lambda g, x: reduced(g, x, ("mean", [2], (2, 4), False), ("sum", [1], (2,), False)), X)),
    "a mean whose dim stays under one whose does not": (
        "merge-reductions",
        build(lambda g, x: reduced(g, x, ("mean", [2], (2, 4, 1), True), ("mean", [1], (2, 1), False)), X),
    ),
    "a mean that is used twice": (
        "merge-reductions",
        build(lambda g, x: (y := reduced(g, x, ("mean", [2], (2, 4), False)), reduced(g, y, ("mean", [1], (2,), False))), X),
    ),
    "a sum of sums that are rounded": (
        "merge-reductions",
        build(lambda g, x: g("sum", g("sum", x, out=(2, 4), of="bf16", dim_arg=[2], keep_dim=False), out=(2,), dim_arg=[1], keep_dim=False), X),
    ),
    "products": ("merge-reductions", build(lambda g, x: reduced(g, x, ("prod", [2], (2, 4), False), ("prod", [1], (2,), False)), X)),
    "a real broadcast": (
        "implicit-broadcast",
        build(lambda g, x: g("exp", g("broadcast", x, out=(2, 4, 64), broadcast_dimensions=[2, 4, 1])), ((1, 1, 64), F, "input")),
    ),
    "an added number that matters": ("fold", build(lambda g, x: g("add", x, g.number(0.5)), X)),
    "random values": ("fold", build(lambda g: g("add", *(g("rand", out=(4, 4), size=[4, 4]) for _ in range(2))))),
    "softmax of something else": (
        "fuse-patterns",
        build(lambda g, x, y: g("div", g("exp", x), g("sum", g("exp", y), out=(2, 4, 1), keep_dim=True, dim_arg=[2])), X, X),
    ),
    "almost gelu": (
        "fuse-patterns",
        build(lambda g, x: g("multiply", g("multiply", x, g.number(0.7, (1, 1, 1))), g("add", g("erf", x), g.number(1.0, (1, 1, 1)))), X),
    ),
    "a product with two uses": (
        "fuse-linear",
        build(lambda g, x, w, b: (lambda y: (y, g("add", y, b)))(g("matmul", x, w, out=(2, 4, 32), transpose_b=True)), X, W, B),
    ),
    "a bias that is a matrix": (
        "fuse-linear",
        build(lambda g, x, w, b: g("add", g("matmul", x, w, out=(2, 4, 32), transpose_b=True), b), X, W, ((4, 32), F, "input")),
    ),
    "an activation of two uses": (
        "fuse-activation",
        build(lambda g, x, w: (lambda y: (y, g("relu", y)))(g("matmul", x, w, out=(2, 4, 32), transpose_b=True)), X, W),
    ),
    "attention whose weights are returned": (
        "fuse-attention",
        build(
            lambda g, q, k, v: (lambda p: (p, g("matmul", p, v, out=(2, 2, 8, 32))))(
                g("softmax", g("matmul", q, g("permute", k, out=(2, 2, 32, 8), permutation=[0, 1, 3, 2]), out=(2, 2, 8, 8)), dimension=3)
            ),
            HEADS,
            HEADS,
            HEADS,
        ),
    ),
    "scores replaced by a small number": (
        "fuse-attention",
        build(lambda g, *x: written_attention(g, *x, chosen=True, fill=-1.0), HEADS, HEADS, HEADS, BIAS),
    ),
    "keys that are not turned": (
        "fuse-attention",
        build(lambda g, q, k, v, t: written_attention(g, q, k, v, key=t), HEADS, HEADS, HEADS, ((2, 2, 32, 8), F, "input")),
    ),
    "a norm with the unbiased variance": ("fuse-patterns", build(lambda g, x, w, b: layer_norm_by_division(g, x, w, b, 1.0), X, V, V)),
    "a cubic with another factor": ("fuse-patterns", build(lambda g, x: gelu_factored(g, x, 0.05), X)),
    "1 / (2 + exp(-x))": ("fuse-patterns", build(lambda g, x: over_one_plus(g, g.number(1.0, (1, 1, 1)), x, 2.0), X)),
    "group norm whose root is read elsewhere": ("fuse-patterns", build(partial(group_norm_written_out, reread=True), PIXELS, VECTOR)),
    "an image whose pixels are copied": (
        "resize-by-product",
        build(lambda g, x: g("upsample2d", x, out=(2, 12, 12, 16), scale_factor=[2, 2], mode="nearest"), PIXELS),
    ),
    "group norm of each fourth channel": ("fuse-patterns", build(partial(group_norm_written_out, over=(1, 2, 3)), PIXELS, VECTOR)),
    "y / (1 + exp(-x))": ("fuse-patterns", build(lambda g, x: over_one_plus(g, g("exp", x), x), X)),
    "a conv1d alone": ("conv1d-channels-last", build(lambda g, x, w: g("relu", wave(g, x, w)), WAVE, TAPS)),
    "a conv1d whose result is laid out flat": (
        "conv1d-channels-last",
        build(lambda g, x, w: g("reshape", wave(g, x, w), out=(2, 192), shape=(2, 192)), WAVE, TAPS),
    ),
    "a conv1d that a sum of everything reads too": (
        "conv1d-channels-last",
        build(lambda g, x, w: (lambda y: (g("exp", y), g("reshape", y, out=(32, 12), shape=(32, 12))))(wave(g, x, w)), WAVE, TAPS),
    ),
    "batch norm of a product of two inputs": (
        "fold-batch-norm",
        build(lambda g, x, w, *v: normed(g, g("matmul", x, w, out=(4, 32)), *v), ROWS, ((16, 32), F, "input"), *[VECTOR_32] * 4),
    ),
    "batch norm of a linear layer's rows, cut": (
        "fold-batch-norm",
        build(lambda g, x, w, *v: normed(g, viewed(g, g("matmul", x, w, out=(4, 32)), 8, 16), *v), ROWS, COLUMNS, *[VECTOR] * 4),
    ),
    "batch norm of a linear layer's flattened rows, which are read elsewhere": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *v: (lambda y: (normed(g, viewed(g, y, 8, 32), *v), g("relu", y)))(g("matmul", x, w, out=(2, 4, 32))),
            ((2, 4, 16), F, "input"),
            COLUMNS,
            *[VECTOR_32] * 4,
        ),
    ),
    "batch norm over another dimension": (
        "fold-batch-norm",
        build(
            lambda g, x, w, *v: normed(g, g("matmul", x, w, out=(2, 4, 32)), *v, dimension=1), ((2, 4, 16), F, "input"), COLUMNS, *[((4,), F, "parameter")] * 4
        ),
    ),
    "one row times one column": (
        "drop-unit-dims",
        build(lambda g, x, y: g("matmul", x, y, out=(1, 1, 1)), ((1, 1, 8), F, "input"), ((1, 8, 1), F, "input")),
    ),
    "a product with a last dimension": (
        "drop-unit-dims",
        build(lambda g, x, y: flat(g, g("multiply", g("reshape", x, out=(2, 4, 1, 8), shape=(2, 4, 1, 8)), spread(g, y, 2))), CUBE, SQUARES),
    ),
    "a product that is read as it is": (
        "drop-unit-dims",
        build(lambda g, x, y: g("exp", g("multiply", spread(g, x, 1), spread(g, y, 2), out=(2, 4, 8, 1))), CUBE, SQUARES),
    ),
    "a product of a value that is no view": (
        "drop-unit-dims",
        build(lambda g, x, y: flat(g, g("multiply", g("exp", spread(g, x, 1)), spread(g, y, 2), out=(2, 4, 8, 1))), CUBE, SQUARES),
    ),
    "padding with ones": (
        "fold-padding",
        build(
            lambda g, x, w: g("conv2d", g("pad", x, out=(1, 8, 8, 7), padding=[0, 0, 0, 0, 1, 1, 0, 1], value=1.0), w, out=(1, 16, 8, 7), **CONV),
            IMAGE,
            KERNEL,
        ),
    ),
    "weights that are parameters": ("decompose-conv", build(conv_norm, IMAGE, KERNEL, VECTOR, VECTOR, VECTOR, VECTOR)),
    "small heads": (
        "fuse-concat-heads",
        build(
            lambda g, x: g("reshape", g("permute", x, out=(2, 32, 2, 12), permutation=[0, 2, 1, 3]), out=(2, 32, 24), shape=(2, 32, 24)),
            ((2, 2, 32, 12), F, "input"),
        ),
    ),
    "weights that are computed": (
        "project-heads",
        build(lambda g, x, *ws: attention(g, x, *(g("exp", w) for w in ws)), HIDDEN, SQUARE, SQUARE, SQUARE),
    ),
    "batched dims in the middle": (
        "canonicalize-dots",
        build(
            lambda g, a, b: g(
                "dot_general", a, b, out=(2, 4, 3, 5), batch_dims_lhs=[0, 2], batch_dims_rhs=[0, 2], contract_dims_lhs=[3], contract_dims_rhs=[3]
            ),
            ((2, 3, 4, 8), F, "input"),
            ((2, 5, 4, 8), F, "input"),
        ),
    ),
}

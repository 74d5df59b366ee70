"""Ops that few programs call: a few calls of each."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import family

_HEIGHT, _WIDTH, _BLOCK = 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])', 'M("WIDTH", G(0, 0, 1, 0), [64, 32])', 'M("BLOCK", G(0, 0, 1, 1), [32, 32])'
_LIKE = [", memory_config=L1", f", memory_config={_HEIGHT}", ", memory_config=HSM"]
_HEADS_MEMORY = ["HSM", "BSM", "L1", "DRAM", 'M("HEIGHT", G(0, 0, 3, 1), [64, 64])']
_ONE = (
    "abs acos acosh alt_complex_rotate90 asin asinh atan atanh bitwise_not cbrt ceil celu cosh deg2rad digamma elu eqz erfc erfinv exp2 expm1 frac geglu gez gtz hardmish hardshrink i0 i1 identity "
    "isfinite isinf isnan isneginf isposinf lez lgamma log10 log1p log2 log_sigmoid logit ltz multigammaln nez normalize_global normalize_hw rad2deg reglu round selu sigmoid_accurate sign "
    "signbit sinh softshrink softsign std_hw swish tan tanhshrink trunc var_hw xielu floor gelu glu hardsigmoid hardtanh logical_not mish neg reciprocal relu6 rsqrt sigmoid silu softplus sqrt "
    "square swiglu tanh cos exp erf log sin"
).split()
_TWO = (
    "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor fmod ge hypot isclose lcm le logaddexp logaddexp2 logical_or logical_xor logical_left_shift logical_right_shift lt mul ne nextafter rsub sub "
    "div_no_nan gt divide maximum subtract l1_loss mse_loss"
).split()
_IN_PLACE = (
    "add_ bias_gelu_ div_ eq_ ge_ gt_ ldexp_ le_ logaddexp2_ logaddexp_ logical_and_ logical_or_ logical_xor_ lt_ mul_ ne_ rsub_ squared_difference_ sub_"
).split()
FAMILIES = (
    *(family("ttnn.{op}(T({shape}, {dtype}, {layout}, {a}){rest})", {"op": op}, shape=["[1, 1, 64, 64]", "[40]", "[2, 3, 40, 24]"], dtype=["BF16", "F32", "BF8", "I32", "U32", "U16"], layout=["TILE", "RM"], a=["DRAM", _HEIGHT], rest=["", ", memory_config=L1"]) for op in _ONE),
    *(family("ttnn.{op}(T([1, 1, 64, 64], {dtype}), T({other}, {kind}){rest})", {"op": op}, dtype=["BF16", "F32", "I32"], other=["[1, 1, 64, 64]", "[1, 1, 1, 64]", "[64, 1]", "[1, 1, 64, 65]"], kind=["BF16", "F32", "I32"], rest=["", ", memory_config=L1"]) for op in _TWO),
    *(family("ttnn.{op}(T([1, 1, 64, 64], I32), T([1, 1, 64, 64], I32){rest})", {"op": op}, rest=["", ", memory_config=L1"]) for op in _TWO),
    *(family("ttnn.{op}(T([1, 1, 64, 64], {dtype}), {number})", {"op": op}, dtype=["BF16", "F32", "I32"], number=["2", "0", "-3", "1.5"]) for op in _TWO),
    *(family("ttnn.{op}(T([1, 1, 64, 64], {dtype}, TILE, {a}), {other})", {"op": op}, dtype=["BF16", "F32", "I32"], a=["DRAM", "L1"], other=["T([1, 1, 64, 64])", "T([1, 1, 1, 64])", "T([2, 1, 64, 64])", "2.0"]) for op in _IN_PLACE),
    *(
        family("ttnn.{op}(T([1, 1, 64, 64], {dtype}), {args}{rest})", {"op": op}, dtype=["BF16", "F32", "I32"], args=args, rest=["", *_LIKE])
        for op, args in (
            ("addalpha", ["T([1, 1, 64, 64]), 2.0", "T([1, 1, 1, 64]), 0.0"]), ("subalpha", ["T([1, 1, 64, 64]), 2.0"]), ("rdiv", ["2.0", "2.0, rounding_mode='floor'", "2.0, rounding_mode='trunc'", "2.0, rounding_mode='up'"]),
            ("rpow", ["2.0", "0.5", "-1.0"]), ("softcap", ["2.0", "0.0"]), ("threshold", ["0.5, 2.0"]), ("polygamma", ["1", "2", "7", "11", "0"]), ("polyval", ["[1.0, 2.0, 3.0]", "[]", "[2.0]"]),
            ("prelu", ["0.25", "T([64])", "T([1, 1, 1, 64])", "[0.5]", "[0.5, 0.25]"]), ("fill", ["2.0", "3", "-1"]), ("clip", ["-1.0, 1.0", "min=0.5", "max=0.5", "min=T([1, 1, 64, 64]), max=T([1, 1, 64, 64])"]),
            ("relu_max", ["2.0"]), ("leaky_relu", ["0.25"]), ("heaviside", ["0.5"]), ("relu_min", ["2.0"]), ("round", ["decimals=1", "decimals=-1"]), ("logit", ["eps=0.25", "eps=0.75"]), ("xielu", ["alpha_p=0.5, alpha_n=0.25"]), ("snake_beta", ["T([1, 1, 1, 64]), T([1, 1, 1, 64])"]),
            ("clamped_silu_glu", ["T([1, 1, 64, 64]), 1.5", "T([1, 1, 1, 64]), 1.5"]), ("situ_glu", ["T([1, 1, 64, 64]), 1.5, 2.0"]), ("scatter_add", ["3, T([1, 1, 64, 32], U32), T([1, 1, 64, 32])"]),
            ("unary_chain", ["[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU), ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.25)]", "[]"]), ("moreh_full_like", ["2.0", "2", "2.0, dtype=F32", "2.0, layout=RM"]),
            ("repeat_interleave", ["2, dim=3", "2, dim=2"]), ("bernoulli", ["7", "7, dtype=F32"]), ("uniform", ["0.0, 1.0, 7", "1.0, 0.0, 7"]),
        )
    ),
    family("ttnn.bcast(T({shape}, {dtype}, {layout}, {a}), T({other}, {dtype}, {layout}), ttnn.BcastOpMath.{math}, ttnn.BcastOpDim.{dim}{rest})", {}, shape=["[1, 1, 64, 64]", "[2, 1, 40, 64]"], dtype=["BF16", "F32", "BF8"], layout=["TILE", "RM"], a=["DRAM", "L1", _HEIGHT, _WIDTH, _BLOCK],
           other=["[1, 1, 64, 1]", "[1, 1, 1, 64]", "[1, 1, 1, 1]", "[1, 1, 32, 64]", "[2, 1, 40, 1]"], math=["ADD", "SUB", "MUL"], dim=["W", "H", "HW"], rest=["", ", memory_config=L1", f", memory_config={_HEIGHT}", ", output_tensor=T([1, 1, 64, 64])", ", output_tensor=T([1, 1, 64, 32])"]),
    *(family("ttnn.bcast(T([1, 1, 64, 64], BF16, TILE, {a}), T({other}), ttnn.BcastOpMath.{math}, ttnn.BcastOpDim.{dim})", {"other": other, "dim": dim}, a=["DRAM", _HEIGHT, _WIDTH, _BLOCK], math=["ADD", "SUB", "MUL"]) for other, dim in (("[1, 1, 1, 64]", "H"), ("[1, 1, 1, 1]", "HW"), ("[1, 1, 64, 1]", "W"))),
    *(
        family("ttnn.{op}(T([1, 1, 64, 64], {dtype}), {args}{rest})", {"op": op}, dtype=["BF16", "F32"], args=args, rest=["", ", memory_config=L1"])
        for op, args in (
            *((op, ["T([1, 1, 64, 64])", "T([1, 1, 64, 32])"]) for op in ("abs_bw", "cos_bw", "exp_bw", "gelu_bw", "log_bw", "neg_bw", "relu_bw", "rsqrt_bw", "sigmoid_bw", "silu_bw", "sin_bw", "sqrt_bw", "square_bw", "tanh_bw")),
            *((op, ["T([1, 1, 64, 64]), T([1, 1, 64, 64])", "T([1, 1, 64, 64]), 2.0", "T([1, 1, 64, 64]), T([1, 1, 64, 64]), are_required_outputs=[True, False]", "T([1, 1, 64, 64]), T([1, 1, 64, 64]), are_required_outputs=[False, True]",
                    "T([1, 1, 64, 64]), T([1, 1, 64, 64]), are_required_outputs=[True]", "T([1, 1, 64, 64]), T([1, 1, 64, 64]), input_grad=T([1, 1, 64, 64])"]) for op in ("add_bw", "sub_bw", "mul_bw", "div_bw")),
            ("gelu_bw", ["T([1, 1, 64, 64]), variant=ttnn.GeluVariant.Tanh"]), ("div_bw", ["T([1, 1, 64, 64]), 2.0, rounding_mode='floor'", "T([1, 1, 64, 64]), 2.0, rounding_mode='trunc'", "T([1, 1, 64, 64]), 2.0, rounding_mode='None'"]),
        )
    ),
    family("ttnn.embedding_bw(T({ids}, {kind}, RM), T([{rows}, 64], {dtype}, {layout}), T({gradient}, {dtype}){rest})", {}, ids=["[1, 64]", "[2, 32]", "[1, 40]"], kind=["U32", "BF16"], rows=["32", "40"], dtype=["BF16", "F32"], layout=["TILE", "RM"], gradient=["[1, 1, 64, 64]", "[1, 1, 32, 64]"], rest=["", ", dtype=F32", ", memory_config=L1", *(f", output_tensor=T({shape})" for shape in ("[1, 1, 32, 64], BF16, TILE, L1", "[1, 1, 32, 64], F32", "[1, 1, 64, 64]", "[1, 1, 32, 32]"))]),
    family("ttnn.narrow(T({shape}, BF16, {layout}, {a}), {args})", {}, shape=["[1, 1, 64, 64]", "[4, 1, 64, 64]", "[1, 24, 32, 32]", "[1, 1, 40, 48]"], layout=["TILE", "RM"], a=["DRAM", "L1", _HEIGHT, _WIDTH, _BLOCK],
           args=["2, 0, 32", "2, 32, 32", "3, 0, 32", "3, 32, 32", "0, 1, 1", "0, -2, 2", "1, 12, 12", "1, 0, 12", "2, 16, 16", "2, 0, 64", "2, 0, 0", "2, 64, 32", "2, 32, 64", "-1, 0, 32", "4, 0, 1"]),
    *(
        family("ttnn.narrow(T({shape}, {dtype}, {layout}, {a}), {args})", {"shape": shape, "a": a}, dtype=["BF16", "F32"], layout=["TILE", "RM"],
               args=["2, 0, 32", "2, 32, 32", "2, 32, 64", "2, 64, 64", "2, 96, 32", "2, 16, 32", "3, 0, 32", "3, 32, 32", "3, 32, 64", "3, 64, 64", "3, 96, 32", "1, 0, 1", "1, 1, 1", "1, 1, 2", "0, 1, 1", "2, -32, 32"])
        for shape, a in (
            ("[1, 1, 128, 128]", 'M("HEIGHT", G(0, 0, 3, 0), [32, 128])'), ("[1, 1, 128, 128]", 'M("HEIGHT", G(0, 0, 1, 0), [64, 128])'), ("[1, 1, 128, 128]", 'M("WIDTH", G(0, 0, 3, 0), [128, 32])'), ("[1, 1, 32, 128]", 'M("WIDTH", G(0, 0, 1, 0), [32, 64])'),
            ("[1, 1, 128, 128]", 'M("BLOCK", G(0, 0, 1, 1), [64, 64])'), ("[1, 1, 128, 128]", 'M("BLOCK", G(0, 0, 1, 3), [32, 64])'), ("[1, 1, 128, 128]", 'M("BLOCK", G(0, 0, 3, 1), [32, 64], "COL_MAJOR")'), ("[2, 3, 32, 128]", 'M("HEIGHT", G(0, 0, 5, 0), [32, 128])'),
            ("[2, 3, 32, 128]", 'M("HEIGHT", G(0, 0, 1, 0), [96, 128])'), ("[2, 3, 64, 128]", 'M("BLOCK", G(0, 0, 1, 2), [128, 64])'), ("[1, 1, 128, 256]", 'M("BLOCK", G(0, 0, 1, 1), [64, 128])'),
        )
    ),
    family("ttnn.split(T([1, 1, {h}, {w}], BF16, {layout}, {a}), {args})", {}, h=["64", "65"], w=["64", "96"], layout=["TILE", "RM"], a=["DRAM", "L1"], args=["1, 2", "32, 2", "[16, 16, 32], 2", "32, 3", "1, 3, memory_config=L1", "[32, 32], 3, memory_config=L1"]),
    family("ttnn.chunk(T({shape}, BF16, {layout}), {args})", {}, shape=["[1, 1, 64, 96]", "[5, 64]", "[0, 64]"], layout=["TILE", "RM"], args=["2, 3", "3, -1", "2, -5", "2, -3", "3, 0", "7, 0", "0, 0"]),
    family("ttnn.repeat_interleave(T({shape}, {dtype}, {layout}, {a}), {args})", {}, shape=["[1, 1, 64, 64]", "[40]", "[2, 3, 40, 24]"], dtype=["BF16", "F32", "BF8"], layout=["TILE", "RM"], a=["DRAM", "L1", _HEIGHT, _WIDTH, _BLOCK], args=["2, dim=3", "2, dim=2", "2, dim=0", "3, dim=1", "2, dim=-1", "1, dim=0", f"2, dim=2, memory_config={_HEIGHT}", "2, dim=2, memory_config=HSM", "2, dim=2, memory_config=L1"]),
    family("ttnn.{op}(N=1, C=1, H=64, W=64, hOnes={h}, wOnes={w}, any=T([1, 1, 64, 64], {dtype}, {layout}){rest})", {}, op=["fill_ones_rm", "fill_rm"], h=["33", "0", "65", "64"], w=["31", "0", "65"], dtype=["BF16", "F32"], layout=["RM", "TILE"], rest=["", ", val_hi=2.0, val_lo=3.0", ", memory_config=L1"]),
    family("ttnn.fill_rm(N=1, C=1, H=64, W=64, hOnes={h}, wOnes={w}, any=T([1, 1, 64, 64], BF16, RM), val_hi={high}, val_lo=3.0{rest})", {}, h=["33", "0", "65", "64"], w=["31", "0", "65"], high=["2.0", "-1.5"], rest=["", ", memory_config=L1"]),
    family("ttnn.{op}(T({shape}, {dtype}, {layout}), {dim}, T([2], {kind}, RM), {value})", {}, op=["index_fill", "index_fill_new"], shape=["[8, 16]", "[2, 3, 8, 16]"], dtype=["BF16", "F32", "I32"], layout=["RM", "TILE"], dim=["0", "1", "2"], kind=["U32", "I32"], value=["2.5", "3"]),
    family("ttnn.indexed_fill(T([{b}], U32, RM), T([5, 2, 4, 16], {dtype}, {layout}, {a}), T({other}, {dtype}, {layout}), dim={dim}{rest})", {}, b=["2", "5", "6"], dtype=["BF16", "F32"], layout=["RM", "TILE"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 4, 0), [8, 16])'], other=["[2, 2, 4, 16]", "[5, 2, 4, 16]", "[2, 1, 4, 16]"], dim=["0", "1", "-1"], rest=["", ", memory_config=L1"]),
    family("ttnn.moreh_cumsum(T({shape}, {dtype}), {dim}{rest})", {}, shape=["[2, 3, 40, 24]", "[64, 64]"], dtype=["BF16", "F32"], dim=["0", "1", "2", "-1", "4"], rest=["", ", memory_config=L1", ", output=T([2, 3, 40, 24])"]),
    family("ttnn.moreh_full([{h}, 40], {value}, d{rest})", {}, h=["3", "64", "0"], value=["2.0", "2", "-1.5"], rest=["", ", dtype=F32", ", dtype=I32", ", layout=RM", ", memory_config=L1"]),
    family("ttnn.{op}([{h}, 40], {value}device=d{rest})", {}, op=["ones", "zeros", "empty"], h=["3", "64", "0"], value=[""], rest=["", ", dtype=F32", ", dtype=I32, layout=RM", ", layout=TILE", ", layout=TILE, memory_config=L1", ", layout=TILE, memory_config=M('HEIGHT', G(0, 0, 1, 0), [32, 40])"]),
    family("ttnn.{op}(T({shape}, BF16, {layout}, {a}){rest})", {}, op=["ones_like", "zeros_like", "empty_like"], shape=["[64, 64]", "[3, 40]"], layout=["TILE", "RM"], a=["DRAM", "L1", _HEIGHT], rest=["", ", dtype=F32", ", dtype=I32", ", layout=RM", ", memory_config=L1"]),
    family("ttnn.full_like(T({shape}, BF16, {layout}, {a}), {value}{rest})", {}, shape=["[64, 64]", "[3, 40]"], layout=["TILE", "RM"], a=["DRAM", "L1", _HEIGHT], value=["2.5", "3", "-1"], rest=["", ", dtype=F32", ", dtype=I32", ", layout=RM", ", memory_config=L1", *(f", optional_tensor=T({shape})" for shape in ("[64, 64]", "[64, 64], F32", "[64, 32]", "[64, 64], BF16, RM", "[64, 64], I32"))]),
    family("ttnn.arange({args}, device=d{rest})", {}, args=["10", "3, 10", "3, 10, 2", "10, 3, -2", "0", "-5, 5, 3", "0.5, 4.0"], rest=["", ", dtype=F32", ", dtype=U32", ", layout=TILE", ", memory_config=L1"]),
    family("ttnn.requantize(T([64, 64], {dtype}), {a}, {z}, {b}, {y}{rest})", {}, dtype=["I32", "F32"], a=["0.5", "T([64], F32)"], z=["3", "T([64], I32)"], b=["0.25", "T([64], F32)"], y=["-1", "T([64], I32)"], rest=["", ", axis=0", ", axis=1", ", axis=-1", ", memory_config=L1"]),
    family("ttnn.reshape_on_device(T({shape}, BF16, {layout}), {args})", {}, shape=["[1, 2, 64, 96]", "[1, 1, 40, 64]"], layout=["TILE", "RM"], args=["1, 1, 128, 96", "1, 1, 96, 128", "2, 1, 64, 96", "-1, 1, 32, 96", "1, 1, 64, 95", "1, 1, 128, 96, memory_config=L1"]),
    family("ttnn.{op}(T({shape}, BF16, {layout}, {a}), {args})", {}, op=["view", "experimental.view"], shape=["[1, 2, 64, 96]", "[2, 3, 40, 24]"], layout=["TILE", "RM"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 96])', 'M("WIDTH", G(0, 0, 2, 0), [128, 32])'], args=["[1, 1, 128, 96]", "[2, 64, 96]", "[128, 96]", "[1, 2, 96, 64]", "[-1, 96]", "[-1, -1]", "[1, 2, 64, 97]", "[6, 40, 24]", "[120, 24]"]),
    family("E.view(T([1, 2, 64, 96]), N={n}, C=1, H={h}, W=96)", {}, n=["1", "2", "-1"], h=["128", "64"]),
    family("ttnn.unsqueeze_to_4D(T({shape}, BF16, {layout}))", {}, shape=["[64, 64]", "[40]", "[2, 40, 24]", "[1, 2, 3, 4]", "[1, 1, 2, 3, 4]"], layout=["TILE", "RM"]),
    family("ttnn.{op}(T({shape}, BF16, {layout}), {dim})", {}, op=["unsqueeze", "squeeze"], shape=["[64, 64]", "[1, 40, 1]", "[2, 1, 24]", "[1, 2, 3, 4]"], layout=["TILE", "RM"], dim=["0", "1", "2", "-1", "-2", "4", "[0, 1]"]),
    family("ttnn.expand(T({shape}, BF16, {layout}), {to}{rest})", {}, shape=["[1, 1, 64, 1]", "[1, 3, 1, 40]"], layout=["TILE", "RM"], to=["[1, 1, 64, 32]", "[2, -1, 64, -1]", "[2, 3, 4, 40]", "[-1, -1, -1, -1]", "[64, 32]"], rest=["", ", memory_config=L1"]),
    family("ttnn.stack([T({shape}, BF16, {layout}), T({other}, BF16, {layout})], {dim})", {}, shape=["[64, 64]", "[3, 40]"], other=["[64, 64]", "[3, 40]"], layout=["TILE", "RM"], dim=["0", "1", "2", "-1", "3"]),
    family("ttnn.rotate(T({shape}, {dtype}, RM, {a}), {angle}{rest})", {}, shape=["[1, 8, 8, 32]", "[2, 4, 8, 16]"], dtype=["BF16", "F32"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])'], angle=["90.0", "30.0", "-45.0", "360.0"],
           rest=["", ", center=(2.0, 3.0)", ", center=(2.0,)", ", fill=1.5", ", expand=True", ", interpolation_mode='bilinear'", ", interpolation_mode='cubic'", ", memory_config=L1"]),
    family("ttnn.operations.pool.prepare_grid_sample_grid(W({grid}, {kind}), [1, {h}, 8, 32]{rest})", {}, grid=["[1, 4, 4, 2]", "[2, 4, 2, 2]", "[1, 4, 8, 1]"], kind=["F32", "BF16"], h=["8", "5"],
           rest=[", output_dtype=BF16", ", mode='nearest', output_dtype=BF16", ", align_corners=True, output_dtype=BF16", ", output_dtype=F32", "", ", padding_mode='border', output_dtype=BF16"]),
    family("ttnn.sampling(T([1, 1, {users}, {width}], {dtype}), T([1, 1, {users}, {width}], {kind}, RM), T([{users}], U32, RM), T([{users}], BF16, RM), T([{users}], BF16, RM){rest})", {}, users=["32", "16"], width=["64", "32", "40"], dtype=["BF16", "F32"], kind=["I32", "U32"], rest=[", seed=7", ", seed=7, sub_core_grids=G(0, 0, 7, 3)", ", seed=7, sub_core_grids=G(0, 0, 3, 3)"]),
    family("ttnn.scale_mask_softmax(T({shape}, {dtype}, TILE, {a}), {scale}, {mask}{rest})", {}, shape=["[1, 1, 64, 64]", "[2, 3, 64, 64]"], dtype=["BF16", "F32", "BF8"], a=["DRAM", "L1", _HEIGHT], scale=["0.5", "None"], mask=["T([1, 1, 32, 64])", "None", "T([1, 1, 64, 64])", "T([1, 1, 1, 64])", "T([2, 1, 32, 64])"], rest=["", ", is_causal_mask=True", ", memory_config=L1", ", numeric_stable=False"]),
    family("ttnn.transformer.{op}(T({shape}, {dtype}), head_size={size}, attention_mask={mask}{rest})", {}, op=["attention_softmax", "attention_softmax_"], shape=["[1, 1, 64, 64]", "[2, 3, 64, 64]"], dtype=["BF16", "F32"], size=["None", "32", "0"], mask=["None", "T([1, 1, 1, 64])", "T([1, 1, 32, 64])", "T([1, 1, 64, 64])"], rest=["", ", causal_mask=True"]),
    family("ttnn.sharded_to_interleaved_partial(T({shape}, {dtype}, TILE, {a}), T([1, 1, 128, 64], {dtype}), {n}, {at}{rest})", {}, shape=["[1, 1, 64, 64]", "[1, 1, 32, 64]"], dtype=["BF16", "F32"], a=[_HEIGHT, _BLOCK, _WIDTH, "DRAM"], n=["2", "4"], at=["0", "1", "2"], rest=["", ", memory_config=L1", ", output_dtype=F32"]),
    family("ttnn.{op}(T([2, 8, 16], {dtype}, {layout}), T([2, {n}], {kind}, {layout}){rest})", {}, op=["tosa_gather"], dtype=["BF16", "F32"], layout=["TILE", "RM"], n=["4", "40"], kind=["U32", "I32"], rest=["", ", memory_config=L1"]),
    family("ttnn.tosa_scatter(T([2, 8, 16], {dtype}, {layout}), T([2, {n}], {kind}, {layout}), T([2, {n}, {c}], {dtype}, {layout}){rest})", {}, dtype=["BF16", "F32"], layout=["RM", "TILE"], n=["4", "9"], kind=["U32", "I32"], c=["16", "15"], rest=["", ", memory_config=L1"]),
    family("ttnn.plus_one(T({shape}, {dtype}, {layout}, {a}){rest})", {}, shape=["[4]", "[2, 40]"], dtype=["I32", "U32", "F32"], layout=["RM", "TILE"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 0, 0), [2, 40])'], rest=["", ", skip_negative_entries=True", ", sub_core_grids=G(0, 0, 1, 0)"]),
    family("ttnn.{op}(T([1, 1, 64, 64], {dtype}, {layout}, {a}), {args})", {}, op=["assign", "copy"], dtype=["BF16", "F32"], layout=["TILE", "RM"], a=["DRAM", "L1", _HEIGHT], args=["T([1, 1, 64, 64])", "T([1, 1, 64, 64], F32)", "T([1, 1, 64, 64], BF16, TILE, L1)", "T([1, 1, 64, 32])", "L1", "memory_config=L1", "memory_config=L1, dtype=F32", f"memory_config={_HEIGHT}"]),
    family("ttnn.{op}(T({shape}, {dtype}), {args})", {}, op=["typecast"], shape=["[64, 64]", "[40]"], dtype=["BF16", "F32", "I32", "U32", "U16", "BF8", "BF4"], args=["F32", "BF16", "I32", "U32", "U16", "BF8", "BF4"]),
    family("ttnn.to_dtype(W({shape}, {dtype}), {args})", {}, shape=["[64, 64]", "[40]"], dtype=["BF16", "F32", "I32", "U32", "U16"], args=["F32", "BF16", "I32", "U32", "U16", "BF8", "BF4"]),
    *(family("ttnn.typecast(T([1, 1, 64, 64], {dtype}, {layout}, {a}), {to})", {"dtype": kind, "to": to}, layout=["TILE", "RM"], a=["DRAM", _HEIGHT]) for kind in ("BF16", "F32", "I32", "U32", "U16", "BF8", "BF4") for to in ("BF16", "F32", "I32", "U32", "U16", "BF8", "BF4")),
    family("ttnn.bitcast(T({shape}, {dtype}, {layout}), {to})", {}, shape=["[64, 64]", "[40]"], dtype=["BF16", "F32", "I32"], layout=["TILE", "RM"], to=["U16", "I32", "U32", "F32", "BF16"]),
    family("ttnn.adaptive_{op}_pool2d(T({shape}, {dtype}, {layout}, {a}), batch_size={n}, input_h=8, input_w=8, channels={c}, output_size=[{out}]{rest})", {}, op=["avg", "max"], shape=["[1, 1, 64, 32]", "[1, 8, 8, 32]", "[1, 1, 128, 32]"], dtype=["BF16", "F32"], layout=["RM", "TILE"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])'], n=["1", "2"], c=["32", "16"],
           out=["1, 1", "2, 2", "3, 3", "8, 8", "2, 4", "5, 7", "9, 9", "0, 1"], rest=["", ", memory_config=L1", ", applied_shard_scheme=ttnn.TensorMemoryLayout.HEIGHT_SHARDED"]),
    family("ttnn.matmul_batched_weights(T([1, 1, {m}, 64], {dtype}), [{weights}], memory_config={memory}{rest})", {}, m=["32", "64"], dtype=["BF16", "F32"], weights=["T([1, 1, 64, 32]), T([1, 1, 64, 64])", "T([1, 1, 64, 32])", "", "T([1, 1, 32, 64])"], memory=["DRAM", "L1", "None"], rest=["", ", transpose_b=True", ", dtype=F32", ", activation='relu'"]),
    family("E.broadcast_to(T({shape}, {dtype}, {layout}), {to}{rest})", {}, shape=["[1, 1, 64, 1]", "[1, 1, 1, 64]", "[64, 64]", "[1, 1, 1, 1]"], dtype=["BF16", "F32", "I32"], layout=["TILE", "RM"], to=["[1, 1, 64, 64]", "[2, 3, 64, 64]", "[1, 1, 64, 1]", "[64, 64]", "[2, 3, 40, 64]"], rest=["", ", memory_config=L1"]),
    family("E.create_qkv_heads_from_separate_tensors(T([{b}, 1, 64, {q}], {dtype}, TILE, {a}), T([{b}, 1, 64, {k}], {dtype}, TILE, {c}), num_heads={h}{rest})", {}, dtype=["BF16", "F32", "BF8"], b=["2", "1"], q=["256", "128"], k=["512", "256"], a=['M("BLOCK", G(0, 0, 3, 1), [64, 64])', 'M("BLOCK", G(0, 0, 3, 0), [64, 64])', 'M("BLOCK", G(0, 0, 1, 0), [64, 128])', "DRAM"], c=['M("BLOCK", G(0, 0, 3, 1), [64, 128])', 'M("BLOCK", G(0, 0, 3, 0), [64, 128])', 'M("BLOCK", G(0, 0, 1, 0), [64, 256])', "DRAM"], h=["4", "2", "8"],
           rest=["", ", num_kv_heads=4", ", num_kv_heads=2", ", transpose_k_heads=False", ", memory_config=HSM"]),
    family("E.dropout(T({shape}, {dtype}), probability={p}, scale={s}, seed=7{rest})", {}, shape=["[64, 64]"], dtype=["BF16", "F32", "I32"], p=["0.5", "0.0", "1.0"], s=["2.0", "1.0"], rest=["", ", memory_config=L1", ", use_per_device_seed=False"]),
    family("E.fast_reduce_nc_split(T({shape}, {dtype}), dim={dim}, split_output_width={w}{rest})", {}, shape=["[2, 3, 64, 128]", "[4, 1, 32, 64]"], dtype=["BF16", "F32"], dim=["0", "1", "2"], w=["64", "32", "128", "48"], rest=["", ", memory_config=L1"]),
    family("E.fast_reduce_nc(T({shape}, {dtype}), dims={dim}{rest})", {}, shape=["[2, 3, 64, 128]", "[4, 1, 40, 64]"], dtype=["BF16", "F32"], dim=["[0]", "[1]", "[0, 1]", "[2]", "[]"], rest=["", ", memory_config=L1", ", output=T([1, 3, 64, 128])"]),
    family("E.intimg(T([1, {h}, {w}, 32], {dtype}, {layout}))", {}, h=["32", "8", "64"], w=["32", "40"], dtype=["BF16", "F32"], layout=["TILE", "RM"]),
    family("E.isin(T({shape}, {dtype}, {layout}), T({other}, {dtype}, {layout}){rest})", {}, shape=["[40]", "[2, 3, 8]"], dtype=["U32", "I32", "BF16"], layout=["RM", "TILE"], other=["[3]", "[2, 2]"], rest=["", ", invert=True", ", assume_unique=True"]),
    family("E.minimal_matmul_split(T([1, 1, 64, {k}], {dtype}), T([{k}, {n}], {dtype}), chunks={chunks}{rest})", {}, k=["64", "96"], n=["192", "96", "128"], dtype=["BF16", "F32", "BF8"], chunks=["3", "2", "1"], rest=["", ", bias_tensor=T([1, 192])", ", dtype=F32", ", memory_config=L1", ", fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)", ", dim=2"]),
    family("E.multi_scale_deformable_attn(T({value}, {dtype}, {layout}), T({grid}, {dtype}, {layout}), T({attn}, {dtype}, {layout}){rest})", {}, value=["[2, 4, 4, 32]", "[2, 4, 8, 16]"], dtype=["BF16", "F32"], layout=["RM", "TILE"], grid=["[2, 32, 1, 2]", "[2, 8, 4, 2]"], attn=["[2, 8, 4]", "[2, 8, 4, 1]", "[2, 8, 2]"], rest=["", ", align_corners=True", ", memory_config=L1"]),
    family("E.nlp_create_q_heads_split(T([{b}, 1, 64, {w}], BF16, TILE, {a}), num_heads={h}, split_head_dim={s}{rest})", {}, b=["1", "2"], w=["512", "256"], a=["DRAM", "L1"], h=["4", "2"], s=["64", "32", "128", "48"], rest=["", ", memory_config=L1"]),
    family("E.nlp_create_qkv_heads_boltz(T({shape}, BF16, TILE, {a}), num_heads={h}{rest})", {}, shape=["[1, 32, 32, 768]", "[1, 1, 64, 768]", "[1, 64, 32, 768]"], a=["DRAM", "L1"], h=["4", "8"], rest=["", ", num_kv_heads=4", ", transpose_k_heads=False", ", memory_config=L1", ", input_kv=T([1, 32, 32, 512])"]),
    family("E.nlp_kv_cache_load_slice(T([{b}, {n}, 128, 64], {dtype}), seq_len_start={start}, seq_len_end={end})", {}, b=["1", "2"], n=["1", "4"], dtype=["BF16", "F32"], start=["0", "32", "16", "64"], end=["64", "128", "160", "32"]),
    family("E.repeat_and_interleave_eltwise_mul(T([1, 1, {h}, {w}], {dtype}), T([1, 1, {h}, {v}], {dtype}){rest})", {}, h=["32", "64"], w=["32", "5120"], v=["5120", "160", "64"], dtype=["BF16", "BF8"], rest=["", ", memory_config=L1", ", dtype=BF8"]),
    family("E.topk_large_indices(T([1, {h}, {w}], {dtype}, RM), k={k}{rest})", {}, h=["1", "2"], w=["2048", "4096", "1000"], dtype=["BF16", "F32"], k=["32", "2048", "16"], rest=["", ", valid_length=100", ", valid_length_tensor=T([1], U32, RM)", ", valid_length=100, valid_length_tensor=T([1], U32, RM)", ", valid_end_tensor=T([1], U32, RM)"]),
    family("E.{op}(T({shape}, {dtype}, RM){rest})", {}, op=["transpose_rm"], shape=["[1, 1, 32, 64]", "[2, 3, 40]", "[8, 16]"], dtype=["BF16", "F32"], rest=[""]),
    family("ttnn.kv_cache.fill_cache_for_user_(T([2, {n}, 128, 64], {dtype}), T([1, {n}, {s}, 64], {dtype}), {at}{rest})", {}, n=["1", "4"], dtype=["BF16", "F32", "BF8"], s=["64", "128", "160", "40"], at=["0", "1", "2"], rest=["", ", update_idx=32", ", update_idx=96"]),
    family("ttnn.kv_cache.update_cache_for_token_(T([32, {n}, 128, 64], {dtype}), T([1, {n}, {users}, 64], {dtype}), {at}{rest})", {}, n=["1", "2"], dtype=["BF16", "F32", "BF8"], users=["32", "8"], at=["0", "33", "127", "128"], rest=["", ", batch_offset=8", ", compute_kernel_config=KC('LoFi', True)"]),
    family("E.paged_fused_update_cache(T([{n}, 1, 64, 64]), T([1, {n}, {h}, 64], BF16, {layout}, M('HEIGHT', G(0, 0, 3, 0), [32, 64])), T([{n}, 1, 64, 64]), T([1, {n}, {h}, 64], BF16, {layout}, M('HEIGHT', G({x}, 0, {x}, 3), [32, 64])), {rest})", {}, n=["4"], h=["1", "32"], layout=["TILE", "RM"], x=["4", "3"], rest=["update_idxs=[0, 5, 32, 63]", "update_idxs=[0, 5]", "update_idxs=[0, 5, 32, 64]", "update_idxs_tensor=T([4], I32, RM)"]),
    family("E.rotary_embedding_llama_fused_qk(T([1, {u}, 8, 64], BF16, TILE, M('HEIGHT', G(0, 0, 7, 0), [32, 64])), T([1, {u}, 8, 64], BF16, TILE, M('HEIGHT', G(0, {y}, 7, {y}), [32, 64])), T([1, {v}, 1, 64], BF16, TILE, M('HEIGHT', G(0, 0, 7, 1), [32, 64])), T([1, {v}, 1, 64], BF16, TILE, M('HEIGHT', G(0, 0, 7, 1), [32, 64])), T([1, 1, {t}, 32], BF16, TILE, M('HEIGHT', G(0, 0, 7, 1), [32, 32])))", {}, u=["8", "4"], y=["1", "0"], v=["16", "8"], t=["512", "32"]),
    *(
        family("ttnn.transformer.{op}(T([1, 2, {h}, 64], {dtype}), T([2, {g}, 64, 64], {dtype}){rest})", {"op": "flash_multi_latent_attention_decode"}, h=["32", "8"], g=["1", "2"], dtype=["BF16", "BF8"], rest=[f"{tail}{more}" for tail in (", head_dim_v=32, cur_pos=[3, 40]", ", head_dim_v=64, cur_pos=[3, 40]", ", head_dim_v=96, cur_pos=[3, 40]") for more in ("", ", scale=0.5", ", memory_config=L1", ", is_causal=False")])
        for _ in range(1)
    ),
    family("ttnn.transformer.paged_flash_multi_latent_attention_decode(T([1, 2, {h}, 64]), T([{blocks}, {g}, 32, 64]), head_dim_v={v}, page_table_tensor=T([2, {pages}], I32, RM), cur_pos_tensor={at}{rest})", {}, h=["32", "8"], blocks=["5", "8"], g=["1", "2"], v=["32", "64"], pages=["2", "4"], at=["T([2], I32, RM)", "None"], rest=["", ", scale=0.5", ", is_causal=False"]),
    family("E.prepare_conv3d_weights(weight_tensor=W([{o}, {i}, 3, 3, 3], {dtype}), {args})", {}, o=["32", "16"], i=["32", "8", "64"], dtype=["BF16", "F32"], args=["C_in_block=32", "C_in_block=0", "C_in_block=16", "C_in_block=8, alignment=8", "C_in_block=32, device=d", "groups=2, C_in_block=0, device=d", "C_in_block=64"]),
    *(
        family(
            "ttnn.{op}({first}, input_memory_config={a}, input_layout={layout}, {format}in_channels={c}, out_channels=32, batch_size=1, input_height=8, input_width=8, kernel_size=[{k}, {k}], stride=[{s}, {s}], padding=[{p}, {p}], dilation=[1, 1], {has}groups={groups}, device=d, input_dtype={dtype}{rest})",
            {"op": op, "first": first, "format": format_, "has": has},
            a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 32])', 'M("BLOCK", G(0, 0, 0, 1), [32, 32])', 'M("WIDTH", G(0, 0, 0, 0), [64, 32])'], layout=["RM", "TILE"], c=["32", "16"], k=["3", "1"], s=["1", "2"], p=["1", "0"], groups=["1", "2", "32"], dtype=["BF16", "F32", "BF8"],
            first=[first, *wrong],
            rest=["", *(f", conv_config=ttnn.Conv2dConfig({config})" for config in ("weights_dtype=BF8", "weights_dtype=F32", "shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED", "shard_layout=ttnn.TensorMemoryLayout.WIDTH_SHARDED", "enable_kernel_stride_folding=True", "act_block_h_override=32")), ", compute_config=KC('LoFi', True)"],
        )
        for op, first, format_, has, *wrong in (
            ("prepare_conv_weights", "weight_tensor=W([32, 32, 3, 3])", "weights_format='OIHW', ", "has_bias=True, ", "weight_tensor=W([32, 32, 1, 1])", "weight_tensor=W([32, 16, 3, 3])", "weight_tensor=W([32, 1, 3, 3])"),
            ("prepare_conv_weights", "weight_tensor=W([32, 32, 3, 3])", "weights_format='IOHW', ", "has_bias=False, "),
            ("prepare_conv_weights", "weight_tensor=W([32, 1, 3, 3])", "weights_format='OIHW', ", "has_bias=False, "),
            ("prepare_conv_weights", "weight_tensor=W([32, 32, 1, 1])", "weights_format='OIHW', ", "has_bias=False, "),
            ("prepare_conv_bias", "bias_tensor=W([1, 1, 1, 32])", "", "", "bias_tensor=W([1, 1, 1, 33])", "bias_tensor=W([1, 1, 1, 32], F32)"),
            ("prepare_conv_transpose2d_weights", "weight_tensor=W([32, 32, 3, 3])", "weights_format='IOHW', ", "has_bias=True, ", "weight_tensor=W([32, 16, 3, 3])"),
            ("prepare_conv_transpose2d_weights", "weight_tensor=W([32, 32, 3, 3])", "weights_format='OIHW', ", "has_bias=True, "),
            ("prepare_conv_transpose2d_bias", "bias_tensor=W([1, 1, 1, 32])", "", ""),
        )
    ),
    family(
        "E.conv3d(input_tensor=T([1, 4, {h}, 8, {c}], BF16, {layout}), weight_tensor=T([{rows}, 32]), bias_tensor={bias}, dtype={dtype}, output_channels=32, kernel_size=[3, 3, 3], stride=[{s}, 1, 1], padding=[{p}, 1, 1], padding_mode='{mode}', groups={groups}, config=ttnn.Conv3dConfig(weights_dtype=BF16, output_layout=RM, T_out_block=1, W_out_block={w}, H_out_block={hb}, C_out_block={co}, C_in_block={ci}){rest})",
        {}, h=["8", "6"], c=["32", "64", "16"], layout=["RM", "TILE"], rows=["864", "1728", "432"], bias=["None", "T([1, 32])", "T([1, 64])"], dtype=["BF16", "F32"], s=["1", "2"], p=["1", "0"], mode=["zeros", "replicate", "reflect"], groups=["1", "2"], w=["1", "2", "8"], hb=["1", "4"], co=["32", "16"], ci=["32", "16", "64"], rest=["", ", memory_config=L1", ", compute_kernel_config=KC('LoFi', True)"],
    ),
    family(
        "ttnn.conv1d(input_tensor=T([1, 64, {c}], {dtype}, {layout}), weight_tensor=W([32, {per}, {k}]), bias_tensor={bias}, device=d, in_channels={c}, out_channels=32, batch_size=1, input_length=64, kernel_size={k}, stride={s}, padding={p}, groups={groups}{rest})",
        {}, c=["32", "16"], dtype=["BF16", "F32"], layout=["RM", "TILE"], per=["32", "16", "1"], k=["3", "1", "2"], bias=["None", "W([1, 1, 1, 32])"], s=["1", "2"], p=["1", "0"], groups=["1", "2", "32"],
        rest=["", ", return_output_dim=True", ", return_weights_and_bias=True", ", return_output_dim=True, return_weights_and_bias=True", ", memory_config=L1", *(f", conv_config=ttnn.Conv2dConfig({config})" for config in ("shard_layout=ttnn.TensorMemoryLayout.HEIGHT_SHARDED", "output_layout=RM", "shard_layout=ttnn.TensorMemoryLayout.WIDTH_SHARDED")),
              ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceWidth, num_slices=2)", ", slice_config=ttnn.Conv2dSliceConfig(slice_type=ttnn.Conv2dDRAMSliceHeight, num_slices=2)"],
    ),
    # Heads in groups: of one tensor, and of queries beside keys and values; as many rows of cores as samples.
    *(
        family(
            "E.create_qkv_heads(T([{b}, 1, {s}, {w}], {dtype}, TILE, M('BLOCK', {cores}, {shard})), num_heads={h}, num_kv_heads={g}, transpose_k_heads={turn}, memory_config={memory})",
            {"w": w, "cores": cores, "shard": shard, "h": h, "g": g},
            b=["2", "1"], s=["64", "40", "96"], w=[w, "768"], dtype=["BF16", "F32", "BF8"], cores=[cores, "G(0, 0, 1, 1)"], shard=[shard, "[64, 96]"], h=[h, "1", "0", "2", "3", "4"], g=[g, "1", "0", "2"], turn=["True", "False"], memory=_HEADS_MEMORY,
        )
        for w, cores, shard, h, g in (("96", "G(0, 0, 0, 1)", "[64, 96]", "1", "1"), ("128", "G(0, 0, 0, 1)", "[64, 128]", "2", "1"), ("768", "G(0, 0, 1, 1)", "[64, 384]", "4", "4"), ("768", "G(0, 0, 1, 1)", "[64, 384]", "8", "2"))
    ),
    *(
        family(
            "E.create_qkv_heads_from_separate_tensors(T([{b}, 1, {s}, {w}], {dtype}, TILE, M('BLOCK', {cores}, {shard})), T([{b}, 1, {t}, {v}], {dtype}, TILE, M('BLOCK', {cores}, {other})), num_heads={h}, num_kv_heads={g}, transpose_k_heads={turn}, memory_config={memory})",
            {"w": w, "v": v, "cores": cores, "shard": shard, "other": other, "h": h, "g": g},
            b=["2", "1"], s=["64", "40"], t=["64", "96"], w=[w, "96"], v=[v, "96"], dtype=["BF16", "F32", "BF8"], cores=[cores, "G(0, 0, 1, 1)"], shard=[shard], other=[other], h=[h, "1", "0", "2", "3"], g=[g, "1", "0", "2"], turn=["True", "False"], memory=_HEADS_MEMORY,
        )
        for w, v, cores, shard, other, h, g in (("32", "64", "G(0, 0, 0, 1)", "[64, 32]", "[64, 64]", "1", "1"), ("128", "128", "G(0, 0, 1, 1)", "[64, 64]", "[64, 64]", "4", "2"), ("256", "512", "G(0, 0, 3, 1)", "[64, 64]", "[64, 128]", "4", "4"))
    ),
    # Extents at 2^32, volumes at 2^36 and 2^48.
    *(
        family("{call}", {}, call=calls)
        for calls in (
            [f"ttnn.repeat(T([1, 1, 1024, 32]), [1, 1, {n}, 1])" for n in (1 << 22, (1 << 22) - 1)], [f"ttnn.repeat_interleave(T([1, 1, 1024, 32]), {n}, dim=2)" for n in (1 << 22, 1 << 23)],
            [f"ttnn.pad(T([1, 1, 64, 64], BF16, {layout}), [(0, 0), (0, 0), (0, {n}), (0, 0)], 0.0)" for layout in ("TILE", "RM") for n in ((1 << 32) - 64, (1 << 32) - 65, (1 << 32) - 96)],
            [f"ttnn.reshape(T([1, 1, 64, 64]), {shape})" for shape in ("[65536, 65536, 65536, 0, -1]", "[65536, 65536, 65536, 1, -1]", "[65536, 65536, 65536, 2, -1]", "[65536, 65536, 65537, -1]", "[-1, 0]", "[-2, 64]", "[64, -1, -1]", "[4096, -1]", "[-1, 4095]")],
            [f"ttnn.{name}({shape}, {value}device=d)" for name, value in (("full", "2.0, "), ("ones", "")) for shape in ("[65536, 65536, 16]", "[65536, 65536, 17]")],
            [f"ttnn.arange(0, {n}, 1, device=d)" for n in ("1 << 32", "1 << 33", "1 << 37")],
            [f"ttnn.upsample(T([1, 8, 8, 32], BF16, RM), {n})" for n in ("1 << 14", "1 << 16", "(1 << 32) - 1")],
            [f"ttnn.fill(T([1, 1, 32, 32], {kind}), {n})" for kind in ("U32", "I32", "U16") for n in ("(1 << 32) - 1", "1 << 31", "(1 << 31) - 1", "-1", "-(1 << 31)", "65535", "65536", "0")],
            [f"ttnn.add(T([1, 1, 32, 32], {kind}), {n})" for kind in ("U32", "I32", "U16") for n in ("(1 << 32) - 1", "1 << 32", "1 << 31", "-(1 << 31)", "65535", "65536")],
        )
    ),
    # Products of batches, with shards of the second operand and of the result.
    *(
        family(
            "ttnn.matmul(T([{n}, 1, {m}, 64], BF16, TILE, {a}), T([{n}, 1, 64, {w}], BF16, TILE, {b}), program_config={config}, memory_config={out})",
            {"config": config, "b": b},
            n=["4", "1", "3"], m=["64", "32", "96"], w=["64", "96"], a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])', 'M("BLOCK", G(0, 0, 1, 1), [128, 32])'],
            b=[b, "DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64], buffer="DRAM")', 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])', 'M("WIDTH", G(0, 0, 1, 0), [256, 32])', 'M("HEIGHT", G(0, 0, 7, 0), [32, 64], buffer="DRAM")'],
            config=[config, config.replace("per_core_M=1", "per_core_M=2"), config.replace("in0_block_w=2", "in0_block_w=1")], out=["DRAM", "L1", "HSM", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])', 'M("HEIGHT", G(0, 0, 2, 0), [64, 64])', 'M("HEIGHT", G(0, 0, 3, 0), [48, 64])', 'M("BLOCK", G(0, 0, 1, 3), [64, 32])', "WSM", "BSM"],
        )
        for config, b in (
            ("ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(compute_with_storage_grid_size=(2, 2), in0_block_w=2, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1, transpose_mcast=False, fused_activation=None, fuse_batch=False)", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64], buffer="DRAM")'),
            ("ttnn.MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig(in0_block_w=2, per_core_M=2, per_core_N=2, fused_activation=None)", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64], buffer="DRAM")'),
            ("ttnn.MatmulMultiCoreReuseProgramConfig(compute_with_storage_grid_size=(4, 1), in0_block_w=2, out_subblock_h=1, out_subblock_w=1, per_core_M=2, per_core_N=2)", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])'),
            ("None", "DRAM"), ("None", 'M("HEIGHT", G(0, 0, 3, 0), [64, 64])'), ("None", 'M("WIDTH", G(0, 0, 1, 0), [256, 32])'),
        )
    ),
    *(family("ttnn.matmul({ab}, memory_config={out}{rest})", {"out": out}, ab=["T([1, 1, 512, 256]), T([1, 1, 256, 512])", "T([1, 1, 32, 256]), T([1, 1, 256, 2048])", "T([1, 1, 2048, 64]), T([1, 1, 64, 32])", "T([2, 1, 64, 96]), T([2, 1, 96, 64])", "T([1, 1, 512, 512]), T([1, 1, 512, 512])",
                "T([2, 1, 256, 256]), T([1, 1, 256, 512])"],
            out=[out], rest=["", ", core_grid=ttnn.CoreGrid(x=4, y=2)", ", dtype=F32", ", transpose_b=True"])
      for out in ("L1", "HSM", "WSM", "BSM", 'M("HEIGHT", G(0, 0, 7, 1), [32, 512])', 'M("HEIGHT", G(0, 0, 7, 0), [48, 512])', 'M("WIDTH", G(0, 0, 7, 0), [512, 64])', 'M("WIDTH", G(0, 0, 3, 3), [512, 32])', 'M("BLOCK", G(0, 0, 3, 3), [128, 128])', 'M("HEIGHT", G(0, 0, 7, 0), [256, 32])')),
    family("ttnn.addmm(T({x}, {dtype}), T([64, 96], {dtype}), T([96, 64], {dtype}){rest})", {}, x=["[64, 64]", "[1, 64]", "[64, 32]"], dtype=["BF16", "F32", "BF8"], rest=["", ", alpha=2.0", ", beta=0.5", ", alpha=2.0, beta=0.5", ", beta=0.0", ", alpha=0.0", ", memory_config=L1", ", dtype=F32", ", optional_output_tensor=T([64, 64])"]),
    family("ttnn.outer(T({a}, {dtype}), T({b}, {dtype}){rest})", {}, a=["[1, 1, 1, 64]", "[64]", "[1, 64]", "[1, 1, 2, 64]"], b=["[1, 1, 1, 32]", "[32]", "[1, 1, 32, 1]"], dtype=["BF16", "F32"], rest=["", ", memory_config=L1"]),
    *(
        family("ttnn.topk(T({shape}, {dtype}, TILE, {a}), {k}{rest})", {"shape": shape}, shape=[shape], dtype=["BF16", "F32", "BF8"], a=["DRAM", "L1"], k=["32", "5", "64", "1"],
               rest=["", ", dim=2", ", dim=0", ", largest=False", ", sorted=False", ", stable=True", ", indices_tensor=T([1, 1, 32, 128], U16)", ", indices_tensor=T([1, 1, 32, 128], U32)", ", indices_tensor=T([1, 1, 32, 64], U16)", ", memory_config=L1", ", sub_core_grids=G(0, 0, 3, 3)"])
        for shape in ("[1, 1, 32, 128]", "[1, 1, 64, 96]", "[1, 1, 32, 8192]", "[2, 3, 32, 64]", "[128, 64]")
    ),
    *(
        family("ttnn.{op}(T({shape}, {dtype}, {layout}, {a}){rest})", {"op": op, "shape": shape}, shape=[shape], dtype=["BF16", "F32", "I32"], layout=["TILE", "RM"], a=["DRAM", "L1"], rest=rest)
        for shape in ("[2, 3, 40, 70]", "[64, 64]", "[5]", "[]", "[0, 64]")
        for op, rest in (
            ("argmax", ["", ", dim=-1", ", dim=0", ", dim=1, keepdim=True", ", keepdim=True", ", dim=4"]), ("cumsum", [", dim=0", ", dim=-1", ", dim=1, reverse_order=True", ", dim=-1, dtype=F32", ", dim=2, memory_config=L1", ", dim=4", ", dim=0, out=T([64, 64])"]),
            ("cumprod", [", dim=0", ", dim=-1", ", dim=1, reverse_order=True", ", dim=-1, dtype=F32", ", dim=0, out=T([64, 64])"]), ("prod", ["", ", dim=0", ", dim=-1", ", dim=1, keepdim=True", ", dim=2", ", dims=[0, 1]", ", dims=[2]", ", dim=4"]),
            ("sort", ["", ", dim=0", ", dim=1", ", descending=True", ", stable=True", ", dim=4", ", memory_config=L1"]),
            *((name, ["", ", dim=0", ", dim=-1", ", dim=[0, 1]", ", dim=1, keepdim=True", ", dim=[-1, -2], keepdim=True", ", dim=[]", ", dim=4", ", dim=2, scalar=2.0", ", dim=-1, memory_config=L1", ", dim=-1, compute_kernel_config=KC('LoFi')", ", dim=-2, compute_kernel_config=KC('HiFi2', True)", ", dim=[0, 2]"]) for name in ("sum", "mean", "max", "min", "std", "var")),
        )
    ),
    family("ttnn.slice(T([2, 3, 40, 64], {dtype}, {layout}), T([4], {kind}, RM), T([{n}], {kind}, RM){rest})", {}, dtype=["BF16", "F32"], layout=["RM", "TILE"], kind=["U32", "I32", "F32"], n=["4", "3"], rest=["", ", slice_dim=2, num_devices=4", ", slice_dim=2, num_devices=3", ", slice_dim=0, num_devices=2", ", slice_dim=4, num_devices=2", ", slice_dim=2, num_devices=0", ", slice_step=[1, 1, 1, 1]", ", memory_config=L1"]),
    family("ttnn.slice(T([2, 3, 40, 64], {dtype}, {layout}), {args})", {}, dtype=["BF16", "F32"], layout=["RM", "TILE"], args=["[0, 0, 0, 0], [1, 3, 40, 64], output_tensor=T([1, 3, 40, 64], BF16, RM)", "[0, 0, 0, 0], [1, 3, 40, 64], output_tensor=T([1, 3, 40, 32], BF16, RM)", "[0, 0, 0, 0], [2, 3, 40, 64], [1, 2, 3, 4]", "[-1, -2, -3, -4], [2, 3, 40, 64]", "[0, 0, 0, 0], [2, 3, -1, -50]", "[0, 0, 0, 0], [2, 3, -41, 64]", "[0, 0, 8, 16], [2, 3, 40, 64], pad_value=1.0", "[0, 0], [1, 3]"]),
    family("E.paged_update_cache(T([{slots}, {n}, 32, 64], {dtype}), T([1, 4, {h}, 64], BF16, TILE, M('HEIGHT', {cores}, [32, 64])){rest})", {}, slots=["4", "8"],
        n=["1", "2"], dtype=["BF16", "BF8", "F32", "I32"], h=["1", "8", "32"], cores=["G(0, 0, 3, 0)", "G(0, 0, 1, 1)", "G(0, 0, 7, 0)"],
           rest=[", update_idxs=[0, 5, 31, 7]", ", update_idxs=[0, 5, 32, 7]", ", update_idxs=[0, 5]", ", update_idxs_tensor=T([4], I32, RM)", ", update_idxs_tensor=T([3], I32, RM)", ", update_idxs_tensor=T([4], I32, RM), page_table=T([4, 2], I32, RM)", ", update_idxs_tensor=T([4], I32, RM), page_table=T([3, 2], I32, RM)", ", update_idxs_tensor=T([4], I32, RM), page_table=T([4, 2], I32, RM, M('HEIGHT', G(0, 0, 0, 0), [4, 2]))", ", update_idxs=[0, 5, 31, 7], batch_offset=2", ", update_idxs=[0, 5, 31, 7], share_cache=True", ", update_idxs=[0, 5, 31, 7], compute_kernel_config=KC('LoFi', True)"]),
)  # fmt: skip

"""Functions of elements, data types, results that are given."""

from __future__ import annotations

from tools.behaviour_diff.questions.changed_calls.family import Family, family

FAMILIES = (
    family(
        "ttnn.{op}(T([1, 1, 128, 64], {dtype}, {layout}, {a}), T({other}, {dtype}, {layout}, {b}){rest})",
        {},
        op=["add", "multiply", "div", "pow", "eq", "logical_and", "minimum", "atan2", "remainder", "squared_difference", "bias_gelu", "gcd", "bitwise_and", "floor_div", "ldexp", "xlogy"],
        dtype=["BF16", "F32", "BF8", "I32", "U32", "U16"],
        layout=["TILE", "RM"],
        other=["[1, 1, 128, 64]", "[1, 1, 1, 64]", "[1, 1, 128, 1]", "[1, 1, 1, 1]", "[64]", "[1, 2, 128, 64]", "[1, 1, 64, 64]"],
        a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("BLOCK", G(0, 0, 1, 1), [64, 32])', 'M("WIDTH", G(0, 0, 1, 0), [128, 32])'],
        b=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])', 'M("BLOCK", G(0, 0, 1, 1), [64, 32])'],
        rest=["", ", dtype=F32", ", memory_config=L1", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", ", activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)]", ", input_tensor_a_activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.SILU)]", ", memory_config=HSM"],
    ),
    *(
        family(
            "ttnn.{op}(T({shape}, {dtype}), {others}{rest})",
            {"op": op, "others": others},
            shape=["[1, 1, 64, 64]", "[1, 2, 64, 64]", "[1, 1, 64, 1]", "[1, 1, 1, 64]", "[1, 1, 1, 1]", "[2, 1, 1, 1, 1, 64, 64]"],
            dtype=["BF16", "F32", "I32", "U32"],
            others=[others, "T([1, 1, 1, 64]), T([1, 1, 64, 1])", "T([1, 1, 64, 64]), 2.0", "1.5, T([1, 1, 64, 64])", "T([1, 1, 64, 64]), T([1, 1, 64, 65])", "T([3, 1, 1, 1, 1, 64, 64]), T([1, 1, 64, 64])"],
            rest=["", ", value=0.5", ", memory_config=L1", ", dtype=F32"],
        )
        for op, others in (("addcmul", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("addcdiv", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("lerp", "T([1, 1, 64, 64]), 0.25"), ("where", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("mac", "T([1, 1, 64, 64]), T([1, 1, 64, 64])"), ("clamp", "-1.0, 2.0"))
    ),
    family("ttnn.{op}(T({shape}, {dtype}), {scale}, {zero}{rest})", {}, op=["quantize", "dequantize"], shape=["[64, 64]", "[1, 1, 40, 32]"], dtype=["BF16", "F32", "I32"], scale=["0.5", "T([64])", "T([1])"], zero=["3", "T([64], I32)"], rest=["", ", axis=0", ", axis=1", ", axis=2", ", dtype=I32", ", dtype=F32"]),
    family("ttnn.dequantize(T([64, 64], I32), {scale}, {zero}{rest})", {}, scale=["0.5", "T([64])"], zero=["3", "T([64], I32)"], rest=["", ", axis=0", ", axis=1", ", axis=-1", ", dtype=F32", ", dtype=BF16"]),
    family(
        "ttnn.pow(T({shape}, {dtype}), {exponent}{rest})",
        {},
        shape=["[1, 1, 64, 32]", "[40]"],
        dtype=["I32", "BF16", "F32", "U32"],
        exponent=["3", "2", "0", "1", "-1", "2.0", "2.5", "31", "T([1, 1, 64, 32], I32)", "T([1, 1, 1, 1], I32)"],
        rest=["", ", memory_config=L1"],
    ),
    family("ttnn.pow({base}, T([1, 1, 64, 32], {dtype}))", {}, base=["2", "3.5", "-1", "1", "0", "T([1, 1, 64, 32], I32)"], dtype=["I32", "BF16", "F32"]),
    *(
        family("ttnn.clone(T({shape}, {dtype}, {layout}, {a}){rest})", {"a": a}, shape=["[1, 1, 128, 64]", "[0, 64]"], dtype=["BF16", "F32", "I32", "ttnn.int8"], layout=["TILE", "RM"], a=[a],
                rest=["", ", dtype=F32", ", dtype=BF16", ", dtype=I32", ", dtype=BF8", ", memory_config=L1", ", memory_config=M('HEIGHT', G(0, 0, 3, 0), [32, 64])", ", memory_config=HSM", ", memory_config=M('HEIGHT', G(0, 0, 1, 0), [64, 64])"])
        for a in ("DRAM", 'M("HEIGHT", G(0, 0, 3, 0), [32, 64])')
    ),
    *(Family("ttnn.clone(T({shape}, ttnn.int8, TILE), dtype={dtype})", ({"shape": shape, "dtype": "F32"},), {"dtype": ["BF16", "I32", "ttnn.int8", "U32", "None"]}) for shape in ("[64, 64]", "[0, 64]")),
    # Results that are given.
    *(
        family(
            "ttnn.{op}({given}, {name}=T({shape}, {dtype}, {layout}, {a}){rest})",
            {"op": op, "given": given, "name": name},
            shape=[shape, "[1, 1, 64, 64]", "[64, 64]", "[1, 1, 96, 64]"],
            dtype=["BF16", "F32", "BF8", "I32"],
            layout=["TILE", "RM"],
            a=["DRAM", "L1", 'M("HEIGHT", G(0, 0, 1, 0), [32, 64])'],
            rest=["", ", memory_config=L1"],
        )
        for op, given, name, shape in (
            ("add", "T([1, 1, 64, 64]), T([1, 1, 1, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("pow", "T([1, 1, 64, 64]), 2.5", "output_tensor", "[1, 1, 64, 64]"),
            ("eq", "T([1, 1, 64, 64]), T([1, 1, 64, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("relu", "T([1, 1, 64, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("clamp", "T([1, 1, 64, 64]), -1.0, 1.0", "output_tensor", "[1, 1, 64, 64]"),
            ("where", "T([1, 1, 64, 64]), 1.0, T([1, 1, 64, 64])", "output_tensor", "[1, 1, 64, 64]"),
            ("concat", "[T([1, 1, 64, 32]), T([1, 1, 64, 32])], 3", "output_tensor", "[1, 1, 64, 64]"),
            ("argmax", "T([1, 1, 64, 64]), dim=-1, keepdim=True", "output_tensor", "[1, 1, 64, 1]"),
            ("embedding", "T([1, 64], U32, RM), T([16, 64], BF16, RM), layout=TILE", "output_tensor", "[1, 64, 64]"),
            ("matmul", "T([1, 1, 64, 32]), T([1, 1, 32, 64])", "optional_output_tensor", "[1, 1, 64, 64]"),
            ("repeat", "T([1, 1, 32, 64]), [1, 1, 2, 1]", "optional_output_tensor", "[1, 1, 64, 64]"),
            ("batch_norm", "T([1, 1, 64, 64]), running_mean=T([1, 1, 1, 1]), running_var=T([1, 1, 1, 1]), eps=100.0", "output", "[1, 1, 64, 64]"),
            ("typecast", "T([1, 1, 64, 64]), F32", "output_tensor", "[1, 1, 64, 64]"),
        )
    ),
)  # fmt: skip

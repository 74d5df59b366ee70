"""Small TTIR modules whose ops have better configurations than the library's own choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from alchemist.frontends.mlir.read import parse_module
from alchemist.ir.edit import functions, is_const_eval
from alchemist.optimizer.calls import NotAskable, ask
from alchemist.optimizer.choose import FAMILIES
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn


def mlp(rows: int = 1024, width: int = 768, wide: int = 3072, dtype: str = "bf16") -> str:
    """linear, gelu, linear."""
    x, up, middle, down = (f"tensor<{a}x{b}x{dtype}>" for a, b in ((rows, width), (width, wide), (rows, wide), (wide, width)))
    return f"""module {{
  func.func @forward(
      %x: {x} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}},
      %up: {up} {{ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "up.weight"}},
      %down: {down} {{ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "down.weight"}}) -> {x} {{
    %0 = "ttir.matmul"(%x, %up) : ({x}, {up}) -> {middle}
    %1 = "ttir.gelu"(%0) : ({middle}) -> {middle}
    %2 = "ttir.matmul"(%1, %down) : ({middle}, {down}) -> {x}
    return %2 : {x}
  }}
}}
"""


def product(batch: str = "8x12", m: int = 256, k: int = 64, n: int = 256) -> str:
    """One product of matrices for each of a batch."""
    a, b, c = (f"tensor<{batch}x{rows}x{columns}xbf16>" for rows, columns in ((m, k), (k, n), (m, n)))
    arguments = ", ".join(f'%{name}: {of} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "{name}"}}' for name, of in (("a", a), ("b", b)))
    return f"""module {{
  func.func @forward({arguments}) -> {c} {{
    %0 = "ttir.matmul"(%a, %b) : ({a}, {b}) -> {c}
    return %0 : {c}
  }}
}}
"""


def attention(batch: int = 4, heads: int = 12, rows: int = 197, size: int = 64) -> str:
    """Scaled dot-product attention alone."""
    q = f"tensor<{batch}x{heads}x{rows}x{size}xbf16>"
    arguments = ", ".join(f'%{name}: {q} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "{name}"}}' for name in "qkv")
    return f"""module {{
  func.func @forward({arguments}) -> {q} {{
    %0 = "ttir.scaled_dot_product_attention"(%q, %k, %v) <{{is_causal = false, scale = 0.125 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}}> : ({q}, {q}, {q}) -> {q}
    return %0 : {q}
  }}
}}
"""


def lowered(text: str, **options: Any) -> ModuleOp:
    return lower_to_ttnn(parse_module(text)[0], CompilerOptions.parse(options)).module


def decisions(text: str, **options: Any) -> str:
    return lower_to_ttnn(parse_module(text)[0], CompilerOptions.parse(options)).decisions


def times(module: ModuleOp, card: str) -> Mapping[str, float]:
    """Device nanoseconds of a forward pass by op, asked as the ops stand in the module."""
    found: dict[str, float] = {}
    for func in functions(module):
        for op in () if is_const_eval(func) else func.body.block.ops:
            try:
                answer = ask(op, card)
            except NotAskable:
                continue
            if op.name in FAMILIES:
                assert answer.accepted, answer.error
            found[op.name] = found.get(op.name, 0) + answer.device_ns
    return found


def layers(count: int = 3, rows: int = 1024, width: int = 512) -> str:
    """Residual blocks of norm, linear, gelu, linear: what is read twice must be placed for both."""
    x, up, down, vector = f"tensor<{rows}x{width}xbf16>", f"tensor<{width}x{4 * width}xbf16>", f"tensor<{4 * width}x{width}xbf16>", f"tensor<{width}xbf16>"
    middle = f"tensor<{rows}x{4 * width}xbf16>"
    arguments = [f'%x: {x} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}}']
    body = []
    value = "%x"
    for layer in range(count):
        for name, kind in (("up", up), ("down", down), ("scale", vector), ("shift", vector)):
            fact = f'{{ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "layers.{layer}.{name}.weight"}}'
            arguments.append(f"%{name}{layer}: {kind} {fact}")
        body += [
            f'%n{layer} = "ttir.layer_norm"({value}, %scale{layer}, %shift{layer}) <{{normalized_shape = array<i64: {width}>, epsilon = 1.0e-5 : f32, '
            f"operandSegmentSizes = array<i32: 1, 1, 1>}}> : ({x}, {vector}, {vector}) -> {x}",
            f'%u{layer} = "ttir.matmul"(%n{layer}, %up{layer}) : ({x}, {up}) -> {middle}',
            f'%g{layer} = "ttir.gelu"(%u{layer}) : ({middle}) -> {middle}',
            f'%d{layer} = "ttir.matmul"(%g{layer}, %down{layer}) : ({middle}, {down}) -> {x}',
            f'%x{layer} = "ttir.add"(%d{layer}, {value}) : ({x}, {x}) -> {x}',
        ]
        value = f"%x{layer}"
    return (
        "module {\n  func.func @forward(" + ",\n      ".join(arguments) + f") -> {x} {{\n    " + "\n    ".join(body) + f"\n    return {value} : {x}\n  }}\n}}\n"
    )


def convolutions(batch: int = 4, size: int = 72) -> str:
    """A stem on three colours, a pointwise convolution with relu, a 3x3 one."""
    source, stem, first = f"tensor<{batch}x3x{size}x{size}xbf16>", "tensor<64x3x3x3xbf16>", f"tensor<{batch}x64x{size}x{size}xbf16>"
    point, window = "tensor<64x64x1x1xbf16>", "tensor<64x64x3x3xbf16>"
    arguments = [f'%x: {source} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}}']
    for name, kind in (("stem", stem), ("point", point), ("window", window)):
        arguments.append(f'%{name}: {kind} {{ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "{name}.weight"}}')

    def conv(result: str, value: str, weight: str, kind: str, source: str, pad: int) -> str:
        return (
            f'{result} = "ttir.conv2d"({value}, {weight}) <{{stride = array<i32: 1, 1>, padding = array<i32: {pad}, {pad}>, groups = 1 : i32, batch_dim = 0 : i64, '
            f"channel_dim = 1 : i64, height_dim = 2 : i64, width_dim = 3 : i64, dilation = array<i32: 1, 1>}}> : ({source}, {kind}) -> {first}"
        )

    body = [
        conv("%0", "%x", "%stem", stem, source, 1),
        conv("%1", "%0", "%point", point, first, 0),
        f'%2 = "ttir.relu"(%1) : ({first}) -> {first}',
        conv("%3", "%2", "%window", window, first, 1),
    ]
    return (
        "module {\n  func.func @forward("
        + ",\n      ".join(arguments)
        + f") -> {first} {{\n    "
        + "\n    ".join(body)
        + f"\n    return %3 : {first}\n  }}\n}}\n"
    )


def pooled(batch: int = 8, size: int = 56) -> str:
    """`convolutions`, and a pooling that halves the image."""
    of, pixels, half = (f"tensor<{batch}x{shape}xbf16>" for shape in (f"64x{size}x{size}", f"{size}x{size}x64", f"{size // 2}x{size // 2}x64"))
    body = (
        f'    %p = "ttir.permute"(%3) <{{permutation = array<i64: 0, 2, 3, 1>}}> : ({of}) -> {pixels}\n'
        '    %q = "ttir.max_pool2d"(%p) <{kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, '
        f"padding = array<i32: 0, 0, 0, 0>, ceil_mode = false}}> : ({pixels}) -> {half}\n    return %q : {half}"
    )
    return convolutions(batch, size).replace(f"    return %3 : {of}", body).replace(f") -> {of} {{", f") -> {half} {{")


def bottlenecks(blocks: int = 2, batch: int = 8, size: int = 28, wide: int = 256, narrow: int = 64) -> str:
    """Residual blocks of 1x1, 3x3, 1x1 convolutions with relu between them: the image of a block is read at its begin and at its end."""
    image, inner = f"tensor<{batch}x{wide}x{size}x{size}xbf16>", f"tensor<{batch}x{narrow}x{size}x{size}xbf16>"
    kinds = {"down": f"tensor<{narrow}x{wide}x1x1xbf16>", "window": f"tensor<{narrow}x{narrow}x3x3xbf16>", "up": f"tensor<{wide}x{narrow}x1x1xbf16>"}
    arguments = [f'%x: {image} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}}']
    body = []
    value = "%x"
    for block in range(blocks):
        for name, kind in kinds.items():
            fact = f'{{ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "blocks.{block}.{name}.weight"}}'
            arguments.append(f"%{name}{block}: {kind} {fact}")
        steps = (("down", value, image, inner, 0), ("window", f"%r{block}", inner, inner, 1), ("up", f"%s{block}", inner, image, 0))
        for (name, source, before, after, pad), made in zip(steps, ("%a", "%b", "%c"), strict=True):
            body.append(
                f'{made}{block} = "ttir.conv2d"({source}, %{name}{block}) <{{stride = array<i32: 1, 1>, padding = array<i32: {pad}, {pad}>, groups = 1 : i32, '
                f"batch_dim = 0 : i64, channel_dim = 1 : i64, height_dim = 2 : i64, width_dim = 3 : i64, dilation = array<i32: 1, 1>}}> : "
                f"({before}, {kinds[name]}) -> {after}"
            )
            if name != "up":
                body.append(f'{"%r" if name == "down" else "%s"}{block} = "ttir.relu"({made}{block}) : ({inner}) -> {inner}')
        body.append(f'%d{block} = "ttir.add"(%c{block}, {value}) : ({image}, {image}) -> {image}')
        body.append(f'%e{block} = "ttir.relu"(%d{block}) : ({image}) -> {image}')
        value = f"%e{block}"
    return (
        "module {\n  func.func @forward("
        + ",\n      ".join(arguments)
        + f") -> {image} {{\n    "
        + "\n    ".join(body)
        + f"\n    return {value} : {image}\n  }}\n}}\n"
    )

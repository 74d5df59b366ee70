"""What reads a flat image, lowered by itself: every reader computes what its reference says, in the order in which channels lie and as planes.

A convolution's result stays flat, [1, 1, N*H*W, C]; most readers have a way of their own to take it so, and another where they cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pass_graphs import Graph, arrays, build
from ttnn_numpy import run as run_ttnn

from alchemist.driver.opt import run_pipeline
from alchemist.ir.access import elements, shape
from alchemist.ir.attributes import tensor
from alchemist.ops.evaluate import run as run_ttir
from tests.tables import table

N, H, W, C = 2, 6, 5, 16
AXES = {"planes": (0, 2, 3, 1), "pixels": (0, 1, 2, 3)}
"""Where N, H, W and C stand."""
POOL = {"kernel": [2, 2], "stride": [2, 2], "dilation": [1, 1], "padding": [0, 0, 0, 0], "ceil_mode": False}


class Images(Graph):
    """y, z: images of a convolution. weights: further inputs. axes: where N, H, W and C of the images stand."""

    axes: tuple[int, ...]
    y: Any
    z: Any
    weights: list[Any]

    def dims(self, n: int = N, h: int = H, w: int = W, c: int = C) -> tuple[int, ...]:
        """In the order of the images."""
        sizes = dict(zip(self.axes, (n, h, w, c), strict=True))
        return tuple(sizes[axis] for axis in range(4))

    def conv(self, x: Any, kernel: Any, out: tuple[int, ...], stride: int = 1, padding: int = 1, op: str = "conv2d", **other: Any) -> Any:
        places = {"batch_dim": self.axes[0], "height_dim": self.axes[1], "width_dim": self.axes[2], "channel_dim": self.axes[3]}
        return self(op, x, kernel, out=out, stride=[stride] * 2, padding=[padding] * 2, dilation=[1, 1], groups=1, **places, **other)

    def constant(self, values: Any) -> Any:
        array = np.asarray(values, np.float32)
        return self.b.op("ttir.constant", [], {"value": elements(array, "f32")}, [tensor(array.shape, "f32")])

    def reduced(self, name: str, places: tuple[int, ...], keep: bool, x: Any = None) -> Any:
        """places: among N, H, W, C."""
        axes = sorted(self.axes[place] for place in places)
        dims = shape(self.y)
        out = tuple(1 if axis in axes else n for axis, n in enumerate(dims) if keep or axis not in axes)
        return self(name, self.y if x is None else x, out=out, keep_dim=keep, dim_arg=axes)

    def permuted(self, x: Any, *order: int) -> Any:
        return self("permute", x, out=tuple(shape(x)[axis] for axis in order), permutation=list(order))

    def reshaped(self, x: Any, *dims: int) -> Any:
        return self("reshape", x, out=dims, shape=dims)

    def cut(self, x: Any, place: int, begin: int, end: int, step: int = 1) -> Any:
        dims, axis = shape(x), self.axes[place]
        begins, ends = [0] * 4, list(dims)
        begins[axis], ends[axis] = begin, end
        out = tuple(-(-(end - begin) // step) if i == axis else n for i, n in enumerate(dims))
        return self("slice_static", x, out=out, begins=begins, ends=ends, step=[step if i == axis else 1 for i in range(4)])

    def padded(self, place: int, front: int, back: int, value: float = 0.5) -> Any:
        dims, axis = shape(self.y), self.axes[place]
        padding = [0] * 8
        padding[2 * axis : 2 * axis + 2] = front, back
        return self("pad", self.y, out=tuple(n + (front + back) * (i == axis) for i, n in enumerate(dims)), padding=padding, value=value)

    def joined(self, place: int, *parts: Any) -> Any:
        axis = self.axes[place]
        out = tuple(sum(shape(part)[i] for part in parts) if i == axis else n for i, n in enumerate(shape(parts[0])))
        return self("concat", *parts, out=out, dim=axis)

    def pooled(self, name: str, out: tuple[int, int], channels: int = C, **attributes: Any) -> Any:
        """Of the images as pixels, in their own order again."""
        pixels = self.permuted(self.y, *self.axes)
        given = POOL | attributes if name.endswith("pool2d") and name != "global_avg_pool2d" else attributes
        made = self(name, pixels, out=(N, *out, channels), **given)
        return self.permuted(made, *(self.axes.index(i) for i in range(4)))


Case = Callable[[Images], Any]
CASES: dict[str, Case] = {
    **{name: lambda g, name=name: g(name, g.y) for name in ("relu", "exp", "neg", "sigmoid", "square", "abs")},
    "clamp": lambda g: g("clamp_scalar", g.y, min=-1.0, max=2.5),
    "leaky relu": lambda g: g("leaky_relu", g.y, parameter=0.125),
    "cast": lambda g: g("typecast", g("typecast", g.y, of="i32"), of="f32"),
    "two images": lambda g: g("add", g("multiply", g.y, g.z), g.y),
    "an image and its permutation": lambda g: g("add", g.permuted(g.y, 0, 1, 3, 2), g.permuted(g.z, 0, 1, 3, 2)),
    "images of two orders": lambda g: g("add", g.y, g.permuted(g.permuted(g("exp", g.permuted(g.z, 3, 2, 1, 0)), 1, 0, 3, 2), 2, 3, 0, 1)),
    "a number": lambda g: g("add", g.y, g.number(1.5, (1, 1, 1, 1)), out=g.dims()),
    "a number of another rank": lambda g: g("multiply", g.number(1.5, ()), g.y, out=g.dims()),
    "a number first": lambda g: g("subtract", g.number(1.5, (1, 1, 1, 1)), g.y, out=g.dims()),
    "a number divided": lambda g: g("div", g.number(1.5, g.dims()), g("exp", g.y), out=g.dims()),
    "a number compared": lambda g: g("where", g("gt", g.number(0.5, (1, 1, 1, 1)), g.y, out=g.dims(), of="i1"), g.y, g.z),
    "the larger of a number": lambda g: g("maximum", g.number(0.25, (1, 1, 1, 1)), g.y, out=g.dims()),
    "a vector of channels": lambda g: g("multiply", g.y, g.reshaped(g.weights[0], *g.dims(1, 1, 1, C)), out=g.dims()),
    "a vector of channels first": lambda g: g("subtract", g.reshaped(g.weights[0], *g.dims(1, 1, 1, C)), g.y, out=g.dims()),
    "a constant of channels": lambda g: g("add", g.y, g.constant(np.arange(C).reshape(g.dims(1, 1, 1, C))), out=g.dims()),
    "a constant of columns": lambda g: g("add", g.y, g.constant(np.arange(W).reshape(g.dims(1, 1, W, 1))), out=g.dims()),
    "a constant of pixels": lambda g: g("multiply", g.y, g.constant(np.arange(H * W).reshape(g.dims(1, H, W, 1))), out=g.dims()),
    "a vector of the last dim": lambda g: g("add", g.y, g.constant(np.arange(g.dims()[3])), out=g.dims()),
    "means of channels": lambda g: g("subtract", g.y, g.reduced("mean", (3,), True), out=g.dims()),
    "means of images": lambda g: g("subtract", g.y, g.reduced("mean", (1, 2), True), out=g.dims()),
    "channels weighed by themselves": lambda g: g("multiply", g.y, g("sigmoid", g.reduced("mean", (1, 2), True)), out=g.dims()),
    "a broadcast": lambda g: g("add", g.y, g("broadcast", g.reduced("max", (1, 2), True), out=g.dims(), broadcast_dimensions=list(g.dims(1, H, W, 1)))),
    "a choice": lambda g: g("where", g("lt", g.y, g.z, of="i1"), g.y, g.number(2.0, (1, 1, 1, 1)), out=g.dims()),
    "a clamp by tensors": lambda g: g("clamp_tensor", g.y, g("minimum", g.z, g.y), g.z),
    **{f"power {p}": lambda g, p=p: g("pow", g("exp", g.y), g.number(p, (1, 1, 1, 1)), out=g.dims()) for p in (2.0, 0.5, -0.5, 3.0, -3.0, 1.5)},
    "a power of images": lambda g: g("pow", g("exp", g.y), g("sigmoid", g.z)),
    "a power of each channel": lambda g: g("pow", g("exp", g.y), g.reshaped(g.weights[0], *g.dims(1, 1, 1, C)), out=g.dims()),
    "rows of an image": lambda g: g.reshaped(g.y, N, H * W * C),
    "all rows": lambda g: g.reshaped(g.y, N * H * W * C),
    "first two dims joined": lambda g: g.reshaped(g.y, shape(g.y)[0] * shape(g.y)[1], *shape(g.y)[2:]),
    "inner dims joined": lambda g: g.reshaped(g.y, shape(g.y)[0], shape(g.y)[1] * shape(g.y)[2], shape(g.y)[3]),
    "last dims joined": lambda g: g.reshaped(g.y, *shape(g.y)[:2], shape(g.y)[2] * shape(g.y)[3]),
    "planes joined, then channels last": lambda g: g.permuted(g.reshaped(g.y, *shape(g.y)[:2], shape(g.y)[2] * shape(g.y)[3]), 0, 2, 1),
    "a unit dim": lambda g: g("unsqueeze", g.y, out=(*shape(g.y)[:2], 1, *shape(g.y)[2:]), dim=2),
    "channels in groups": lambda g: g.reshaped(g.permuted(g.y, *g.axes), N, H, W, 4, 4),
    "pooled rows": lambda g: g.reshaped(g.reduced("mean", (1, 2), True), N, C),
    "pooled rows of maxima": lambda g: g.reshaped(g.reduced("max", (1, 2), True), N, C),
    "one pixel": lambda g: g.reshaped(g.conv(g.y, g.weights[1], g.dims(N, 1, 1, 24), padding=0, stride=6), N, 24),
    "one pixel squeezed": lambda g: g("squeeze", g.conv(g.y, g.weights[1], g.dims(N, 1, 1, 24), padding=0, stride=6), out=tuple(n for i, n in enumerate(g.dims(N, 1, 1, 24)) if i != g.axes[1]), dim=g.axes[1]),
    **{f"permuted by {order}": lambda g, order=order: g("exp", g.permuted(g.y, *order)) for order in ((0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1), (1, 0, 2, 3), (3, 2, 1, 0))},
    "transposed": lambda g: g("exp", g("transpose", g.y, out=(N, shape(g.y)[1], shape(g.y)[3], shape(g.y)[2]), dim0=-1, dim1=2)),
    "rearranged": lambda g: g("rearrange", g.y, out=(shape(g.y)[1], N * shape(g.y)[3], shape(g.y)[2]), pattern="a b c d -> b (a d) c"),
    **{f"joined along {place}": lambda g, place=place: g.joined(place, g.y, g.z) for place in range(4)},
    "three joined": lambda g: g.joined(3, g.y, g("relu", g.z), g.y),
    "parts of channels joined": lambda g: g.joined(3, g.cut(g.y, 3, 0, 4), g.z),
    "joined with what is none": lambda g: g.joined(3, g.y, g("broadcast", g.reshaped(g.weights[0], *g.dims(1, 1, 1, C)), out=g.dims(), broadcast_dimensions=list(g.dims(N, H, W, 1)))),
    **{f"cut along {place}": lambda g, place=place: g.cut(g.y, place, 1, g.dims()[g.axes[place]]) for place in range(4)},
    **{f"every second along {place}": lambda g, place=place: g.cut(g.y, place, 0, g.dims()[g.axes[place]], 2) for place in range(1, 4)},
    "cut to itself": lambda g: g("exp", g.cut(g.y, 1, 0, H)),
    "index": lambda g: g("index", g.y, out=g.dims(h=2), dim=g.axes[1], begin=1, end=5, step=2),
    "index select": lambda g: g("index_select", g.y, out=g.dims(w=2), dim=g.axes[2], begin=2, length=2),
    **{f"padded along {place} {front} {back}": lambda g, place=place, front=front, back=back: g.padded(place, front, back) for place in (1, 3) for front, back in ((1, 2), (0, 3))},
    **{f"{name} over {places} {keep}": lambda g, name=name, places=places, keep=keep: g.reduced(name, places, keep) for name in ("sum", "mean", "max") for places in ((1, 2), (3,), (0,), (1,), (0, 1, 2), (0, 1, 2, 3)) for keep in (True, False)},
    "sums of permuted planes": lambda g: g("sum", g.permuted(g.y, 3, 2, 1, 0), out=(shape(g.y)[3], N), keep_dim=False, dim_arg=[1, 2]),
    "means of channels first": lambda g: g("mean", g.permuted(g.y, g.axes[3], g.axes[0], g.axes[1], g.axes[2]), out=(C, N), keep_dim=False, dim_arg=[2, 3]),
    "product": lambda g: g("prod", g("sigmoid", g.y), out=tuple(1 if i == 1 else n for i, n in enumerate(g.dims())), keep_dim=True, dim_arg=[1]),
    "cumulative sum": lambda g: g("cumsum", g.y, dim=2),
    "softmax": lambda g: g("softmax", g.y, dimension=g.axes[3], numericStable=True),
    "softmax of the last dim": lambda g: g("softmax", g.y, dimension=-1, numericStable=True),
    "layer norm": lambda g: g("layer_norm", g.permuted(g.y, *g.axes), g.weights[0], g.weights[0], out=(N, H, W, C), normalized_shape=[C], epsilon=1e-5),
    "layer norm in place": lambda g: g("layer_norm", g.y, normalized_shape=[shape(g.y)[3]], epsilon=1e-5),
    "rms norm": lambda g: g("rms_norm", g.permuted(g.y, *g.axes), g.weights[0], out=(N, H, W, C), normalized_shape=[C], epsilon=1e-5),
    "layer norm of two dims": lambda g: g("layer_norm", g.y, normalized_shape=list(shape(g.y)[2:]), epsilon=1e-5),
    "batch norm": lambda g: g("batch_norm_inference", g.y, *[g.weights[0]] * 4, dimension=g.axes[3], epsilon=1e-5),
    "batch norm of another dim": lambda g: g("batch_norm_inference", g.y, *[g.constant(np.arange(1, 1 + shape(g.y)[2]))] * 4, dimension=2, epsilon=1e-5),
    "group norm": lambda g: g("group_norm", g.y, num_groups=4, epsilon=1e-5, channel_dim=g.axes[3]),
    "a linear layer": lambda g: g("linear", g.permuted(g.y, *g.axes), g.weights[2], g.weights[3], out=(N, H, W, 24)),
    "a product": lambda g: g("matmul", g.permuted(g.y, *g.axes), g.weights[2], out=(N, H, W, 24)),
    "a product of turned weights": lambda g: g("matmul", g.permuted(g.y, *g.axes), g.permuted(g.weights[2], 1, 0), out=(N, H, W, 24), transpose_b=True),
    "a product of columns": lambda g: g("matmul", g.permuted(g.y, *g.axes), g.constant(np.ones((W, 24))), out=(N, H, C, 24), transpose_a=True),
    "a product of the images": lambda g: g("matmul", g.y, g.z, out=(*shape(g.y)[:2], shape(g.y)[3], shape(g.y)[3]), transpose_a=True),
    "a product with a vector": lambda g: g("matmul", g.permuted(g.y, *g.axes), g.weights[0], out=(N, H, W)),
    "a linear layer of a vector": lambda g: g("linear", g.permuted(g.y, *g.axes), g.weights[0], g.constant(np.arange(W)), out=(N, H, W)),
    "two layers of pixels": lambda g: g("matmul", g("relu", g("linear", g.permuted(g.y, *g.axes), g.weights[2], g.weights[3], out=(N, H, W, 24))), g.constant(np.ones((24, 8))), out=(N, H, W, 8)),
    "max pool": lambda g: g.pooled("max_pool2d", (3, 2)),
    "max pool by ceiling": lambda g: g.pooled("max_pool2d", (3, 3), ceil_mode=True),
    "max pool with padding": lambda g: g.pooled("max_pool2d", (4, 3), padding=[1, 1, 1, 1]),
    "max pool with wide padding": lambda g: g.pooled("max_pool2d", (4, 3), kernel=[3, 3], padding=[2, 1, 2, 1]),
    "average pool": lambda g: g.pooled("avg_pool2d", (3, 2), count_include_pad=True),
    "average pool of all": lambda g: g.pooled("avg_pool2d", (1, 1), count_include_pad=True, kernel=[H, W], stride=[1, 1]),
    "average pool of all with padding": lambda g: g.pooled("avg_pool2d", (1, 1), count_include_pad=True, kernel=[H + 1, W + 1], stride=[1, 1], padding=[1, 1, 0, 0]),
    "average pool without its padding": lambda g: g.pooled("avg_pool2d", (4, 3), count_include_pad=False, padding=[1, 1, 1, 1]),
    "average pool with wide padding": lambda g: g.pooled("avg_pool2d", (5, 3), count_include_pad=True, padding=[2, 1, 2, 1]),
    "global average": lambda g: g.pooled("global_avg_pool2d", (1, 1)),
    "nearest": lambda g: g.pooled("upsample2d", (12, 15), scale_factor=[2, 3]),
    "bilinear": lambda g: g.pooled("upsample2d", (12, 10), scale_factor=2, mode="bilinear"),
    "nearest, joined": lambda g: g.joined(3, *[g.pooled("upsample2d", (12, 15), scale_factor=[2, 3])] * 2),
    "a second convolution": lambda g: g.conv(g.y, g.weights[1], g.dims(N, 4, 3, 24), padding=0),
    "a convolution of strides": lambda g: g.conv(g.y, g.weights[1], g.dims(N, 3, 3, 24), stride=2),
    "a convolution of a sum": lambda g: g.conv(g("add", g.y, g("relu", g.z)), g.weights[1], g.dims(c=24)),
    "a convolution of other planes": lambda g: g.conv(g.permuted(g("exp", g.permuted(g.y, 1, 0, 2, 3)), 1, 0, 2, 3), g.weights[1], g.dims(c=24)),
    "a turned convolution": lambda g: g.conv(g.y, g.permuted(g.weights[1], 1, 0, 2, 3), g.dims(c=24), op="conv_transpose2d", output_padding=[0, 0]),
}  # fmt: skip
BFLOAT16 = ("pool", "bilinear")  # what the library computes in bfloat16


@table(("order", "level"), [("planes", 0), ("pixels", 1)])
@table("case", CASES)
def test_readers(case: str, order: str, level: int) -> None:
    def net(graph: Graph, x: Any, other: Any, kernel: Any, *weights: Any) -> Any:
        g = Images()
        g.b, g.axes, g.weights = graph.b, AXES[order], list(weights)
        g.y, g.z = (g.conv(source, kernel, g.dims()) for source in (x, other))
        return CASES[case](g)

    own = Images()
    own.axes = AXES[order]
    image = (own.dims(c=8), "f32", "input")
    weights = [((16, 8, 3, 3), "f32", "parameter"), ((C,), "f32", "parameter"), ((24, C, 3, 3), "f32", "parameter")]
    module = build(net, image, image, *weights, ((C, 24), "f32", "parameter"), ((24,), "f32", "parameter"))
    given = [array * (0.1 if array.ndim > 1 else 1) - (0.11 if array.ndim == 4 else 0) for array in arrays(module)]
    wanted = run_ttir(module, given)
    found = run_ttnn(run_pipeline(module, f"ttir-to-ttnn{{optimization_level={level}}}"), given)
    coarse = case.startswith(("max pool", "average pool")) or "bilinear" in case
    for have, want in zip(found, wanted, strict=True):
        assert have.shape == want.shape
        np.testing.assert_allclose(np.asarray(have, np.float64), np.asarray(want, np.float64), rtol=2e-2 if coarse else 1e-3, atol=2e-2 if coarse else 1e-4)

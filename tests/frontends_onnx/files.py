"""ONNX files of our own: exported by torch's two exporters, and built by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

Made = tuple[nn.Module, tuple[torch.Tensor, ...]]
Array = np.ndarray[Any, Any]


class ResidualNet(nn.Module):
    """Two residual blocks, a strided one and a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.blocks = nn.ModuleList([Block(16, 16, 1), Block(16, 32, 2)])
        self.head = nn.Linear(32, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.stem(image), 2)
        for block in self.blocks:
            x = block(x)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Block(nn.Module):
    def __init__(self, size: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(size, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut = nn.Conv2d(size, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.output = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape
        q, k, v = (part(x).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.output(out.transpose(1, 2).reshape(batch, length, size))


class Layer(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(size), Attention(size, heads)
        self.norm2, self.up, self.down = nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class TextEncoder(nn.Module):
    """Embeddings and two pre-norm layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(64, 64), nn.Embedding(32, 64)
        self.layers = nn.ModuleList([Layer(64, 2) for _ in range(2)])
        self.norm = nn.LayerNorm(64)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class PatchClassifier(nn.Module):
    """A small ViT."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 64, 8, 8)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 64)), nn.Parameter(torch.randn(1, 17, 64))
        self.layer, self.head = Layer(64, 2), nn.Linear(64, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.layer(x)[:, 0])


class UNet(nn.Module):
    """One level down and up again."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.norm, self.up, self.out = nn.GroupNorm(4, 32), nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(32, 2, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        skip = F.silu(self.down(image))
        x = F.silu(self.norm(self.middle(F.avg_pool2d(skip, 2))))
        return self.out(torch.cat([self.up(x), skip], 1))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.layer, self.head = kind(16, 32, batch_first=True), nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(x)[0][:, -1])


class Mobile(nn.Module):
    """Depthwise-separable convolutions with hard swish and squeeze and excitation."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.depth, self.point = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Conv2d(16, 24, 1)
        self.squeeze, self.excite, self.head = nn.Conv2d(16, 8, 1), nn.Conv2d(8, 16, 1), nn.Linear(24, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.hardswish(self.depth(F.hardswish(self.stem(image))))
        scale = F.hardsigmoid(self.excite(F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        return self.head(self.point(x * scale).mean((2, 3)))


class Upscaler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 5, padding=2, padding_mode="reflect"), nn.Conv2d(16, 12, 3, padding=1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.pixel_shuffle(self.second(torch.tanh(self.first(image))), 2)
        return x + F.interpolate(image, scale_factor=2, mode="bilinear")


def image(size: int = 32) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


TORCH: dict[str, tuple[Callable[[], Made], bool]] = {  # name -> model and inputs, whether by the newer exporter
    "mlp": (lambda: (nn.Sequential(nn.Linear(33, 64), nn.ReLU(), nn.Linear(64, 10), nn.LogSoftmax(-1)), (torch.randn(8, 33),)), True),
    "residual_net": (lambda: (ResidualNet(), (image(),)), True),
    "text_encoder": (lambda: (TextEncoder(), (torch.randint(0, 64, (2, 32)),)), True),
    "patch_classifier": (lambda: (PatchClassifier(), (image(),)), True),
    "unet": (lambda: (UNet(), (image(16),)), True),
    "mobile": (lambda: (Mobile(), (image(),)), True),
    "lstm": (lambda: (Recurrent(nn.LSTM), (torch.randn(2, 5, 16),)), True),
    "upscaler": (lambda: (Upscaler(), (image(16),)), True),
    "old_residual_net": (lambda: (ResidualNet(), (image(),)), False),
    "old_text_encoder": (lambda: (TextEncoder(), (torch.randint(0, 64, (2, 32)),)), False),
    "old_gru": (lambda: (Recurrent(nn.GRU), (torch.randn(2, 5, 16),)), False),
}


def export_torch(name: str, path: Path, **options: Any) -> dict[str, Array]:
    """Writes the file; the values of its inputs."""
    build, newer = TORCH[name]
    torch.manual_seed(0)
    model, args = build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), args, str(path), dynamo=newer, opset_version=18 if newer else 17, verbose=False, **options)
    inputs = [value.name for value in onnx.load(path, load_external_data=False).graph.input]
    return {key: arg.numpy() for key, arg in zip(inputs, args, strict=True)}


# --- by hand ------------------------------------------------------------------------------------------------------------------


def _random(*shape: int) -> Array:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / 4).astype(np.float32)


def save(path: Path, nodes: list[onnx.NodeProto], inputs: dict[str, tuple[int, list[Any]]], weights: dict[str, Array], output: tuple[int, list[Any]],
         opset: int = 17, domain: str = "", **more: Any) -> None:  # fmt: skip
    """A file with one output `y`."""
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    out = helper.make_tensor_value_info("y", *output)
    graph = helper.make_graph(nodes, "by_hand", given, [out], [numpy_helper.from_array(value, name) for name, value in weights.items()])
    domains = [
        helper.make_opsetid("", opset),
        *([helper.make_opsetid(domain, 1)] if domain else []),
        *(helper.make_opsetid(one.domain, 1) for one in more.get("functions", ())),
    ]
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=9, **more), path)


def open_batch(path: Path) -> dict[str, Array]:
    """The batch is open; the reshape's shape is computed from the input's."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Concat", ["n", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["flat"]),
        node("Gemm", ["flat", "w", "b"], ["y"], transB=1),
    ]
    weights = {"zero": np.array([0]), "rest": np.array([-1]), "w": _random(10, 96), "b": _random(10)}
    save(path, nodes, {"x": (TensorProto.FLOAT, ["batch", 3, 32])}, weights, (TensorProto.FLOAT, ["batch", 10]))
    return {"x": _random(5, 3, 32)}


def attention_by_hand(path: Path) -> dict[str, Array]:
    """MatMul, Softmax, MatMul."""
    node = helper.make_node
    nodes = [
        node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "kt"], ["raw"]),
        node("Mul", ["raw", "scale"], ["scaled"]),
        node("Add", ["scaled", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["chances"], axis=-1),
        node("MatMul", ["chances", "v"], ["y"]),
    ]
    shape = [1, 2, 32, 64]
    mask = np.triu(np.full((1, 1, 32, 32), -1e9, np.float32), 1)
    save(path, nodes, {name: (TensorProto.FLOAT, shape) for name in "qkv"}, {"scale": np.array(0.125, np.float32), "mask": mask}, (TensorProto.FLOAT, shape))
    return {name: np.roll(_random(*shape), i) for i, name in enumerate("qkv")}


def own_function(path: Path) -> dict[str, Array]:
    """A function of the file, called twice, with an attribute handed on."""
    node = helper.make_node
    scaled = node("LeakyRelu", ["h"], ["r"])
    scaled.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    body = [node("MatMul", ["x", "w"], ["h"]), scaled]
    function = helper.make_function("own", "Dense", ["x", "w"], ["r"], body, [helper.make_opsetid("", 17)], ["slope"])
    nodes = [node("Dense", ["x", "w1"], ["a"], domain="own", slope=0.1), node("Dense", ["a", "w2"], ["y"], domain="own", slope=0.3)]
    weights = {"w1": _random(33, 64), "w2": _random(64, 31)}
    save(path, nodes, {"x": (TensorProto.FLOAT, [4, 33])}, weights, (TensorProto.FLOAT, [4, 31]), functions=[function])
    return {"x": _random(4, 33)}


def external_data(path: Path) -> dict[str, Array]:
    """Weights in a file beside the model."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
    save(path, nodes, {"x": (TensorProto.FLOAT, [4, 64])}, {"w": _random(64, 128)}, (TensorProto.FLOAT, [4, 128]))
    onnx.save(onnx.load(path), path, save_as_external_data=True, location=f"{path.stem}.bin", size_threshold=100)
    return {"x": _random(4, 64)}


def known_branch(path: Path) -> dict[str, Array]:
    """An If whose condition is a shape's."""
    node = helper.make_node
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
    then = helper.make_graph([node("Relu", ["x"], ["o"])], "then", [], [out])
    other = helper.make_graph([node("Neg", ["x"], ["o"])], "other", [], [out])
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Greater", ["n", "two"], ["large"]),
        node("If", ["large"], ["y"], then_branch=then, else_branch=other),
    ]
    weights = {"zero": np.array(0), "two": np.array(2)}
    save(path, nodes, {"x": (TensorProto.FLOAT, [4, 33])}, weights, (TensorProto.FLOAT, [4, 33]))
    return {"x": _random(4, 33)}


def branches(path: Path) -> dict[str, Array]:
    """An If whose condition is computed from the input."""
    node = helper.make_node
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, [4, 33])
    then = helper.make_graph([node("Relu", ["x"], ["o"])], "then", [], [out])
    other = helper.make_graph([node("Neg", ["x"], ["h"]), node("Exp", ["h"], ["o"])], "other", [], [out])
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Less", ["s", "zero"], ["c"]), node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    save(path, nodes, {"x": (TensorProto.FLOAT, [4, 33])}, {"zero": np.array(0, np.float32)}, (TensorProto.FLOAT, [4, 33]))
    return {"x": _random(4, 33)}


def loops(path: Path) -> dict[str, Array]:
    """A Loop of three steps, whose values a Scan reads from the last to the first."""
    node, value = helper.make_node, helper.make_tensor_value_info
    rows = [value(name, TensorProto.FLOAT, [33]) for name in ("v", "v2", "r", "s", "e", "s2", "o")]
    nodes = [node("Add", ["v", "x"], ["d"]), node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), node("Mul", ["d", "f"], ["v2"]), node("Relu", ["d"], ["r"]),
             node("Identity", ["c"], ["k"])]  # fmt: skip
    flags = [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("k", TensorProto.BOOL, [])]
    body = helper.make_graph(nodes, "body", [*flags[:2], rows[0]], [flags[2], rows[1], rows[2]])
    step = helper.make_graph([node("Sub", ["s", "e"], ["s2"]), node("Sin", ["s2"], ["o"])], "step", rows[3:5], rows[5:])
    outer = [node("Loop", ["n", "t", "x"], ["last", "all"], body=body), node("Scan", ["last", "all"], ["", "y"], body=step, num_scan_inputs=1)]
    save(path, outer, {"x": (TensorProto.FLOAT, [33])}, {"n": np.array(3), "t": np.array(True)}, (TensorProto.FLOAT, [3, 33]))
    return {"x": _random(33)}


def quantised(path: Path) -> dict[str, Array]:
    """Weights as 8-bit integers with a scale per column."""
    node = helper.make_node
    nodes = [node("DequantizeLinear", ["w8", "scale", "zero"], ["w"], axis=1), node("MatMul", ["x", "w"], ["h"]), node("Clip", ["h", "low", "high"], ["y"])]
    w8 = np.random.default_rng(0).integers(0, 256, (64, 32)).astype(np.uint8)
    weights = {"w8": w8, "scale": np.full(32, 0.01, np.float32), "zero": np.full(32, 128, np.uint8), "low": np.array(-1, np.float32)}
    weights["high"] = np.array(1, np.float32)
    save(path, nodes, {"x": (TensorProto.FLOAT, [8, 64])}, weights, (TensorProto.FLOAT, [8, 32]))
    return {"x": _random(8, 64)}


BY_HAND = {one.__name__: one for one in (open_batch, attention_by_hand, own_function, external_data, known_branch, branches, loops, quantised)}
NAMES = [*BY_HAND, *TORCH]


def make(name: str, path: Path) -> dict[str, Array]:
    """Writes the file; the values of its inputs by name."""
    return BY_HAND[name](path) if name in BY_HAND else export_torch(name, path)

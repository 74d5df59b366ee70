"""`ttnn.model_preprocessing`: what becomes of the parameters of each kind of module, and what a custom preprocessor sees."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
import ttnn
from torch import nn
from ttnn.dot_access import DotAccessDict, make_dot_access_dict
from ttnn.model_preprocessing import (
    Conv2dArgs,
    ParameterDict,
    ParameterList,
    fold_batch_norm2d_into_conv2d,
    infer_ttnn_module_args,
    make_parameter_dict,
    preprocess_model_parameters,
)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(6, 4)
        self.norm = nn.LayerNorm(4)
        self.scale = nn.Parameter(torch.arange(4.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.proj(x)) * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 6)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.body = nn.Sequential(nn.Conv2d(3, 5, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


@pytest.mark.parametrize(
    ("path", "shape", "layout", "of"),
    [
        ("words.weight", (9, 6), "ROW_MAJOR", lambda net: net.words.weight),
        ("blocks.1.proj.weight", (6, 4), "TILE", lambda net: net.blocks[1].proj.weight.T),
        ("blocks.1.proj.bias", (1, 4), "TILE", lambda net: net.blocks[1].proj.bias[None]),
        ("blocks.0.norm.weight", (1, 4), "TILE", lambda net: net.blocks[0].norm.weight[None]),
        ("blocks.0.scale", (4,), "ROW_MAJOR", lambda net: net.blocks[0].scale),
        ("body.0.weight", (5, 3, 3, 3), "ROW_MAJOR", lambda net: net.body[0].weight),
    ],
)
def test_default_preprocessing(path: str, shape: tuple[int, ...], layout: str, of: Any) -> None:
    net = Net()
    found: Any = preprocess_model_parameters(initialize_model=lambda: net)
    for part in path.split("."):
        found = found[int(part)] if part.isdigit() else getattr(found, part)
    assert (tuple(found.shape), found.layout, found.dtype) == (shape, getattr(ttnn.Layout, layout), ttnn.bfloat16)
    assert torch.equal(ttnn.to_torch(found).float(), of(net).detach().bfloat16().float())


def test_trees_are_lists_and_attributes() -> None:
    parameters = preprocess_model_parameters(initialize_model=Net)
    assert isinstance(parameters, ParameterDict)
    assert isinstance(parameters.blocks, ParameterList)
    assert 1 in parameters.blocks and 2 not in parameters.blocks
    assert "weight: ttnn.Tensor(shape=Shape([6, 4])" in repr(parameters)
    made = make_dot_access_dict({"a": {"b": 1}, "c": Conv2dArgs(d=2)}, ignore_types=(Conv2dArgs,))
    assert (made.a.b, type(made.a), type(made.c)) == (1, DotAccessDict, Conv2dArgs)
    assert isinstance(make_parameter_dict({"a": {"b": 1}}).a, ParameterDict)


def test_torch_parameters_stay_where_they_are_not_wanted() -> None:
    net = Net()
    parameters = preprocess_model_parameters(initialize_model=lambda: net, convert_to_ttnn=lambda module, name: not isinstance(module, nn.Linear))
    assert torch.equal(parameters.blocks[0].proj.weight, net.blocks[0].proj.weight.T)
    assert isinstance(parameters.blocks[0].norm.weight, ttnn.Tensor)


def test_custom_preprocessor() -> None:
    names: list[str] = []

    def custom(model: Any, name: str, ttnn_module_args: Any, convert_to_ttnn: Any) -> dict[str, Any]:
        names.append(name)
        assert ttnn_module_args is None and convert_to_ttnn(model, name)
        return {"both": {"weight": model.weight}} if isinstance(model, nn.LayerNorm) else {}

    parameters = preprocess_model_parameters(initialize_model=Net, custom_preprocessor=custom, prefix="net")
    assert set(parameters.blocks[1].norm) == {"both"}
    assert isinstance(parameters.blocks[1].norm.both, ParameterDict)
    assert {"net", "net.blocks.1.norm", "net.body.0"} <= set(names)


@pytest.mark.parametrize("custom", [lambda model: {}, lambda model, name, other: {}])
def test_custom_preprocessors_of_another_signature_are_refused(custom: Any) -> None:
    with pytest.raises(RuntimeError, match="parameter"):
        preprocess_model_parameters(initialize_model=Net, custom_preprocessor=custom)


def test_module_arguments() -> None:
    net = Net().eval()
    found = infer_ttnn_module_args(model=net, run_model=lambda model: model(torch.zeros(2, 3, 8, 12)), device=None)
    conv, pool = found.body[0], found.body["2"]
    assert (conv.in_channels, conv.out_channels, conv.stride, conv.batch_size, conv.input_height, conv.input_width) == (3, 5, (2, 2), 2, 8, 12)
    assert (pool.kernel_size, pool.input_channels, pool.input_height, pool.input_width) == (2, 5, 4, 6)


@pytest.mark.parametrize("bias", [False, True])
def test_folded_batch_norm(bias: bool) -> None:
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(3, 5, 3, bias=bias), nn.BatchNorm2d(5).eval()
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    x = torch.rand(1, 3, 6, 6)
    weight, shift = fold_batch_norm2d_into_conv2d(conv, norm)
    assert torch.allclose(nn.functional.conv2d(x, weight, shift), norm(conv(x)), atol=1e-5)
    with pytest.raises(RuntimeError, match="track_running_stats"):
        fold_batch_norm2d_into_conv2d(conv, nn.BatchNorm2d(5, track_running_stats=False))


class Direct(nn.Module):
    """Overrides `__call__`, as some published references do: it is no level of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.pool = nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(self.stem(x))


class Whole(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.parts = Direct(), nn.ModuleList([nn.Conv2d(4, 2, 1)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.parts[0](self.body(x))


def test_module_arguments_follow_calls() -> None:
    """Entries stand where their modules are called from: beside those of a module that overrides `__call__`, without the level of a ModuleList."""
    found = infer_ttnn_module_args(model=Whole(), run_model=lambda model: model(torch.zeros(1, 3, 10, 10)), device=None)
    assert set(found) == {"stem", "pool", "0", 0}
    assert (found.pool.input_channels, found.pool.input_height, found[0].input_height) == (4, 8, 4)
    with pytest.raises(KeyError):
        infer_ttnn_module_args(model=Direct(), run_model=lambda model: model(torch.zeros(1, 3, 10, 10)), device=None)


def test_distribute_names_the_mapper_of_calls(device: Any) -> None:
    """On one device every tensor is whole; after the block, or an error in it, the functions are as before."""
    before = ttnn.from_torch, ttnn.to_torch
    with ttnn.distribute(ttnn.ReplicateTensorToMesh(device)):
        assert ttnn.from_torch is not before[0]
        assert torch.equal(ttnn.to_torch(ttnn.from_torch(torch.ones(2, 2), device=device)), torch.ones(2, 2))
    with pytest.raises(TypeError), ttnn.distribute(ttnn.ReplicateTensorToMesh(device)):
        ttnn.from_torch(torch.ones(2, 2), no_such_keyword=1)
    with ttnn.distribute(ttnn.ConcatMeshToTensor(device, 0)):
        assert torch.equal(ttnn.to_torch(ttnn.from_torch(torch.ones(2, 2), device=device)), torch.ones(2, 2))
    with pytest.raises(ValueError, match="TensorToMesh or MeshToTensor"), ttnn.distribute(device):
        pass
    assert (ttnn.from_torch, ttnn.to_torch) == before


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x))  # type: ignore[no-any-return]


@pytest.mark.parametrize("on_device", [False, True])
def test_parameters_come_with_the_arguments_of_their_modules(on_device: bool, device: Any) -> None:
    from ttnn.model_preprocessing import preprocess_model

    found = preprocess_model(
        initialize_model=Layer, convert_to_ttnn=lambda *_: False, run_model=lambda model: model(torch.zeros(1, 2, 8, 6)), device=device if on_device else None
    )
    conv, norm = found.conv.ttnn_module_args, found.norm.ttnn_module_args
    assert (conv.in_channels, conv.out_channels, conv.input_height, conv.input_width, conv.padding) == (2, 4, 8, 6, (1, 1)) and "device" not in conv
    assert (norm.num_groups, norm.num_channels, norm.batch_size) == (2, 4, 1)
    assert list(found.conv.weight.shape) == [4, 2, 3, 3]


def test_parameters_and_arguments_that_contradict_each_other() -> None:
    from ttnn.model_preprocessing import merge_ttnn_module_args_into_parameters as merge

    assert merge({"a": {"n": 1}, "b": 2}, {"a": {"n": 1, "m": 3}, "c": 4}) == {"a": {"n": 1}, "b": 2}
    with pytest.raises(Exception, match=r"Conflict at a\.n"):
        merge({"a": {"n": 1}}, {"a": {"n": 2}})


def test_trees_are_moved_to_the_device(device: Any) -> None:
    from ttnn.model_preprocessing import ParameterList, make_parameter_dict, move_to_device

    host = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    tree = make_parameter_dict({"a": {"weight": host}, "b": ParameterList([host, 3])})
    moved = move_to_device(tree, device)
    assert moved is tree and [ttnn.is_tensor_storage_on_device(one) for one in (moved.a.weight, moved.b[0])] == [True, True] and moved.b[1] == 3


@pytest.mark.parametrize(("name", "absent"), [("tracer", "codegen"), ("torch_tracer", "trace")])
def test_models_may_import_a_tracer(name: str, absent: str) -> None:
    """Published models import one and use nothing of it."""
    module = importlib.import_module(f"ttnn.{name}")
    with pytest.raises(AttributeError, match=rf"ttnn.{name}.{absent} exists .* not in the simulator"):
        getattr(module, absent)

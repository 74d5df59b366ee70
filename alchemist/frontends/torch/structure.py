"""Modules, parameters and buffers of a PyTorch model, as `alchemist.frontends.structure` compares them."""

from __future__ import annotations

import torch

from alchemist.frontends.structure import Structure
from alchemist.frontends.torch.export import FunctionModule


def structure_of(root: torch.nn.Module) -> Structure:
    """Class of every module (of those of torch.nn with its settings), dtype and shape of every parameter and buffer."""
    modules = {name: _described(module) for name, module in root.named_modules() if not isinstance(module, FunctionModule)}
    tensors = {name: tensor_text(value) for name, value in (*root.named_parameters(), *root.named_buffers())}
    return {"module": modules, "tensor": tensors}


def tensor_text(value: torch.Tensor) -> str:
    """float32 [64, 10]"""
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"


def _described(module: torch.nn.Module) -> str:
    """Class name and settings; no settings for a user's class, whose extra_repr may print anything."""
    name = type(module).__name__
    settings = module.extra_repr() if type(module).__module__.startswith("torch.nn.") else ""
    return f"{name}({settings})"

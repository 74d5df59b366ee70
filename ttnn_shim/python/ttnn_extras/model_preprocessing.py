"""`ttnn.model_preprocessing`: the parameters of a torch model as a tree of TT-NN tensors.

    parameters = preprocess_model_parameters(initialize_model=lambda: model, device=device)
    ttnn.linear(x, parameters.layer[0].query.weight, bias=parameters.layer[0].query.bias)

Names are those of the model's children. Linear weights are transposed, one-dimensional parameters of norms and biases of linears get a leading 1.
A `custom_preprocessor(model, name)` may return the parameters of a module itself. The model cache (`ttnn.CONFIG.enable_model_cache`) saves a
card's user time; here parameters are always made anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
import ttnn

from ttnn_extras.dot_access import make_dot_access_dict

_EXTRA_ARGUMENTS = ("ttnn_module_args", "convert_to_ttnn")


class ParameterList(list[Any]):
    """Parameters of a ModuleList; `index in parameters` asks whether there is such an index."""

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and index < len(self)

    def __repr__(self) -> str:
        return _shown(self, "")


class ParameterDict(dict[Any, Any]):
    """Parameters of a module, by name or as attributes."""

    __getattr__ = dict.__getitem__
    __delattr__ = dict.__delitem__

    def __repr__(self) -> str:
        return _shown(self, "")


class ModuleArgs(dict[Any, Any]):
    """What a module was made with and the sizes of its input."""


class _AttributeArgs(ModuleArgs):
    __getattr__ = dict.__getitem__
    __delattr__ = dict.__delitem__


class Conv2dArgs(_AttributeArgs):
    """Of a torch.nn.Conv2d."""


class ConvTranspose2dArgs(_AttributeArgs):
    """Of a torch.nn.ConvTranspose2d."""


class MaxPool2dArgs(_AttributeArgs):
    """Of a torch.nn.MaxPool2d."""


class GroupNormArgs(_AttributeArgs):
    """Of a torch.nn.GroupNorm."""


def _shown(value: Any, indent: str) -> str:
    """A tree of parameters with one entry per line, tensors by shape, layout and dtype."""
    inner = indent + "  "
    if isinstance(value, (ParameterDict, ModuleArgs)):
        entries, ends = [f"{key}: {_shown(item, inner)}" for key, item in value.items()], "{}"
    elif isinstance(value, ParameterList):
        entries, ends = [_shown(item, inner) for item in value], "[]"
    elif isinstance(value, ttnn.Tensor):
        return f"ttnn.Tensor(shape={value.shape}, layout={value.layout}, dtype={value.dtype})"
    elif isinstance(value, torch.Tensor):
        return f"torch.Tensor(shape={value.shape}, dtype={value.dtype})"
    else:
        return repr(value)
    if not entries:
        return ends
    return ends[0] + "\n" + ",\n".join(inner + entry for entry in entries) + f"\n{indent}{ends[1]}"


def make_parameter_dict(dictionary: dict[Any, Any]) -> ParameterDict:
    """`dictionary` and the dictionaries in it as ParameterDict; a ParameterDict as it is."""
    if isinstance(dictionary, ParameterDict):
        return dictionary
    return ParameterDict(
        {key: make_parameter_dict(value) if isinstance(value, dict) and not isinstance(value, ModuleArgs) else value for key, value in dictionary.items()}
    )


def preprocess_linear_weight(weight: Any, *, dtype: Any, layout: Any = None, weights_mesh_mapper: Any = None) -> Any:
    """[out, in] of torch as a host tensor [in, out]."""
    return ttnn.from_torch(weight.T.contiguous(), dtype=dtype, layout=_layout(layout), mesh_mapper=weights_mesh_mapper)


def preprocess_linear_bias(bias: Any, *, dtype: Any, layout: Any = None, weights_mesh_mapper: Any = None) -> Any:
    """[out] as a host tensor [1, out]."""
    return ttnn.from_torch(bias.reshape((1, -1)), dtype=dtype, layout=_layout(layout), mesh_mapper=weights_mesh_mapper)


def preprocess_layernorm_parameter(parameter: Any, *, dtype: Any, layout: Any = None) -> Any:
    """[features] as a host tensor [1, features]."""
    return ttnn.from_torch(parameter.reshape((1, -1)), dtype=dtype, layout=_layout(layout))


def preprocess_embedding_weight(weight: Any, *, dtype: Any) -> Any:
    """[rows, features] as a host tensor in row-major layout."""
    return ttnn.from_torch(weight, dtype=dtype)


def _layout(layout: Any) -> Any:
    return ttnn.TILE_LAYOUT if layout is None else layout


def fold_batch_norm2d_into_conv2d(conv: Any, bn: Any) -> tuple[Any, Any]:
    """(weight, bias) of a convolution that does what `conv` followed by `bn` does in eval mode.

    Raises:
        RuntimeError: `bn` keeps no running statistics.
    """
    if not bn.track_running_stats:
        raise RuntimeError("BatchNorm2d must have track_running_stats=True to be folded into Conv2d")
    factor = bn.weight / torch.sqrt(bn.running_var + bn.eps)
    mean = bn.running_mean if conv.bias is None else bn.running_mean - conv.bias
    return conv.weight * factor[:, None, None, None], bn.bias - mean * factor


def default_preprocessor(model: Any, name: str, ttnn_module_args: Any) -> ParameterDict:
    """The parameters of a Linear, LayerNorm or Embedding as bfloat16; nothing for other modules."""
    made: dict[str, Any] = {}
    if isinstance(model, torch.nn.Linear):
        made["weight"] = preprocess_linear_weight(model.weight, dtype=ttnn.bfloat16)
        if model.bias is not None:
            made["bias"] = preprocess_linear_bias(model.bias, dtype=ttnn.bfloat16)
    elif isinstance(model, torch.nn.LayerNorm):
        made = {part: preprocess_layernorm_parameter(getattr(model, part), dtype=ttnn.bfloat16) for part in ("weight", "bias")}
    elif isinstance(model, torch.nn.Embedding):
        made["weight"] = preprocess_embedding_weight(model.weight, dtype=ttnn.bfloat16)
    return make_parameter_dict(made)


def _device_dtype(dtype: torch.dtype) -> Any:
    """What a parameter without a preprocessor becomes: floats bfloat16, int64 uint32."""
    names = {torch.uint8: "uint8", torch.int16: "uint16", torch.int32: "int32", torch.int64: "uint32"}
    return getattr(ttnn, names.get(dtype, "bfloat16"))


def _direct_parameters(model: Any) -> Iterator[tuple[str, Any]]:
    return ((name, parameter) for name, parameter in model.named_parameters() if "." not in name)


def _call_custom(custom_preprocessor: Callable[..., Any], model: Any, name: str, **extra: Any) -> Any:
    """Gives the function what its signature asks for beyond the module and its name."""
    names = list(inspect.signature(custom_preprocessor).parameters)
    if len(names) < 2:
        raise RuntimeError("Custom preprocessor must have at least two parameters: model and name")
    for unknown in names[2:]:
        if unknown not in _EXTRA_ARGUMENTS:
            raise RuntimeError(f"Unsupported parameter: {unknown}")
    return custom_preprocessor(model, name, **{key: value for key, value in extra.items() if key in names})


def convert_torch_model_to_ttnn_model(
    model: Any, *, convert_to_ttnn: Callable[[Any, str], bool], custom_preprocessor: Callable[..., Any] | None, name: str, ttnn_module_args: Any
) -> Any:
    """The parameters of `model` and its children; a ParameterList for a ModuleList.

    convert_to_ttnn(module, name): False leaves the parameters of a module as torch tensors.
    """

    def of_child(child: Any, key: int | str, child_args: Any) -> Any:
        return convert_torch_model_to_ttnn_model(
            child,
            convert_to_ttnn=convert_to_ttnn,
            custom_preprocessor=custom_preprocessor,
            name=f"{name}.{key}" if name else str(key),
            ttnn_module_args=child_args,
        )

    if isinstance(model, torch.nn.ModuleList):
        children_args = [None if ttnn_module_args is None else ttnn_module_args[index] for index in range(len(model))]
        return ParameterList([of_child(child, index, children_args[index]) for index, child in enumerate(model.children())])
    if custom_preprocessor is not None:
        custom = _call_custom(custom_preprocessor, model, name, ttnn_module_args=ttnn_module_args, convert_to_ttnn=convert_to_ttnn)
        if custom:
            return make_parameter_dict(custom)

    children, direct = list(model.named_children()), list(_direct_parameters(model))
    parameters = ParameterDict()
    if convert_to_ttnn(model, name):
        made = default_preprocessor(model, name, ttnn_module_args)
        if made:
            if len(made) != len(children) + len(direct):
                raise RuntimeError("Not all children or parameters were converted using default_preprocessor_parameters!")
            return made
        for part, parameter in direct:
            parameters[part] = ttnn.from_torch(parameter, dtype=_device_dtype(parameter.dtype))
    else:
        for part, parameter in direct:
            parameters[part] = parameter.T.contiguous() if isinstance(model, torch.nn.Linear) and part == "weight" else parameter
    for part, child in children:
        key = int(part) if part.isdigit() else part
        made = of_child(child, key, None if ttnn_module_args is None else ttnn_module_args.get(key))
        if made:
            parameters[key] = made
    return parameters


def preprocess_remaining_children_and_parameters(
    model: Any,
    name: str,
    convert_to_ttnn: Callable[[Any, str], bool],
    custom_preprocessor: Callable[..., Any] | None,
    parameters: dict[Any, Any],
    ttnn_module_args: Any,
    *,
    already_preprocessed_children: Any,
) -> dict[Any, Any]:
    """Adds to `parameters` the children that a custom preprocessor has not made itself."""
    for part, child in (*model.named_children(), *_direct_parameters(model)):
        if part not in already_preprocessed_children:
            parameters[part] = convert_torch_model_to_ttnn_model(
                child, name=name, convert_to_ttnn=convert_to_ttnn, custom_preprocessor=custom_preprocessor, ttnn_module_args=ttnn_module_args.get(part)
            )
    return parameters


def move_to_device(object: Any, device: Any) -> Any:
    """Moves the TT-NN tensors of a tree to the device, in place; other values stay."""
    if isinstance(object, ParameterDict):
        for key, value in list(object.items()):
            object[key] = move_to_device(value, device)
    elif isinstance(object, ParameterList):
        object[:] = [move_to_device(value, device) for value in object]
    elif isinstance(object, ttnn.Tensor):
        return ttnn.to_device(object, device)
    return object


def infer_ttnn_module_args(*, model: Any, run_model: Callable[[Any], Any] | None, device: Any) -> Any:
    """The arguments and input sizes of the convolutions, poolings and group norms that `run_model(model)` calls.

    A tree by calls: a module's entries are the modules that its forward calls, under the last part of their names. A module that overrides
    `__call__` is no level of its own, and what it calls stands among the entries of its caller. Called twice, a module has its last input's sizes.

    Raises:
        KeyError: `run_model` does not call `model` itself.
    """
    if run_model is None:
        return None
    levels: list[dict[Any, Any]] = [{}]
    hooks = []
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda *_: levels.append({})))
        last = name.rpartition(".")[2]
        hooks.append(
            module.register_forward_hook(
                lambda module, inputs, named, _, last=last: _note_module(levels, last, module, (*inputs, *named.values()), device), with_kwargs=True
            )
        )
    try:
        with torch.no_grad():
            run_model(model)
    finally:
        for hook in hooks:
            hook.remove()
    return make_dot_access_dict(levels[0], ignore_types=(ModuleArgs,))[""]


def _note_module(levels: list[dict[Any, Any]], name: str, module: Any, inputs: tuple[Any, ...], device: Any) -> None:
    """Moves the innermost level, or the module's arguments where it has some, into the level around it."""
    called = levels.pop()
    shape = next((value.shape for value in inputs if isinstance(value, torch.Tensor)), None)
    arguments = None if shape is None else _module_args(module, shape, device)
    for key in (name, int(name)) if name.isdigit() else (name,):
        levels[-1][key] = called if arguments is None else arguments


_SHARED = ("kernel_size", "stride", "padding", "dilation")


def _module_args(module: Any, shape: Any, device: Any) -> ModuleArgs | None:
    sizes = {"batch_size": shape[0], "input_height": shape[-2], "input_width": shape[-1]} if len(shape) > 1 else {}
    if isinstance(module, torch.nn.Conv2d | torch.nn.ConvTranspose2d):
        transposed = isinstance(module, torch.nn.ConvTranspose2d)
        names = ("in_channels", "out_channels", *_SHARED[:3], *(("output_padding",) if transposed else ()), "dilation", "groups", "padding_mode")
        kind: type[ModuleArgs] = ConvTranspose2dArgs if transposed else Conv2dArgs
        return kind(
            **{name: getattr(module, name) for name in names}, **sizes, math_fidelity=ttnn.MathFidelity.HiFi4, dtype=ttnn.bfloat16, weights_dtype=ttnn.bfloat16,
            use_1d_systolic_array=True, enable_auto_formatting=False, conv_blocking_and_parallelization_config_override={}, device=device,
        )  # fmt: skip
    if isinstance(module, torch.nn.MaxPool2d):
        return MaxPool2dArgs(**{name: getattr(module, name) for name in _SHARED}, **sizes, input_channels=shape[1], dtype=ttnn.bfloat16)
    if isinstance(module, torch.nn.GroupNorm):
        return GroupNormArgs(**{name: getattr(module, name) for name in ("num_groups", "num_channels", "eps", "affine")}, **sizes, dtype=ttnn.bfloat16)
    return None


def merge_ttnn_module_args_into_parameters(parameters: dict[Any, Any], ttnn_module_args: dict[Any, Any], path: Any = ()) -> dict[Any, Any]:
    """Adds `ttnn_module_args` entries to the parameters of the modules that have some."""
    if isinstance(ttnn_module_args, ModuleArgs):
        ttnn_module_args.pop("device", None)
        parameters["ttnn_module_args"] = ttnn_module_args
        return parameters
    for key in list(parameters):
        if key not in ttnn_module_args:
            continue
        if isinstance(parameters[key], dict) and isinstance(ttnn_module_args[key], dict):
            merge_ttnn_module_args_into_parameters(parameters[key], ttnn_module_args[key], (*path, str(key)))
        elif parameters[key] != ttnn_module_args[key]:
            raise Exception("Conflict at " + ".".join((*path, str(key))))  # noqa: TRY002  the real package's own type
    return parameters


def preprocess_model(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Callable[[Any, str], bool] | None = None,
    custom_preprocessor: Callable[..., Any] | None = None,
    device: Any = None,
    prefix: str = "",
    run_model: Callable[[Any], Any] | None = None,
    reader_patterns_cache: dict[Any, Any] | None = None,
) -> ParameterDict | ParameterList:
    """Parameters as `preprocess_model_parameters` makes them, with the `ttnn_module_args` of the modules that `run_model` calls.

    Raises:
        RuntimeError: no `initialize_model`, or modules of convolutions and poolings are asked for as TT-NN modules, which ttnn 0.81.1 has not.
    """
    if initialize_model is None:
        raise RuntimeError(f"initialize_model is needed: the simulator keeps no cache of models{f' ({model_name})' if model_name else ''}")
    model = initialize_model()
    if model.training:
        model.eval()
    module_args = infer_ttnn_module_args(model=model, run_model=run_model, device=device)
    parameters = convert_torch_model_to_ttnn_model(
        model, convert_to_ttnn=convert_to_ttnn or (lambda *_: True), custom_preprocessor=custom_preprocessor, name=prefix or "", ttnn_module_args=module_args
    )
    if module_args is not None:
        parameters = merge_ttnn_module_args_into_parameters(parameters, module_args)
    parameters = parameters if isinstance(parameters, ParameterList) else make_parameter_dict(parameters)
    return parameters if device is None else move_to_device(parameters, device)


from_torch = preprocess_model


def preprocess_model_parameters(
    *,
    model_name: str | None = None,
    version: str | None = None,
    initialize_model: Callable[[], Any] | None = None,
    convert_to_ttnn: Callable[[Any, str], bool] | None = None,
    custom_preprocessor: Callable[..., Any] | None = None,
    device: Any = None,
    prefix: str = "",
) -> ParameterDict | ParameterList:
    """The parameters of `initialize_model()` as a tree of TT-NN tensors, on `device` if there is one."""
    return preprocess_model(
        model_name=model_name, version=version, initialize_model=initialize_model, convert_to_ttnn=convert_to_ttnn,
        custom_preprocessor=custom_preprocessor, device=device, prefix=prefix,
    )  # fmt: skip

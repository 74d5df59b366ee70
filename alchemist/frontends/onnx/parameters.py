"""Parameters that the exporter of PyTorch merged become initializers of their own again.

The exporter stores equal small tensors once: the zero biases of all layers are the first layer's. Its metadata tell which parameter each op read
(`pkg.torch.onnx.fx_node`: `%p_encoder_layers_1_fc_bias`) and how the module calls it (the graph signature).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import onnx

MOST_BYTES = 1 << 20
"""Of a tensor that is separated; a larger one is equal to another only if the model ties the two."""
MOST_CHARACTERS = 1 << 24
_TARGET = re.compile(r"^(?P<placeholder>\w{1,500}): (?:PARAMETER|BUFFER) target='(?P<name>[\w.]{1,500})'", re.M)
_READ = re.compile(r"%(\w{1,500})")


def separate_merged(model: onnx.ModelProto) -> None:
    """Gives each node of the graph the parameter that its module reads, as an initializer of that name.

    before: layers.1: LayerNormalization(x, layers.0.norm.weight, layers.0.norm.bias)
    after:  layers.1: LayerNormalization(x, layers.1.norm.weight, layers.1.norm.bias)
    """
    targets = _targets(model)
    graph = model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    used = {*stored, *(name for node in graph.node for name in node.output), *(value.name for value in graph.input)}
    known = set(targets.values())
    separated: set[str] = set()
    for node in graph.node if targets else ():
        places = [place for place, name in enumerate(node.input) if name in stored and name in known]
        if not places:
            continue
        expression = next((entry.value for entry in node.metadata_props if entry.key == "pkg.torch.onnx.fx_node"), "")
        read = [targets[name] for name in _READ.findall(expression[:MOST_CHARACTERS].partition("(args = ")[2]) if name in targets]
        for place, name in zip(places, _own_names([node.input[place] for place in places], read, set(stored)), strict=True):
            merged = stored[node.input[place]]
            if name == merged.name or merged.ByteSize() > MOST_BYTES or (name in used and name not in separated):
                continue
            if name not in separated:
                separated.add(name)
                used.add(name)
                graph.initializer.add().CopyFrom(merged)
                graph.initializer[-1].name = name
            node.input[place] = name


def _targets(model: onnx.ModelProto) -> dict[str, str]:
    """Placeholder of the exported program -> the parameter's or buffer's name."""
    facts = {entry.key: entry.value for entry in (*model.metadata_props, *model.graph.metadata_props)}
    signature = facts.get("pkg.torch.export.ExportedProgram.graph_signature", "")[:MOST_CHARACTERS]
    return {match["placeholder"]: match["name"] for match in _TARGET.finditer(signature)}


def _own_names(merged: Sequence[str], read: Sequence[str], stored: set[str]) -> list[str]:
    """Names of a node's parameters. merged: as the node reads them now; read: by the op it was lowered from, in the order of its arguments."""
    if len(merged) == len(read):
        return list(read)
    left = [name for name in read if name not in stored]  # a stored parameter would be read under its own name
    names = []
    for name in merged:
        role = name.rpartition(".")[2]
        own = name if name in read else next((other for other in left if other.rpartition(".")[2] == role), left[0] if len(left) == 1 else name)
        left = [other for other in left if other != own]
        names.append(own)
    return names

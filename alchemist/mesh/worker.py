"""The process in which Shardy runs: a line of JSON with a module's text in, a line with its partitioned form out. Imports nothing of alchemist."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

PIPELINE = (
    "builtin.module(sdy-apply-sharding-constraints,"
    "sdy-user-priority-propagate{conservative-propagation=true keep-sharding-rules=true},"
    "func.func(sdy-sharding-constraint-to-reshard),func.func(sdy-insert-explicit-reshards{enable-full-version=true}),"
    "func.func(sdy-reshard-to-collectives),sdy-close-shardings)"
)
_AXIS = re.compile(r'"(\w+)"(:\(\d+\)\d+)?')


def _cut(sdy: Any, sharding: Any) -> list[list[str]]:
    """Axes of each dimension; a part of an axis is its name with ":(..).."."""
    return [_axes(str(dim)) for dim in map(sdy.DimensionShardingAttr, sdy.TensorShardingAttr(sharding).dimension_shardings)]


def _axes(text: str) -> list[str]:
    return ["".join(found) for found in _AXIS.findall(text)]


def _of_list(sdy: Any, entries: Any) -> list[Any]:
    """Cuts of a function's arguments or results, None for one without."""
    return [_cut(sdy, entry["sdy.sharding"]) if "sdy.sharding" in entry else None for entry in entries]


def partitioned(ir: Any, passes: Any, sdy: Any, text: str) -> dict[str, Any]:
    """arguments, outputs: the cut of each. steps: ops in order, values by number (arguments first). returned: numbers."""
    module = ir.Module.parse(text)
    passes.PassManager.parse(PIPELINE).run(module.operation)
    func = next(op for op in module.body.operations if op.operation.name == "func.func")
    block = func.regions[0].blocks[0]
    numbers = {value: number for number, value in enumerate(block.arguments)}
    steps = []
    for one in block.operations:
        op = one.operation
        operands = [numbers[value] for value in op.operands]
        if op.name == "func.return":
            break
        for result in op.results:
            numbers[result] = len(numbers)
        known = op.attributes
        if "out_sharding" in known:
            cuts = [_cut(sdy, known["out_sharding"])]
        else:
            cuts = [_cut(sdy, each) for each in sdy.TensorShardingPerValueAttr(known["sdy.sharding"]).shardings] if "sdy.sharding" in known else []
        summed = [axis for name in ("reduction_axes", "reduce_scatter_axes") if name in known for axis in _axes(str(known[name]))]
        number = int(ir.IntegerAttr(known["op"]).value) if "op" in known else None
        steps.append({"op": number, "kind": op.name, "operands": operands, "results": len(op.results), "cuts": cuts, "summed": summed})
    known = func.attributes
    arguments = _of_list(sdy, known["arg_attrs"]) if "arg_attrs" in known else [None] * len(block.arguments)
    return {"arguments": arguments, "steps": steps, "returned": operands}


def main() -> None:
    import jaxlib
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import sdy

    print(json.dumps({"jaxlib": jaxlib.__version__}), flush=True)
    for line in sys.stdin:
        with ir.Context() as context:
            registry = ir.DialectRegistry()
            _jax_mlir_ext.register_dialects(registry)
            context.append_dialect_registry(registry)
            context.load_all_available_dialects()
            sdy.register_dialect(context)
            context.allow_unregistered_dialects = True
            try:
                answer = partitioned(ir, passmanager, sdy, json.loads(line))
            except (ir.MLIRError, ValueError) as error:
                answer = {"error": str(error)[:2000]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

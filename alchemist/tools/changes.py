"""Changes of an emitted program that are worth a try, as edits of its text: where results lie, cores, data types, fidelity, shards, fused ops.

Nothing here knows what a change gains: `alchemist.tools.whatif` prices the edited program, and drops what the library refuses.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from ttnn_shim.reports.answers import Edit, Suggestion
from ttnn_shim.reports.calls import Call, Run

from alchemist.tools.fusions import fusions
from alchemist.tools.program_text import Source, keywords

MATMULS = ("ttnn.linear", "ttnn.matmul", "ttnn.addmm")
NORMS = ("ttnn.layer_norm", "ttnn.rms_norm")
_WITH_FIDELITY = (*MATMULS, "ttnn.conv2d", "ttnn.transformer.scaled_dot_product_attention")
_L1 = "ttnn.L1_MEMORY_CONFIG"
_TILE = 32


def suggestions(run: Run, sources: dict[str, Source], grid: tuple[int, int], lines: int) -> list[Suggestion]:
    """Changes worth a try, without their gains. grid: columns and rows of cores; lines: how many, by falling time, are looked at."""
    by_line: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        by_line.setdefault((call.line, call.op), []).append(call)
    slowest = sorted(by_line.items(), key=lambda item: -sum(call.ns for call in item[1]))[:lines]
    out: list[Suggestion] = []
    for (line, op), calls in slowest:
        file, _, number = line.rpartition(":")
        source = sources.get(file)
        if source is None or not number.isdigit():
            continue
        for node, function in source.calls(op):
            if node.lineno <= int(number) <= (node.end_lineno or node.lineno):
                out += _of_call(source, node, function, calls, sources, grid)
                break
    main = sources.get("main.py")
    return [*out, *_all_norms(out), *(fusions(main, {call.op for call in run.calls}) if main else ()), *_of_all(run, sources)]


def _of_call(source: Source, node: ast.Call, function: str, calls: Sequence[Call], sources: dict[str, Source], grid: tuple[int, int]) -> Iterator[Suggestion]:
    line, op, setup = f"{source.name}:{node.lineno}", calls[0].op, calls[0].setup
    times = f" ({len(calls)} calls)" if len(calls) > 1 else ""
    given = keywords(node)

    def change(what: str, **values: str) -> Suggestion:
        edits = tuple(source.keyword(node, name, value) for name, value in values.items())
        write = f"{', '.join(f'{name}={value}' for name, value in values.items())} in {op}(...)"
        return Suggestion(f"{op}: {what}{times}", line, write, edits, frozenset(f"{line} {name}" for name in values))

    if "memory_config" in given and given["memory_config"] != _L1 and setup["outputs"].endswith("dram"):
        yield change("its output in L1", memory_config=_L1)
    if op in _WITH_FIDELITY and (name := _compute_config(op)) not in given:
        for fidelity in ("HiFi2", "LoFi"):
            if fidelity != setup["fidelity"]:
                yield change(f"math fidelity {fidelity} instead of {setup['fidelity'] or 'the default'}", **{name: _config(fidelity)})
    if op in MATMULS:
        if "core_grid" not in given and "program_config" not in given:
            values = {"core_grid": f"ttnn.CoreGrid(y={grid[1]}, x={grid[0]})"}
            if "compute_kernel_config" not in given and setup["fidelity"]:  # a grid alone drops bfloat16 to LoFi (tt-metal #55889)
                values["compute_kernel_config"] = _config(setup["fidelity"], "float32" in setup["inputs"])
            fused = "matmul, bias and activation as one device program" if len(calls[0].programs) > 1 else "spread"
            yield change(f"{fused} over {grid[0] * grid[1]} cores (now {setup['cores']})", **values)
        if "dtype" not in given and "bfloat8_b" not in setup["outputs"]:
            yield change("its output as bfloat8_b", dtype="ttnn.bfloat8_b")
        if weight := _weight(sources, node, function):
            yield Suggestion(f"{op}: its weight as bfloat8_b{times}", line, weight[1], weight[0], frozenset({f"{weight[0][0].file} {weight[0][0].start}"}))
    if op in NORMS and "program_config" not in given and given.get("memory_config", _L1).isidentifier():
        yield from _sharded_norm(source, node, calls, grid, times)
    if op == "ttnn.conv2d":
        yield from _sharded_conv(source, node, calls, times)


def _compute_config(op: str) -> str:
    return "compute_config" if op == "ttnn.conv2d" else "compute_kernel_config"


def _config(fidelity: str, float32: bool = False) -> str:
    wide = "True" if float32 else "False"
    return f"ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.{fidelity}, math_approx_mode=False, fp32_dest_acc_en={wide}, packer_l1_acc=True)"


def _weight(sources: dict[str, Source], node: ast.Call, function: str) -> tuple[tuple[Edit, ...], str] | None:
    """The weight in the second place as bfloat8_b, where const-eval computes it (in the function of the same name): edits and what to write."""
    if len(node.args) < 2 or not isinstance(node.args[1], ast.Subscript) or not isinstance(node.args[1].slice, ast.Constant):
        return None
    target = ast.unparse(node.args[1])
    for source in sources.values():
        for body in source.functions():
            if body.name not in (function, "prepare"):
                continue
            for found in ast.walk(body):
                if isinstance(found, ast.Assign) and ast.unparse(found.targets[0]) == target and "bfloat8_b" not in ast.unparse(found.value):
                    edits = source.wrapped(found.value, "ttnn.typecast(", ", ttnn.bfloat8_b)")
                    return tuple(edits), f"{target} = ttnn.typecast(VALUE, ttnn.bfloat8_b) at {source.name}:{found.lineno}"
    return None


# --- shards ------------------------------------------------------------------------------------------------------------


def shape_of(spelled: str) -> tuple[int, ...]:
    """The shape of the first tensor of a call's inputs or outputs, as `reports.calls.spelled` writes them."""
    return tuple(int(word) for word in spelled[1 : spelled.index("]")].split(",")) if spelled.startswith("[") and spelled[1] != "]" else ()


def _tiles(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of tiles of a tensor as the device sees it: all dimensions but the last are rows."""
    rows = math.prod(shape[:-2]) * -(-(shape[-2] if len(shape) > 1 else 1) // _TILE)
    return rows, -(-shape[-1] // _TILE)


def _most(count: int, limit: int) -> int:
    """The largest divisor of `count` up to `limit`."""
    return max(number for number in range(1, limit + 1) if count % number == 0)


def _sharded_norm(source: Source, node: ast.Call, calls: Sequence[Call], grid: tuple[int, int], times: str) -> Iterator[Suggestion]:
    """Rows split over cores: the tensor goes to blocks in L1 for this call, and back where it was."""
    shapes = {shape_of(call.setup["inputs"]) for call in calls}
    if len(shapes) != 1 or not (shape := shapes.pop()) or not node.args:
        return
    rows, columns = _tiles(shape)
    down = _most(rows, grid[1])
    line, op, back = f"{source.name}:{node.lineno}", calls[0].op, keywords(node).get("memory_config")
    for across in sorted({_most(columns, grid[0]), _most(columns, grid[0] // 2)}):
        if down * across <= int(calls[0].setup["cores"]):
            continue
        name = f"BLOCK_{rows // down}X{columns // across}_ON_{down}X{across}"
        config = (
            f"{name} = ttnn.create_sharded_memory_config(\n    ({rows // down * _TILE}, {columns // across * _TILE}), ttnn.CoreGrid(x={across}, y={down}),"
            " ttnn.ShardStrategy.BLOCK, use_height_and_width_as_shard_shape=True\n)"
        )
        start = source.first_function()
        edits = [] if source.constant(name) else [Edit(source.name, start, start, f"{config}\n\n\n")]
        moved = [node.args[0], *(keyword.value for keyword in node.keywords if keyword.arg == "residual_input_tensor")]
        start, end = source.span(node)
        edits.append(Edit(source.name, start, start, "ttnn.to_memory_config("))
        for value in moved:
            edits += source.wrapped(value, "ttnn.to_memory_config(", f", {name})")
        edits += [source.keyword(node, "memory_config", name), Edit(source.name, end, end, f", {back or 'ttnn.DRAM_MEMORY_CONFIG'})")]
        operands = " and ".join(map(ast.unparse, moved))
        write = f"{config}\n{op}(...) of {operands} as ttnn.to_memory_config(..., {name}), with memory_config={name}; its result back as before"
        what = f"{op}: block-sharded over {down * across} cores (now {calls[0].setup['cores']}){times}"
        yield Suggestion(what, line, write, tuple(edits), frozenset({f"{line} memory_config"}))


def _all_norms(found: Sequence[Suggestion]) -> Iterator[Suggestion]:
    """Norms of equal rows, sharded in the same way."""
    same: dict[str, list[Suggestion]] = {}
    for one in found:
        if one.what.startswith(NORMS) and "block-sharded" in one.what:
            same.setdefault(one.write.partition(" = ")[0], []).append(one)
    for name, ones in same.items():
        if len(ones) > 1:
            edits = tuple(edit for one in ones for edit in one.edits)
            yield Suggestion(
                f"all norms block-sharded as {name} ({len(ones)} lines)", "", ones[0].write, edits, frozenset().union(*(one.touches for one in ones))
            )


def _sharded_conv(source: Source, node: ast.Call, calls: Sequence[Call], times: str) -> Iterator[Suggestion]:
    """The layout of the shards that the convolution works on, and its result left in them."""
    given, line = keywords(node), f"{source.name}:{node.lineno}"
    config = source.constant(given.get("conv_config", ""))
    if config is not None and "shard_layout" not in keywords(config):
        inside = ", ".join([*map(ast.unparse, config.args), *(f"{name}={value}" for name, value in keywords(config).items())])
        for layout in ("HEIGHT", "BLOCK", "WIDTH"):
            value = f"{ast.unparse(config.func)}({inside}{', ' if inside else ''}shard_layout=ttnn.TensorMemoryLayout.{layout}_SHARDED)"
            what = f"ttnn.conv2d: computed on {layout.lower()} shards{times}"
            edits = (source.keyword(node, "conv_config", value),)
            yield Suggestion(what, line, f"conv_config={value} in ttnn.conv2d(...)", edits, frozenset({f"{line} conv_config"}))
    if "memory_config" in given and calls[0].setup["outputs"].endswith("dram"):
        edits = (source.without(node, "memory_config"),)
        write = "ttnn.conv2d(...) without memory_config"
        yield Suggestion(f"ttnn.conv2d: its result left in its shards{times}", line, write, edits, frozenset({f"{line} memory_config"}))


# --- the same everywhere -------------------------------------------------------------------------------------------------


def _of_all(run: Run, sources: dict[str, Source]) -> Iterator[Suggestion]:
    """The same change for all calls of the program at once."""
    main = sources.get("main.py")
    if main is None:
        return
    ops = sorted({call.op for call in run.calls})
    results = [node for op in ops for node, _ in main.calls(op) if keywords(node).get("memory_config", _L1) != _L1]
    if len(results) > 1:
        edits = tuple(main.keyword(node, "memory_config", _L1) for node in results)
        touched = frozenset(f"main.py:{node.lineno} memory_config" for node in results)
        yield Suggestion(f"all outputs in L1 ({len(results)} lines)", "", f"memory_config={_L1} in place of DRAM in the functions of main.py", edits, touched)
    plain = [(node, _compute_config(op)) for op in ops if op in _WITH_FIDELITY for node, _ in main.calls(op) if _compute_config(op) not in keywords(node)]
    for fidelity in ("HiFi2", "LoFi") if len(plain) > 1 else ():
        edits = tuple(main.keyword(node, name, _config(fidelity)) for node, name in plain)
        touched = frozenset(f"main.py:{node.lineno} {name}" for node, name in plain)
        write = f"{' or '.join(sorted({name for _, name in plain}, reverse=True))}={_config(fidelity)}"
        yield Suggestion(f"math fidelity {fidelity} everywhere ({len(plain)} lines)", "", write, edits, touched)
    weights = {weight[1]: weight[0] for op in ops if op in MATMULS for node, function in main.calls(op) if (weight := _weight(sources, node, function))}
    if len(weights) > 1:
        edits = tuple(edit for found in weights.values() for edit in found)
        by_hand = "wrap each value in consteval.py: ttnn.typecast(VALUE, ttnn.bfloat8_b)"
        write = f'export again with compiler_options={{"experimental_weight_dtype": "bfp_bf8"}}, or {by_hand}'
        touched = frozenset(f"{found[0].file} {found[0].start}" for found in weights.values())
        yield Suggestion(f"all matmul weights as bfloat8_b ({len(weights)} lines)", "", write, edits, touched)

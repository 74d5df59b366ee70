"""Named constants: config objects and model numbers that a program uses at least twice."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from alchemist.ir.op_class import short_names
from alchemist.ops.spec import LARGEST_BFLOAT16, Arg, EnumRef, Kind
from alchemist.ops.transformer import MASKED_SCORE
from alchemist.program import model
from alchemist.program.activations import form_of
from alchemist.program.bundle_constants import bundles_in, name_bundles
from alchemist.program.function_names import path_words
from alchemist.program.model_numbers import GELU
from alchemist.program.names import constant_case, snake_case
from alchemist.program.roles import JOINED_HEADS
from alchemist.program.walk import mapped, read_by

_NUMBERS = {"num_heads": "NUM_HEADS", "num_kv_heads": "NUM_KEY_VALUE_HEADS", "num_groups": "NUM_GROUPS"}
"""Arguments whose integers are numbers of the model."""
_MESH_AXES = {
    "CHIP_ROWS": "Axis of the mesh: along it, the chips of a column exchange, one of each row.",
    "CHIP_COLUMNS": "Axis of the mesh: along it, the chips of a row exchange, one of each column.",
}
"""Names of the values 0 and 1 of `cluster_axis`, also of those that are used once, and their comments."""
_LARGEST_FLOAT32 = 3.4028234663852886e38
_BOUNDS = {
    "BFLOAT16_LOWEST": -LARGEST_BFLOAT16, "BFLOAT16_MAX": LARGEST_BFLOAT16, "FLOAT32_LOWEST": -_LARGEST_FLOAT32, "FLOAT32_MAX": _LARGEST_FLOAT32,
    "MASKED_SCORE": MASKED_SCORE,
}  # fmt: skip
"""Numbers that have a name wherever they are used: the ranges of finite bfloat16 and float32 numbers, and what masks add to scores."""
_BOUND_COMMENTS = {"MASKED_SCORE": "Added to the attention scores of masked keys."}
_GRID_COMMENT = "With a core grid, bias and activation are fused into the matmul."
_WIDE_COMMENT = "With TT-NN's default, fp32_dest_acc_en=False, {} would add up in bfloat16; the other fields keep their defaults."
_DEFAULT_COMMENT = "TT-NN's default for {}{}{}; written out so that you can edit it."
_SAME_COMMENT = ", with or without a program_config"
_LOWERED_COMMENT = "TT-NN's default for {} with a bfloat16 operand and a {} result, written out: with program_config alone it would be LoFi."
_NARROW, _WIDE = "_BF16_DEST", "_FP32_DEST"
"""How names of compute configs end: with sums in bfloat16, and with sums in float32 where the program has both."""
_NARROW_COMMENT = "Partial sums are bfloat16."
_MATMULS = short_names("ttnn", "product") | {"sparse_matmul"}
"""Ops of which a program config lowers the fidelity of bfloat16 inputs."""
_PRODUCT = "_MATMUL"
"""How names of products' program configs end."""
_HEAD_DIM, _TOP_K = "HEAD_DIM", "TOP_K"
_NAMED_IF_ONE = (_HEAD_DIM, _TOP_K, "NUM_STEPS", *_NUMBERS.values())
"""Numbers that have a name wherever a program has one of them only: several would be told apart by a count."""
_DRAM = model.MemoryConfig()
_PLACEMENT = (Kind.PROGRAM_CONFIG, Kind.COMPUTE_CONFIG)
"""Kinds that have a name even where they are used once, in a program whose configs were chosen."""
_ROLES = {"SDPA": "ATTENTION", "LayerNorm": "NORM", "Softmax": "SOFTMAX"}
"""What the program configs of a class are for, by how its name begins; all others are of products."""

_FREES = "_FREES_INPUT"
_CONVOLUTIONS = ("conv", "conv2d", "convolution")
"""Modules whose names say what they are: the module around them says what they are for."""

Owner = tuple[str, ...]
"""Whose product a program config is for: the class of the function and the modules around the weight. () for other values."""
Place = tuple[str, model.Value, Kind, tuple[str, ...], str, Owner]
"""What a value is called by default, the value, its kind, longer names by where it stands, the op that reads it, its owner.

The op is "" where a function passes the value on."""


@dataclass(slots=True)
class _Entry:
    """longer: names that say more than `base`, for values that would be called the same. general: whether several places with other such names use it.

    ops: those that read it, as in `ttnn.linear`.
    """

    base: str
    value: model.Value
    kind: Kind
    longer: tuple[str, ...] = ()
    count: int = 0
    general: bool = False
    ops: dict[str, None] = field(default_factory=dict)


def name_constants(
    functions: Sequence[model.Function], prepare: Sequence[model.Function], taken: set[str], asked: tuple[str, str] | None = None
) -> tuple[tuple[model.Function, ...], tuple[model.Function, ...], tuple[model.Constant, ...], tuple[model.Constant, ...]]:
    """Replaces repeated values by constants. taken: names that constants must not have. asked: a fidelity, and the option that asks for it.

    Returns (functions, const-eval functions, constants of each file). Counts run over both files.
    """
    entries: dict[object, _Entry] = {}
    partial = {
        statement.container
        for function in functions
        for statement in model.statements(function.body)
        if isinstance(statement, model.Loop) and not statement.counts_down and (statement.start or statement.step != 1 or _goes_on(statement, function))
    }
    used: tuple[dict[object, int], dict[object, int]] = ({}, {})
    for file, group in enumerate((functions, prepare)):
        for function in group:
            for base, value, kind, longer, op, owner in _places(function, partial):
                key = _identity(value, kind, base, owner)
                entry = entries.setdefault(key, _Entry(base, value, kind, longer))
                entry.count += 1
                if op:
                    entry.ops[op] = None
                shared = tuple(name for name in entry.longer if name in longer)
                convolves = kind is Kind.CONV2D_CONFIG and group is functions
                entry.general |= (kind is Kind.PROGRAM_CONFIG or convolves) and shared != entry.longer
                entry.longer = shared if (kind is Kind.PROGRAM_CONFIG and entry.general) or convolves else entry.longer
                used[file][key] = used[file].get(key, 0) + 1
    _leave_usual(entries.values())
    tuned = any(entry.kind is Kind.PROGRAM_CONFIG for entry in entries.values())
    bases = Counter(entry.base for entry in entries.values())
    narrow = any(entry.kind is Kind.COMPUTE_CONFIG and entry.base.endswith(_NARROW) for entry in entries.values())
    for entry in entries.values():
        wide = isinstance(entry.value, model.Record) and dict(entry.value.fields).get("fp32_dest_acc_en") == model.Literal(True)
        if entry.kind is Kind.COMPUTE_CONFIG and wide and narrow and not entry.base.endswith(_WIDE):  # one name tells how sums are kept: all do
            entry.base += _WIDE
    loops = [one for function in functions for one in model.statements(function.body) if isinstance(one, model.Loop)]
    counts_vary = any(isinstance(loop.stop, model.NumberRef | model.ParameterRef) for loop in loops)
    bundled = Counter(
        _identity(part, known[1], known[0], ())
        for function in functions
        for bundle, call in bundles_in(function)
        for name, part in _parts_of("", bundle)
        if (known := _config_name(part, name, call.function))
    )
    named: dict[object, _Entry] = {}
    for key, entry in sorted(entries.items(), key=lambda pair: _rank(pair[1])):
        sharded = isinstance(entry.value, model.MemoryConfig) and entry.value.shard is not None
        if entry.base in _NAMED_IF_ONE:
            worth_a_name = bases[entry.base] == 1
        else:
            attribute = isinstance(entry.value, model.Literal) and bool(entry.value.source)
            worth_a_name = attribute or entry.count >= 2 or entry.base in _MESH_AXES or entry.base in _BOUNDS or sharded or (tuned and entry.kind in _PLACEMENT)
        counts_layers = entry.kind is Kind.INT and entry.base.startswith("NUM_")  # numbers of layers of several stages would be counted
        written_there = entry.count == bundled[key] and (entry.count == 1 or entry.kind is Kind.PROGRAM_CONFIG)  # each can be changed by itself
        if worth_a_name and not written_there and not (counts_layers and (bases[entry.base] > 1 or counts_vary)):
            named[key] = entry
    names = _told_apart(named, taken)

    def convert(base: str, value: model.Value, kind: Kind, owner: Owner = ()) -> model.Value:
        name = names.get(_identity(value, kind, base, owner))
        made = model.ConstantRef(name) if name else value
        if base != _HEAD_DIM or not isinstance(value, model.Literal):
            return made
        return model.InverseRoot(made if name else model.Literal(value.head_dim))

    first_keys = [{names[key]: key for key in reversed(names) if key in file} for file in used]
    made = [
        _said_once([_constant(names[key], entries[key], _comment(entries[key], tuned, asked)) for key in names if firsts.get(names[key]) is key])
        for firsts in first_keys
    ]
    rewritten = [tuple(replace(function, body=_rewrite(function, convert, partial)) for function in group) for group in (functions, prepare)]
    forward, bundles = name_bundles(rewritten[0], taken)
    return forward, rewritten[1], (*made[0], *bundles), made[1]


def _leave_usual(entries: Iterable[_Entry]) -> None:
    """Names of convolutions' configs say that the input is freed only where no other field tells two of them apart."""
    alike: dict[tuple[str, frozenset[str]], set[bool]] = {}
    configs = [entry for entry in entries if entry.kind is Kind.CONV2D_CONFIG]
    for entry in configs:
        names = _special_names(entry.base, entry.value)
        others = frozenset(name.replace(_FREES, "") for name in names) - {entry.base}
        alike.setdefault((entry.base, others), set()).add(any(_FREES in name for name in names))
    told = {base for (base, _), ways in alike.items() if len(ways) > 1}
    for entry in configs:
        if entry.base not in told:
            entry.longer = tuple(dict.fromkeys(name.replace(_FREES, "") for name in entry.longer))


def _constant(name: str, entry: _Entry, comment: str) -> model.Constant:
    if isinstance(entry.value, model.Literal) and entry.value.head_dim:
        return model.Constant(name, model.Literal(entry.value.head_dim), Kind.INT)
    return model.Constant(name, entry.value, entry.kind, comment)


def _told_apart(entries: Mapping[object, _Entry], taken: set[str]) -> dict[object, str]:
    """A name for each value: the shortest of its names that no other has; numbers where none tells them apart. Adds them to `taken`.

    The one value that several places use keeps the plain name.
    """
    choices = {key: _choices(entry) for key, entry in entries.items()}
    at = dict.fromkeys(entries, 0)
    moved = True
    while moved:
        moved = False
        groups: dict[str, list[object]] = {}
        for key, index in at.items():
            groups.setdefault(choices[key][index], []).append(key)
        for name, keys in groups.items():
            if len(keys) > 1 or name in taken:
                general = [key for key in keys if entries[key].general and name not in taken and (at[key] or entries[key].kind is Kind.PROGRAM_CONFIG)]
                for key in keys if len(general) != 1 else [key for key in keys if key != general[0]]:
                    if at[key] + 1 < len(choices[key]):
                        at[key], moved = at[key] + 1, True
    names: dict[object, str] = {}
    for key, index in at.items():
        name, number = choices[key][index], 2
        if any(names.get(other) == name and entries[other].value == entries[key].value for other in names):
            names[key] = name  # two products that no word tells apart have one config
            continue
        while name in taken:
            name, number = f"{choices[key][index]}_{number}", number + 1
        taken.add(name)
        names[key] = name
    return names


def _choices(entry: _Entry) -> list[str]:
    """Names of the value, the best first: of a config that only one call gives a module's function (`linear`), what that call is for."""
    own = entry.kind is Kind.PROGRAM_CONFIG and bool(entry.longer) and entry.base not in entry.longer[0]
    return list(dict.fromkeys((*entry.longer, entry.base) if own else (entry.base, *entry.longer)))


def _said_once(constants: Sequence[model.Constant]) -> tuple[model.Constant, ...]:
    """What holds for several compute configs stands above the first of them. Equal program configs of two products are written twice: each can be edited."""
    said: set[str] = set()
    found = []
    for constant in constants:
        repeated = constant.comment in said and constant.kind is Kind.COMPUTE_CONFIG
        found.append(replace(constant, comment="" if repeated else constant.comment))
        said.add(constant.comment)
    return tuple(found)


def _comment(entry: _Entry, tuned: bool, asked: tuple[str, str] | None) -> str:
    if isinstance(entry.value, model.Record) and entry.kind is Kind.PROGRAM_CONFIG:
        fused = [field for _, field in entry.value.fields if isinstance(field, model.Unary)]
        forms = map(form_of, fused)
        return ". ".join(filter(None, (entry.value.comment, *forms)))
    if isinstance(entry.value, model.Record) and entry.value.comment:
        return entry.value.comment
    if isinstance(entry.value, model.Literal) and entry.value.source:
        owner, _, name = entry.value.source.rpartition(".")
        return GELU[entry.value.source][1] if entry.value.source in GELU else f"self.{name} of {owner}"
    if isinstance(entry.value, model.MemoryConfig) and entry.value.shard is not None:
        return _shards(entry.value.shard)
    if entry.kind is Kind.COMPUTE_CONFIG and isinstance(entry.value, model.Record):
        return _numerics(dict(entry.value.fields), entry.ops, tuned, asked)
    return _GRID_COMMENT if entry.base == "GRID" else (_MESH_AXES | _BOUND_COMMENTS).get(entry.base, "")


def _numerics(fields: Mapping[str, model.Value], ops: Iterable[str], tuned: bool, asked: tuple[str, str] | None) -> str:
    """Why a compute config is as it is. tuned: the optimizer writes TT-NN's defaults, all fields of them, beside the program configs that it chooses."""
    member = fields.get("math_fidelity")
    fidelity = member.member.lower() if isinstance(member, EnumRef) else ""
    if asked and fidelity == asked[0]:
        return f"The fidelity that {asked[1]} asks for." if tuned else ""
    wide, names = fields.get("fp32_dest_acc_en"), list(dict.fromkeys(ops))
    what = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "these calls"
    if "packer_l1_acc" not in fields:
        return _WIDE_COMMENT.format(what) if wide == model.Literal(True) else ""
    if not tuned:
        return ""
    product = not _MATMULS.isdisjoint(names)
    lowered = product and fidelity == "hifi2"
    narrow = wide == model.Literal(False)
    of = f" of float32{' with a bfloat16 result' if narrow else ''}" if fidelity == "hifi3" else ""
    text = _LOWERED_COMMENT.format(what, "bfloat16" if narrow else "float32") if lowered else _DEFAULT_COMMENT.format(what, of, _SAME_COMMENT * product)
    return f"{text} {_NARROW_COMMENT}" if narrow else text


def _shards(shard: tuple[tuple[int, ...], tuple[tuple[tuple[int, int], tuple[int, int]], ...], str]) -> str:
    (height, width), ranges, orientation = shard
    tiled = height % 32 == 0 and width % 32 == 0
    size = f"{height // 32}x{width // 32} tiles" if tiled else f"{height}x{width} values"
    return f"Shards of {size} on {_cores(ranges)} cores{', a row of them on a column of cores' if orientation == 'col_major' else ''}."


def _cores(ranges: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> str:
    """Rows x columns of a rectangle, else the number of cores."""
    extents = [(y1 - y0 + 1, x1 - x0 + 1) for (x0, y0), (x1, y1) in ranges]
    return "{}x{}".format(*extents[0]) if len(extents) == 1 else str(sum(rows * columns for rows, columns in extents))


Ranges = tuple[tuple[tuple[int, int], tuple[int, int]], ...]


def shared_cores(constants: Sequence[model.Constant]) -> dict[Ranges, str]:
    """Names of the sets of cores that are no rectangle and that several memory configs of a file have."""
    shards = [constant.value.shard for constant in constants if isinstance(constant.value, model.MemoryConfig) and constant.value.shard is not None]
    counts = Counter(ranges for _, ranges, _ in shards if len(ranges) > 1)
    taken = {constant.name for constant in constants}
    names: dict[Ranges, str] = {}
    for ranges, count in counts.items():
        if count > 1:
            base = f"CORES_{_cores(ranges)}"
            names[ranges] = next(name for name in (base, *(f"{base}_{number}" for number in range(2, len(taken) + 3))) if name not in taken)
            taken.add(names[ranges])
    return names


def _rank(entry: _Entry) -> tuple[int, int]:
    """Memory configs first, then compute, then numbers; more used ones get the plainer name."""
    order = {Kind.MEMORY_CONFIG: 0, Kind.INT_LIST: 1, Kind.COMPUTE_CONFIG: 2, Kind.CONV2D_CONFIG: 3, Kind.PROGRAM_CONFIG: 3}
    return order.get(entry.kind, 4), -entry.count


def _identity(value: model.Value, kind: Kind, base: str, owner: Owner) -> object:
    if isinstance(value, model.Literal):
        return (base, type(value.value).__name__, repr(value.value))
    if kind is Kind.PROGRAM_CONFIG:
        return (base, value, owner)
    return (kind if isinstance(value, model.Items) else None, value)


def _base_name(arg: Arg, value: model.Value, call: model.Call) -> str:
    """Default name of a value worth one, "" for all others."""
    op = call.spec.target
    if isinstance(value, model.MemoryConfig):
        return memory_name(value)
    if isinstance(value, model.Record):
        if value.class_name == "ttnn.CoreGrid":
            return "GRID"
        if "ComputeKernelConfig" in value.class_name:
            return _compute_name(value)
        if arg.kind is Kind.PROGRAM_CONFIG:
            return _role(call, value.class_name.rpartition(".")[2])
        return _conv_name(value) if value.class_name == "ttnn.Conv2dConfig" else constant_case(value.class_name.rpartition(".")[2])
    if isinstance(value, model.Literal) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        if arg.name in _NUMBERS:
            return _NUMBERS[arg.name]
        if arg.name == "k" and op == "ttnn.topk":
            return _TOP_K
        if value.head_dim:
            return _HEAD_DIM
        if arg.name == "cluster_axis" and value.value in (0, 1):
            return tuple(_MESH_AXES)[int(value.value)]
        if bound := next((name for name, number in _BOUNDS.items() if math.isclose(value.value, number, rel_tol=1e-6)), ""):
            return bound
        if arg.name in ("epsilon", "eps"):
            return f"{snake_case(op.rpartition('.')[2]).upper()}_EPS"
    return ""


def _config_name(value: model.Value, name: str = "", function: str = "") -> tuple[str, Kind] | None:
    """Default name and kind of a config that a function is given as its parameter `name`, None for other values."""
    if isinstance(value, model.MemoryConfig):
        return memory_name(value), Kind.MEMORY_CONFIG
    if isinstance(value, model.Literal) and value.head_dim:
        return _HEAD_DIM, Kind.FLOAT
    if isinstance(value, model.Literal) and name in _NUMBERS:
        return _NUMBERS[name], Kind.INT
    if isinstance(value, model.Record) and value.class_name == "ttnn.Conv2dConfig":
        return _conv_name(value), Kind.CONV2D_CONFIG
    if isinstance(value, model.Record) and value.class_name == "ttnn.SDPAProgramConfig":
        return "ATTENTION", Kind.PROGRAM_CONFIG
    if isinstance(value, model.Record) and value.class_name.startswith("ttnn.LayerNorm"):
        return "NORM", Kind.PROGRAM_CONFIG
    if isinstance(value, model.Record) and value.class_name.startswith("ttnn.Matmul"):
        word = name.removesuffix("_matmul") if name.endswith("_matmul") else function
        word = function if word in _CONVOLUTIONS else word
        return f"{constant_case(word)}{_PRODUCT}", Kind.PROGRAM_CONFIG
    if isinstance(value, model.Record) and "ComputeKernelConfig" in value.class_name:
        return _compute_name(value), Kind.COMPUTE_CONFIG
    return None


def _passed_names(base: str, caller: model.Function, call: model.CallFunction) -> tuple[str, ...]:
    """Names of a config that a function is given, by the module whose weights it reads there: `STAGE_1_FC1_MATMUL`, `FC1_MATMUL` for one of `linear`.

    Layers of a recurrent net are no modules: their numbers stand in the weights' names, `LAYER0_PROJECTED_MATMUL`.
    """
    weights = [str(one.key[0]) for one in call.arguments if isinstance(one, model.WeightRef) and len(one.key) == 1]
    layers = {match[1] for name in weights if (match := re.search(r"weight_ih_l(\d+)(?:_|$)", name))}
    if len(layers) == 1 and base.endswith(_PRODUCT):
        return (f"LAYER{layers.pop()}_{base}",)
    keys = [one.key for one in call.arguments if isinstance(one, model.ScopeArgument)]
    path = path_words("".join(piece for piece in keys[0] if isinstance(piece, str))) if keys else []
    words = [constant_case(word) for word in path if len(path) == 1 or not re.fullmatch(r"item_\d+", word)]  # `0` in `projections.0.0` says nothing
    begin = f"{constant_case(call.function)}_"
    own = f"{words[-1]}_{base.removeprefix(begin)}" if words and base.startswith(begin) else ""
    counted = [word for word in words if word[-1:].isdigit()]
    places = dict.fromkeys("_".join(counted[:count]) for count in (1, len(counted))) if counted else ()
    return (*([own, f"{constant_case(caller.name)}_{own}"] if own else ()), *(f"{place}_{base}" for place in places))


def _role(call: model.Call, class_name: str) -> str:
    """What a program config is for: `FC1_MATMUL` by the call's weight or result, `ATTENTION` by its class."""
    for begin, role in _ROLES.items():
        if class_name.startswith(begin):
            return role
    return "".join([*map(constant_case, role_words(call)[-1:]), _PRODUCT])


def _with_activation(base: str, value: model.Value) -> tuple[str, ...]:
    """`FC1_GELU_MATMUL` of a config with an activation."""
    fused = [field.op for _, field in value.fields if isinstance(field, model.Unary)] if isinstance(value, model.Record) else []
    return ("_".join([base.removesuffix(_PRODUCT), *fused]) + _PRODUCT,) if fused and base.endswith(_PRODUCT) else ()


def _owner(base: str, call: model.Call, function: model.Function) -> Owner:
    return (function.module, *_module_path(call)[:-1]) if base.endswith(_PRODUCT) else ()


def role_words(call: model.Call) -> list[str]:
    """What a call is for, the last word first of all: the modules of its weight, else its result."""
    if JOINED_HEADS in call.results:
        return [JOINED_HEADS]
    numbered = path_words(".".join(_key_parts(call)[:-1]))
    if len(numbered) > 1 and numbered[-1] in _CONVOLUTIONS:
        return numbered[:-1]
    return _module_path(call) or [result for result in call.results if isinstance(result, str)]


def _module_path(call: model.Call) -> list[str]:
    """Modules, from the function's own, whose weight the call reads."""
    return [word for word in _key_parts(call) if word and not word.isdigit()][:-1]


def _key_parts(call: model.Call) -> list[str]:
    """Of the name of the first weight that the call reads."""
    keys = [value.key for _, value in call.arguments if isinstance(value, model.WeightRef)]
    return "".join(piece for piece in keys[0] if isinstance(piece, str)).split(".") if keys else []


def _longer_names(base: str, value: model.Value, kind: Kind, call: model.Call, function: model.Function) -> tuple[str, ...]:
    """What tells a value from others with its base name: the module around, the function, what is special in its fields."""
    if not isinstance(value, model.Record):
        return _on_cores(base, value)
    if kind is Kind.CONV2D_CONFIG:
        return _convolution_names(base, value, [given for _, given in call.arguments], _convolution_role(call, function))
    if kind is not Kind.PROGRAM_CONFIG:
        return ()
    path = role_words(call) if _module_path(call) else []
    name, where = function.name, function.name.removeprefix(snake_case(function.module)).strip("_")
    counted = where.isdigit() or (not function.module and name.rpartition("_")[2].isdigit())  # `lstm_cell_2`
    placed = where[-1:].isdigit() or where.endswith("first")  # the function of `stage_1`
    names = [f"{constant_case(where)}_{base}"] if placed and not counted else []
    if len(path) > 1:
        names.append(_said_before(base, path[-2]))
    elif not names and not counted:
        names.append(_said_before(base, name))
    return (*names, *_with_activation(base, value), *_by_numbers(base, value))


def _said_before(base: str, name: str) -> str:
    """`ENCODER_O_MATMUL`; of `encoder_attention` and ATTENTION no word twice."""
    return "_".join([*(word for word in constant_case(name).split("_") if word != base), base])


def _on_cores(base: str, value: model.Value) -> tuple[str, ...]:
    return (f"{base}_ON_{_cores(value.shard[1])}".upper(),) if isinstance(value, model.MemoryConfig) and value.shard is not None else ()


def _by_numbers(base: str, value: model.Value) -> tuple[str, ...]:
    """Names of a program config that say its cores and its blocks."""
    fields = value.fields if isinstance(value, model.Record) else ()
    numbers = {name: field.value for name, field in fields if isinstance(field, model.Literal)}
    grid = dict(fields).get("compute_with_storage_grid_size")
    if "per_core_M" in numbers and "per_core_N" in numbers:
        sides = [str(side.value) for _, side in grid.fields if isinstance(side, model.Literal)] if isinstance(grid, model.Record) else []
        cores = (f"{base}_ON_{'X'.join(reversed(sides))}",) if sides else ()
        blocks = f"{base}_{numbers['per_core_M']}X{numbers['per_core_N']}"
        return *cores, blocks, f"{blocks}_K{numbers.get('in0_block_w', 1)}"
    return (f"{base}_{numbers['q_chunk_size']}X{numbers.get('k_chunk_size', 0)}",) if "q_chunk_size" in numbers else ()


def _convolution_names(base: str, value: model.Value, given: Iterable[model.Value], role: Sequence[str]) -> tuple[str, ...]:
    """Names of a convolution's config: by the result's memory, by what the convolution is for, by fields. given: what its call is given."""
    special = _special_names(base, value)
    roles = ["_".join(map(constant_case, role[place:])) for place in reversed(range(len(role)))] if special else []
    named = [f"{name}{base.removeprefix('CONV')}" if "CONV" in name else f"{name}_{base}" for name in roles if not re.fullmatch(r"CONV_\d+", name)]
    return (*_in_shards(base, given), *named, *special)


def _convolution_role(call: model.Call, function: model.Function) -> list[str]:
    """Modules around a convolution's weight, and the one that the function is of, if that is one alone."""
    words = path_words(".".join(_key_parts(call)[:-1]))
    return [*_place_words(function)[-1:], *(words[:-1] if words and words[-1] in _CONVOLUTIONS else words)]


def _passed_role(name: str, caller: model.Function, call: model.CallFunction) -> list[str]:
    """The same of a config that a function is given as its parameter `name`: `dwconv_conv` of a named tuple."""
    if name.endswith("_conv"):
        return [name.removesuffix("_conv")]
    keys = [one.key for one in call.arguments if isinstance(one, model.ScopeArgument)]
    return [*_place_words(caller)[-1:], *(path_words("".join(piece for piece in keys[0] if isinstance(piece, str))) if keys else [])]


def _place_words(function: model.Function) -> list[str]:
    """Modules around a function that only one module has."""
    return path_words(function.scopes[0]) if len(function.scopes) == 1 else []


def _in_shards(base: str, given: Iterable[model.Value]) -> tuple[str, ...]:
    """Names of a convolution's config that say how the results lie: `CONV_RELU_BLOCK_SHARDED`. given: what its call is given."""
    memories = dict.fromkeys(one.memory for one in given if isinstance(one, model.MemoryConfig))
    return tuple(f"{base}_{memory.upper()}" for memory in memories if memory != "interleaved")


def _special_names(base: str, value: model.Value) -> tuple[str, ...]:
    """Names of a convolution's config that say what few convolutions have."""
    fields = dict(value.fields) if isinstance(value, model.Record) else {}
    frees = [_FREES[1:]] if fields.get("deallocate_activation") == model.Literal(True) else []
    special = list(_special_fields(fields))
    buffered = any(word.endswith("DOUBLE_BUFFERED") for word in special)
    inner = ["FULL_INNER_DIM"] if fields.get("full_inner_dim") == model.Literal(True) else []
    twice = ["WEIGHTS_DOUBLE_BUFFERED"] if fields.get("enable_weights_double_buffer") == model.Literal(True) and not buffered else []
    choices = (special or frees, special + inner, special + inner + frees, special + inner + frees + twice)
    return tuple(dict.fromkeys("_".join((base, *words)) for words in choices if words))


def _special_fields(fields: Mapping[str, model.Value]) -> Iterator[str]:
    """Words for what few convolutions of a program have in their configs."""
    for name, word in (("act_block_h_override", "BLOCK_H"), ("core_grid", "GRID"), ("shard_layout", "")):
        field = fields.get(name)
        if isinstance(field, EnumRef):
            yield field.member.upper()
        elif isinstance(field, model.Literal) and field.value:
            yield f"{word}{field.value}"
        elif field is not None and name == "core_grid":
            yield "OWN_GRID"
    buffers = [fields.get(f"enable_{of}_double_buffer") == model.Literal(True) for of in ("act", "weights")]
    if fields.get("reshard_if_not_optimal") == model.Literal(True):
        yield "RESHARDED"
    if any(buffers):
        yield "DOUBLE_BUFFERED" if buffers[0] else "WEIGHTS_DOUBLE_BUFFERED"


def memory_name(config: model.MemoryConfig) -> str:
    if config.memory == "interleaved":
        return config.buffer.upper()
    if config.shard is not None and all(extent % 32 == 0 for extent in config.shard[0]):
        return f"{config.memory.removesuffix('_sharded')}_{config.shard[0][0] // 32}X{config.shard[0][1] // 32}".upper()
    return f"{config.buffer}_{config.memory}".upper()


def _compute_name(value: model.Record) -> str:
    fields = dict(value.fields)
    fidelity = fields.get("math_fidelity")
    name = fidelity.member.upper() if isinstance(fidelity, EnumRef) else "COMPUTE"
    if fields.get("math_approx_mode") == model.Literal(True):
        name += "_APPROX"
    if fields.get("fp32_dest_acc_en") == model.Literal(False):
        name += _NARROW
    if fields.get("fp32_dest_acc_en") == model.Literal(True) and "packer_l1_acc" not in fields:
        name += _WIDE  # what differs from the default
    return name


def _conv_name(value: model.Record) -> str:
    activation = dict(value.fields).get("activation")
    return f"CONV_{constant_case(activation.op)}" if isinstance(activation, model.Unary) else "CONV"


def _goes_on(loop: model.Loop, function: model.Function) -> bool:
    """Whether the function also reads the element behind the loop's last: the last layer by itself."""
    following = f"{loop.container}.{loop.stop.value}" if isinstance(loop.stop, model.Literal) else None
    keys = [one.key for one in read_by(function.body) if isinstance(one, model.WeightRef | model.ScopeArgument)]
    return any(isinstance(piece, str) and f".{following}." in f".{piece}." for key in keys for piece in key)


def _counts_all(loop: model.Loop, partial: set[str]) -> bool:
    """Whether the loop's end is a number of the model ("layers") and not just where one of several loops stops."""
    return loop.whole is not None and bool(loop.container) and loop.container not in partial


def _places(function: model.Function, partial: set[str]) -> Iterator[Place]:
    for statement in model.statements(function.body):
        if isinstance(statement, model.Call):
            for arg, value in statement.arguments:
                yield from (
                    (_attribute_name(number), number, Kind.FLOAT, (constant_case(number.source.replace(".", "_")),), "", ()) for number in _attributes(value)
                )
                base = _base_name(arg, value, statement) if not isinstance(value, model.Literal) or not value.source else ""
                if base:
                    owner = _owner(base, statement, function)
                    yield base, value, arg.kind, _longer_names(base, value, arg.kind, statement, function), statement.spec.target.rpartition(".")[2], owner
        elif isinstance(statement, model.CallFunction):
            for name, value in _passed(statement):
                if known := _config_name(value, name, statement.function):
                    base, kind = known
                    longer = _passed_names(base, function, statement) if kind is Kind.PROGRAM_CONFIG else ()
                    if kind is Kind.CONV2D_CONFIG:
                        longer = _convolution_names(base, value, [given for _, given in _passed(statement)], _passed_role(name, function, statement))
                    longer = _on_cores(base, value) if kind is Kind.MEMORY_CONFIG else longer
                    yield base, value, kind, (*longer, *_with_activation(base, value), *_by_numbers(base, value)), "", ()
        elif isinstance(statement, model.RowLoop):
            for cell in (cell for row in statement.rows for cell in row):
                if known := _config_name(cell):
                    yield known[0], cell, known[1], _by_numbers(known[0], cell), "", ()
        elif isinstance(statement, model.Loop) and _counts_all(statement, partial):
            yield _loop_name(statement), statement.whole or statement.stop, Kind.INT, (), "", ()


def _attribute_name(number: model.Literal) -> str:
    """`RATE`; of a library's norm and of GELU also whose it is: `LAYER_NORM_EPS`, as that of the norm's own op."""
    whole = number.source.endswith(".eps") or number.source in GELU
    return constant_case(number.source.replace(".", "_") if whole else number.source.rpartition(".")[2])


def _attributes(value: model.Value) -> Iterator[model.Literal]:
    """Numbers of the value that are attributes of the model."""
    for item in value.items if isinstance(value, model.Items) else (value,):
        if isinstance(item, model.Literal) and item.source:
            yield item
        elif isinstance(item, model.Unary) and item.source:
            yield model.Literal(item.parameters[0], source=item.source)


def _passed(call: model.CallFunction) -> Iterator[tuple[str, model.Value]]:
    """Names and values of what a function is given by name, of a named tuple its fields'."""
    for argument in call.arguments:
        if isinstance(argument, model.NumberArgument):
            yield from _parts_of(argument.name, argument.value)


def _parts_of(name: str, value: model.Value) -> Iterator[tuple[str, model.Value]]:
    if not isinstance(value, model.Bundle):
        yield name, value
        return
    for field_name, part in value.fields:
        yield from _parts_of(field_name, part)


def _loop_name(loop: model.Loop) -> str:
    word = loop.container
    plural = word if word.endswith("s") else f"{word}s"
    return "NUM_LAYERS" if len(word) < 3 else f"NUM_{constant_case(plural)}"


def _rewrite(function: model.Function, convert: Callable[..., model.Value], partial: set[str]) -> tuple[model.Statement, ...]:
    def config(value: model.Value, name: str = "", function: str = "") -> model.Value:
        if isinstance(value, model.Bundle):
            return replace(value, fields=tuple((field_name, config(part, field_name, function)) for field_name, part in value.fields))
        known = _config_name(value, name, function)
        return convert(known[0], value, known[1]) if known else value

    def attribute(value: model.Value) -> model.Value:
        if isinstance(value, model.Items):
            return replace(value, items=tuple(attribute(item) for item in value.items))
        if isinstance(value, model.Unary) and value.source:
            constant = attribute(model.Literal(value.parameters[0], source=value.source))
            return replace(value, named=constant) if isinstance(constant, model.ConstantRef) else value
        return convert(_attribute_name(value), value, Kind.FLOAT) if isinstance(value, model.Literal) and value.source else value

    def passed(argument: model.Argument, function: str) -> model.Argument:
        return replace(argument, value=config(argument.value, argument.name, function)) if isinstance(argument, model.NumberArgument) else argument

    def change(statement: model.Statement) -> model.Statement:
        if isinstance(statement, model.RowLoop):
            return replace(statement, rows=tuple(tuple(config(value) for value in row) for row in statement.rows))
        if isinstance(statement, model.Call):
            given = [(arg, attribute(value)) for arg, value in statement.arguments]
            bases = [_base_name(arg, value, statement) for arg, value in given]
            pairs = zip(bases, given, strict=True)
            arguments = [(arg, convert(base, value, arg.kind, _owner(base, statement, function)) if base else value) for base, (arg, value) in pairs]
            return replace(statement, arguments=tuple(arguments))
        if isinstance(statement, model.CallFunction):
            return replace(statement, arguments=tuple(passed(argument, statement.function) for argument in statement.arguments))
        if isinstance(statement, model.Loop) and _counts_all(statement, partial):
            length = convert(_loop_name(statement), statement.whole or statement.stop, Kind.INT)
            if not statement.counts_down:
                return replace(statement, stop=length)
            return replace(statement, length=length if isinstance(length, model.ConstantRef) else None)
        return statement

    return mapped(function.body, change)

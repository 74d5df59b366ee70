"""Calls of matmul, linear and minimal_matmul behind published configurations: operands, core grids and program configurations from their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ttnn_shim.published_words import DTYPES, TILE, Call, Config, Machine, Unreadable, dtype_name, grid_text, integers, known, number, plain


def matmul_program(machine: Machine, config: Config, m: int, k: int, n: int) -> tuple[Any, Any]:
    """(program_config, core_grid) according to the cell `program` and its neighbours; None for the library's choice."""
    ttnn = machine.ttnn
    text = plain(config.get("program"))
    cores = re.search(r"(\d+) cores", text)
    grid = grid_text(config.get("core_grid")) if known(config.get("core_grid")) else None
    box = grid or grid_text(config.get("grid") if known(config.get("grid")) else None) or grid_text(re.sub(r"(out_)?subblock \d+x\d+", "", text))
    count = int(cores[1]) if cores else number(config, "cores") if known(config.get("cores")) else 0
    block = re.search(r"in0_block_w (\d+)", text)
    in0_block_w = int(block[1]) if block else int(config["in0_block_w"]) if known(config.get("in0_block_w")) else 0
    subblock = grid_text(config.get("subblock")) or grid_text((re.findall(r"subblock (\d+x\d+)", text) or [""])[0])
    mt, nt = -(-m // TILE), -(-n // TILE)
    if grid or "core_grid" in text:
        x, y = grid or machine.rows_of_cores(count)
        return None, ttnn.CoreGrid(x=x, y=y)
    if not in0_block_w or not (box or count):
        asked = known(config.get("grid")) and "inferred" not in str(config.get("grid"))
        if {"1d", "2d", "mcast"} & set(text.split()) or (box and (asked or known(config.get("program")))):
            raise Unreadable("config: the program's in0_block_w is not stated")
        return None, None
    one_row = "1d" in text.split() or (mt == 1 and "2d" not in text.split())
    if one_row and not count:
        count = box[0] * box[1] if box else 0
    x, y = box or machine.rows_of_cores(count)
    if not one_row and count and -(-mt // -(-mt // y)) * -(-nt // -(-nt // x)) != count == -(-mt // -(-mt // x)) * -(-nt // -(-nt // y)):
        x, y = y, x  # the grid was stated rows first
    per_m, per_n = (mt, -(-nt // count)) if one_row else (-(-mt // y), -(-nt // x))
    h, w = subblock or (1, max(s for s in range(1, 5) if per_n % s == 0))
    blocks = {
        "compute_with_storage_grid_size": ttnn.CoreCoord(x, y), "in0_block_w": in0_block_w, "out_subblock_h": h, "out_subblock_w": w,
        "out_block_h": per_m, "out_block_w": per_n, "per_core_M": per_m, "per_core_N": per_n, "fused_activation": None,
    }  # fmt: skip
    if one_row:
        return ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(**blocks, fuse_batch=True, mcast_in0=True), None
    return ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(**blocks, transpose_mcast=False), None


def sizes(config: Config) -> tuple[int, int, int]:
    """M, K, N as stated, or from the shapes of both operands."""
    shapes = [operand.get("shape") if isinstance(operand, Mapping) else None for operand in (config.get("in0"), config.get("in1"))]
    if "M" in config or "rows" in config or not all(isinstance(shape, list) and len(shape) > 1 for shape in shapes):
        return number(config, "M", "rows"), number(config, "K"), number(config, "N")
    first, second = integers(shapes[0], "in0"), integers(shapes[1], "in1")
    if first[-1] != second[-2] or any(size != 1 for size in first[:-2] + second[:-2]):
        raise Unreadable("config: a batch of matrices, or shapes that do not fit")
    return first[-2], first[-1], second[-1]


def bank_sharded_call(machine: Machine, shape: tuple[int, int, int], types: tuple[str, str], kwargs: dict[str, Any]) -> Call:
    """A decoder's product with its weight in shards over the banks of DRAM, as models of the library set it up: as many cores as divide K and N of the
    8 x 8, blocks up to eight tiles wide."""
    ttnn = machine.ttnn
    m, k, n = shape
    kt, nt = k // TILE, -(-n // TILE)
    cores = max(count for count in (1, 2, 4, 8, 16, 32, 64) if kt % count == 0 and nt % count == 0)
    banks = machine.device.dram_grid_size().x
    per_bank = -(-nt // banks) * TILE
    grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(banks - 1, 0))})
    shards = ttnn.ShardSpec(grid, [k, per_bank], ttnn.ShardOrientation.ROW_MAJOR)
    a = machine.tensor([1, 1, m, k], types[0], f"l1 width sharded {cores} cores")
    weight = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.WIDTH_SHARDED, ttnn.BufferType.DRAM, shards)
    b = ttnn.empty([1, 1, k, n], getattr(ttnn, types[1]), ttnn.TILE_LAYOUT, machine.device, weight)
    program = ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(
        in0_block_w=max(width for width in range(1, 9) if kt // cores % width == 0),
        per_core_M=-(-m // TILE),
        per_core_N=nt // cores,
        fused_activation=None,
    )
    return lambda: ttnn.matmul(a, b, program_config=program, memory_config=ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG, **kwargs)


RING_CORES = 24
"""Cores of the rings on which galaxies' decoders multiply, where a row names none."""
RING_CORES_DRAM = 32
"""The same of the language model head, whose weights lie interleaved in DRAM (tt-metal's test of these products)."""


def ring_call(machine: Machine, config: Config) -> Call:
    """gather_in0: A in width shards goes round a ring of cores; B in width shards on the same cores, as a prefetcher leaves it, or interleaved in DRAM."""
    ttnn = machine.ttnn
    m, k, n = sizes(config)
    in1 = config.get("in1")
    if " or " in str(config.get("in0")):
        raise Unreadable("config: in0 leaves the data type open")
    in_dram = "dram" in plain(in1) or "dram" in plain(config.get("in1_mem"))
    cores = RING_CORES_DRAM if in_dram else RING_CORES
    depth, width = (-(-size // TILE // cores) for size in (k, n))
    type0 = dtype_name(config["in0"]) if config.get("in0") else "bfloat16"
    a = machine.tensor([1, 1, m, k], type0, {"mem": "l1 width sharded", "cores": cores, "shard": [m, depth * TILE]})
    shards_of_b = "dram interleaved" if in_dram else {"mem": "l1 width sharded", "cores": cores, "shard": [k, width * TILE]}
    b = machine.tensor([1, 1, k, n], dtype_name(in1), shards_of_b)
    program = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=machine.grid,
        in0_block_w=max(step for step in range(1, max(2, k // TILE // cores + 1)) if k // TILE % step == 0),
        out_subblock_h=1,
        out_subblock_w=max(step for step in range(1, 9) if width % step == 0),
        per_core_M=-(-m // TILE),
        per_core_N=width,
        fuse_batch=True,
        fused_activation=None,
        mcast_in0=False,
        gather_in0=True,
    )
    fidelity = {**config, "fidelity": config.get("fidelity") or config.get("fid"), "packer_l1_acc": config.get("packer_l1_acc", True)}
    kwargs: dict[str, Any] = {"compute_kernel_config": machine.compute(fidelity), "program_config": program}
    kwargs["memory_config"] = machine.memory({"mem": "l1 width sharded", "cores": cores, "shard": [m, width * TILE]}, [1, 1, m, n], "tile")
    if config.get("out"):
        kwargs["dtype"] = getattr(ttnn, dtype_name(config["out"]))
    return lambda: ttnn.matmul(a, b, **kwargs)


def matmul_call(machine: Machine, config: Config) -> Call:
    """matmul, linear, minimal_matmul by M, K, N."""
    ttnn = machine.ttnn
    m, k, n = sizes(config)
    text = f"{config.get('op')} {config.get('program')}".lower()
    if "gather_in0" in text or "ring" in text.split():
        return ring_call(machine, config)
    dtypes = str(config.get("dtypes") or "")
    note = str(config.get("note") or "")
    in0, in1 = config.get("in0"), config.get("in1")
    weights = re.search(r"(\w+)\s+weights", dtypes or note)
    type1 = dtype_name(in1, config.get("in1_dtype"), config.get("dtype"), weights[1] if weights else "")
    said = in0 or config.get("in0_dtype") or config.get("dtype") or dtypes
    type0 = dtype_name(in0, config.get("in0_dtype"), config.get("dtype"), dtypes) if said else "bfloat16"  # activations, where only weights are stated
    batch = config.get("batch")
    lead = integers(batch, "batch") if isinstance(batch, list) else [batch, 1] if isinstance(batch, int) and batch > 1 else [1, 1]
    if isinstance(batch, int) and m % batch == 0 and m // batch == config.get("seq"):
        lead = [1, 1]  # the batch is in M already
    mem = config.get("mem")

    def placed(operand: Any, *keys: str) -> Any:
        if isinstance(operand, Mapping):
            return operand.get("mem")
        for key in keys:
            if known(config.get(key)):
                return config[key]
        rest = plain(operand)
        for pattern, _ in DTYPES:
            rest = re.sub(pattern, " ", rest)
        return rest.strip() if isinstance(operand, str) and rest.strip() else mem

    if mem and "operand or output" in str(mem):
        raise Unreadable("config: which operand lies in L1 is not stated")
    shape0 = [*lead, k, m] if config.get("transpose_a") else [*lead, m, k]
    batched1 = isinstance(batch, list) or lead[0] > 1
    shape1 = [*(lead if batched1 else [1, 1]), k, n]
    a = machine.tensor(shape0, type0, placed(in0, "in0_mem"))
    b = machine.tensor(shape1, type1, placed(in1, "in1_mem"))
    out = config.get("out")
    out_shape = [*lead, m, n]
    out_text = out if isinstance(out, Mapping) else " ".join(plain(out).split()[1:]) if isinstance(out, str) and re.match("b|f", plain(out)) else out
    kwargs: dict[str, Any] = {"compute_kernel_config": machine.compute(config if "fidelity" in config else {**config, "fidelity": note})}
    memory = machine.out_memory(config.get("out_mem") or out_text or mem, out_shape)
    if memory is not None:
        kwargs["memory_config"] = memory
    for value in (out, config.get("out_dtype")):
        if value and re.search("|".join(p for p, _ in DTYPES), str(value)):
            kwargs["dtype"] = getattr(ttnn, dtype_name(value))
    if "dramsharded" in text:
        return bank_sharded_call(machine, (m, k, n), (type0, type1), {key: kwargs[key] for key in ("compute_kernel_config", "dtype") if key in kwargs})
    if "minimal_matmul" in text:
        kwargs.pop("memory_config", None)
        return lambda: ttnn.experimental.minimal_matmul(a, b, **kwargs)
    program, core_grid = matmul_program(machine, config, m, k, n)
    if program is None and core_grid is None and "l1" in str(config.get("out_mem") or out_text or "") and not known(placed(in0, "in0_mem")):
        raise Unreadable("config: without a program config the memory of the first operand and what else lies in L1 choose the program; neither is stated")
    kwargs |= {"program_config": program} if program else {}
    kwargs |= {"core_grid": core_grid} if core_grid else {}
    kwargs |= {"transpose_a": True} if config.get("transpose_a") else {}
    if known(config.get("activation")):
        kwargs["activation"] = plain(config["activation"]).split()[0]
    if config.get("bias") is True or str(config.get("bias")).startswith("likely"):
        kwargs["bias"] = machine.tensor([1, 1, 1, n], type1)
        return lambda: ttnn.linear(a, b, **kwargs)
    function = ttnn.linear if "linear" in text else ttnn.matmul
    return lambda: function(a, b, **kwargs)

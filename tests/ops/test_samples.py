"""Samples of every TTNN op: the reference gives the shapes that the sample promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alchemist.ir.dialects import op_info, op_table
from alchemist.ops import TTIR_OPS, TTNN_OPS
from alchemist.ops.spec import OpSpec, Sample
from alchemist.ops.table import HEADER, SIMULATED, UNSUPPORTED, rows, support_table
from tests.tables import table

LATER = {
    "adamw", "aggregate_tensor", "all_reduce_async", "all_to_all_combine", "all_to_all_dispatch",
    "all_to_all_dispatch_metadata", "alloc", "allocate_moe_compute_semaphore", "begin_trace_capture",
    "capture_or_execute_trace", "create_global_semaphore", "d2m_subgraph", "distribute_tensor", "distributed_layer_norm",
    "distributed_rms_norm", "dit_rms_norm_unary_fused", "end_trace_capture", "execute_trace", "flash_mla_prefill",
    "gelu_bw", "generic", "indexer_score_dsa", "moe_compute", "moe_expert_token_remap", "moe_gpt",
    "paged_flash_multi_latent_attention_decode", "point_to_point", "prepare_moe_compute_w0_w1_weights",
    "prepare_moe_compute_w2_weights", "reset_global_semaphore", "sdpa_bw", "sdpa_fw",
    "selective_reduce_combine", "sparse_matmul", "topk_router_gpt", "tt_lang_op", "to_tensor_spec", "write_tensor", "get_device",
}  # fmt: skip
"""Collectives that no plan needs, traces, semaphores, training and vendor specials, names that the Python package lacks, and get_device."""

NOT_PROBED = {
    "ttnn.constant", "ttnn.deallocate", "ttnn.dump_tensor", "ttnn.load_tensor", "ttnn.all_gather", "ttnn.all_reduce", "ttnn.mesh_partition",
    "ttnn.reduce_scatter",
}  # fmt: skip
"""A constructor, files, what returns nothing, and what needs a mesh (tests/mesh)."""

SAMPLED = [(spec, sample) for spec in TTNN_OPS.values() for sample in spec.samples]


def arguments(sample: Sample) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for dims, dtype in sample.inputs:
        if dtype in ("uint32", "int32", "uint16"):
            made.append(rng.integers(0, 8, dims).astype(np.int64))
        else:
            made.append(rng.uniform(0.1, 0.9, dims).astype(np.float32))
    return made


@table(("spec", "sample"), SAMPLED, ids=lambda x: x.name if isinstance(x, OpSpec) else str(x.inputs))
def test_reference_of_sample(spec: OpSpec, sample: Sample) -> None:
    assert set(sample.attributes) <= set(op_info(spec.name).attributes), "an attribute that the IR op lacks"
    if spec.reference is None:
        assert spec.doc, "what has no reference says why"
        return
    outputs = spec.reference(arguments(sample), sample.attributes, sample.outputs)
    assert [np.shape(out) for out in outputs] == [tuple(shape) for shape in sample.outputs]
    assert all(np.isfinite(np.asarray(out, np.float64)).all() for out in outputs)


@table("name", sorted(op_table("ttnn")))
def test_every_inference_op_is_described(name: str) -> None:
    assert (name in TTNN_OPS) != (name.removeprefix("ttnn.") in LATER)


def test_operands_and_attributes_exist_in_the_ir() -> None:
    for spec in TTNN_OPS.values():
        info = op_info(spec.name)
        operands = {group.name for group in info.operands}
        for arg in spec.args:
            source, _, name = arg.source.partition(":")
            if source == "operand":
                assert name in operands, f"{spec.name}: {name}"
            if source == "attr" and "." not in name:
                assert name in info.attributes, f"{spec.name}: {name}"
    assert all(name in op_table("ttir") for name in TTIR_OPS)


def test_table() -> None:
    text = support_table()
    assert "ttnn.softmax" in text
    assert "ttir.conv2d" in text
    body = rows()
    described = [row for row in body if row[HEADER.index("status")] != SIMULATED]
    assert len(described) == len(op_table("ttnn")) + len(op_table("ttir"))
    assert len({row[0] for row in body}) == len(body) > len(described) + 150
    assert support_table(markdown=True).count("\n| tt") == len(body)
    assert max(map(len, [*text.splitlines(), *support_table(["conv"]).splitlines()])) <= 100
    assert {line.split()[0] for line in text.splitlines()[:-2] if line[:1] != " "} == {row[0] for row in body}
    assert "    dtypes: bf16" in support_table(["ttnn.conv2d"]) and support_table(["nosuch"]) == ""


def test_table_has_what_users_ask_of_an_op() -> None:
    by_name = {row[0]: dict(zip(HEADER, row, strict=True)) for row in rows()}
    softmax = by_name["ttnn.softmax"]
    assert {"bf16", "f32"} <= set(softmax["dtypes"].split())
    assert {"dram", "l1", "width"} <= set(softmax["memory"].split())
    assert softmax["cost"].startswith("model: ")
    assert softmax["layouts"] and softmax["tolerance"]
    assert by_name["ttnn.to_layout"]["layouts"] == "tile rows"
    called = [row for row in by_name.values() if row["status"].startswith("emitted") and row["TTNN call"].startswith("ttnn.")]
    silent = {row["op"] for row in called if not row["dtypes"] or not row["cost"]}
    assert silent <= NOT_PROBED, "emitted ops whose dtypes, layouts, memory and cost nobody has seen: add a row to tests/ops/accepted.py"


def test_every_op_left_out_has_a_reason() -> None:
    assert not [row[0] for row in rows() if row[HEADER.index("status")] == UNSUPPORTED and not row[-1]]


PAGE = Path(__file__).parents[2] / "docs" / "ops.md"


def test_page_is_what_the_command_prints() -> None:
    made, page = support_table(markdown=True).splitlines(), PAGE.read_text().splitlines()
    stale = [row for row in page if row not in made] + [row for row in made if row not in page]
    assert not stale and page == made, "\n".join(["run `make docs`; rows that differ:", *stale])

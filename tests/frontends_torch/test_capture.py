"""Names, scopes, lines, arguments, constants, mutation, golden values and errors."""

from __future__ import annotations

import collections
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
import ttir_in_torch
from torch_checking import check, names, ops

from alchemist import codegen_py
from alchemist.errors import FrontendError, InputError, UnsupportedOpError
from alchemist.frontends.torch import capture
from alchemist.ir.access import argument_attrs
from alchemist.ir.location import Scope, decode, encode
from alchemist.ir.text import print_module

HERE = "test_capture.py"


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(hidden + F.gelu(self.fc(hidden)))  # the block's statement
        return hidden


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.register_buffer("positions", torch.arange(3), persistent=False)
        self.table = nn.Embedding(8, 4)

    def forward(self, tokens: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        hidden = self.table(tokens) + self.table(self.positions)
        for block in self.blocks:
            hidden = block(hidden)
        return {"hidden": hidden * scale, "pooled": hidden.mean(1)}


def test_scopes_lines_and_names() -> None:
    result = check(Net().eval(), (torch.tensor([[1, 2, 3]]),), {"scale": 2.0})
    assert result.model_name == "Net"
    assert [a.name for a in result.arguments if a.kind == "input"] == ["tokens"]
    parameters = {a.name for a in result.arguments if a.kind == "parameter"}
    assert parameters == {"table.weight"} | {f"blocks.{i}.{name}" for i in (0, 1) for name in ("fc.weight", "fc.bias", "norm.weight", "norm.bias")}
    assert [output.name for output in result.outputs] == ["hidden", "pooled"]
    linears = [info for name, info in ops(result) if name == "linear"]
    assert [info.name for info in linears] == ["linear", "linear_1"]
    block = f"{Block.__module__}.Block"
    for i, info in enumerate(linears):
        assert info.op == "aten.linear.default"
        assert Scope(f"blocks.{i}", block) in info.scopes
        assert info.scopes[0].path == ""
        assert info.scopes[-1] == Scope(f"blocks.{i}.fc", "torch.nn.modules.linear.Linear")
        assert all(not frame.file.startswith("torch/") for frame in info.frames)
        assert info.frames[-1].line == line_of("# the block's statement")
        assert info.frames[-1].file.endswith(HERE)
    file = linears[0].frames[-1].file
    assert "the block's statement" in result.source_files[file]
    assert result.class_sources[block] == (file, line_of("def forward(self, hidden"))
    declared = [row["ttir.name"] for row in argument_attrs(next(iter(result.module.body.block.ops)))]
    assert declared == [argument.name for argument in result.arguments]


def _halves(hidden: torch.Tensor) -> torch.Tensor:
    low, high = hidden[..., :4], hidden[..., 4:]
    swapped = torch.cat((-high, low), dim=-1)  # the helper's statement
    return swapped * 2.0


class Rotation(nn.Module):
    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self._rotated(hidden) + _halves(hidden))

    def _rotated(self, hidden: torch.Tensor) -> torch.Tensor:
        angle = hidden.cos()
        return angle * hidden


def test_statements_of_functions_that_a_module_calls(tmp_path: Path) -> None:
    """They name values; functions and comments stay with the module's own statements."""
    result = check(Rotation(), (torch.randn(2, 8),))
    lines = {name: info for name, info in ops(result) if name in ("concat", "cos", "sigmoid")}
    assert {len(info.frames) for info in lines.values()} == {1}
    helper = lines["concat"].helper
    assert helper is not None
    assert (helper.line, helper.function) == (line_of("# the helper's statement"), "_halves")
    assert lines["sigmoid"].helper is None
    assert all(decode(encode(info)) == info for info in lines.values())
    text = (codegen_py(Rotation(), torch.randn(2, 8), export_path=tmp_path / "program", export_tensors=False).path / "main.py").read_text()
    assert " swapped = ttnn.concat(" in text
    assert " angle = ttnn.cos(" in text


def test_constants_fold_to_slices_and_uniform_values() -> None:
    """Positions known at export turn the look-up into a slice; nothing of the index arithmetic is left."""
    result = check(Net().eval(), (torch.tensor([[1, 2, 3]]),))
    assert names(result).count("embedding") == 1
    assert "slice_static" in names(result)
    assert "positions" not in {a.name for a in result.arguments}


def test_names_of_ops_match_golden_ops() -> None:
    model = Net().eval()
    result = capture(model, (torch.tensor([[1, 2, 3]]),))
    assert result.golden_ops is not None
    values = result.golden_ops()
    named = [info.name for _, info in ops(result) if info.name]
    assert len(named) == len(set(named)) >= 10
    assert set(named) <= set(values)
    assert values["linear"].shape == (1, 3, 4)


def two_ways(x: torch.Tensor) -> Any:
    high, low = x + 1, x - 1
    if x.shape[0] > 9:
        return low, low, high
    return high, low, x


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + 1, ["output"]),
        (lambda x: (x + 1,), ["output"]),
        (lambda x: (x + 1, x + 2), ["output_0", "output_1"]),
        (lambda x: [x + 1, (x + 2, x + 3)], ["output_0", "output_1_0", "output_1_1"]),
        (lambda x: {"a": x + 1, "b": {"c": x}}, ["a", "b.c"]),
        (lambda x: collections.OrderedDict(z=x + 1), ["z"]),
        (lambda x: Pair(x + 1, x), ["left", "right"]),
        (lambda x: (x, None, x), ["output_0", "output_2"]),
        (two_ways, ["output_0", "low", "output_2"]),  # the variable of every return, no argument
    ],
)
def test_output_names(function: Any, expected: list[str]) -> None:
    result = check(function, (torch.ones(2),))
    assert [output.name for output in result.outputs] == expected


def test_input_names_of_nested_arguments() -> None:
    class Nested(nn.Module):
        def forward(self, x: torch.Tensor, *rest: torch.Tensor, flag: bool, state: dict[str, Any]) -> torch.Tensor:
            out = x + rest[0] - rest[1] + state["h"][0]
            return out * 2 if flag else out + state["c"]

    args = tuple(torch.full((2,), float(i)) for i in range(3))
    state = {"h": [torch.ones(2), torch.ones(2)], "c": torch.ones(2)}
    result = check(Nested(), args, {"flag": True, "state": state})
    assert [a.name for a in result.arguments] == ["x", "rest_0", "rest_1", "state.h.0", "state.h.1", "state.c"]


def test_function_with_closed_over_module_keeps_parameter_names() -> None:
    encoder = nn.Linear(3, 2)

    def pooled(tokens: torch.Tensor) -> torch.Tensor:
        return encoder(tokens).mean(0)

    result = check(pooled, (torch.ones(4, 3),))
    assert result.model_name == "pooled"
    assert [a.name for a in result.arguments] == ["tokens", "encoder.weight", "encoder.bias"]
    assert all("alchemist" not in frame.file for _, info in ops(result) for frame in info.frames)


def test_bound_method() -> None:
    model = Net().eval()
    result = check(model.blocks[0].forward, (torch.ones(2, 4),))
    assert "model.fc.weight" in {a.name for a in result.arguments}


def test_tied_parameters_are_one_argument_with_the_first_name() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.embed(ids))

    result = check(Tied(), (torch.tensor([1, 2]),))
    assert [a.name for a in result.arguments] == ["ids", "embed.weight"]


def test_argument_values_are_not_copies() -> None:
    model = nn.Linear(3, 2).to(torch.bfloat16)
    result = capture(model, (torch.ones(1, 3, dtype=torch.bfloat16),))
    weight = next(a for a in result.arguments if a.name == "weight")
    assert (weight.dtype, weight.shape) == ("bfloat16", (2, 3))
    assert weight.value().ctypes.data == model.weight.data_ptr()


def test_lifted_constants_are_named_after_their_variable() -> None:
    def windowed(x: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(40, periodic=False)
        return x * window

    result = check(windowed, (torch.ones(2, 40),))
    assert [(a.name, a.kind) for a in result.arguments] == [("x", "input"), ("window", "constant")]


@pytest.mark.parametrize(("size", "kept"), [(16, []), (17, [("window", "constant")])])
def test_constants_of_few_elements_become_numbers_in_the_text(size: int, kept: list[tuple[str, str]]) -> None:
    def windowed(x: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(size, periodic=False)
        return x * window

    result = check(windowed, (torch.ones(2, size),))
    assert [(a.name, a.kind) for a in result.arguments] == [("x", "input"), *kept]


def test_mask_arithmetic_of_one_row_disappears() -> None:
    """all-true constants vanish from a conjunction; a causal mask known at export becomes a flag."""

    def attend(q: torch.Tensor, keep: torch.Tensor) -> Any:
        rows = torch.arange(q.shape[2])
        causal = rows[None, :] <= rows[:, None]
        allowed = (rows[:, None] >= 0) & keep[:, None, None, :].bool()
        return F.scaled_dot_product_attention(q, q, q, causal), F.scaled_dot_product_attention(q, q, q, allowed)

    result = check(attend, (torch.randn(2, 3, 5, 8), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])))
    assert sorted(set(names(result))) == ["broadcast", "full", "ne", "reshape", "scaled_dot_product_attention", "where"]
    assert sum(len(op.operands) == 5 for op in result.module.walk() if op.name == "ttir.scaled_dot_product_attention") == 1  # zeros in rows without keys
    assert [a.name for a in result.arguments] == ["q", "keep"]


def test_gradient_of_causal_attention_tests_no_row_for_keys() -> None:
    """The decomposed attention zeroes rows without keys, of which a causal mask has none; the mask is named after its values."""

    def gradient(q: torch.Tensor) -> Any:
        return torch.func.grad(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True).sum())(q)

    def hidden(q: torch.Tensor) -> Any:
        mask = torch.zeros(6, 6).masked_fill(torch.arange(6)[:, None] > 4, -torch.inf)  # the last row has no key
        return torch.func.grad(lambda q: F.scaled_dot_product_attention(q, q, q, mask).sum())(q)

    result = check(gradient, (torch.randn(2, 3, 6, 8),))
    assert "where" not in names(result)
    assert [a.name for a in result.arguments] == ["q", "causal_mask"]
    assert "where" in names(check(hidden, (torch.randn(2, 3, 6, 8),)))


class Windows(nn.Module):
    """Attention in windows: a learned bias and a mask that is computed from sizes."""

    def __init__(self, hidden: float) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(1, 2, 9, 9))
        self.hidden = hidden

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        part = torch.arange(9) // 4
        mask = torch.zeros(9, 9).masked_fill(part[:, None] + 1 != part, self.hidden)  # the last row has no key
        return F.scaled_dot_product_attention(q, q, q, self.bias + mask)


@pytest.mark.parametrize(("hidden", "multiplied"), [(-100.0, False), (float("-inf"), True)])
def test_rows_without_keys_only_where_masks_may_be_infinite(hidden: float, multiplied: bool) -> None:
    result = check(Windows(hidden), (torch.randn(1, 2, 9, 8),))
    assert ("multiply" in names(result)) == multiplied


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 6, 4))
        self.register_buffer("count", torch.tensor(0), persistent=False)

    def forward(self, key: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, key)
        self.count.add_(1)
        return (self.keys * self.count).sum(2)


class SliceCache(Cache):
    def forward(self, key: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys[:, :, 2:3] = key
        return self.keys.sum(2) + position


@pytest.mark.parametrize(("model", "written"), [(Cache(), ["keys", "count"]), (SliceCache(), ["keys"])])
def test_written_buffers_are_outputs(model: Cache, written: list[str]) -> None:
    before = model.keys.clone()
    result = check(model, (torch.randn(1, 2, 1, 4), torch.tensor([3])))
    assert [(output.name, output.mutates) for output in result.outputs[1:]] == [(name, name) for name in written]
    assert {a.name for a in result.arguments} >= set(written)
    assert torch.equal(model.keys, before)  # golden() puts the buffers back
    assert int(model.count) == 0


def test_input_written_in_place() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    x = torch.ones(3)
    result = check(scaled, (x,))
    assert [(output.name, output.mutates) for output in result.outputs] == [("output", ""), ("x", "x")]
    assert torch.equal(x, torch.ones(3))


def test_views_as_inputs_keep_static_shapes_and_are_written_through() -> None:
    whole = torch.arange(12.0).reshape(2, 6)

    def model(part: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        part.add_(1)
        return whole.sum() + part[:, :2]

    result = check(model, (whole[:, :4].clone()[:, :3], whole))
    assert [a.shape for a in result.arguments] == [(2, 3), (2, 6)]
    assert [output.mutates for output in result.outputs] == ["", "part"]
    assert torch.equal(whole, torch.arange(12.0).reshape(2, 6))


def test_training_mode_is_kept_and_said() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    with pytest.warns(UserWarning, match="training mode and has BatchNorm1d"):
        capture(model, (torch.ones(4, 3),))
    assert model.training
    with pytest.warns(UserWarning, match="Dropout"), pytest.raises(UnsupportedOpError, match=r"model\.eval"):
        capture(nn.Sequential(nn.Dropout(0.5)), (torch.ones(3),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capture(model.eval(), (torch.ones(4, 3),))


def test_all_unsupported_ops_are_reported_at_once() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        y = torch.linalg.matrix_exp(x[:, None] * x)[0] + torch.linalg.matrix_exp(x * x[:, None])[0]  # exponential
        noise = torch.randn(3)  # random
        return y + noise + torch.linalg.svdvals(x.reshape(3, 1) @ x.reshape(1, 3))  # singular

    with pytest.raises(UnsupportedOpError) as caught:
        capture(model, (torch.ones(3),))
    rows = {op: (count, where, reason) for op, count, where, reason in caught.value.ops}
    exponential = next(row for op, row in rows.items() if "matrix_exp" in op)
    assert exponential[0] == 2
    assert exponential[1].endswith(f"{HERE}:{line_of('# exponential')}")
    assert rows["aten.randn.default"][1].endswith(f"{HERE}:{line_of('# random')}")
    assert "random" in rows["aten.randn.default"][2]
    assert any("svd" in op for op in rows)
    assert "x2" in str(caught.value)


def branching(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:  # the branch
        return x
    return -x


def selecting(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0]  # the selection


def looping(x: torch.Tensor) -> torch.Tensor:
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda v: v.sum() < 9, lambda v: (v + 1,), (x,))[0]  # the loop


@pytest.mark.parametrize(
    ("function", "marker", "message"),
    [
        (branching, "# the branch", "branches on tensor values"),
        (selecting, "# the selection", "depends on data"),
        (looping, "# the loop", "number of steps depends on data"),
    ],
)
def test_what_cannot_be_captured_names_line_and_way_out(function: Any, marker: str, message: str) -> None:
    with pytest.raises(FrontendError, match=message) as caught:
        capture(function, (torch.ones(3, 3),))
    assert caught.value.hint
    if marker:
        assert caught.value.location.endswith(f"{HERE}:{line_of(marker)}")


def test_wrong_arguments() -> None:
    with pytest.raises((InputError, FrontendError)) as caught:
        capture(nn.Linear(3, 2), (torch.ones(1, 3), torch.ones(1)))
    assert "positional" in caught.value.got
    with pytest.raises(FrontendError, match="neither"):
        capture(3, ())  # type: ignore[arg-type]


def test_autocast_puts_its_casts_into_the_graph() -> None:
    linear = nn.Linear(4, 4)

    def model(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return linear(x).softmax(-1)

    result = check(model, (torch.randn(2, 4),), tolerance=2e-2)
    assert "typecast" in names(result)


def test_control_flow_of_known_length() -> None:
    from torch._higher_order_ops.map import map as each
    from torch._higher_order_ops.scan import scan

    def model(x: torch.Tensor) -> Any:
        chosen = torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
        carry, sums = scan(lambda c, row: (c * 0.5 + row, c + row), torch.zeros(4), x)
        return chosen, carry, sums, each(lambda row, factor: row * factor, x, torch.arange(4.0)), torch.vmap(torch.dot)(x, x + 1)

    check(model, (torch.randn(3, 4),))


def test_masked_transformer_is_compared_with_what_export_sees() -> None:
    """torch's fused path would give zeros at padded places."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()
    check(model, (torch.randn(2, 5, 8),), {"src_key_padding_mask": torch.tensor([[False] * 5, [False] * 3 + [True] * 2])})


def test_autocast_disabled_and_no_grad_regions_are_inlined() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", enabled=False):
            y = x @ x
        with torch.no_grad():
            return y + 1

    assert names(check(model, (torch.ones(2, 2),))) == ["matmul", "full", "add"]


def test_unused_parameters_are_dropped_and_inputs_kept() -> None:
    class Unused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.spare = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.exp()

    result = check(Unused(), (torch.ones(2), torch.ones(3)))
    assert [a.name for a in result.arguments] == ["x", "y"]


def test_fx_stage_is_text() -> None:
    result = capture(lambda x: x.exp(), (torch.ones(2),))
    assert "aten.exp.default" in result.stages["fx"]()


@pytest.mark.slow
def test_time_grows_linearly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The front end's own time (torch.export left out) per node does not grow with the graph."""
    import sys

    module = sys.modules["alchemist.frontends.torch"]
    export, spent = module.export, [0.0]

    def timed(*args: Any) -> Any:
        start = time.process_time()
        out = export(*args)
        spent[0] = time.process_time() - start
        return out

    monkeypatch.setattr(module, "export", timed)

    def chain(count: int) -> float:
        def model(x: torch.Tensor) -> torch.Tensor:
            for i in range(count):
                x = torch.relu(x + float(i))
            return x

        start = time.process_time()
        capture(model, (torch.ones(2),))
        return (time.process_time() - start - spent[0]) / count

    chain(10)
    small, large = min(chain(100), chain(100)), min(chain(800), chain(800))
    assert large < 3 * small


def test_bfloat16_integers_and_masks() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> Any:
            hidden = self.fc(x).masked_fill(~mask.unsqueeze(-1), 0.0)
            return hidden, ids * 2 + mask, hidden.float().softmax(-1).to(hidden.dtype)

    inputs = (torch.randn(2, 3, 4).bfloat16(), torch.randint(9, (2, 3)), torch.rand(2, 3) > 0.5)
    result = check(Mixed().bfloat16(), inputs, tolerance=2e-2)
    assert [output.dtype for output in result.outputs] == ["bfloat16", "int64", "bfloat16"]
    assert [a.dtype for a in result.arguments][:3] == ["bfloat16", "int64", "bool"]
    assert result.golden is not None
    assert [array.dtype for array in result.golden()] == [np.float32, np.int64, np.float32]


def test_interpreter_notices_wrong_types() -> None:
    """The tests' own interpreter refuses an op whose declared type is not what it computes."""
    result = capture(lambda x: x.sum(0), (torch.ones(2, 3),))
    op = next(iter(next(iter(result.module.body.block.ops)).regions[0].block.ops))
    from alchemist.ir.access import set_attr

    set_attr(op, "dim_arg", [1])
    with pytest.raises(AssertionError, match="declared"):
        ttir_in_torch.run(result)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["argument", "keyword", "weight"])
@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("sparse_coo", lambda x: x.to_sparse()),
        ("sparse_csr", lambda x: x.to_sparse_csr()),
        ("_mkldnn", lambda x: x.to_mkldnn()),
        ("quantised", lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)),
        ("nested", lambda x: torch.nested.nested_tensor([x, x])),
    ],
)
def test_only_dense_tensors(kind: str, made: Any, place: str) -> None:
    """What the model makes of them does not matter: here nothing at all."""
    x = torch.ones(2, 2)
    model = nn.Identity()
    if place == "weight":
        model.register_buffer("table", made(x))
    args, kwargs = {"argument": ((made(x),), {}), "keyword": ((), {"input": made(x)}), "weight": ((x,), {})}[place]
    with pytest.raises(InputError, match=f"not dense(?s:.*){'table' if place == 'weight' else 'argument'}(?s:.*){kind}"):
        capture(model, args, kwargs)


def test_norms_in_training_mode_update_their_running_statistics() -> None:
    layers = [nn.BatchNorm2d(3, momentum=0.3), nn.InstanceNorm2d(3, track_running_stats=True), nn.BatchNorm2d(3, track_running_stats=False)]
    with pytest.warns(UserWarning, match="training mode"):
        result = check(nn.Sequential(*layers), (torch.randn(2, 3, 4, 4) + 3,))
    written = {output.mutates for output in result.outputs}
    assert written == {"", "0.running_mean", "0.running_var", "0.num_batches_tracked", "1.running_mean", "1.running_var"}


@pytest.mark.filterwarnings("ignore:the model is in training mode")
def test_a_norm_that_is_applied_twice_averages_all_batches() -> None:
    norm = nn.BatchNorm1d(4, momentum=None)
    norm(torch.randn(8, 4) + 2)
    check(nn.Sequential(norm, nn.Linear(4, 4), norm), (torch.randn(8, 4),))
    assert norm.momentum is None


def test_a_number_that_the_model_reads_and_writes_is_no_constant() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("step", torch.tensor(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.step += 1
            return x * self.step.item()

    result = capture(Counter(), (torch.ones(3),))
    assert "4.0" not in print_module(result.module)


@pytest.mark.parametrize(
    ("model", "args", "place"),
    [
        (nn.Sequential(nn.ReLU(), nn.Linear(64, 32)), (torch.ones(2, 63),), "1: Linear(in_features=64, out_features=32, bias=True)"),
        (nn.Sequential(nn.Embedding(10, 4)), (torch.tensor([10]),), "0: Embedding(10, 4)"),
    ],
)
def test_arguments_that_the_model_rejects(model: nn.Module, args: tuple[torch.Tensor], place: str) -> None:
    """Shapes fail in torch.export, values when the expected outputs are computed."""
    with pytest.raises(InputError, match="the model fails on these arguments") as raised:
        capture(model, args).golden()
    assert raised.value.location == place

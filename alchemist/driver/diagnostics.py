"""Errors of `ttmlir-opt` in MLIR's form, `FILE:LINE:COLUMN: error: 'OP' op TEXT`, which editors and tests of tt-mlir understand.

The text is tt-mlir's own where a row of the table has it, else ours.
"""

from __future__ import annotations

import re

from alchemist.errors import AlchemistError

# ops (a pattern), our message (a pattern), tt-mlir's text (a template of the pattern's groups)
ROWS = (
    (r"tt\w+\.relu|tt\w+\.abs|tt\w+\.clamp_scalar", r"operands do not match: .*", "requires a single operand"),
    (r"tt\w+\.clamp_scalar", r"expected result shape .*", "input and output must have same shape."),
    (r"ttnn\.layer_norm_post_all_gather|tt\w+\.rms_norm", r"expected result shape .*", "input and output must have the same shape"),
    (r"ttnn\.rms_norm_pre_all_gather", r"expected residual shape .*", "residual tensor shape must match the input tensor shape"),
    (r"ttnn\.layer_norm_pre_all_gather", r"expected residual shape .*", "residual_input shape must match input shape"),
    (r"ttnn\.layer_norm_pre_all_gather", r"the statistics have (\d+) columns, got (\d+)",
     r"output last dimension must be \1 (2 * TILE_WIDTH) for layernorm partial statistics, got \2"),
    (r"ttir\.softmax|ttir\.unsqueeze", r"dim\w* must be in .*", "Dimension attribute must be within the bounds of the input tensor"),
    (r"ttir\.(?:sum|mean|max|min|prod|reduce_\w+)", r"reduced dimension (-?\d+) is out of range for rank (\d+)",
     r"Reduce dimension \1 is out of range for input tensor of rank \2"),
    (r"ttir\.(?:sum|mean|max|min|prod|reduce_\w+)", r"reduced dimensions must differ, .*", "Reduce dimensions are not unique"),
    (r"tt\w+\.concat", r"dimension (-?\d+) is out of range .*", r"Invalid dimension \1 for concatenation."),
    (r"tt\w+\.gather", r"input and index must have the same rank, .*", "Input tensor and index tensor must have the same rank."),
    (r"tt\w+\.gather", r"dim must be in (\[.*\)), got (-?\d+)", r"Dimension must be in the range \1, got dim = \2"),
    (r"tt\w+\.sort", r"dim must be in \[(-?\d+), (\d+)\), got (-?\d+)", r"Dimension out of range (expected to be in range of [\1, <\2>], but got \3)"),
    (r"ttir\.(?:cumsum|topk)", r"dim must be in \[(-?\d+), (\d+)\), got (-?\d+)", r"specified dimension should be between \1 and <\2>, but got: \3"),
    (r"ttnn\.argmax", r"dim must be in \[-(\d+), (\d+)\), got (-?\d+)",
     r"dim attribute value \3 is out of range for input tensor of rank \1, expected value in range [-\1, <\2>]"),
    (r"tt\w+\.repeat_interleave", r"repeats cannot be zero", "Repeats attribute must be non-zero"),
    (r"tt\w+\.repeat_interleave", r"dim must be in (\[.*\)), got (-?\d+)", r"Dimension attribute must be within the bounds\1, got \2"),
    (r"ttnn\.repeat", r"repeat_dimensions must have (\d+) entries, got (\d+)", r"Input tensor rank \1 doesn't match the number of repeat dimensions \2."),
    (r"tt\w+\.permute", r"\[([\d, -]*)\] is no permutation of (\d+) dimensions", r"Expected a permutation of (<to \2>), got (\1)"),
    (r"tt\w+\.permute", r"expected result shape \[(.*)\], got \[(.*)\]", r"Expected result shape (\1), got (\2)"),
    (r"ttnn\.nlp_concat_heads", r"expected result shape \[(.*)\], got \[(.*)\]", r"expected output shape (\1), got (\2)"),
    (r"ttir\.full", r"expected result shape \[(.*)\], got \[(.*)\]", r"expected shape (\2), got (\1)"),
    (r"ttir\.reverse", r"dimensions must differ, got \[(.*)\]", r"dimensions should be unique. Got: \1"),
    (r"ttir\.reverse", r"dimensions must be in .*(-\d+).*", r"all dimensions should be non-negative. Got dimension: \1"),
    (r"ttir\.reverse", r"dimensions must be in (\[.*\)), got \[(\d+)\]", r"all dimensions should be in interval \1. Got dimension: \2"),
    (r"ttir\.broadcast", r"broadcast_dimensions must have (\d+) entries, got (\d+)", r"Input tensor rank of \1 does not match output tensor rank of \2"),
    (r"ttir\.batch_norm_\w+", r"input must have 2 to 5 dimensions, .*", "input tensor must have rank between 2 and 5"),
    (r"ttir\.batch_norm_\w+", r"dimension \d+ is out of range .*", "dimension attribute must be within input rank bounds"),
    (r"ttir\.rand", r"low must be less than high, .*", "'low' value must be < 'high' value."),
    (r"tt\w+\.rand", r"low must be less than high, .*", "'low' value must be < 'high' value"),
    (r"ttnn\.rand", r"expected result shape \[(.*)\], got \[(.*)\]",
     r"size argument does not match with output tensor shape. [Size = (\1), output tensor shape = (\2)]"),
    (r"ttnn\.pow_scalar", r"the exponent must be a number of at least 0, got (.*)", r"exponent must be non-negative; but got \1"),
    (r"ttnn\.sampling", r"the batch size must be in (\[.*\]), got (\d+)", r"batch (\2) must be in \1 (kernel limit)"),
    (r"tt\w+\.paged_flash_\w+", r"the (\w)(\w+) must have a single head, got (\d+)", r"<\1>\2 num KV heads (nkv) must be 1, got \3."),
    (r"ttnn\.constant", r"a constant in dram takes a device", "device operand must be specified for non-system memory buffer type"),
    (r"ttnn\.constant", r"a constant in system_memory takes no device", "device operand must not be specified for system memory buffer type"),
    (r"ttir\.constant", r"a constant without values", "value attribute must be one of DenseResourceElementsAttr or DenseElementsAttr."),
    (r"ttir\.constant", r"complex numbers are not supported", "value attribute must be of int or float type."),
    (r"ttir\.bitcast_convert", r"element types must have the same width, .*", "Input and output tensor element types must have the same bit width"),
    (r"ttir\.bitcast_convert", r"integers or floats are needed", "Input tensor type must be an integer or floating point type"),
    (r"ttnn\.rotary_embedding", r"cos and sin must have the same element type, .*", "cos and sin tensor dtypes must match."),
    (r"ttnn\.rotary_embedding", r"expected sin shape .*", "cos and sin tensor shapes must match."),
    (r"ttnn\.copy", r"the (s)(ource) must be on the device|the (d)(estination) must be on the device", r"<\1\3>\2\4 tensor must be on device memory"),
    (r"ttnn\.copy", r"source and destination must have the same type", "Source and destination tensor types must match"),
    (r"tt\w+\.all_to_all_\w+", r"operand 0 must be a 4D tensor, .*", "input_tensor must be a 4D tensor"),
    (r"tt\w+\.all_to_all_dispatch", r"operand 1 must be a 4D tensor, .*", "expert_indices must be a 4D tensor"),
    (r"tt\w+\.all_to_all_dispatch_metadata", r"operand 2 must be a 4D tensor, .*", "expert_scores must be a 4D tensor"),
    (r"ttnn\.all_reduce", r"a collective cannot reduce by \w+", "Invalid reduction type for all reduce op."),
    (r"ttir\.reduce_scatter", r"scatter_dim must be in .*, got (-?\d+)",
     r"Invalid dimension for reduce scatter op. Scatter dimension must be >= to input tensor rank or < -input tensor rank, got scatter_dim = \1"),
    (r"ttir\.collective_broadcast", r"input and result must have the same type", "input and output must have the same type"),
    (r"tt\w+\.(?:index|slice_dynamic|repeat_interleave)", r"input must have at least one dimension", "Input must be at least a 1D tensor"),
    (r"tt\w+\.(?:all_reduce|reduce_scatter)", r"a collective cannot reduce by \w+", "Invalid reduction type for <op> op"),
    (r"tt\w+\.all_gather", r"all_gather_dim must be in .*, got (-?\d+)",
     r"Invalid dimension for all gather op. Gather dimension must be >= to input tensor rank or < -input tensor rank, got gather_dim = \1"),
    (r"ttir\.collective_permute", r"source_target_pairs must be a list of pairs, got shape \[\d+\]", "The rank of source target pairs must be 2, got rank = 1"),
    (r"ttir\.collective_permute", r"a chip is named twice .*", "There are duplicate 'src' or 'dest' devices in source target pairs"),
    (r"tt\w+\.moe_expert_token_remap", r"operand 1 must be a 4D tensor, .*", "expert_mapping must be a 4D tensor"),
    (r"tt\w+\.moe_expert_token_remap", r"operand 2 must be a 4D tensor, .*", "expert_metadata must be a 4D tensor"),
    (r"ttnn\.prepare_moe_\w+", r"bias_0 and bias_1 come together", "bias_0 and bias_1 must be both present or both absent"),
    (r"ttir\.moe_gpt", r"(\w+) must be a 6D tensor, .*", r"\1 must be a rank 6 tensor"),
    (r"tosa\.mul", r"a shift has no form in TTIR", "conversion does not support shifted multiply"),
)  # fmt: skip
"""`<...>` of a template is replaced: `<3>` by 2 (an end that is included), `<to 3>` by 0, 1, 2, `<k>` by K, `<op>` by the words of the op's name."""


def text_of(error: AlchemistError) -> str:
    """tt-mlir's text of an error, or ours."""
    for ops, ours, upstream in ROWS:
        if re.fullmatch(ops, error.op) and (match := re.fullmatch(ours, error.message, re.DOTALL)):
            words = match.expand(upstream).replace("<op>", error.op.partition(".")[2].replace("_", " "))
            words = re.sub(r"<to (\d+)>", lambda match: ", ".join(map(str, range(int(match[1])))), words)
            return re.sub(r"<(\w+)>", lambda match: str(int(match[1]) - 1) if match[1].isdigit() else match[1].upper(), words)
    return error.message


def line_of(error: AlchemistError) -> str:
    """The error as MLIR prints it; "" for one without a place in a text."""
    if not re.search(r":\d+:\d+$", str(error.location)):
        return ""
    return f"{error.location}: error: " + (f"'{error.op}' op " if error.op else "") + text_of(error)

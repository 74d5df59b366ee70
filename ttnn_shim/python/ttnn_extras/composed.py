"""Ops of the signature table that Python composes of other ops; the C++ core has no program for them.

The table checks their calls, as it checks those of ops with a program. Their device time is that of the ops that they call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import ttnn
from ttnn import _core
from ttnn._operation import Operation
from ttnn_shim.errors import InvalidArgument

_ROWS_OF_MOE = 32
_KEPT_BY_MOE = 32


class ComposedOperation(Operation):
    """An op whose result `function` computes. Parameters that the call leaves out, or gives as None, are left out of the call of `function`."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(f"ttnn.{name}")
        self._function = function

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        _, bound = self._bind(args, kwargs)
        return self._function(**{name: value for name, value in bound.items() if value is not None})


def require(condition: bool, message: str, name: str) -> None:
    """Raises InvalidArgument of op `name` where the condition does not hold."""
    if not condition:
        raise _core.error(InvalidArgument, message, f"ttnn.{name}")


def stored(result: Any, target: Any) -> Any:
    """`result`, in the tensor that the caller gave for it."""
    return result if target is None else ttnn.copy(result, target)


def placed(result: Any, memory_config: Any) -> Any:
    """`result` in `memory_config`; where it is, without one."""
    return result if memory_config is None else ttnn.to_memory_config(result, memory_config)


class _IntoTensors(ComposedOperation):
    """An op with a program, whose form that fills tensors of the caller's is composed."""

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        _, bound = self._bind(args, kwargs)
        return Operation.run(self, args, kwargs) if bound.get("output_tensor") is None else self._function(**bound)


def topk(input_tensor: Any, *args: Any, output_tensor: Any, **kwargs: Any) -> list[Any]:
    """`output_tensor`: values in the dtype of the input, and indices in UINT16, UINT32 or INT32."""
    values, indices = ttnn.topk(input_tensor, *args, **kwargs)
    into_values, into_indices = output_tensor
    shapes = [list(tensor.shape) for tensor in output_tensor]
    require(shapes == [list(values.shape)] * 2, f"output_tensor: expected two tensors of shape {values.shape}, got {shapes[0]} and {shapes[1]}", "topk")
    dtypes = (into_values.dtype, into_indices.dtype)
    fits = dtypes[0] == input_tensor.dtype and dtypes[1] in (ttnn.uint16, ttnn.uint32, ttnn.int32)
    require(fits, f"output_tensor: expected {input_tensor.dtype} and indices in UINT16, UINT32 or INT32, got {dtypes[0]} and {dtypes[1]}", "topk")
    if indices.dtype != dtypes[1]:
        indices = ttnn.typecast(indices, dtypes[1])
    return [stored(values, into_values), stored(indices, into_indices)]


def prod(input_tensor: Any, output_tensor: Any, *, dims: Sequence[int], memory_config: Any = None) -> Any:
    """The product along dimensions 0 and 1 of four, in `output_tensor`; without dimensions of all values, in a tensor of its own."""
    if not dims:
        return ttnn.prod(input_tensor, memory_config=memory_config)
    shape = list(input_tensor.shape)
    require(len(shape) == 4, f"input_tensor: expected rank 4, got {len(shape)}", "prod")
    require(set(dims) <= {0, 1}, f"dims: expected 0 or 1, got {list(dims)}", "prod")
    require(output_tensor.dtype == input_tensor.dtype, f"output_tensor: expected {input_tensor.dtype}, got {output_tensor.dtype}", "prod")
    result = [1 if axis in dims else size for axis, size in enumerate(shape)]
    side = ttnn.TILE_SIZE
    padded = [*result[:2], *(-(-size // side) * side for size in result[2:])]
    require(list(output_tensor.padded_shape) == padded, f"output_tensor: expected shape {result}, got {list(output_tensor.shape)}", "prod")
    product = input_tensor
    for dim in sorted(dims, reverse=True):
        product = ttnn.prod(product, dim, keepdim=True)
    return stored(product, output_tensor)


def ema(input_tensor: Any, alpha: float, *, out: Any = None, core_grid: Any = None, memory_config: Any = None, compute_kernel_config: Any = None) -> Any:
    """y[t] = alpha y[t - 1] + (1 - alpha) x[t] along the last dimension of [1, B, C, T], with 0 before the first value.

    One product with a triangle of weights [T, T]; the library's kernel walks the columns, so that times differ.
    """
    shape = list(input_tensor.shape)
    require(input_tensor.layout == ttnn.TILE_LAYOUT, f"input_tensor: expected TILE layout, got {input_tensor.layout}", "ema")
    require(input_tensor.dtype == ttnn.bfloat16, f"input_tensor: expected BFLOAT16, got {input_tensor.dtype}", "ema")
    require(len(shape) == 4 and shape[0] == 1, f"input_tensor: expected shape [1, B, C, T], got {shape}", "ema")
    age = np.arange(shape[-1])[None, :] - np.arange(shape[-1])[:, None]
    weights = np.where(age < 0, 0.0, (1.0 - alpha) * np.power(alpha, np.maximum(age, 0), dtype=np.float64)).astype(np.float32)
    triangle = ttnn.to_device(ttnn.Tensor(weights, ttnn.float32, layout=ttnn.TILE_LAYOUT), input_tensor.device())
    average = ttnn.matmul(input_tensor, triangle, dtype=ttnn.bfloat16, compute_kernel_config=compute_kernel_config)
    return stored(placed(average, memory_config or input_tensor.memory_config()), out)


def moe(input_tensor: Any, expert_mask_tensor: Any, topk_mask_tensor: Any, k: int = _KEPT_BY_MOE, *, memory_config: Any = None,
        output_tensor: Any = None) -> Any:  # fmt: skip
    """The softmax weight of expert 0 among the k best experts of a row, 0 where it is not among them: [N, C, H, W] -> [N, C, H, 1].

    As in the library's kernel, `expert_mask_tensor` is not added: add it to `input_tensor`.
    """
    shape, kept, masked = (tensor.padded_shape for tensor in (input_tensor, topk_mask_tensor, expert_mask_tensor))
    width = shape[-1]
    require(len(shape) == 4, f"input_tensor: expected rank 4, got {len(shape)}", "moe")
    require(k == _KEPT_BY_MOE, f"k: expected {_KEPT_BY_MOE} (pad with -infinity), got {k}", "moe")
    require(width >= 2 * k and width & (width - 1) == 0, f"input_tensor: expected a width of 64 or a larger power of 2, got {width}", "moe")
    require(kept[-1] == k and kept[-2] == _ROWS_OF_MOE, f"topk_mask_tensor: expected {_ROWS_OF_MOE} x {k}, got shape {kept}", "moe")
    require(masked[-1] == width and masked[-2] == _ROWS_OF_MOE, f"expert_mask_tensor: expected a row of {width}, got shape {masked}", "moe")
    values, indices = ttnn.topk(input_tensor, k, -1)
    weights = ttnn.softmax(ttnn.add(values, topk_mask_tensor), -1)
    is_first = ttnn.eqz(ttnn.typecast(ttnn.typecast(indices, ttnn.uint32), weights.dtype))
    chosen = ttnn.sum(ttnn.multiply(weights, is_first), -1, keepdim=True)
    return stored(placed(chosen, memory_config), output_tensor)


def sparse_matmul(input_tensor_a: Any, input_tensor_b: Any, *, sparsity: Any, program_config: Any, nnz: int | None = None,
                  is_input_a_sparse: bool = False, is_input_b_sparse: bool = True, memory_config: Any = None, dtype: Any = None,
                  compute_kernel_config: Any = None, optional_output_tensor: Any = None, **unsupported: Any) -> Any:  # fmt: skip
    """Products of those pairs of matrices whose entry in `sparsity` is not 0; zeros elsewhere. The time is that of all products.

    a [B, E, M, K] or [A, B, M, K], b [1, E, K, N]; b alone sparse: each matrix of a with each of b, [A, B, 1, E, M, N].
    """
    given = [name for name, value in unsupported.items() if value is not None]
    require(not given, f"{', '.join(given)}: not supported by the simulator", "sparse_matmul")
    require(is_input_a_sparse or is_input_b_sparse, "is_input_a_sparse or is_input_b_sparse must be True", "sparse_matmul")
    require(sparsity.layout == ttnn.ROW_MAJOR_LAYOUT, f"sparsity: expected ROW_MAJOR layout, got {sparsity.layout}", "sparse_matmul")
    a, b = list(input_tensor_a.shape), list(input_tensor_b.shape)
    require(a[-1] == b[-2], f"input_tensor_b: expected {a[-1]} rows, got shape {b}", "sparse_matmul")
    by_all = not is_input_a_sparse
    batch = math.prod(a[:-2]) * (math.prod(b[:-2]) if by_all else 1)
    entries = math.prod(sparsity.shape)
    require(entries == batch, f"sparsity: expected {batch} values, got shape {sparsity.shape}", "sparse_matmul")
    require(nnz is None or nnz <= batch, f"nnz: expected at most {batch}, got {nnz}", "sparse_matmul")
    left, right = input_tensor_a, input_tensor_b
    result = [*a[:-1], b[-1]]
    if by_all:
        experts = math.prod(b[:-2])
        left = ttnn.repeat_interleave(ttnn.reshape(left, [1, batch // experts, *a[-2:]]), experts, 1)
        right = ttnn.repeat(ttnn.reshape(right, [1, experts, *b[-2:]]), [1, batch // experts, 1, 1])
        result = [*a[:-2], *b[:-2], a[-2], b[-1]]
    else:
        right = ttnn.repeat(right, [a[0] // b[0], 1, 1, 1]) if a[0] != b[0] else right
    products = ttnn.matmul(left, right, dtype=dtype, compute_kernel_config=compute_kernel_config)
    products = ttnn.reshape(products, [1, batch, a[-2], b[-1]])
    chosen = ttnn.to_layout(ttnn.nez(ttnn.to_layout(ttnn.reshape(sparsity, [1, 1, 1, batch]), ttnn.TILE_LAYOUT)), ttnn.ROW_MAJOR_LAYOUT)
    chosen = ttnn.to_layout(ttnn.reshape(chosen, [1, batch, 1, 1]), ttnn.TILE_LAYOUT)
    masked = ttnn.where(chosen, products, 0.0)
    masked = masked if masked.dtype == products.dtype else ttnn.typecast(masked, products.dtype)
    return stored(placed(ttnn.reshape(masked, result), memory_config), optional_output_tensor)


def dit_minimal_matmul_addcmul_fused(matmul_input_tensor: Any, matmul_weight_tensor: Any, scalar: float, addcmul_input_tensor1: Any,
                                     addcmul_input_tensor2: Any, bias_tensor: Any = None, *, config: Any = None, memory_config: Any = None,
                                     dtype: Any = None, compute_kernel_config: Any = None) -> Any:  # fmt: skip
    """addcmul_input_tensor1 [M, N] + scalar * (matmul_input_tensor [M, K] @ matmul_weight_tensor [K, N] + bias) * addcmul_input_tensor2."""
    name = "experimental.dit_minimal_matmul_addcmul_fused"
    expected = [matmul_input_tensor.shape[-2], matmul_weight_tensor.shape[-1]]
    got = list(addcmul_input_tensor1.shape)[-2:]
    require(got == expected, f"addcmul_input_tensor1: expected {expected[0]} x {expected[1]}, got {got}", name)
    product = ttnn.experimental.minimal_matmul(
        matmul_input_tensor, matmul_weight_tensor, bias_tensor=bias_tensor, config=config, dtype=dtype, compute_kernel_config=compute_kernel_config
    )
    return ttnn.add(addcmul_input_tensor1, ttnn.multiply(ttnn.multiply(product, scalar), addcmul_input_tensor2), memory_config=memory_config)


def attn_matmul(input_tensor_a: Any, input_tensor_b: Any, *, compute_with_storage_grid_size: Any, dtype: Any = None,
                compute_kernel_config: Any = None, memory_config: Any = None, output_tensor: Any = None) -> Any:  # fmt: skip
    """Decode attention of one key head: a [1, heads, users, K] @ b [users, 1, K, N] -> [1, heads, users, N]."""
    name = "experimental.attn_matmul"
    a, b = list(input_tensor_a.shape), list(input_tensor_b.shape)
    require(len(a) == len(b) == 4 and a[0] == 1 and b[1] == 1, f"expected [1, heads, users, K] and [users, 1, K, N], got {a} and {b}", name)
    require(a[2] == b[0], f"input_tensor_b: expected {a[2]} users, got shape {b}", name)
    require(a[3] == b[2], f"input_tensor_b: expected {a[3]} rows, got shape {b}", name)
    rows = ttnn.permute(input_tensor_a, (2, 0, 1, 3))
    product = ttnn.matmul(rows, input_tensor_b, dtype=dtype, compute_kernel_config=compute_kernel_config)
    return stored(ttnn.permute(product, (1, 2, 0, 3), memory_config=memory_config), output_tensor)


def _latent_attention(name: str, attention: Callable[..., Any], k: Any, v: Any, width: int | None) -> Any:
    """attention(K, V) where V has `width` columns, fewer than K; without V, its columns are the first ones of K."""
    columns = k.shape[-1]
    if v is None:
        require(width is not None and 0 < width <= columns, f"head_dim_v: expected at most {columns}, got {width}", f"transformer.{name}")
        v = ttnn.slice(k, [0, 0, 0, 0], [*list(k.shape)[:-1], width])
    width = v.shape[-1]
    if width == columns:
        return attention(k, v)
    result = attention(k, ttnn.pad(v, [(0, 0), (0, 0), (0, 0), (0, columns - width)], 0.0))
    return ttnn.slice(result, [0, 0, 0, 0], [*list(result.shape)[:-1], width])


def flash_mla_prefill(input_tensor_q: Any, input_tensor_k: Any, head_dim_v: int | None = None, *, input_tensor_v: Any = None,
                      **options: Any) -> Any:  # fmt: skip
    """Latent attention: q [B, Hq, S, D], k [B, Hk, T, D] -> [B, Hq, S, head_dim_v]."""

    def attention(k: Any, v: Any) -> Any:
        return ttnn.transformer.scaled_dot_product_attention(input_tensor_q, k, v, **options)

    return _latent_attention("flash_mla_prefill", attention, input_tensor_k, input_tensor_v, head_dim_v)


def chunked_flash_mla_prefill(input_tensor_q: Any, input_tensor_k: Any, head_dim_v: int, page_table_tensor: Any, chunk_start_idx: int,
                              **options: Any) -> Any:  # fmt: skip
    """flash_mla_prefill of one chunk of the queries; K has pages [pages, Hk, page_size, D]."""

    def attention(k: Any, v: Any) -> Any:
        return ttnn.transformer.chunked_scaled_dot_product_attention(input_tensor_q, k, v, page_table_tensor, chunk_start_idx, **options)

    return _latent_attention("chunked_flash_mla_prefill", attention, input_tensor_k, None, head_dim_v)


def complex_mul(a_real: Any, a_imag: Any, b_real: Any, b_imag: Any) -> tuple[Any, Any]:
    """(a_real + i a_imag) * (b_real + i b_imag), as its real and imaginary part."""
    return (
        ttnn.subtract(ttnn.multiply(a_real, b_real), ttnn.multiply(a_imag, b_imag)),
        ttnn.add(ttnn.multiply(a_real, b_imag), ttnn.multiply(a_imag, b_real)),
    )


def _composed(functions: Sequence[Callable[..., Any]], module: str = "") -> dict[str, ComposedOperation]:
    return {function.__name__: ComposedOperation(f"{module}{function.__name__}", function) for function in functions}


globals().update(_composed((ema, moe, sparse_matmul)))
globals().update({function.__name__: _IntoTensors(function.__name__, function) for function in (topk, prod)})
globals().update(_composed((dit_minimal_matmul_addcmul_fused, attn_matmul, complex_mul), "experimental."))
globals().update(_composed((flash_mla_prefill, chunked_flash_mla_prefill), "transformer."))

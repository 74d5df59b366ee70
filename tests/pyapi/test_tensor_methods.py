"""Methods of `ttnn.Tensor` on the host, and indices that no tensor takes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import ttnn
from ttnn_shim.errors import InvalidArgument

VALUES = torch.arange(24.0).reshape(1, 2, 3, 4)


@pytest.fixture
def host() -> Any:
    return ttnn.from_torch(VALUES, dtype=ttnn.float32)


def test_padding_on_the_host(host: Any) -> None:
    """Only the padded shape grows; `unpad` reads it."""
    padded = host.pad([1, 2, 5, 4], [0, 0, 1, 0], 7.5)
    whole = torch.nn.functional.pad(VALUES, (0, 0, 1, 1), value=7.5)
    assert (list(padded.shape), list(padded.padded_shape), padded.dtype) == ([1, 2, 3, 4], [1, 2, 5, 4], ttnn.float32)
    assert torch.equal(ttnn.to_torch(padded), whole[:, :, :3])
    assert torch.equal(ttnn.to_torch(padded.unpad([0, 0, 0, 0], [1, 2, 5, 4])), whole)
    assert torch.equal(ttnn.to_torch(padded.unpad([0, 0, 1, 0], [1, 2, 4, 4])), VALUES)
    tiles = host.pad_to_tile(1.0)
    assert (list(tiles.shape), list(tiles.padded_shape)) == ([1, 2, 3, 4], [1, 2, 32, 32])
    assert torch.equal(ttnn.to_torch(tiles), VALUES)
    assert torch.equal(ttnn.to_torch(tiles.to(ttnn.TILE_LAYOUT)), VALUES)
    assert torch.equal(ttnn.to_torch(tiles.unpad_from_tile([1, 2, 4, 5]))[..., 3, 4], torch.ones(1, 2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.pad([1, 2, 3], [0, 0, 0], 0.0), InvalidArgument, r"cannot pad \(1, 2, 3, 4\) to \[1, 2, 3\]"),
        (lambda x: x.pad([1, 2, 3, 4], [0, 0, 1, 0], 0.0), InvalidArgument, r"to \[1, 2, 3, 4\] at \[0, 0, 1, 0\]"),
        (lambda x: x.unpad([0, 0, 0], [1, 2, 3]), InvalidArgument, r"cannot take \[\[0, 0, 0\], \[1, 2, 3\]\)"),
        (lambda x: x.unpad([0, 0, 3, 0], [1, 2, 3, 4]), InvalidArgument, r"cannot take \[\[0, 0, 3, 0\]"),
        (lambda x: x.unpad([0, 0, 0, 0], [1, 2, 4, 4]), InvalidArgument, r"\[1, 2, 4, 4\]\) of Shape\(\[1, 2, 3, 4\]\)"),
        (lambda x: x.unpad_from_tile([1, 2, 3, 4]), InvalidArgument, "padded shape of whole tiles"),
        (lambda x: x.to(ttnn.TILE_LAYOUT).unpad_from_tile([1, 2, 3, 4]), InvalidArgument, "expected layout ROW_MAJOR"),
        (lambda x: x[..., ::2], InvalidArgument, "host tensors cannot be accessed with a stride"),
        (lambda x: x[::-1], InvalidArgument, "host tensors cannot be accessed with a stride"),
        (lambda x: ttnn.Tensor(x, col_tilize=True), TypeError, "__init__.*incompatible function arguments"),
    ],
)
def test_what_host_tensors_refuse(call: Any, error: type[Exception], message: str, host: Any) -> None:
    with pytest.raises(error, match=message):
        call(host)


@pytest.mark.parametrize("method", ["pad_to_tile", "unpad_from_tile"])
def test_padding_is_for_the_host(method: str, device: Any) -> None:
    x = ttnn.from_torch(VALUES, dtype=ttnn.float32, device=device)
    with pytest.raises(InvalidArgument, match=r"got StorageType::DEVICE.*"):
        getattr(x, method)([1, 2, 3, 4] if method.startswith("un") else 0.0)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("index", [(0,), (0, 1), (-1, -2), (..., 1), (0, ..., slice(1, 3)), (slice(None), slice(1, 2)), (0, 1, 2, 3), (slice(0, 0),)], ids=str)
def test_indices_are_numpys(index: Any, on_device: bool, host: Any, device: Any) -> None:
    x = ttnn.to_device(host, device) if on_device else host
    found = ttnn.to_torch(x[index])
    assert torch.equal(found.reshape(VALUES[index].shape), VALUES[index])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((..., ...), "Only one ellipsis"),
        ((0, 0, 0, 0, 0), "Too many indices for tensor of dimension 4"),
        ((0, 2), "Index 2 is out of bounds for dimension 1 of size 2"),
        ((0, -3), "Index -3 is out of bounds"),
        ("x", "got str"),
    ],
)
def test_indices_out_of_bounds(index: Any, message: str, host: Any) -> None:
    with pytest.raises((IndexError, TypeError, ValueError), match=message):
        host[index]


def test_small_facts(host: Any, device: Any) -> None:
    assert host.element_size() == 4 and host.logical_volume() == 24 and bool(host) and isinstance(hash(host), int)
    with pytest.raises(ValueError, match="invalid"):
        ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT).element_size()
    assert [tuple(part.shape) for part in host] == [(2, 3, 4)]
    assert tuple(ttnn.to_device(host, device).reshape(1, 1, 6, 4).shape) == (1, 1, 6, 4)
    gone = ttnn.to_device(host, device)
    gone.deallocate()
    assert repr(gone).startswith("ttnn.Tensor(<buffer is not allocated>, shape=Shape([1, 2, 3, 4])")

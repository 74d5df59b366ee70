"""int8 and fp8_e4m3: host conversions by the rules that the real package showed, written down with numpy; where each may live."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import ttnn
from ttnn._device import MeshDevice

from ttnn_shim import session

# Every bfloat16 pattern, and values near the ties between neighbouring fp8 values.
PATTERNS = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)
CODES = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
TIES = (CODES[1:] + CODES[:-1]) / 2
NEAR = np.concatenate([CODES, TIES, np.nextafter(TIES, np.float32(np.inf)), np.nextafter(TIES, np.float32(0))])
REALS = np.concatenate([PATTERNS, NEAR, -NEAR])
REALS = REALS[: REALS.size // 8 * 8].reshape(1, -1)  # after the last eight values other rules hold: test_host_conversions
WHOLE = np.concatenate([np.arange(-1000, 1000), [2**31 - 1, -(2**31)]]).astype(np.int32).reshape(1, -1)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Makes a device of a card, beside the one that is open."""

    def make(card: str) -> Any:
        monkeypatch.setattr(session.settings, "card", card)
        return MeshDevice._create(0, 0, 0)

    return make


def test_fp8_from_float() -> None:
    """To nearest even; below 2^-6 a zero of the sign; beyond 448, and infinity, 448; one NaN."""
    made = ttnn.to_dtype(ttnn.to_dtype(ttnn.Tensor(REALS, ttnn.float32), ttnn.fp8_e4m3), ttnn.float32).to_numpy()
    with np.errstate(invalid="ignore"):
        wanted = np.clip(REALS, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    wanted = np.where(np.abs(REALS) < 2.0**-6, np.copysign(np.float32(0), REALS), wanted)
    wanted = np.where(np.isnan(REALS), np.float32(np.nan), wanted)
    np.testing.assert_array_equal(made.view(np.uint32), wanted.astype(np.float32).view(np.uint32))


def test_int8_from_float() -> None:
    """Toward zero, clamped; what int32 cannot hold, and NaN, count as its least value."""
    made = ttnn.to_dtype(ttnn.Tensor(REALS, ttnn.float32), ttnn.int8).to_numpy()
    with np.errstate(invalid="ignore"):
        whole = np.where(np.abs(REALS) < 2.0**31, np.trunc(REALS), -(2.0**31))
    np.testing.assert_array_equal(made, np.clip(whole, -128, 127).astype(np.int8))


@pytest.mark.parametrize("name", ["int32", "uint32", "uint16", "uint8"])
def test_int8_and_integers(name: str) -> None:
    """Modulo 2^8, and back modulo 2^n."""
    dtype = getattr(ttnn, name)
    source = ttnn.to_dtype(ttnn.Tensor(WHOLE & 255, ttnn.int32), dtype)
    made = ttnn.to_dtype(source, ttnn.int8)
    np.testing.assert_array_equal(made.to_numpy(), (WHOLE & 255).astype(np.int8))
    np.testing.assert_array_equal(ttnn.to_dtype(made, dtype).to_numpy(), (WHOLE & 255).astype(np.int8).astype(name))


def test_int8_file(tmp_path: Path) -> None:
    """A file of the real package: equal values, equal bytes when rewritten."""
    source, copy = Path(__file__).parent.parent / "data" / "int8_row_major_8x32.tensorbin", tmp_path / "copy.tensorbin"
    tensor = ttnn.load_tensor(source)
    np.testing.assert_array_equal(tensor.to_numpy(), np.arange(-128, 128, dtype=np.int8).reshape(8, 32))
    ttnn.dump_tensor(copy, tensor)
    assert copy.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("card", ["n150", "p150"])
@pytest.mark.parametrize("layout", [ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT])
def test_int8_on_the_device(card: str, layout: Any, devices: Callable[[str], Any]) -> None:
    values = np.arange(-128, 128, dtype=np.int8).reshape(8, 32)
    tensor = ttnn.Tensor(values, ttnn.int8, devices(card), layout)
    assert tensor.dtype == ttnn.int8 and tensor.to_list() == values.tolist() and tensor.element_size() == 1
    np.testing.assert_array_equal(ttnn.permute(tensor, [1, 0]).to_numpy() if layout == ttnn.ROW_MAJOR_LAYOUT else tensor.to_numpy().T, values.T)
    with pytest.raises(RuntimeError, match="INT8 is not supported"):
        ttnn.add(tensor, tensor)


def test_fp8_lives_on_blackhole_in_rows(devices: Callable[[str], Any]) -> None:
    host = ttnn.Tensor(REALS[:, :64].copy(), ttnn.fp8_e4m3)
    moved = ttnn.to_device(host, devices("p150"))
    assert ttnn.typecast(moved, ttnn.bfloat16).to_numpy().astype(np.float32).tolist() == ttnn.to_dtype(host, ttnn.float32).to_numpy().tolist()
    with pytest.raises(RuntimeError, match="not supported on n150"):
        ttnn.to_device(host, devices("n150"))
    for refused in (lambda: ttnn.to_layout(host, ttnn.TILE_LAYOUT), lambda: ttnn.to_dtype(host, ttnn.bfloat16), host.to_numpy, host.to_list):
        with pytest.raises(RuntimeError, match="FP8_E4M3"):
            refused()

"""Queries one device program, by the names of `strategy/operations.hpp`: cores, circular buffers, time. Whole calls: `ttnn_shim.query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ttnn_shim.error_bands import relative_error
from ttnn_shim.errors import InvalidArgument
from ttnn_shim.simlib import Priced, SimulatorError, simulator


@dataclass(frozen=True)
class Answer:
    """Outcome of a query: `valid` with a price, or the reason why no program fits."""

    valid: bool
    error: str = ""
    price: Priced | None = None

    @property
    def cycles(self) -> int:
        """Kernel duration in cycles; 0 when invalid."""
        return self.price.cycles if self.price else 0


def query_program(
    op: str,
    inputs: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
    attributes: Mapping[str, Any] | None = None,
    compute: Mapping[str, Any] | None = None,
    arch: str = "n150",
) -> Answer:
    """Plan and price one op.

    `inputs`, `outputs`: tensors as {"logical", "padded", "dtype", "layout", "buffer", "memory", "shard"}; `attributes`, `compute`: as listed in
    `strategy/operations.hpp`. An op without a model is valid with `price.modelled` False (a roofline of its bytes).
    """
    sim = simulator()
    listed = all(isinstance(group, Sequence) and all(isinstance(spec, Mapping) for spec in group) for group in (inputs, outputs))
    if not listed or not isinstance(op, str) or not all(isinstance(given, Mapping | None) for given in (attributes, compute)):
        raise InvalidArgument("expected an op's name, lists of tensors as dictionaries, and dictionaries of attributes", op="ttnn_shim.program_query")
    try:
        handle = sim.arch(arch)
        config: dict[str, Any] = {"op": op, "inputs": [dict(t) for t in inputs], "outputs": [dict(t) for t in outputs]}
        if attributes:
            config["attrs"] = dict(attributes)
        if compute:
            config["compute"] = dict(compute)
        price = sim.price(handle, sim.config(config))
        return Answer(True, price=replace(price, ns_error=relative_error(op, arch, price.modelled)))
    except SimulatorError as error:
        return Answer(False, error=error.message)
    except (TypeError, ValueError, RecursionError) as error:  # a value that is no plain data
        raise InvalidArgument(f"an attribute or shape that cannot be written: {error}", op="ttnn_shim.program_query") from error

"""Faults that went unnoticed, when a seed drew them or a review put them in: `python -m tools.mutation --known` says whether they still would.

Each is a text that stands once in its file, and what it becomes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.mutation.edits import Edit
from tools.mutation.layers import ROOT


@dataclass(frozen=True, slots=True)
class Known:
    path: str
    old: str
    new: str

    def edit(self) -> Edit:
        """The same as an edit of the file of today.

        Raises:
            ValueError: the text is not there, or more than once: the fault is to be written anew.
        """
        text = (ROOT / self.path).read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.path}: {text.count(self.old)} times {self.old!r}")
        start = text.index(self.old)
        return Edit(start, start + len(self.old), self.new, text.count("\n", 0, start) + 1, f"{self.old} -> {self.new}")


KNOWN = (
    Known("alchemist/program/functions.py", "if rounds and any(self._escapes(value, group.hi)", "if rounds and not any(self._escapes(value, group.hi)"),
    Known("alchemist/program/roles.py", "return bool(users) and len(masks)", "return bool(users) or len(masks)"),
    Known("alchemist/frontends/onnx/rules/resize.py", "MOST_ELEMENTS_OF_MATRIX = 1 << 24", "MOST_ELEMENTS_OF_MATRIX = 1 << 25"),
    # Of a review of commit 30a4846, whose tests noticed none of these.
    Known("ttnn_shim/src/ops/core/layout.cpp", "return use_multicore ? sub_core_grids :", "return true ? sub_core_grids :"),
    Known("ttnn_shim/src/strategy/conv.cpp", "arch.k.conv_accumulate - arch.k.mm_reload", "arch.k.conv_accumulate + arch.k.mm_reload"),
    Known("ttnn_shim/src/strategy/layout.cpp", "arch.k.untilize_block + arch.k.untilize_tile", "arch.k.untilize_block + arch.k.tilize_tile"),
    Known("ttnn_shim/src/strategy/move.cpp", "tile_bytes()) * arch.k.pad_byte", "tile_bytes()) * 0.5 * arch.k.pad_byte"),
    Known("ttnn_shim/src/tensor/packed_weights.cpp", "        table_.erase(found);", ""),
    Known("ttnn_shim/src/ops/clock.cpp", "lock_(clock_mutex()), log_", "lock_(clock_mutex(), std::defer_lock), log_"),
    Known("ttnn_shim/src/ops/launch.cpp", "else\n            finish(output);", "else\n            finish(outputs[0]);"),
    Known("ttnn_shim/src/tensor/tensorbin.cpp", "alignment = {shard->shape[1]};", "alignment = {shard->shape[0]};"),
    Known(
        "ttnn_shim/src/tensor/tensorbin.cpp",
        ".scalar<uint16_t>(1, static_cast<uint16_t>(config.buffer_type()), 0)\n        .scalar<uint16_t>(0, static_cast<uint16_t>(config.memory_layout()), 0)",
        ".scalar<uint16_t>(0, static_cast<uint16_t>(config.memory_layout()), 0)\n        .scalar<uint16_t>(1, static_cast<uint16_t>(config.buffer_type()), 0)",
    ),
    Known(
        "ttnn_shim/python/ttnn/_host.py",
        "shard_spec.shape[0] // tile_height, shard_spec.shape[1] // tile_width",
        "shard_spec.shape[1] // tile_height, shard_spec.shape[0] // tile_width",
    ),
    Known("alchemist/codegen.py", 'export_golden == "ops":\n        _check_values', "False:\n        _check_values"),
    Known("alchemist/loaded.py", "        except BaseException:\n            self.close()\n", "        except BaseException:\n"),
)

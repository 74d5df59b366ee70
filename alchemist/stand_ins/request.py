"""What tt-xla's compile options ask for: which language, where to, whether it runs, and alchemist's own options."""

from __future__ import annotations

import difflib
import shutil
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alchemist.errors import OptionError, quoted
from alchemist.options import CompilerOptions, boolean, known_names

BACKENDS = {"default": "", "ttnn_flatbuffer": "", "codegen_py": "python", "codegen_cpp": "cpp", "codegen_load_py": "load"}
"""`backend` -> what it asks for: "" is a program that runs here and is not kept."""
_OF_TORCH = {"tt_enable_torch_fx_fusion_pass": "enable_fusing"}
_WITHOUT_EFFECT = ("tt_enable_composite_ops", "tt_legacy_compile", "tt_experimental_compile", "tt_lazy_execution", "tt_use_aot_autograd", "export_model_name")
"""Of torch.compile's options: one front end reads models here, and norms are recognised with or without a mark."""
_OWN = ("backend", "export_path", "export_tensors", "dry_run")


@dataclass(frozen=True, slots=True)
class Request:
    """wants: "" (run), "python", "cpp", or "load" a program that was exported before. dry_run: export, and let the framework compute the result."""

    wants: str
    export_path: Path | None
    export_tensors: bool
    dry_run: bool
    options: CompilerOptions

    @classmethod
    def of(cls, given: Mapping[Any, Any]) -> Request:
        """Raises OptionError: an unknown key (near ones are listed), a bad value, or a backend that needs `export_path` without one."""
        values: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for key, value in given.items():
            plain = str(key).replace("-", "_")
            if plain in _OWN:
                values[plain] = value
            elif plain in _WITHOUT_EFFECT:
                continue
            elif plain.startswith("tt_") and plain not in _OF_TORCH:
                near = difflib.get_close_matches(plain, [*_OF_TORCH, *_WITHOUT_EFFECT, *_OWN, *known_names()], n=3, cutoff=0.5)
                raise OptionError(f"unknown compile option {quoted(key)}", hint=f"did you mean {' or '.join(near)}?" if near else "")
            else:
                rest[_OF_TORCH.get(plain, str(key))] = value
        named = str(values.get("backend", "default")).lower()
        if named not in BACKENDS:
            near = difflib.get_close_matches(named, BACKENDS, n=2, cutoff=0.5)
            raise OptionError(f"Unknown backend option value: {quoted(named)} for backend", expected=", ".join(BACKENDS),
                              hint=f"did you mean {' or '.join(near)}?" if near else "")  # fmt: skip
        wants, path = BACKENDS[named], values.get("export_path")
        if wants and not path:
            raise OptionError("Compile option 'export_path' must be provided when backend is not 'TTNNFlatbuffer'", got=f"backend {named!r} alone",
                              hint=f'{{"backend": "{named}", "export_path": "./output"}}')  # fmt: skip
        return cls(
            wants, Path(path) if path else None, boolean("export_tensors", values.get("export_tensors", True)),
            boolean("dry_run", values.get("dry_run", wants in ("python", "cpp"))), CompilerOptions.parse(rest, warn=False),
        )  # fmt: skip


class Session:
    """Options of `torch_xla.set_custom_compile_options`, and where this process has exported to."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self._counts: dict[Path, int] = {}
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def place(self, export_path: Path | None) -> Path:
        """Where the next program goes: `export_path` itself; from the second one on `graph_0`, `graph_1` ... below it, as in tt-xla.

        None: a folder that is gone when the process ends.
        """
        with self._lock:
            if export_path is None:
                if self._scratch is None:
                    self._scratch = tempfile.TemporaryDirectory(prefix="alchemist-tt-")
                export_path = Path(self._scratch.name)
            else:
                export_path = export_path.absolute()
                if not self._counts.get(export_path):
                    self._counts[export_path] = 1
                    return export_path
            number = self._counts.get(export_path, 0)
            self._counts[export_path] = number + 1
            if number == 1 and not (export_path / "graph_0").exists():
                _move_down(export_path)
            return export_path / f"graph_{number}"

    def index(self, export_path: Path | None) -> None:
        """Writes the `run` above several programs, after the last of them was exported."""
        from alchemist.export.writer import write_index

        if export_path is None or self._counts.get(export_path.absolute(), 0) < 2:
            return
        write_index(export_path, [f"graph_{number}" for number in range(self._counts[export_path.absolute()]) if (export_path / f"graph_{number}").is_dir()])


def _move_down(folder: Path) -> None:
    """Moves an export into `graph_0` below its own folder."""
    below = folder / "graph_0"
    entries = list(folder.iterdir())
    below.mkdir()
    for entry in entries:
        shutil.move(entry, below / entry.name)


SESSION = Session()

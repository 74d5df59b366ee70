"""Which lines of the C++ core a process runs: a library of `-fsanitize-coverage=trace-pc` and `trace.c`, and what its addresses stand for."""

from __future__ import annotations

import bisect
import ctypes
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tools.mutation.record import CPP, CPP_NOTES, ROOT

_TABLE = CPP / "addresses.json"  # of each file's lines: [address, line] of its blocks
_MOST = 1 << 21  # addresses at once


def build(environment: dict[str, str]) -> None:
    """The library with notes, in a build tree of its own: about half as long as `make setup` takes from nothing."""
    CPP.mkdir(parents=True, exist_ok=True)
    trace = CPP / "trace.o"
    options = {
        "CMAKE_BUILD_TYPE": "Reach",
        "CMAKE_CXX_FLAGS_REACH": "-O1 -g1 -w -fsanitize-coverage=trace-pc",
        "CMAKE_SHARED_LINKER_FLAGS": str(trace),
        **dict.fromkeys(("TTNN_SHIM_TESTS", "TTNN_SHIM_PYTHON", "TTNN_SHIM_WERROR"), "OFF"),
    }
    for words in (
        ["cc", "-O2", "-fPIC", "-c", str(Path(__file__).parent / "trace.c"), "-o", str(trace)],
        ["cmake", "-S", str(ROOT / "ttnn_shim"), "-B", str(CPP), "-G", "Ninja", *(f"-D{name}={value}" for name, value in options.items())],
        ["cmake", "--build", str(CPP), "--target", "ttnn_shim"],
    ):
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
    library = CPP / "libttnn_shim.so"
    if not _TABLE.exists() or _TABLE.stat().st_mtime < library.stat().st_mtime:
        _TABLE.write_text(json.dumps(_blocks(library)))


def _blocks(library: Path) -> dict[str, list[tuple[int, int]]]:
    """[return address of the note's call, line] of every block of the project's sources, by path."""
    calls = re.compile(rb"^ *([0-9a-f]+):\s+(?:call|jmp)\S* +[0-9a-f]+ <__sanitizer_cov_trace_pc>")
    addresses: list[int] = []
    was_call = False
    with subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", str(library)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if was_call and (found := re.match(rb" *([0-9a-f]+):", line)):
                addresses.append(int(found[1], 16))
                was_call = False
            was_call = was_call or calls.match(line) is not None
    found_lines: dict[str, list[tuple[int, int]]] = defaultdict(list)
    starts, places = _places(library)
    for address in addresses:
        path, number = places[bisect.bisect_right(starts, address - 1) - 1]  # of the call itself, not of what stands behind it
        if path.startswith("ttnn_shim/src/") and path.endswith(".cpp"):
            found_lines[path].append((address, number))
    return dict(found_lines)


def _places(library: Path) -> tuple[list[int], list[tuple[str, int]]]:
    """Addresses at which another line begins, in order, and path and line of each."""
    rows: list[tuple[int, str, int]] = []
    path, bare = "", 0
    with subprocess.Popen(["objdump", "--dwarf=decodedline", str(library)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            words = line.split()
            if len(words) == 1 and line.endswith(":\n"):
                path = line.rstrip(":\n").removeprefix(f"{ROOT}/")
                if "/" not in path:  # a file's first lines stand below its bare name, later ones below all of it
                    bare = len(rows)
                elif bare < len(rows) and path.endswith(f"/{rows[bare][1]}"):
                    rows[bare:] = [(address, path if "/" not in place else place, number) for address, place, number in rows[bare:]]
                    bare = len(rows)
            elif len(words) >= 3 and words[2].startswith("0x") and words[1].isdigit():
                rows.append((int(words[2], 16), path, int(words[1])))
    rows.sort(key=lambda row: row[0])
    return [address for address, _, _ in rows], [(path, line) for _, path, line in rows]


@cache
def _lines() -> dict[int, tuple[str, int]]:
    """Path and line of each address."""
    return {address: (path, line) for path, rows in json.loads(_TABLE.read_text()).items() for address, line in rows}


def known_lines() -> dict[str, int]:
    """Bits of the lines at which blocks begin, by path."""
    return bits(_lines())


def bits(addresses: Iterable[int]) -> dict[str, int]:
    """Bits of the lines that addresses stand for, by path."""
    lines, found = _lines(), defaultdict(set)
    for address in addresses:
        if address in lines:
            path, line = lines[address]
            found[path].add(line)
    made = {}
    for path, numbers in found.items():
        buffer = bytearray(max(numbers) // 8 + 1)
        for number in numbers:
            buffer[number // 8] |= 1 << number % 8
        made[path] = int.from_bytes(buffer, "little")
    return made


@cache
def _library() -> ctypes.CDLL | None:
    return ctypes.CDLL(str(CPP / "libttnn_shim.so")) if str(CPP) in os.environ.get("LD_LIBRARY_PATH", "") else None


_buffer = (ctypes.c_uint32 * _MOST)()


def take() -> dict[str, int]:
    """Bits of the lines that this process has run since the last time."""
    library = _library()
    if library is None:
        return {}
    library.shim_mutation_take.restype = ctypes.c_size_t
    count = library.shim_mutation_take(_buffer, ctypes.c_size_t(_MOST))
    return bits(_buffer[:count])


def keep_lines(folder: Path) -> None:
    """What `trace.c` wrote at the end of processes, as lines: the next build has other addresses."""
    found_files = sorted(folder.glob("*.addresses"))
    if not found_files:
        return
    with (folder / f"processes.{CPP_NOTES}").open("a") as file:
        for path in found_files:
            test, _, rest = path.read_bytes().partition(b"\n")
            lines = bits(memoryview(rest[: len(rest) // 4 * 4]).cast("I"))
            file.write(json.dumps({"test": test.decode(), "lines": {place: f"{found:x}" for place, found in lines.items()}}) + "\n")
            path.unlink()

"""Host functions of a `.ttnn` as LLVM text: an interpreter over checked memory with a limit of steps.

tt-mlir computes constants on the host before the first call. A binary holds these functions as LLVM (loops over memrefs). Each is
translated to Python statements in which only numbers and names of our own stand, and runs on buffers whose bounds Python checks.

    HostCode(text).call("cpu_hoisted_const_eval_0", [array], [((1, 32, 4, 1), "f4")])
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.errors import LoweringError
from alchemist.toolchain.host_types import Type, alignment, nested, offsets, parse_type, size_bytes, zero

Array = np.ndarray[Any, Any]
MOST_STEPS = 200_000_000
"""Branches back to a block that one call may take: a minute or two."""
MOST_BYTES = 1 << 31
_SPACE = 40
"""Bits of an address that are the place in a buffer; the others are the buffer's number."""
_PLACE = (1 << _SPACE) - 1
_CODES = {"f32": "f", "f64": "d", "i64": "q", "ptr": "q", "i32": "i", "i16": "h", "i8": "b", "i1": "b"}
_BITS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}
_ARITHMETIC = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "shl": "{0} << ({1} & 63)",
    "ashr": "{0} >> ({1} & 63)", "lshr": "unsigned({0}, {bits}) >> ({1} & 63)", "sdiv": "quotient({0}, {1})", "srem": "{0} - quotient({0}, {1}) * {1}",
    "udiv": "unsigned({0}, {bits}) // unsigned({1}, {bits})", "urem": "unsigned({0}, {bits}) % unsigned({1}, {bits})",
    "intr.smax": "max({0}, {1})", "intr.smin": "min({0}, {1})", "intr.ctpop": "unsigned({0}, {bits}).bit_count()",
}  # fmt: skip
"""Ops of integers; what does not fit the type is cut off."""
_FLOATS = {
    "fadd": "{0} + {1}", "fsub": "{0} - {1}", "fmul": "{0} * {1}", "fdiv": "ratio({0}, {1})", "fneg": "-{0}", "intr.fabs": "abs({0})",
    "intr.maxnum": "max({0}, {1})", "intr.minnum": "min({0}, {1})", "intr.sqrt": "root({0})", "intr.exp": "exp({0})", "intr.floor": "floor({0})",
    "intr.ceil": "ceil({0})", "intr.fma": "{0} * {1} + {2}", "intr.fmuladd": "{0} * {1} + {2}",
}  # fmt: skip
_COMPARED = {
    "eq": "==",
    "ne": "!=",
    "slt": "<",
    "sle": "<=",
    "sgt": ">",
    "sge": ">=",
    "oeq": "==",
    "olt": "<",
    "ole": "<=",
    "ogt": ">",
    "oge": ">=",
    "une": "!=",
}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_CONVERTED = {
    "sext": "-{0} if {source} == 1 else {0}", "zext": "unsigned({0}, {source})", "trunc": "{0}", "sitofp": "float({0})",
    "uitofp": "float(unsigned({0}, {source}))",
    "fptosi": "whole({0})", "fptoui": "whole({0})", "fpext": "{0}", "fptrunc": "{0}", "ptrtoint": "{0}", "inttoptr": "{0}", "bitcast": "{0}",
}  # fmt: skip

_STATEMENT = re.compile(r'(?:%(\w+) = )?"?llvm\.([\w.]+)"?(.*)')
_NAME = re.compile(r"%(\w+)")
_FUNCTION = re.compile(r"llvm\.func (?:\w+ )*@([\w.$\-]+)\((.*)")
_ARGUMENT = re.compile(r"%(\w+): ")
_GLOBAL = re.compile(r"llvm\.mlir\.global .*?@([\w.$\-]+)\((.*)\) (?:\{.*\} )?: (!llvm\.array<.*>)")
_DENSE = re.compile(r"dense<(.*)> : (?:tensor|vector)<[\dx]*x?(\w+)>", re.DOTALL)
_BLOCK = re.compile(r"\^(\w+)(?:\((.*)\))?:")
_TARGET = re.compile(r"\^(\w+)(?:\(([^)]*)\))?")


class Memory:
    """Buffers by number; 0 is null. views: of each buffer, one per element code."""

    def __init__(self) -> None:
        self.views: dict[str, list[Any]] = {code: [()] for code in "fdqihbB"}
        self.bytes = 0

    def allocate(self, count: int) -> int:
        """The address of `count` new bytes."""
        self.bytes += max(count, 0)
        if count < 0 or self.bytes > MOST_BYTES:
            raise MemoryError(f"{self.bytes} bytes")
        view = memoryview(bytearray(-(-count // 8) * 8))
        for code, views in self.views.items():
            views.append(view.cast(code))  # type: ignore[call-overload]
        return (len(self.views["B"]) - 1) << _SPACE

    def copy(self, to: int, source: int, count: int) -> None:
        a, b, n = to & _PLACE, source & _PLACE, count
        target, origin = self.views["B"][to >> _SPACE], self.views["B"][source >> _SPACE]
        if n < 0 or a + n > len(target) or b + n > len(origin):
            raise IndexError("memcpy")
        target[a : a + n] = bytes(origin[b : b + n])

    def store(self, array: Array) -> int:
        at = self.allocate(array.nbytes)
        self.views["B"][at >> _SPACE][: array.nbytes] = array.tobytes()
        return at

    def load(self, at: int, shape: Sequence[int], strides: Sequence[int], dtype: str) -> Array:
        """A strided tensor; strides in elements."""
        flat = np.frombuffer(self.views["B"][at >> _SPACE], np.uint8)
        place = np.zeros(tuple(shape), np.int64)
        for axis, (count, stride) in enumerate(zip(shape, strides, strict=True)):
            place += (np.arange(count, dtype=np.int64) * stride).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        offset = at & _PLACE
        whole = flat[offset : offset + (len(flat) - offset) // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize].view(dtype)
        return np.ascontiguousarray(whole[place])


class HostCode:
    """The functions of one CPU module. Raises: LoweringError for text with an op that is not known here."""

    def __init__(self, text: str, most_steps: int = MOST_STEPS) -> None:
        self.most_steps = most_steps
        lines = [line.strip() for line in text.splitlines()]
        self._globals = {match[1]: line for line in lines if (match := _GLOBAL.match(line))}
        self._bodies: dict[str, tuple[list[str], list[str]]] = {}
        body: list[str] | None = None
        for line in lines:
            if match := _FUNCTION.match(line):
                body = [] if line.endswith("{") else None
                if body is not None:
                    self._bodies[match[1]] = (_ARGUMENT.findall(match[2]), body)
            elif body is not None:
                if line.startswith("}"):
                    body = None
                elif line:
                    body.append(line)

    def __contains__(self, name: str) -> bool:
        return f"{name}_helper" in self._bodies

    def call(self, name: str, arrays: Sequence[Array], results: Sequence[tuple[tuple[int, ...], str]]) -> list[Array]:
        """Runs the function on tensors. results: shape and numpy dtype of each.

        Raises:
            LoweringError: an op that is not known, memory out of bounds, or more steps than the limit.
        """
        memory = Memory()
        try:
            program = _Program(self._bodies, self._globals, memory, self.most_steps)
            given = memory.allocate(32 * len(arrays))
            for index, array in enumerate(arrays):
                array = np.ascontiguousarray(array)
                at = memory.store(array)
                strides = [step // array.itemsize for step in array.strides]
                memory.copy(given + 32 * index, memory.store(np.array([at, at, 0, memory.store(np.array([*array.shape, *strides], "<i8"))], "<i8")), 32)
            made = program.function(f"{name}_helper")(given)
            found = []
            for index, (shape, dtype) in enumerate(results):
                _, start, offset, extents = memory.load(made + 32 * index, (4,), (1,), "<i8").tolist()
                rank = len(shape)
                sizes = memory.load(extents, (2 * rank,), (1,), "<i8").tolist() if rank else []
                if tuple(sizes[:rank]) != shape:
                    raise LoweringError("a host function returns a wrong shape", op=f"@{name}", expected=str(list(shape)), got=str(sizes[:rank]))
                found.append(memory.load(start + offset * np.dtype(dtype).itemsize, shape, sizes[rank:], dtype))
            return found
        except (IndexError, ValueError, OverflowError, ZeroDivisionError, TypeError, struct.error) as error:
            raise LoweringError(f"a host function fails: {error}", op=f"@{name}", hint="its text is damaged") from error
        except (MemoryError, RecursionError, TimeoutError) as error:
            what = f"{self.most_steps} steps" if isinstance(error, TimeoutError) else "memory"
            raise LoweringError(f"a host function needs more than the interpreter's limit of {what}", op=f"@{name}",
                                hint="use the text of the step before (ttnn.mlir), whose CPU functions are TTIR") from error  # fmt: skip


class _Program:
    """Translated functions over one memory."""

    def __init__(self, bodies: Mapping[str, tuple[list[str], list[str]]], constants: Mapping[str, str], memory: Memory, steps: int) -> None:
        self.bodies, self.constants, self.memory, self.steps = bodies, constants, memory, steps
        self._made: dict[str, Callable[..., Any]] = {}
        self._addresses: dict[str, int] = {}

    def function(self, name: str) -> Callable[..., Any]:
        if name == "malloc":
            return self.memory.allocate
        if name == "free":
            return lambda at: None
        if name not in self._made:
            if name not in self.bodies:
                raise LoweringError("a host function calls a function that is not in the text", op=f"@{name[:80]}")
            self._made[name] = _Translation(self, name).function()
        return self._made[name]

    def address(self, name: str) -> int:
        """Where a constant of the text is stored."""
        if name not in self._addresses:
            match = _GLOBAL.match(self.constants.get(name, ""))
            dense = _DENSE.match(match[2]) if match is not None else None
            if match is None or dense is None or dense[2] not in _CODES:
                raise LoweringError("cannot read a constant of a host function", op=f"@{name[:80]}")
            kind, body = parse_type(match[3]), dense[1]
            of = np.dtype(_CODES[dense[2]])
            if body.startswith('"0x'):
                values = np.frombuffer(bytes.fromhex(body[3:].rstrip('"')), of)
            else:
                values = np.array([float(word) if of.kind == "f" else int(word) for word in re.findall(r"[^\s,\[\]]+", body)], of)
            count = size_bytes(kind) // of.itemsize
            self._addresses[name] = self.memory.store(np.resize(values, count) if len(values) == 1 else values)
        return self._addresses[name]

    def count(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TimeoutError


class _Translation:
    """One function as Python. Values are `v0`, `v1` ... in the order in which they are met; nothing of the text but numbers is in the result."""

    def __init__(self, program: _Program, name: str) -> None:
        self.program, self.name = program, name
        parameters, lines = program.bodies[name]
        self._names: dict[str, str] = {}
        self._constants: dict[str, Any] = {}
        self.parameters = [self.value(word) for word in parameters]
        self.blocks: dict[str, tuple[list[str], list[str]]] = {"": ([], [])}
        at = ""
        for line in lines:
            if match := _BLOCK.match(line):
                at = match[1]
                self.blocks[at] = ([self.value(word) for word in _ARGUMENT.findall(match[2] or "")], [])
            else:
                self.blocks[at][1].append(line)
        targets = [match[1] for _, body in self.blocks.values() for line in body if "br " in line for match in _TARGET.finditer(line)]
        self.heads = [label for label in self.blocks if targets.count(label) > 1]

    def value(self, word: str) -> str:
        return self._names.setdefault(word, f"v{len(self._names)}")

    def held(self, value: Any) -> str:
        """A name for an object that the function uses."""
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def function(self) -> Callable[..., Any]:
        source = [f"def f({', '.join(self.parameters)}):", " b = 0", " while True:"]
        for number, label in enumerate(["", *self.heads]):
            source += [f"  if b == {number}:", "   while True:", *("    " + line for line in self._block(label, label))]
        views = {f"m{code}": self.program.memory.views[code] for code in "fdqihb"}
        scope: dict[str, Any] = {"__builtins__": {}, "max": max, "min": min, "abs": abs, "float": float} | _HELPERS | views | self._constants
        scope |= {"count": self.program.count, "copy": self.program.memory.copy}
        exec(compile("\n".join(source), "<host function>", "exec"), scope)
        made: Callable[..., Any] = scope["f"]
        return made

    def _block(self, label: str, head: str) -> list[str]:
        lines: list[str] = []
        for line in self.blocks[label][1]:
            lines += self._statement(line, head)
        return lines

    def _go(self, target: str, given: str | None, head: str) -> list[str]:
        """A branch: to the loop's own head, to another one, or on into a block that only this branch reaches."""
        if target not in self.blocks:
            raise self._error(target)
        names = [self.value(word) for word in _NAME.findall((given or "").partition(":")[0])]
        places = self.blocks[target][0]
        if len(names) != len(places):
            raise self._error(target)
        lines = [f"{', '.join(places)} = {', '.join(names)}"] if names else []
        if target not in self.heads:
            return lines + self._block(target, head)
        if target == head:
            return [*lines, "count()", "continue"]
        return [*lines, f"b = {self.heads.index(target) + 1}", "break"]

    def _error(self, op: str) -> LoweringError:
        return LoweringError("a host function contains an unknown op", op=f"llvm.{op[:60]}", got=f"@{self.name[:80]}")

    def _statement(self, line: str, head: str) -> list[str]:
        match = _STATEMENT.match(line)
        if match is None:
            raise self._error(line)
        result, op, rest = match[1], match[2], re.sub(r"\s+loc\(.*$", "", match[3])
        if op == "br":
            target = _TARGET.search(rest)
            return self._go(target[1], target[2], head) if target else ["raise_here"]
        if op == "cond_br":
            ways = list(_TARGET.finditer(rest))
            if len(ways) != 2:
                raise self._error(op)
            condition = self._operands(rest)[0]
            then, other = (self._go(way[1], way[2], head) for way in ways)
            return [f"if {condition}:", *(" " + one for one in then), "else:", *(" " + one for one in other)]
        if op == "return":
            return [f"return {self._operands(rest)[0]}" if "%" in rest else "return None"]
        made = self._effect(op, rest)
        if made is not None:
            return made
        try:
            expression = self._expression(op, rest)
        except KeyError:  # a type or a comparison that LLVM does not have, or that is not known here
            raise self._error(op) from None
        return [f"{self.value(result)} = {expression}"] if result else [expression]

    def _operands(self, text: str) -> list[str]:
        return [self.value(word) for word in _NAME.findall(text)]

    def _effect(self, op: str, rest: str) -> list[str] | None:
        operands = self._operands(rest.partition(" : ")[0])
        if op == "store":
            kind = parse_type(rest.partition(" : ")[2].rpartition(", !llvm.ptr")[0])
            parts = nested(kind)
            return [self._cell(operands[1], place, part) + f" = {operands[0]}{path}" for (part, path), place in zip(parts, offsets(kind), strict=True)]
        if op == "intr.memcpy":
            return [f"copy({', '.join(operands[:3])})"]
        if op.startswith(("intr.lifetime", "intr.assume")):
            return ["pass"]
        return None

    @staticmethod
    def _cell(address: str, place: int, of: str) -> str:
        at = f"({address} + {place})" if place else address
        shift = {8: 3, 4: 2, 2: 1, 1: 0}[size_bytes(of)]
        return f"m{_CODES[of]}[{at} >> {_SPACE}][({at} & {_PLACE}) >> {shift}]"

    def _expression(self, op: str, rest: str) -> str:
        body, _, kinds = rest.partition(" : ")
        operands = self._operands(body)
        if op in _ARITHMETIC:
            bits = _BITS[kinds.rpartition("->")[2].strip()]
            text = _ARITHMETIC[op].format(*operands, bits=bits)
            return text if "overflow<" in body and "nsw" in body else f"cut({text}, {bits})"
        if op in _FLOATS:
            text = _FLOATS[op].format(*operands)
            return f"single({text})" if kinds.split(",")[0].strip().startswith("f32") or "f32" in kinds else text
        if op in ("icmp", "fcmp"):
            name = body.split('"')[1]
            if name in _UNSIGNED:
                bits = _BITS.get(kinds.strip(), 64)
                return f"unsigned({operands[0]}, {bits}) {_UNSIGNED[name]} unsigned({operands[1]}, {bits})"
            return f"{operands[0]} {_COMPARED[name]} {operands[1]}"
        if op in _CONVERTED:
            source, _, target = kinds.partition(" to ")
            text = _CONVERTED[op].format(operands[0], source=_BITS.get(source.strip(), 64))
            target = target.strip()
            if op in ("trunc", "fptosi", "fptoui"):
                return f"cut({text}, {_BITS[target]})"
            return f"single({text})" if target == "f32" and op != "bitcast" else text
        match op:
            case "mlir.constant":
                return self._constant(body, kinds)
            case "mlir.zero" | "mlir.poison" | "mlir.undef":
                return repr(zero(parse_type(rest.partition(":")[2].strip())))
            case "mlir.addressof":
                return str(self.program.address(body.strip().lstrip("@").split()[0]))
            case "select":
                return f"{operands[1]} if {operands[0]} else {operands[2]}"
            case "load":
                kind = parse_type(kinds.partition("->")[2])
                cells = iter([self._cell(operands[0], place, part) for (part, _), place in zip(nested(kind), offsets(kind), strict=True)])
                return _built(kind, cells)
            case "getelementptr":
                return self._element(body, kinds)
            case "extractvalue":
                return operands[0] + "".join(f"[{int(word)}]" for word in _path(body))
            case "insertvalue":
                return f"put({operands[1]}, ({', '.join(_path(body))},), {operands[0]})"
            case "alloca":
                kind = parse_type(rest.partition(" x ")[2].partition(" :")[0].partition(" {")[0])
                return f"{self.held(self.program.memory.allocate)}({operands[0]} * {size_bytes(kind)})"
            case "call":
                name = body.partition("@")[2].partition("(")[0]
                return f"{self.held(self.program.function(name))}({', '.join(operands)})"
        raise self._error(op)

    def _constant(self, body: str, kinds: str) -> str:
        word = body.strip().strip("()").partition(" : ")[0].strip()
        if word in ("true", "false"):
            return "1" if word == "true" else "0"
        kind = rest if (rest := kinds.strip().rpartition(" : ")[2].strip().rstrip(")")) else kinds
        if kind in ("f32", "f64"):
            if word.startswith("0x"):
                number = struct.unpack("<f" if kind == "f32" else "<d", bytes.fromhex(word[2:])[::-1])[0]
            else:
                number = float(word)
            return self.held(number)
        return str(int(word))

    def _element(self, body: str, kinds: str) -> str:
        base, _, indices = body.partition("[")
        kind: Type = parse_type(kinds.rpartition("!llvm.ptr, ")[2])
        terms = [self._operands(base)[0]]
        for number, word in enumerate(one.strip() for one in indices.rstrip("] ").split(",")):
            index = self.value(word[1:]) if word.startswith("%") else str(int(word))
            if number:
                if isinstance(kind, str) or (kind[0] == "struct" and word.startswith("%")):
                    raise self._error("getelementptr")
                if kind[0] == "struct":
                    place = 0
                    for part in kind[1][: int(word)]:
                        place = -(-place // alignment(part)) * alignment(part) + size_bytes(part)
                    kind = kind[1][int(word)]
                    terms.append(str(-(-place // alignment(kind)) * alignment(kind)))
                    continue
                kind = kind[2]
            terms.append(f"{index} * {size_bytes(kind)}")
        return " + ".join(terms)


def _path(body: str) -> list[str]:
    return [str(int(word)) for word in body.rpartition("[")[2].rstrip("] ").split(",")]


def _built(kind: Type, cells: Any) -> str:
    if isinstance(kind, str):
        return str(next(cells))
    parts = kind[1] if kind[0] == "struct" else [kind[2]] * kind[1]
    return "(" + "".join(f"{_built(part, cells)}, " for part in parts) + ")"


def _cut(value: int, bits: int) -> int:
    if bits == 1:
        return value & 1
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def _quotient(a: int, b: int) -> int:
    """Towards zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _put(value: Any, path: Sequence[int], new: Any) -> Any:
    first, *rest = path
    return tuple(_put(part, rest, new) if rest and i == first else new if i == first else part for i, part in enumerate(value))


def _single(value: float) -> float:
    return float(np.float32(value))


def _ratio(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


_HELPERS: dict[str, Any] = {
    "cut": _cut, "unsigned": _unsigned, "quotient": _quotient, "put": _put, "single": _single, "ratio": _ratio, "whole": math.trunc,
    "root": lambda x: math.sqrt(x) if x >= 0 else math.nan, "exp": lambda x: float(np.exp(np.float64(x))), "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
}  # fmt: skip

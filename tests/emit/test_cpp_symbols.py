"""Every op has a C++ call that compiles, and the functions chosen are those of the real library."""

from __future__ import annotations

import re
from functools import cache

import pytest

from alchemist.ops import TTNN_OPS
from alchemist.ops.spec import OpSpec
from emit_cpp.printer import call_parts
from tests.emit import cpp_symbols
from tests.tables import table


def test_every_op_has_a_header() -> None:
    assert not cpp_symbols.without_header()


@table("spec", cpp_symbols.callable_ops(), ids=lambda spec: spec.name)
def test_calls_have_a_cpp_form(spec: OpSpec) -> None:
    for call in cpp_symbols.calls_of(spec):
        callee, arguments = call_parts(call)
        assert callee.startswith("ttnn::")
        assert arguments or not spec.args


INCLUDE = cpp_symbols.REPOSITORY / "ttnn_shim" / "include"
CALLABLE = re.compile(r"\b(\w+)\s*(?:\(|=|;)")


@cache
def declared_names(header: str) -> frozenset[str]:
    """Names that could be functions in our header and in all that it includes."""
    path = INCLUDE / header
    if not path.is_file():
        return frozenset()
    text = path.read_text()
    names = set(CALLABLE.findall(text)) | set(re.findall(r"\b[A-Z_]+\(\s*(\w+)\s*[,)]", text))  # macros declare families by name
    for included in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
        names |= declared_names(included)
    return frozenset(names)


@table("spec", cpp_symbols.callable_ops(), ids=lambda spec: spec.name)
def test_own_header_declares_the_function(spec: OpSpec) -> None:
    """An emitted program includes the headers of its ops alone: no other op's header may be needed."""
    function = (spec.cpp_target or spec.target).replace("::", ".").partition("<")[0].rpartition(".")[2]
    assert function in declared_names(spec.header), (spec.header, function)


def test_page_is_about_these_ops() -> None:
    text = cpp_symbols.PAGE.read_text()
    assert all(f"| {name} |" in text for name in cpp_symbols.without_header())


@pytest.mark.skipif(not cpp_symbols.available(), reason="needs g++, nm and c++filt")
def test_simulated_ops_have_the_real_functions() -> None:
    from ttnn_shim import native

    library = native.library_path()
    if library is None:
        pytest.skip("no built library")
    ops = cpp_symbols.simulated_ops()
    assert sum(bool(cpp_symbols.functions_of(op)) for op in ops) > 300
    missing = [(op, text) for op, text, reason in cpp_symbols.surface_gaps(ops, cpp_symbols.exported_symbols(library)) if not reason]
    assert len(missing) < len(ops) / 50, "\n".join(map(str, missing))  # the page lists them


@pytest.mark.slow
@pytest.mark.skipif(not cpp_symbols.available(), reason="needs g++, nm and c++filt")
def test_symbols_are_the_real_ones() -> None:
    assert len(TTNN_OPS) > 140
    found = cpp_symbols.needed_symbols()
    real = cpp_symbols.real_symbols()
    assert len(found) > 140
    assert cpp_symbols.share_found(found) >= 0.9
    unexplained = [one.demangled for one in found if one.mangled not in real and not one.reason]
    assert not unexplained, "\n".join(unexplained)

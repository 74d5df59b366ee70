"""Finds the entry functions of a module, and rejects content that can be read and printed but not lowered."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    FunctionType,
    IndexType,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from alchemist.errors import LoweringError, OptionError
from alchemist.ir.attributes import OpaqueAttr, OpaqueType
from alchemist.ir.location import place_of
from alchemist.ir.printer import attribute_text
from alchemist.ops.expand import MESHES, sizes_of_meshes
from alchemist.options import ONE_CHIP
from alchemist.toolchain.changes import unfinished


def modules_in(module: ModuleOp) -> list[ModuleOp]:
    """The modules that hold functions: `module`, or those inside one that only wraps them."""
    inner = [op for op in module.ops if isinstance(op, ModuleOp)]
    if not inner:
        return [module]
    own = [module] if function_names(module) else []
    return own + [module for op in inner for module in modules_in(op)]


def function_names(module: ModuleOp) -> list[str]:
    """Functions with a body directly in the module."""
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


def entry_names(module: ModuleOp) -> list[str]:
    """Public functions with a body; those that others call or that the compiler marked as helpers only if there are no others."""
    public = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration and (op.sym_visibility is None or op.sym_visibility.data == "public")]
    called = {name for op in public for name in _references(op) - {op.sym_name.data}}
    marked = [op for op in public if attribute_text(op.attributes.get("tt.function_type", UnitAttr())).strip('"') in _HELPERS]
    chosen = [op for op in public if op.sym_name.data not in called and op not in marked]
    return [op.sym_name.data for op in chosen or public]


_HELPERS = {"const_eval", "trace_capture", "trace_execute", "trace_run_and_capture", "kernel", "forward_cpu", "forward_cpu_declaration"}


def _references(function: Operation) -> set[str]:
    """Names of the symbols that the ops of a function refer to."""
    return {
        value.root_reference.data for op in function.walk() for value in (*op.properties.values(), *op.attributes.values()) if isinstance(value, SymbolRefAttr)
    }


def keep_only(module: ModuleOp, entry: str) -> None:
    """Erases the functions and modules that `entry` does not need, and makes it the only public one."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    for op in module.ops:
        if isinstance(op, ModuleOp):
            module.body.block.erase_op(op, safe_erase=False)
    needed, pending = {entry}, [entry]
    while pending:
        for name in _references(functions[pending.pop()]) & (functions.keys() - needed):
            needed.add(name)
            pending.append(name)
    for name, function in functions.items():
        if name not in needed:
            module.body.block.erase_op(function, safe_erase=False)
        elif name == entry:
            function.properties.pop("sym_visibility", None)
        else:
            function.properties["sym_visibility"] = StringAttr("private")


def state_mesh(module: ModuleOp, mesh: str) -> None:
    """Writes the option `mesh_shape` where tt-mlir has it, into the module's `ttcore.meshes`.

    Raises:
        OptionError: the module states another mesh.
    """
    if mesh == ONE_CHIP:
        return
    stated = next((part.attributes[MESHES] for part in module.walk() if isinstance(part, ModuleOp) and MESHES in part.attributes), None)
    attribute = OpaqueAttr(("#ttcore.meshes", f'<[<"mesh" = {mesh.replace(",", "x")}>]>'))
    if stated is not None and sizes_of_meshes(stated) != sizes_of_meshes(attribute):
        raise OptionError("mesh_shape differs from the mesh of the module", expected=attribute_text(stated), got=f"mesh_shape={mesh}")
    module.attributes[MESHES] = attribute if stated is None else stated


_KERNELS = ("ttkernel.", "ttmetal.", "d2m.")
_UPSTREAM = ("affine.", "bufferization.", "cf.", "gpu.", "linalg.", "memref.", "scf.", "sparse_tensor.", "vector.")


def refuse_types(function: FuncOp, filename: str) -> None:
    """Types, and ops of kernels, that can be read and printed but not lowered.

    Raises:
        LoweringError: the first of them, at its op.
    """
    signature = function.function_type
    kernel = next((op for op in function.walk() if op.name.startswith(_KERNELS)), None)
    if kernel is not None:
        raise LoweringError(
            "TTMetal kernels are not supported", op=kernel.name, location=place_of(kernel) or filename, expected="StableHLO, TOSA, TTIR or TTNN",
            hint="compile to TTNN instead; `ttnn_jit` (docs/ttnn_jit.md) predicts times of fused kernels",
        )  # fmt: skip
    upstream = next((op for op in function.walk() if op.name.startswith(_UPSTREAM) or unfinished(op.name) is not None), None)
    if upstream is not None and upstream.name.startswith(_UPSTREAM):
        raise LoweringError("loops and buffers of MLIR's core dialects are not supported", op=upstream.name, location=place_of(upstream) or filename,
                            hint="pass StableHLO, TOSA or TTIR")  # fmt: skip
    ends = [(type_, "arguments") for type_ in signature.inputs.data] + [(type_, "results") for type_ in signature.outputs.data]
    for op in function.walk():
        removed = unfinished(op.name)
        if removed is not None:
            raise LoweringError(f"tt-mlir has no such op since {removed.until}", op=op.name, location=place_of(op) or filename, hint=f"today: {removed.new}")
        types = ends if op is function else [(result.type, "") for result in op.results]
        for type_, role in types:
            reason = _refusal(type_, role)
            if reason:
                where = function if op is function else op
                raise LoweringError(
                    reason, op=where.name, location=place_of(where) or filename, got=attribute_text(type_),
                    hint="give the model static shapes" if "dynamic" in reason else "",
                )  # fmt: skip
        if any(isinstance(value, OpaqueAttr) and not value.data[0].startswith(("#", "!")) for value in op.properties.values()):
            raise LoweringError("a constant without values", op=op.name, location=place_of(op) or filename, expected="dense<...>")


def _refusal(type_: Attribute, role: str) -> str:
    if isinstance(type_, TensorType):
        if any(dim < 0 for dim in type_.get_shape()):
            return "dynamic dimensions are not supported"
        return "complex numbers are not supported" if isinstance(type_.get_element_type(), ComplexType) else ""
    if isinstance(type_, OpaqueType) and type_.data[0] == "tensor":
        return "unranked tensors are not supported"
    if role and not isinstance(type_, TensorType):
        return f"{role} must be tensors"
    scalar = isinstance(type_, TupleType | IntegerType | IndexType | AnyFloat | FunctionType | OpaqueType)
    return "values must be tensors" if scalar else ""

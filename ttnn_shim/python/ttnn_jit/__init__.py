"""`ttnn_jit` on the simulator: `@ttnn_jit.jit()` traces a function of TT-NN ops and runs the ops that it called.

The real package (tt-mlir's tools/ttnn-jit) compiles kernels; here values are those of the undecorated function, bit for bit, and device time
is that of its ops, or of one modelled tile program per fused tree with `extra_pipeline_options="enable-elementwise-fusion=true"`.
docs/ttnn_jit.md says what agrees and what does not.
"""

from ttnn_jit.api import JitFunction, jit
from ttnn_jit.ir_text import IrModule

__all__ = ["IrModule", "JitFunction", "jit"]

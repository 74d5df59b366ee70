"""`ttrt`: tt-mlir's runtime tool over generated programs on the simulator."""

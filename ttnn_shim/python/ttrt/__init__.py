"""tt-mlir's `ttrt` package by its names; the commands are in `alchemist.ttrt`."""

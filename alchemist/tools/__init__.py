"""Tools that know emitted programs and run them on the simulator. They import `ttnn_shim` and nothing of the compiler."""

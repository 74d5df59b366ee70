"""The compiler driver behind `alchemist opt`, `translate`, `show` and `explore`."""

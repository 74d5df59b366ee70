"""Tests of alchemist/toolchain."""

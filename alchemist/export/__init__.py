"""Writes export directories: see README.md."""

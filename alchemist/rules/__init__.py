"""Rewrite rules, a table a subject."""

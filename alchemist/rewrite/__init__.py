"""The engine of rewrite rules: patterns (`match.py`) and the loop that applies tables of them (`driver.py`)."""

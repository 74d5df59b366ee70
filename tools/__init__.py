"""Programs for people who change this project: each is run by `python -m tools.NAME`."""

"""`api` and `util`, as in the real package."""

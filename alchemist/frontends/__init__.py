"""Front ends: each converts a model or text into one TTIR module."""

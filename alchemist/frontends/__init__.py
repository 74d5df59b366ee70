"""Front ends: each turns a model or text into one TTIR module."""

"""`torch_xla.core` of the stand-in."""

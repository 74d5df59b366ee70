"""`torch_xla.distributed` of the stand-in."""

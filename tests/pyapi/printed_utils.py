"""The `utils` module beside programs in the style of tt-alchemist's Python printer: what they call of it, written for our tests."""

import atexit
import functools

import ttnn


@functools.cache
def _opened(rows, columns, fabric_config):
    ttnn.set_fabric_config(fabric_config)
    device = ttnn.open_mesh_device(mesh_shape=ttnn.MeshShape(rows, columns), l1_small_size=64 * 1024)
    atexit.register(ttnn.close_mesh_device, device)
    return device


class DeviceGetter:
    """Every program of a process works on one device of the mesh shape (rows, columns)."""

    @staticmethod
    def get_device(mesh_shape, fabric_config=ttnn.FabricConfig.DISABLED):
        return _opened(*mesh_shape, fabric_config)

"""What tt-alchemist's stock utils.py does for its programs: one device for the process, opened on first use; tensors from files."""

import ttnn


class DeviceGetter:
    _instance = None
    _mesh_shape = None
    _fabric_config = None
    l1_small_size = 1 << 16

    def __init__(self):
        raise RuntimeError("This is a Singleton, use get_device() instead.")

    def __del__(self):
        if self._instance is not None:
            ttnn.close_mesh_device(self._instance)
            ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)

    @classmethod
    def get_device(cls, mesh_shape, fabric_config=ttnn.FabricConfig.DISABLED):
        if cls._instance is None:
            cls._mesh_shape = mesh_shape
            cls._fabric_config = fabric_config
            ttnn.set_fabric_config(fabric_config)
            cls._instance = ttnn.open_mesh_device(mesh_shape=ttnn.MeshShape(mesh_shape), l1_small_size=cls.l1_small_size)
        if cls._mesh_shape != mesh_shape or cls._fabric_config != fabric_config:
            raise ValueError("the device is already open with another mesh shape or fabric configuration")
        return cls._instance


def load_tensor(file_path, layout, dtype, device, memory_config):
    loaded_tensor = ttnn.load_tensor(file_path)
    assert loaded_tensor.device() is None
    if loaded_tensor.layout != layout:
        loaded_tensor = ttnn.to_layout(loaded_tensor, layout)
    if loaded_tensor.dtype != dtype:
        loaded_tensor = ttnn.to_dtype(loaded_tensor, dtype)
    if device is not None:
        loaded_tensor = ttnn.to_device(loaded_tensor, device, memory_config)
    return loaded_tensor

"""Files of tensors that are cut over meshes: the same bytes as the real package's, by hash, and read back."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist.export.stored import to_stored
from alchemist.export.tensorbin import DTYPE_CODES, write_tensor
from alchemist.frontends.base import Mesh

DATA = Path(__file__).parents[1] / "data" / "mesh_files.json"
FILES = json.loads(DATA.read_text())["files"]


def values(entry: dict[str, Any]) -> np.ndarray:
    """The formula of the record: k is the flat row-major index in the whole tensor."""
    k = np.arange(np.prod(entry["shape"])).reshape(entry["shape"]) % 251
    if "int" in entry["dtype"]:
        return k.astype(entry["dtype"])
    return (k * 0.25 - 16).astype(np.float32)


def parts(entry: dict[str, Any]) -> Any:
    import ttnn

    layout = ttnn.TILE_LAYOUT if entry["layout"] == "tile" else ttnn.ROW_MAJOR_LAYOUT
    dtype = getattr(ttnn, entry["dtype"])
    if entry.get("from_host_shards"):
        size = int(np.prod(entry["mesh"]))
        pieces = np.split(values(entry), size, axis=1)
        return ttnn.from_host_shards([ttnn.Tensor(np.ascontiguousarray(piece), dtype, layout=layout) for piece in pieces], ttnn.MeshShape(*entry["mesh"]))
    placed = [ttnn.PlacementReplicate() if dim == "replicate" else ttnn.PlacementShard(dim) for dim in entry["placements"]]
    override = [ttnn.MeshShape(entry["mesh_shape_override"])] if "mesh_shape_override" in entry else []
    mapper = ttnn.create_mesh_mapper(ttnn.MeshShape(*entry["mesh"]), ttnn.MeshMapperConfig(placed, *override))
    return ttnn.distribute_tensor(ttnn.Tensor(values(entry), dtype, layout=layout), mapper)


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_the_real_bytes_and_reads_back(name: str, tmp_path: Path) -> None:
    import ttnn

    entry = FILES[name]
    made = parts(entry)
    assert (list(made.shape) == entry["part_shape"] and entry["topology"] in (text := repr(made.tensor_topology()))) or text == entry["topology"]
    first, second = tmp_path / "first.tensorbin", tmp_path / "second.tensorbin"
    ttnn.dump_tensor(first, made)
    assert hashlib.sha256(first.read_bytes()).hexdigest() == entry["sha256"]
    read = ttnn.load_tensor(first)
    assert list(read.shape) == entry["part_shape"] and repr(read.tensor_topology()) == repr(made.tensor_topology())
    ttnn.dump_tensor(second, read)
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("name", [name for name, entry in FILES.items() if entry["dtype"] in DTYPE_CODES and len(entry["placements"] or ()) == 2])
def test_the_exporter_writes_the_same_bytes(name: str, tmp_path: Path) -> None:
    entry = FILES[name]
    placement = tuple(None if dim == "replicate" else dim for dim in entry["placements"])
    file = tmp_path / "made.tensorbin"
    write_tensor(file, to_stored(values(entry), entry["dtype"], name), tiled=entry["layout"] == "tile", mesh=Mesh(*entry["mesh"]), placement=placement)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == entry["sha256"]


def test_a_cpp_program_rewrites_the_files_byte_for_byte(tmp_path: Path) -> None:
    import ttnn
    from ttnn_shim.simlib import simulator_library

    written, rewritten = tmp_path / "written", tmp_path / "rewritten"
    written.mkdir(), rewritten.mkdir()
    for name, entry in FILES.items():
        ttnn.dump_tensor(written / f"{name}.tensorbin", parts(entry))
    library, here = simulator_library(), Path(__file__).parent
    include = here.parents[1] / "ttnn_shim" / "include"
    command = ["c++", "-std=c++20", "-O0", f"-I{include}", str(here / "rewrite.cpp"), "-o", "rewrite"]
    command += [str(library.with_name("libttnn_program.a")), str(library), f"-Wl,-rpath,{library.parent}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./rewrite", written, rewritten], cwd=tmp_path, check=True)
    for name, entry in FILES.items():
        assert hashlib.sha256((rewritten / f"{name}.tensorbin").read_bytes()).hexdigest() == entry["sha256"], name


@pytest.mark.parametrize(
    ("cut_at", "message"), [*((size, f"is truncated: header of 952 bytes in {size}") for size in (8, 300, 700)), (1100, "140 bytes of data, expected 188")]
)
def test_a_damaged_file_is_an_error(cut_at: int, message: str, tmp_path: Path) -> None:
    import ttnn

    path = tmp_path / "damaged.tensorbin"
    ttnn.dump_tensor(path, parts(FILES["2x4_columns_bfloat16"]))
    path.write_bytes(path.read_bytes()[:cut_at])
    with pytest.raises(RuntimeError, match=rf"{path}.*{message}"):
        ttnn.load_tensor(path)

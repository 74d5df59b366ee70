"""`ttrt`: every command line of tt-mlir's documentation, its artifacts, results and exit codes; the Python API; refusals."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from alchemist.errors import OptionError
from alchemist.frontends.mlir.read import read_module
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.toolchain import descriptors, flatbuffer
from alchemist.toolchain.ttnn_binary import ttnn_binary
from alchemist.toolchain.ttnn_file import read_ttnn
from alchemist.ttrt import cli
from alchemist.ttrt.api import API
from alchemist.ttrt.util import Artifacts, Logger

SUBTRACT = """
func.func @forward(%arg0: tensor<64x128xf32>, %arg1: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = "ttir.subtract"(%arg0, %arg1) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> loc("minus")
  return %0 : tensor<64x128xf32>
}
"""
TWO = """
func.func @same(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = "ttir.multiply"(%arg0, %arg0) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32> loc("square")
  return %0 : tensor<32x32xf32>
}
func.func @second(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = "ttir.relu"(%arg0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """out.ttnn and system_desc.ttsys, and a directory of both kinds."""
    folder = tmp_path_factory.mktemp("ttrt")
    (folder / "dir").mkdir()
    (folder / "sys").mkdir()
    for text, name in ((SUBTRACT, "out.ttnn"), (SUBTRACT, "dir/a.ttnn"), (TWO, "two.ttnn")):
        (folder / name).write_bytes(ttnn_binary(lower_to_ttnn(read_module(text), CompilerOptions()).module))
    for name in ("system_desc.ttsys", "sys/n150.ttsys"):
        (folder / name).write_bytes(descriptors.descriptor("n150"))
    return folder


@pytest.fixture(autouse=True)
def here(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in a directory of their own, with the files beside them."""
    for name in ("out.ttnn", "two.ttnn", "system_desc.ttsys", "dir", "sys"):
        (tmp_path / name).symlink_to(files / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TT_MLIR_HOME", raising=False)


READ, RUN, PERF = (
    ("read/mlir.mlir", "read/inputs.json", "read/version.json"),
    ("run/program_0/input_0.pt", "run/program_0/device_output_0.pt"),
    ("perf/ops_perf_results.csv",),
)
DOCUMENTED = f"""
ttrt --help
ttrt read --help
ttrt read --section mlir out.ttnn
ttrt read --section cpp out.ttnn
ttrt read --section version out.ttnn
ttrt read --section system_desc out.ttnn
ttrt read --section inputs out.ttnn
ttrt read --section outputs out.ttnn
ttrt read --section all out.ttnn
ttrt read --section all out.ttnn --clean-artifacts
ttrt read --section all out.ttnn --save-artifacts -> {" ".join(READ)}
ttrt read --section all dir
ttrt read system_desc.ttsys
ttrt read --section system_desc system_desc.ttsys
ttrt read system_desc.ttsys --log-file ttrt.log
ttrt run --help
ttrt run out.ttnn
ttrt run out.ttnn --seed 0
ttrt run out.ttnn --init arange
ttrt run out.ttnn --identity -> differs
ttrt run out.ttnn --identity --rtol 1 --atol 1 -> differs
ttrt run out.ttnn --clean-artifacts
ttrt run out.ttnn --save-artifacts -> {" ".join(RUN)}
ttrt run out.ttnn --loops 10
ttrt run --program-index all out.ttnn
ttrt run --program-index 0 out.ttnn
ttrt run dir
ttrt run dir --loops 10
ttrt run dir --log-file ttrt.log
ttrt query --help
ttrt query --save-artifacts -> /system_desc.ttsys
ttrt query --clean-artifacts
ttrt query --save-artifacts --log-file ttrt.log -> /system_desc.ttsys
ttrt perf --help
ttrt perf out.ttnn
ttrt perf out.ttnn --clean-artifacts
ttrt perf out.ttnn --save-artifacts -> {" ".join(PERF)}
ttrt perf out.ttnn --loops 10
ttrt perf --program-index all out.ttnn
ttrt perf --program-index 0 out.ttnn
ttrt perf --host-only out.ttnn
ttrt perf dir --host-only
ttrt perf dir --loops 10 --host-only
ttrt perf dir --log-file ttrt.log --host-only
ttrt check --help
ttrt check out.ttnn
ttrt check out.ttnn --system-desc system_desc.ttsys
ttrt check out.ttnn --clean-artifacts
ttrt check out.ttnn --save-artifacts -> check/out.ttnn
ttrt check out.ttnn --log-file ttrt.log
ttrt check dir --system-desc sys
ttrt read -> usage
ttrt run -> usage
ttrt query
ttrt perf -> usage
ttrt check -> usage
"""
"""Line -> what it leaves in the folder of artifacts, below the binary's name or, after `/`, in the folder itself; none: no folder is made."""
ENDS = {"differs": 42, "usage": 2}


def test_command_lines_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    lines = DOCUMENTED.strip().splitlines()
    assert len(lines) == 56
    for line in lines:
        words, _, leaves = line.removeprefix("ttrt ").partition(" -> ")
        shutil.rmtree("ttrt-artifacts", ignore_errors=True)
        for stale in Path().glob("*_results.json"):
            stale.unlink()
        Path("ttrt.log").unlink(missing_ok=True)
        try:
            code = cli.main(words.split())
        except SystemExit as end:  # argparse, after --help and where the file is missing
            code = int(end.code or 0)
        printed = capsys.readouterr()
        assert code == ENDS.get(leaves, 0), (line, printed.err)
        expected = [] if leaves in ENDS else leaves.split()
        assert not expected or Path("ttrt-artifacts").is_dir(), line
        assert bool(expected) == Path("ttrt-artifacts").exists(), line
        for name in expected:
            assert Path("ttrt-artifacts", name[1:] if name[0] == "/" else f"out.ttnn/{name}").stat().st_size, (line, name)
        if "--help" in words or leaves == "usage":
            assert "usage: ttrt" in printed.out + printed.err, line
            continue
        results = json.loads(Path(f"{words.split()[0]}_results.json").read_text())
        assert [row["result"] for row in results] == ["test_error" if leaves == "differs" else "pass"], line
        assert Path("ttrt_report.xml").read_text().count("<testcase") == 1
        assert ("--log-file" in words) == Path("ttrt.log").exists(), line
        assert printed.out or "read" not in words, line


MORE = [
    "query --card p150 --quiet --output p.ttsys",
    "query --card p150 -o p.ttsys",
    "run --program-index 0 out.ttnn --enable-golden",
    "run --program-index all two.ttnn",
]


@pytest.mark.parametrize("line", MORE)
def test_switches_of_its_later_versions(line: str) -> None:
    assert cli.main(line.split()) == 0


def test_sections_are_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["read", "--section", "mlir", "out.ttnn"]) == 0
    assert capsys.readouterr().out == read_ttnn("out.ttnn")["mlir"]["source"]
    assert cli.main(["read", "--section", "inputs", "out.ttnn"]) == 0
    (program,) = json.loads(capsys.readouterr().out)
    assert program["inputs"][1]["desc"]["shape"] == [64, 128]
    assert program["inputs"][0]["desc"]["layout"]["memory_desc"]["tile_shape"] == {"y": 32, "x": 32}


def test_run_keeps_tensors_and_times() -> None:
    assert cli.main("run out.ttnn --save-artifacts --seed 3 --loops 2".split()) == 0
    from alchemist.export.tensorbin import read_tensor

    folder = Path("ttrt-artifacts/out.ttnn/run/program_0")
    a, b, out = (read_tensor(folder / f"{stem}.tensorbin") for stem in ("input_0", "input_1", "device_output_0"))
    np.testing.assert_allclose(out, a - b, rtol=1e-2, atol=1e-2)
    times = json.loads(Path("run_results.json").read_text())[0]["program_results"]["program_index_0"]
    assert list(times) == ["loop_0", "loop_1"]
    assert 1000 < times["loop_1"]["total_device_kernel_duration_ns"] < times["loop_1"]["total_ttnn_api_duration_ns"]


def test_pt_files_are_torchs_own() -> None:
    import torch

    from alchemist.ttrt.torch_file import write_torch

    for dtype in ("float32", "int32", "uint8", "bool", "uint32"):
        values = np.arange(12).reshape(3, 4).astype(dtype)
        write_torch(Path("x.pt"), values)
        np.testing.assert_array_equal(torch.load("x.pt", weights_only=True).numpy(), values)
    write_torch(Path("x.pt"), np.float32(2.5).reshape(()))
    assert torch.load("x.pt", weights_only=True).item() == 2.5


def test_perf_rows_have_the_ops_locations() -> None:
    assert cli.main("perf two.ttnn --program-index 0 --save-artifacts --loops 2".split()) == 0
    rows = list(csv.DictReader(Path("ttrt-artifacts/two.ttnn/perf/ops_perf_results.csv").open()))
    assert {row["LOC"].split("|")[0] for row in rows} == {'loc("square'}
    assert {row["CONST_EVAL_OP"] for row in rows} == {"false"}
    assert [row["PROGRAM_METADATA"].count("'loop_number': 1") for row in rows] == [0] * (len(rows) // 2) + [1] * (len(rows) // 2)
    from alchemist.driver import explore, mlir_files

    graph = explore.graphs(mlir_files.Chunk(read_ttnn("two.ttnn")["mlir"]["source"], "two"))
    _, used, total = explore.node_data(graph, Path("ttrt-artifacts/two.ttnn/perf/ops_perf_results.csv"))
    assert used == total == len(rows)


REFUSED = {
    "run out.ttnn --program-index 9": (1, "0 ('forward')"),
    "run out.ttnn --init randm": (1, "did you mean randn?"),
    "run out.ttnn --identity": (42, "is not its input"),
    "read out.ttnn --section mlr": (1, "mlir"),
    "read system_desc.ttsys --section mlir": (1, "all, version, system_desc"),
    "read none.ttnn": (1, "no such file"),
    "run system_desc.ttsys": (1, "ALC-0511"),
    "query --card p150 -o none/x.ttsys": (1, "at none/x.ttsys"),
    "query --card n151": (1, "n150, n300, p100, p150"),
    "check out.ttnn --system-desc p150.ttsys": (1, "wormhole_b0 != blackhole"),
    "perf out.ttnn --filter x": (1, "const_eval, input_layout_conversion"),
    "rum out.ttnn": (1, "did you mean run?"),
    "emitc out.so": (1, "generate-cpp"),
    "run out.ttnn --native": (1, "an interpreter"),
    "run sys": (1, "no binary in the directory"),
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p150.ttsys").write_bytes(descriptors.descriptor("p150"))
    code, words = REFUSED[line]
    assert cli.main(line.split()) == code
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_an_unknown_switch_has_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--lops", "3", "out.ttnn"])
    assert "did you mean --loops?" in capsys.readouterr().err


def test_a_binary_for_two_chips_is_read_but_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    root = read_ttnn("out.ttnn")
    root["programs"][0]["mesh_shape"] = (1, 2)
    Path("chips.ttnn").write_bytes(flatbuffer.write(root.table, root, flatbuffer.TTNN))  # type: ignore[arg-type]
    assert cli.main(["read", "chips.ttnn"]) == 0
    assert cli.main(["check", "chips.ttnn"]) == 0
    assert cli.main(["run", "chips.ttnn"]) == 1
    assert "mesh 1x2" in capsys.readouterr().err


def test_switches_of_the_card_are_taken_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main("perf out.ttnn --host-only --fabric-config x --debugger".split()) == 0
    assert capsys.readouterr().err.count("a switch of the card's runtime; it has no effect on the simulator") == 2


def test_the_script_of_the_documentation() -> None:
    API.initialize_apis()
    custom_args = API.Run.registered_args
    custom_args["clean-artifacts"] = True
    custom_args["save-artifacts"] = True
    custom_args["loops"] = 2
    custom_args["init"] = "randn"
    custom_args["binary"] = "out.ttnn"
    custom_logger = Logger("some_file_name.log")
    custom_artifacts = Artifacts(logging=custom_logger, artifacts_folder_path="folder")
    code, results = API.Run(args=custom_args, logging=custom_logger, artifacts=custom_artifacts)()
    assert (code, results[0]["result"]) == (0, "pass")
    assert Path("folder/out.ttnn/run/program_0/input_0.pt").is_file()
    assert "device programs" in Path("some_file_name.log").read_text()
    assert API.Run.registered_args["loops"] == 1
    with pytest.raises(OptionError, match="no argument 'loop'") as raised:
        API.Run(args={"loop": 3})
    assert "loops" in raised.value.expected


def test_the_package_under_its_own_name() -> None:
    script = "from ttrt.common.api import API; from ttrt.common.util import Artifacts, Logger; API.initialize_apis(); print(API.Read(args={'binary': 'out.ttnn', 'section': 'version'})()[0])"
    Path("script.py").write_text(script)
    done = subprocess.run([sys.executable, "-m", "ttnn_shim", "run", "script.py"], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("0\n"), done.stderr


def test_clean_artifacts_removes_only_what_ttrt_made(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/file").touch()
    assert cli.main("read out.ttnn --clean-artifacts --artifact-dir mine".split()) == 1
    assert Path("mine/file").exists()
    assert "ttrt did not create this directory" in capsys.readouterr().err


@pytest.mark.parametrize("section", ["version", "all"])
def test_reading_loads_no_compiler(section: str) -> None:
    code = f"import sys; from alchemist.ttrt import cli; cli.main(['read', '--section', '{section}', 'out.ttnn']); print(sorted({{'torch', 'jax', 'xdsl', 'numpy'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_the_section_cpp_says_why_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    root = read_ttnn("out.ttnn")
    root["mlir"]["source"] = "module {}"
    Path("empty.ttnn").write_bytes(flatbuffer.write(root.table, root, flatbuffer.TTNN))  # type: ignore[arg-type]
    assert cli.main(["read", "--section", "cpp", "empty.ttnn"]) == 0
    assert capsys.readouterr().out.startswith("// no C++ of this module:\n// error[ALC-")

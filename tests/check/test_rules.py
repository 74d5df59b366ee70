"""The rules of `--check` (docs/check.md): one table of cases, judged by the emitted check.py and by the emitted check.cpp."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from alchemist.resources import template_text
from tests.shared import made_once

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "cases.json").read_text())


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    file = tmp_path_factory.mktemp("check") / "check.py"
    file.write_text(template_text("py/check.py"))
    spec = importlib.util.spec_from_file_location("emitted_check", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(check: ModuleType, case: dict[str, Any], scale: float = 1.0) -> dict[str, Any]:
    """The verdict on a case, all its values times `scale`."""
    dtype = {"float": np.float64, "int": np.int64, "bool": np.bool_}[case["dtype"]]
    actual = np.array([float(value) for value in case["actual"]]) * scale
    expected = np.array([float(value) for value in case["expected"]]) * scale
    unedited = np.array(case["unedited"], np.float64) * scale if "unedited" in case else None
    limits = dict(case["limits"])
    if "unedited_max_abs_err" in limits:
        limits["unedited_max_abs_err"] *= scale
    return check.compare(
        actual, expected.astype(dtype), limits, unedited, case.get("tolerance", check.TOLERANCE), case.get("on_card", False), case.get("same_ops", False)
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(check: ModuleType, case: dict[str, Any]) -> None:
    row = judged(check, case)
    assert row["passed"] is case["passed"], row
    assert case["why"] in row["why"]
    assert bool(row["why"]) is not row["passed"]


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_a_verdict_does_not_depend_on_the_scale(check: ModuleType, scale: float) -> None:
    for case in CASES:
        if case["dtype"] == "float":
            assert judged(check, case, scale)["passed"] is case["passed"], case["name"]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """judge.cpp with the emitted sources; its program directory is its own."""
    return made_once(tmp_path_factory, "judge", build_judge) / "judge"


def build_judge(path: Path) -> None:
    for name in ("check.hpp", "check.cpp", "files.hpp", "files.cpp"):
        (path / name).write_text(template_text(f"cpp/{name}"))
    (path / "manifest.json").write_text(json.dumps({"cases": CASES}))
    sources = [HERE / "judge.cpp", path / "check.cpp", path / "files.cpp"]
    command = ["c++", "-std=c++20", "-O0", f'-DPROGRAM_DIR="{path}"', f"-I{path}", *map(str, sources), "-o", str(path / "judge")]
    subprocess.run(command, check=True)


def answers(judge: Path, *arguments: str) -> list[Any]:
    done = subprocess.run([str(judge), *arguments], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def same_verdicts(check: ModuleType, cases: list[dict[str, Any]], rows: list[Any]) -> list[dict[str, Any]]:
    found = []
    for case, row in zip(cases, rows, strict=True):
        expected = judged(check, case)
        found.append(expected)
        assert (row["passed"], row["why"]) == (expected["passed"], expected["why"]), case["name"]
        for key in ("pcc", "rel_l2", "max_abs_err"):
            assert row[key] == (None if expected[key] is None else pytest.approx(expected[key], rel=1e-9, abs=1e-12)), (case["name"], key)
    return found


def test_cpp_judges_as_python_does(check: ModuleType, judge: Path) -> None:
    assert [row["passed"] for row in same_verdicts(check, CASES, answers(judge))] == [case["passed"] for case in CASES]


def drawn_case(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """Errors on both sides of every bound: some tenths to some times what the unedited program's error allows."""
    count, noise = int(rng.choice([1, 2, 8, 33])), float(rng.choice([2.0**-8, 1e-5]))
    expected = rng.normal(rng.choice([0.0, 3.0, 40.0]), rng.choice([0.0, 1e-3, 1.0, 1.0]), count) * rng.choice([0.0, 1.0, 1.0, 1.0, 1.0])
    size = float(np.linalg.norm(expected)) / np.sqrt(count) or 1.0
    before = noise * float(10 ** rng.uniform(-1, 1.5))
    off, moved = (rng.normal(size=count) * size * before * 10 ** rng.uniform(-1.5, 1.2) for _ in "ab")
    if rng.random() < 0.2:
        moved[:] = 0.0
        moved[0] = size * before * 10 ** rng.uniform(0, 1)
    actual = expected + off
    unedited = actual - moved
    if rng.random() < 0.1:
        actual[0] = expected[-1] = rng.choice([np.nan, np.inf, -np.inf])
    case = {"name": f"drawn {number}", "dtype": "float", "limits": {"pcc": 0.99, "rel_l2": 0.15, "noise": noise}}
    if rng.random() < 0.9:
        case["limits"] |= {"unedited_rel_l2": before, "unedited_max_abs_err": before * size * 10 ** rng.uniform(-0.5, 1)}
        if rng.random() < 0.2:
            case["limits"]["moved_by_rounding"] = 0.5
    for key, value, share in (("tolerance", float(rng.choice([1.0, 8.0])), 0.3), ("on_card", True, 0.1), ("same_ops", True, 0.3)):
        if rng.random() < share:
            case[key] = value
    arrays = {"expected": expected, "actual": actual, **({"unedited": unedited} if rng.random() < 0.9 else {})}
    return case | {key: [value if np.isfinite(value) else str(value) for value in array.tolist()] for key, array in arrays.items()}


def test_drawn_outputs_are_judged_alike(check: ModuleType, judge: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(16)
    cases = [drawn_case(rng, number) for number in range(2400)]
    (tmp_path / "cases.json").write_text(json.dumps({"cases": cases}))
    rows = same_verdicts(check, cases, answers(judge, "cases", str(tmp_path / "cases.json")))
    why = [row["why"] for row in rows]
    for reason in (
        "is below 0.99",
        ", above 0.15",
        "all expected values are 0",
        "from the unedited program, whose error",
        "in the same ops",
        "other rounding explains",
        "a value moved by",
        "NaN or infinite",
    ):
        assert sum(reason in text for text in why) >= 5, reason
    assert 400 < sum(row["passed"] for row in rows) < 2000


# ---------------------------------------------------------------------------------------------------------- own inputs

ARRAYS = {
    **{f"big_endian_{code[1:]}": np.array([[1, 2, 300], [-4, 5, 6]]).astype(code) for code in (">f2", ">f4", ">f8", ">i2", ">i4", ">i8")},
    **{f"little_endian_{code[1:]}": np.array([1, 2, 60000]).astype(code) for code in ("<u2", "<u4", "<u8", "<f4")},
    "fortran": np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)),
    "fortran_big_endian": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
    "halves": np.array([0.5, -2.0, 6e-8, np.inf, 65504.0], np.float16),
    "bool": np.array([True, False]),
    "scalar": np.float32(2.5),
    "empty": np.zeros((0, 3), np.float32),
}
DAMAGED = {
    "text": ("unsupported data type", np.array(["a"])),
    "complex": ("unsupported data type", np.array([1j])),
    "long_double": ("unsupported data type", np.array([1.0], np.longdouble)),
    "structured": ("unsupported data type", np.zeros(2, [("a", "<f4")])),
}


def test_cpp_reads_the_arrays_that_numpy_writes(judge: Path, tmp_path: Path) -> None:
    for name, array in ARRAYS.items():
        np.save(tmp_path / f"{name}.npy", array)
    rows = answers(judge, "npy", *(str(tmp_path / f"{name}.npy") for name in ARRAYS))
    for (name, array), row in zip(ARRAYS.items(), [json.loads(json.dumps(row)) for row in rows], strict=True):
        assert "error" not in row, (name, row)
        assert row["shape"] == list(array.shape), name
        np.testing.assert_array_equal(np.array(row["values"], np.float64), array.astype(np.float64).ravel(), err_msg=name)


def test_cpp_refuses_arrays_that_it_cannot_read(judge: Path, tmp_path: Path) -> None:
    for name, (_, array) in DAMAGED.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.save(tmp_path / "whole.npy", np.arange(100, dtype=np.float32))
    whole = (tmp_path / "whole.npy").read_bytes()
    texts = {
        "truncated": (whole[:-1], "is truncated"),
        "header_only": (whole[:9], "is not a .npy file"),
        "long_header": (whole[:8] + b"\xff\xff" + whole[10:], "is truncated"),
        "huge": (whole.replace(b"(100,)", b"(99999999999999999999,)"), "more values than fit"),
        "large": (whole.replace(b"(100,)", b"(1000,)"), "is truncated"),
        "no_descr": (whole.replace(b"'descr'", b"'dascr'"), "has no 'descr'"),
        "bad_shape": (whole.replace(b"(100,)", b"(-10,)"), "bad shape"),
    }
    for name, (data, _) in texts.items():
        (tmp_path / f"{name}.npy").write_bytes(data)
    wanted = {name: text for name, (text, _) in DAMAGED.items()} | {name: text for name, (_, text) in texts.items()}
    rows = answers(judge, "npy", *(str(tmp_path / f"{name}.npy") for name in wanted))
    for (name, text), row in zip(wanted.items(), rows, strict=True):
        assert text in row.get("error", ""), (name, row)


def test_cpp_writes_what_it_reads(judge: Path, tmp_path: Path) -> None:
    """float32 for floats, int64 else; headers of any length and version; every half."""
    arrays = {
        "halves": np.arange(65536, dtype=np.uint16).view(np.float16),
        "scalar": np.float64(-0.1),
        "empty": np.zeros((2, 0, 3), np.float32),
        "bytes": np.arange(-128, 128, dtype=np.int8).reshape(2, 128),
        "large": np.array([2**53, -(2**53), 255], np.int64),
        "fortran": np.asfortranarray(np.arange(60, dtype=np.uint8).reshape(3, 1, 4, 5)),
        **{f"rank {rank}": np.ones((1,) * rank, np.float32) for rank in (2, 5, 7, 12, 30)},
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for version, header_bytes in ((2, 118), (2, 70_000), (2, 17_000_000), (3, 118)):
        name = f"version {version}, {header_bytes}"
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(header_bytes - 1).encode() + b"\n"
        (tmp_path / f"{name}.npy").write_bytes(b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(4, "little") + header + values.tobytes())
        arrays[name] = values
    answers(judge, "copy", *(str(tmp_path / f"{name}{more}.npy") for name in arrays for more in ("", " again")))
    for name, array in arrays.items():
        again = np.load(tmp_path / f"{name} again.npy")
        assert (again.dtype, again.shape, again.flags.c_contiguous) == (np.float32 if array.dtype.kind == "f" else np.int64, array.shape, True), name
        np.testing.assert_array_equal(again, array.astype(again.dtype), err_msg=name)
        data = (tmp_path / f"{name} again.npy").read_bytes()
        assert (10 + int.from_bytes(data[8:10], "little")) % 64 == 0 == (len(data) - again.nbytes) % 64 and data[len(data) - again.nbytes - 1] == 10, name


JSON = [
    *("null", " true", "false ", "[]", "{}", "\t[ 1 ,\r\n2.5e-3 , -4E2]", '{"a" : [null,{"b":""}], "" : true}', "12345678901", "-0.5", '{"a":1,"a":2}'),
    *(
        f'"{text}"'
        for text in (
            r"\b\f\n\r\t\/\"\\",
            "é€😀",
            r"\u0041\u00e9\u20ac\uD83D\ude00",
            r"\u007f\u0080\u07ff\u0800\uffff",
            r"\ud800\udc00\udbff\udfff",
            r"\u0001\u001f a",
            r"\uabcd\uEF01",
        )
    ),
    "[" * 64 + "]" * 64,
]
LONE_HALVES = {
    r'"\ud800"': "\ufffd",
    r'"\udfffx"': "\ufffdx",
    r'"\ud800\u0041"': "\ufffd",
    r'"\udbff\ue000."': "\ufffd.",
    r'"\ud800\n"': "\ufffd\n",
    r'"\ud83d\ud83d\ude00"': "\ufffd\ufffd",
}
NO_JSON = {
    "": "ends too early", " ": "ends too early", "[1": "ends too early", "[": "ends too early", '{"a":': "ends too early", '"abc': "ends too early", '"abc\\': "ends too early",
    '{"a" 1}': "expected :", "{1:2}": 'expected "', "[1 2]": "expected ,", "[tru]": "'tru' is no value", "[1x]": "'1x' is no value", "[1,]": "'' is no value", "{,}": 'expected "', "[é]": "'??' is no value",
    "[" + "9x" * 40 + "]": f"'{'9x' * 20}' is no value", "[] x": "more behind its end", "1 2": "more behind its end", r'"\u12g4"': "four digits", r'"\u123': "four digits", r'"\u 123"': "four digits", "[" * 65 + "]" * 65: "nested too deeply",
}  # fmt: skip


def test_cpp_reads_json_as_python_does(judge: Path, tmp_path: Path) -> None:
    texts = [*JSON, *LONE_HALVES, *NO_JSON]
    files = [tmp_path / f"{number}.json" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    rows = answers(judge, "json", *map(str, files), str(tmp_path), str(tmp_path / "missing"))
    for text, row in zip(texts, rows, strict=False):
        if text in NO_JSON:
            assert NO_JSON[text] in row["error"] and "manifest.json" in row["error"], (text, row)
        else:
            assert row == [LONE_HALVES[text] if text in LONE_HALVES else json.loads(text)], text
    assert [row["error"] for row in rows[len(texts) :]] == [
        f"cannot read {tmp_path}: it is no file",
        f"cannot read {tmp_path / 'missing'}: there is no such file",
    ]


def test_cpp_takes_entries_of_a_manifest_as_what_they_are(judge: Path, tmp_path: Path) -> None:
    facts: dict[str, Any] = {
        "text": "x", "none": None, "on": True, "object": {}, "zero": 0, "most": 4294967295, "more": 4294967296, "negative": -1, "half": 1.5, "list": [1, 2], "empty": [],
        "32": [0] * 32, "33": [0] * 33, "mixed": [1, "a"], "below": [1, -1],
    }  # fmt: skip
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    rows = answers(judge, "facts", str(tmp_path / "facts.json"), *facts, "absent")
    for (name, value), row in zip(facts.items(), rows, strict=False):
        whole = type(value) is int and 0 <= value < 2**32
        extents = isinstance(value, list) and len(value) <= 32
        assert row == [
            value if isinstance(value, str) else {"error": f"manifest.json: '{name}' is no text"},
            value if whole else {"error": f"manifest.json: '{name}' is no whole number from 0"},
            {"error": f"manifest.json: '{name}' is no {'whole number from 0' if extents else 'list of extents'}"}
            if name in ("mixed", "below") or not extents
            else value,
        ], name
    assert rows[-1] == [{"error": "manifest.json has no entry 'absent'"}] * 3


def test_cpp_says_what_cannot_be_written(judge: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for kind, wanted in (
        (
            "file",
            {
                "file": "",
                "new": "",
                "folder": "{}/folder is a directory",
                "folder/new": "",
                "missing/new": "no directory {}/missing",
                "file/new": "no directory {}/file",
                "n" * 300: "{}/" + "n" * 300 + ": File name too long",
            },
        ),
        (
            "directory",
            {
                "folder": "",
                "new": "",
                "new/deep/er": "",
                "file": "no directory {}/file",
                "file/new": "no directory {}/file",
                "n" * 300: "{}/" + "n" * 300 + ": File name too long",
            },
        ),
    ):
        found = answers(judge, "unwritable", kind, *(str(tmp_path / name) for name in wanted))
        assert dict(zip(wanted, found, strict=True)) == {name: text.format(tmp_path) for name, text in wanted.items()}, kind


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["input_ids.npy", "mask.tensorbin", "notes.txt"], ()),
        (["input_id.npy", "mask.npy"], ("input_id.npy is no input", "did you mean input_ids.npy?", "missing: input_ids ", "expected input_ids, mask")),
        (["Input_IDs.npy", "mask.npy"], ("did you mean input_ids.npy?",)),
        (["mask.npy"], ("missing: input_ids (--partial-inputs", "found mask.npy")),
        ([], ("missing: input_ids, mask", "found none")),
        (["input_ids.npy", "mask.npy", "zzzzzz.npy"], ("zzzzzz.npy is no input of this program\n",)),
        (["input_ids.npy", "mask.npy", "mask.tensorbin"], ("both mask.npy and mask.tensorbin",)),
    ],
)
def test_own_inputs_are_complete(check: ModuleType, judge: Path, tmp_path: Path, files: list[str], wanted: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).touch()
    text = check.missing_inputs(tmp_path, ["input_ids", "mask"], False)
    assert answers(judge, "inputs", str(tmp_path), "input_ids", "mask") == [text]
    assert bool(text) == bool(wanted)
    for part in wanted:
        assert part in text
    assert "missing" not in check.missing_inputs(tmp_path, ["input_ids", "mask"], True)


# ------------------------------------------------------------------------------------------------------- what was edited

PYTHON = """
SCALE = 2.0


def layer(x: int) -> int:
    \"\"\"A layer.\"\"\"
    # comment
    return x * SCALE


def model(x: int) -> int:
    return layer(x)
"""
CPP = """
constexpr float SCALE = 2.0f;

// A layer.
Tensor layer(const Tensor& x) {
    // comment
    return ttnn::multiply(x, SCALE);
}

std::tuple<Tensor, Tensor> model(
    const Tensor& x, const Weights& weights) {
    return layer(x);
}
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("x", "x", ""),
        ("# comment", "# another comment", ""),
        ("// comment", "// another comment", ""),
        ("A layer.", "Another layer.", ""),
        ("return x * SCALE", "return x*SCALE", ""),
        ("return x * SCALE", "return x / SCALE", "layer in "),
        ("ttnn::multiply(x, SCALE)", "ttnn::divide(x, SCALE)", "layer in "),
        ("2.0", "3.0", "top level in "),
        ("return layer(x)", "return x", "model in "),
    ],
)
def test_edited_functions_are_named(check: ModuleType, judge: Path, before: str, after: str, expected: str) -> None:
    root = judge.parent
    (root / "golden" / "unedited").mkdir(parents=True, exist_ok=True)
    for name, text in (("main.py", PYTHON), ("main.cpp", CPP)):
        (root / "golden" / "unedited" / name).write_text(text)
        (root / name).write_text(text.replace(before, after))
    in_python, in_cpp = check.changed_functions(root), answers(judge, "changed")
    assert in_python == ([f"{expected}main.py"] if expected and before in PYTHON else [])
    assert in_cpp == [f"{expected}main.cpp" if expected and before in CPP else ""]


OPS = {
    "py": """
HIFI = ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.HiFi2)
LAYERS = 2


def attention(x: ttnn.Tensor, mask: ttnn.Tensor, weights: Weights) -> ttnn.Tensor:
    query = ttnn.linear(x, weights["q"], activation="gelu", dtype=ttnn.bfloat16, core_grid=ttnn.CoreGrid(y=2, x=4))
    key = ttnn.linear(x, weights["k"], compute_kernel_config=HIFI)
    return ttnn.attention(query, key, is_causal=False, scale=0.125)
""",
    "cpp": """
const auto HIFI = ttnn::WormholeComputeKernelConfig{.math_fidelity = ttnn::MathFidelity::HiFi2, .dst_full_sync = 1};
constexpr int LAYERS = 2;

Tensor attention(const Tensor& x, const Tensor& mask, const Weights& weights) {
    const auto query = ttnn::linear(x, weights["q"], std::string("gelu"), ttnn::DataType::BFLOAT16, ttnn::CoreGrid(2, 4));
    const auto key = ttnn::linear(x, weights["k"], /*compute_kernel_config=*/HIFI);
    return ttnn::attention(query, key, /*is_causal=*/false, /*scale=*/0.125f);
}
""",
}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("x", "x", True),
        ("0.125", "1.25e-1", True),
        ("0.125", "0.25", True),
        ("0.125", "1", True),
        ("query, key", "key, query", True),
        ("query", "q", True),
        ('"q"', '"k"', True),
        ("gelu", "relu", True),
        ("LAYERS = 2", "LAYERS = 1", True),
        ("HiFi2", "HiFi4", False),
        ("HIFI)", "LOFI)", False),
        ("4))", "8))", False),
        ("attention(query", "cross_attention(query", False),
        ("linear(x, ", "linear(x, mask, ", False),
        ("return ", "return 2 * ", False),
        ("bfloat16", "bfloat8_b", False),
        ("BFLOAT16", "BFLOAT8_B", False),
        ("is_causal=False", "is_causal=True", False),
        ("/false", "/true", False),
    ],
)
def test_edits_of_operands_and_numbers_are_told_apart(check: ModuleType, judge: Path, before: str, after: str, expected: bool) -> None:
    """They round as before: what they move is not rounding."""
    root = judge.parent
    (root / "golden" / "unedited").mkdir(parents=True, exist_ok=True)
    for suffix, text in OPS.items():
        (root / "golden" / "unedited" / f"main.{suffix}").write_text(text)
        (root / f"main.{suffix}").write_text(text.replace(before, after))
    assert check.only_values_changed(root) is (expected or before not in OPS["py"])
    assert answers(judge, "values") == [expected or before not in OPS["cpp"]]
    assert answers(judge, "instructions") == [check.instructions()]

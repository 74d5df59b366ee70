"""The programs of stitching.py as C++ in one application, built, run and compared with PyTorch.

python stitching_cpp.py [DIRECTORY]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from stitching import POSITIONS, TOKENS, WIDTH, Decode, Encoder, Head, Prefill, report

import ttnn_shim
from alchemist import cli, codegen_cpp, codegen_py


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("stitching_cpp_result"))
    folder = parser.parse_args().folder.absolute()
    parts = folder / "cpp"
    torch.manual_seed(0)
    encoder, head, prefill, decode = Encoder().eval().bfloat16(), Head().eval(), Prefill().eval(), Decode().eval()
    decode.load_state_dict(prefill.state_dict())
    x, prompt, token = torch.randn(TOKENS, WIDTH).bfloat16(), torch.randn(1, 1, TOKENS, WIDTH), torch.randn(1, 1, 1, WIDTH)
    cache = [torch.zeros(1, 1, POSITIONS, WIDTH) for _ in range(2)]
    with torch.no_grad():
        codegen_cpp(encoder, x, export_path=parts / "encoder", export_golden="none", overwrite=True)
        codegen_cpp(head, torch.randn(TOKENS, 2 * WIDTH), export_path=parts / "head", export_golden="none", overwrite=True)
        codegen_cpp(decode, token, torch.tensor([TOKENS]), *cache, export_path=parts / "decode", export_golden="none", overwrite=True)
        codegen_py(prefill, prompt, *cache, export_path=folder / "prefill", export_golden="none", overwrite=True)
        text, binary = next((folder / "prefill" / "irs").glob("*_ttnn.mlir")), str(folder / "prefill.ttnn")
        cli.main(["translate", "--ttnn-to-flatbuffer", str(text), "-o", binary])
        cli.main(["generate-cpp", binary, "-o", str(parts / "prefill"), "--inputs", str(folder / "prefill" / "tensors"), "--overwrite"])
        build = str(folder / "build")
        here = Path(__file__).parent
        subprocess.run(["cmake", "-S", here, "-B", build, f"-DPARTS={parts}", f"-DTT-NN_DIR={ttnn_shim.cmake_dir()}"], check=True)
        subprocess.run(["cmake", "--build", build], check=True)
        subprocess.run([f"{build}/stitching", folder], check=True)
        report("probabilities", torch.from_numpy(np.load(folder / "probabilities.npy")), head(encoder(x).float()))
        prefill(prompt, *cache)
        report("next", torch.from_numpy(np.load(folder / "next.npy")), decode(token, torch.tensor([TOKENS]), *cache))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""ResNet as Python.    python examples/resnet/resnet.py [DIR] [--full]"""

import argparse
import os
from pathlib import Path

import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from transformers import ResNetConfig, ResNetForImageClassification

from alchemist import codegen_py

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("resnet_program"))
    parser.add_argument("--full", action="store_true", help="ResNet-50 on 224x224 instead of a small one on 64x64")
    options = parser.parse_args()
    small = ResNetConfig(embedding_size=16, hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1])
    torch.manual_seed(0)
    model = ResNetForImageClassification(ResNetConfig() if options.full else small).eval().to(torch.bfloat16)
    size = 224 if options.full else 64
    image = torch.randn(1, 3, size, size, dtype=torch.bfloat16)
    codegen_py(model, image, export_path=options.path, overwrite=True)
    print(f"try: {options.path}/run --check --arch p150")

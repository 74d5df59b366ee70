"""BERT as Python.    python examples/bert/bert.py [DIR] [--full]"""

import argparse
import os
from pathlib import Path

import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from transformers import BertConfig, BertModel

from alchemist import codegen_py

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("bert_program"))
    parser.add_argument("--full", action="store_true", help="BERT-base, 128 tokens")
    options = parser.parse_args()
    small = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, vocab_size=200)
    config = BertConfig() if options.full else small
    torch.manual_seed(0)
    model = BertModel(config).eval().to(torch.bfloat16)
    input_ids = torch.randint(0, config.vocab_size, (1, 128 if options.full else 32))
    attention_mask = torch.ones_like(input_ids)
    codegen_py(model, input_ids=input_ids, attention_mask=attention_mask, export_path=options.path, overwrite=True)
    print(f"try: {options.path}/run --check")

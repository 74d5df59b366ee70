"""Rule tables, one file per family. Importing this package registers all of them."""

from alchemist.frontends.torch.rules import (
    attention,
    conv,
    eltwise,
    gradients,
    index,
    linalg,
    matmul,
    norm,
    quantised,
    recurrent,
    reduce,
    sampling,
    special,
    views,
)

__all__ = ["attention", "conv", "eltwise", "gradients", "index", "linalg", "matmul", "norm", "quantised", "recurrent", "reduce", "sampling", "special", "views"]

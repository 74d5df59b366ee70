"""Rule tables, one file per family. Importing this package registers all of them."""

from alchemist.frontends.torch.rules import attention, conv, eltwise, gradients, index, matmul, norm, recurrent, reduce, sampling, views

__all__ = ["attention", "conv", "eltwise", "gradients", "index", "matmul", "norm", "recurrent", "reduce", "sampling", "views"]

"""Rule tables, one file per family. Importing this package registers all of them."""

from alchemist.frontends.onnx.rules import conv, eltwise, index, linear, norm, quantised, recurrent, reduce, resize, views

__all__ = ["conv", "eltwise", "index", "linear", "norm", "quantised", "recurrent", "reduce", "resize", "views"]

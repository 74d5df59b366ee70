"""Parts of TT-NN's interface that few programs ask for: golden functions, comparison mode, hooks, ops in Python, graph reports, model parameters.

They are offered as `ttnn.*`, which loads a module here by name when it is asked for.
"""

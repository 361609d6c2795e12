"""Tasks with PyTorch models: networks, their inputs, execution, training and weights.

Only `vision`, `decoder` and `pair_towers` hold architectures; a task adds how rows become examples and how losses are
computed. PyTorch is imported inside functions: nothing else of winnow needs it.
"""

"""Tasks with PyTorch models: networks, their inputs, execution, training and weights.

Only `vision`, `decoder` and `pair_towers` hold architectures; what a task adds is how rows become examples and what the
loss of each is. PyTorch is imported inside functions: nothing else of winnow needs it.
"""

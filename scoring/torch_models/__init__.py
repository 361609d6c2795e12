"""Tasks whose models run in PyTorch: networks, what they read, how they run, are trained and take weights.

Only `vision`, `decoder` and `pair_towers` hold architectures; what a task adds is how rows become examples and what the
loss of each is. PyTorch is imported inside functions: nothing else of winnow needs it.
"""

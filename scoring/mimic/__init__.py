"""The Mimic score (arXiv 2501.06708): how far a step against a sample's gradient goes towards reference weights.

m = <-∇loss(θ), v> / |v|, where v = θ_ref - θ over the chosen parameters. `direction` needs numpy alone; the rest needs
the extra `torch`, which is loaded when a function is called.
"""

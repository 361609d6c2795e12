"""The Mimic score (arXiv 2501.06708): how far a step along a sample's negative gradient goes towards a reference.

m = <-∇loss(θ), v> / |v|, where v = θ_ref - θ over the chosen parameters. `direction` needs only numpy; the rest needs
the extra `torch`, which is loaded when a function is called.
"""

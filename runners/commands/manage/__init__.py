"""The commands that look after a store and after what winnow itself needs."""

"""What runs inside a peer's own Python: nothing here may import winnow, or need a newer Python than 3.9."""

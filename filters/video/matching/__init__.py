"""How the parts of one small plane are found again in another."""

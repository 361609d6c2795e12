"""The checks: each module declares its own in `CHECKS`, and every command that they concern makes them."""

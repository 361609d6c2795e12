"""Export: moves bytes once, from the store through one shuffle into files that trainers read."""

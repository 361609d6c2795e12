"""Finding and showing samples: columns, conditions, single rows and clusters."""

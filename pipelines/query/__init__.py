"""Finds and shows samples: columns, conditions, single rows and clusters."""

"""What differs between two plans, or two recipes, on the terminal."""

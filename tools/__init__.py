"""What the check of a change runs besides the tests: slices, mutants, and the list of what nothing ran."""

"""The commands from sources to a mixture: one for each stage, and those that run several."""

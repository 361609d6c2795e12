"""Changed rules: what they would keep, without a run, and how a recipe that has them is written."""

"""Estimates the cost of a run on each engine from measured rates, and logs the cost of past runs."""

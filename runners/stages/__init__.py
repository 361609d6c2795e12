"""Driving the stages: from a bound recipe to tasks on an engine, and from their commits to a generation."""

"""Transitions between the shots of a video, by detectors that see small planes of its frames."""

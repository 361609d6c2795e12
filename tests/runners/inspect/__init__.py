"""Tests of the inspector."""

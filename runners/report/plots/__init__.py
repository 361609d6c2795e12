"""Plots as SVG: of the report, and files of their own."""

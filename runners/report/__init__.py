"""The store's report: one self-contained HTML file. Crawled markup is always escaped."""

from winnow.runners.report.block import Block, Section
from winnow.runners.report.examples import DuplicatesFound, ExampleRange, ExampleRow, Examples
from winnow.runners.report.page import SECTIONS, render_report

__all__ = ["SECTIONS", "Block", "DuplicatesFound", "ExampleRange", "ExampleRow", "Examples", "Section", "render_report"]

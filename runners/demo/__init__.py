"""A miniature crawl that winnow brings along: some hundred pages, their images, and everything that goes wrong.

`make_crawl(folder)` writes it, from the texts in this package and from hashes alone: no network, no clock and
no random numbers. What is planted in it, and where, is in `truth.jsonl` beside the sources and in docs/tutorial/demo.md.
"""

from winnow.runners.demo.crawl import make_crawl

__all__ = ["make_crawl"]

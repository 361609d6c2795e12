"""A miniature crawl that comes with winnow: several hundred pages, their images, and everything that can go wrong.

`make_crawl(folder)` writes it, from the texts in this package and from hashes alone: no network, no clock and
no random numbers. `truth.jsonl` beside the sources and docs/tutorial/demo.md say what is planted in it, and where.
"""

from winnow.runners.demo.crawl import make_crawl

__all__ = ["make_crawl"]

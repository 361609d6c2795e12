"""Indexed archives such as Common Crawl: a query over an index becomes ranges of bytes, and these WARC files."""

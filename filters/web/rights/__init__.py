"""Parsers of statements about the use of pages: headers, elements, robots.txt."""

"""Facts: each is a declared table, computed once; the terminal, the page and JSON draw it."""

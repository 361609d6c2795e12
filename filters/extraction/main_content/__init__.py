"""The main content of a page: a scan to flat arrays, a learned score for each block, the choice, and its text."""

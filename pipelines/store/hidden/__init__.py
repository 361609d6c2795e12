"""Which rows tombstones hide: what every reader of the store asks, and what a request to forget is matched by."""

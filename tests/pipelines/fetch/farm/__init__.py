"""A farm of sites on loopback, with host names of its own: servers of every kind, as a fetcher meets them."""

"""Personal data, names and credentials: what finds each of them in texts."""

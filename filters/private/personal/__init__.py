"""Personal data in texts: what finds each kind of it, apart from the operator that puts the kinds together."""

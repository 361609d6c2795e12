"""Live fetching: sites are asked one request at a time, as they allow, and what they send becomes WARC records."""

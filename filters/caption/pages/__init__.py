"""What pages and pictures of a crawl meet by: addresses as keys, and what the crawl noted of who loaded whom."""

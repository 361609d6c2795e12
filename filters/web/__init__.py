"""What is known of addresses and of content types: URLs, lists of them, robots files, file signatures."""

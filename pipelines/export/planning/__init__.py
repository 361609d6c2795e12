"""What an export needs before it moves a byte: its shards, their sizes, and what would stop it."""

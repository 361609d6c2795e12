"""The media of an export on their way: read by reference, changed, and kept on disk until their shard is written."""

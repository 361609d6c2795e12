"""Export destinations: a folder on a disk or objects in a bucket, and what already exists there."""

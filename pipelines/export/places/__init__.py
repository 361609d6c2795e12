"""Where an export goes: a folder on a disk or objects in a bucket, and what is there already."""

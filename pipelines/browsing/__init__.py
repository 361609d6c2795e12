"""Looking at duplicates: clusters counted, the largest of them, and the members of one."""

"""How every file of a store proves itself: checksums of records, hashes in names, blocks of tables, and damage."""

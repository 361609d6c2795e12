"""The kinds of duplicates, one a file; `winnow.filters.duplicates.kind` says what one is."""

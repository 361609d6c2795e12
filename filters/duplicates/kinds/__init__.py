"""The kinds of duplicates, one per file; `winnow.filters.duplicates.kind` defines their form."""

"""The rows of a store as Arrow schemas: samples, extractions, layers of duplicates and scores, draws."""

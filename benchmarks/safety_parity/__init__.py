"""What safety rules cost each language, and what they find, on texts whose truth is known."""

"""Dataset cards in Markdown: of what the rules keep, and of a mixture that was exported."""

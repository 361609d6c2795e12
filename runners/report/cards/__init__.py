"""Dataset cards in Markdown: for the samples that the rules keep, and for an exported mixture."""

"""From decoded HTML pages to text: extractors, and what all of them share."""

"""What the page asks for, one view a file: a JSON object in, a JSON object out."""

"""Models of the user's own that `text.safety_model` asks: their files, their tokenizers, and how they are run."""

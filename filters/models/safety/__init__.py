"""Users' own models for `text.safety_model`: their files, their tokenizers, and how they are run."""

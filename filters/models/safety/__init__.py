"""Users' own models for `text.safety_model`, and how they are run."""

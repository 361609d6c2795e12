"""The doors of mixtures: planning them, showing plans, and telling two apart."""

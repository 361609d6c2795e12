"""Reports and cards: what they show is gathered here, and they are put where they were asked for."""

"""What a run will cost on each engine, from measured rates, and what runs did cost."""

"""From kept rows to a plan and a draw: what is counted, what each stratum gives, which rows those are."""

"""The ledger: which tasks there are, which are done, and what a run still owes."""

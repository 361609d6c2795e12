"""The ledger: which tasks exist, which are done, and which are pending."""

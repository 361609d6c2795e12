"""Plans a mixture from the rows that rules keep, and draws it: counts, targets of strata, and the rows they take."""

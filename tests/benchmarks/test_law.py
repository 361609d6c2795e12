"""The benchmark's runs are what its text says."""

from benchmarks.law import MIXTURES, RUNS, SIZES, TOKENS, TRUTHS, runs_csv
from winnow.scoring.scaling_law.required_runs import missing_runs
from winnow.scoring.scaling_law.runs import runs_from_csv


def test_300_runs_on_6_families() -> None:
    table = runs_from_csv(runs_csv(RUNS))
    assert (len(set(table.run)), table.families) == (RUNS, tuple(TRUTHS))
    assert (len(set(table.n)), len(set(table.d))) == (len(SIZES), len(TOKENS))
    assert len(set(table.mixture)) == MIXTURES
    assert all(not missing_runs(table.of(family), "full") for family in table.families)


def test_they_are_the_same_each_time() -> None:
    assert runs_csv(50) == runs_csv(50)

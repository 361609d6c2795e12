"""Several tables as one: units, names of runs, and rows that are in two."""

import pytest

from tests.messages import assert_refused, assert_told_each
from winnow.runners.stages.law.run_tables import join_tables
from winnow.schemas.errors import SourceError
from winnow.scoring.scaling_law.runs import RunTable, runs_from_csv

HEADER = "family,N,D,p,loss,seed"


def table(name: str, *rows: str, header: str = HEADER, unit: str = "") -> RunTable:
    units = f"# unit.loss: {unit}\n" if unit else ""
    return runs_from_csv(units + "\n".join([header, *rows]) + "\n", name)


def test_rows_of_all_tables_are_kept() -> None:
    found = join_tables([table("a.csv", "b,1e8,1e9,1,2.5,0"), table("b.csv", "a,1e8,1e9,1,2,0", "b,1e8,1e9,1,2.6,1")])
    assert (found.name, found.families, found.loss.tolist()) == ("a.csv + b.csv", ("a", "b"), [2.0, 2.5, 2.6])


def test_a_table_without_units_takes_those_of_the_others() -> None:
    one, two = table("a.csv", "a,1e8,1e9,1,2,0"), table("b.csv", "a,1e8,1e9,1,3,1", unit="bits a byte")
    found = join_tables([one, two])
    assert found.units.loss == "bits a byte"
    assert_told_each(found.notes, ("a.csv", "unit.loss"))
    assert join_tables([one, table("c.csv", "a,1e8,1e9,1,3,1")]).notes == ()


def test_two_units_are_refused() -> None:
    one, two = (table(f"{unit}.csv", "a,1e8,1e9,1,2,0", unit=unit) for unit in ("bits", "nats"))
    with assert_refused(SourceError, "nats.csv", "'nats'", "bits.csv", "'bits'"):
        join_tables([one, two])


def test_runs_of_two_tables_are_two_runs_though_they_have_one_name() -> None:
    header = f"{HEADER},run"
    one = table("a.csv", "a,1e8,1e9,1,2,0,r1", header=header)
    two = table("b.csv", "a,1e8,1e9,1,2.1,1,r1", header=header)
    assert join_tables([one, two]).run == ("a.csv: r1", "b.csv: r1")


def test_no_folder_names_a_run_or_a_source() -> None:
    header = f"{HEADER},run"
    rows = ("a,1e8,1e9,1,2,0,r1", "a,1e8,1e9,1,2.1,1,r1")
    here, there = (
        join_tables(
            [table(f"{folder}{name}", row, header=header) for name, row in zip(("a.csv", "b.csv"), rows, strict=True)]
        )
        for folder in ("", "/data/x/")
    )
    assert (here.run, here.digest(), here.source) == (there.run, there.digest(), there.source)
    same = join_tables([table(f"{folder}/r.csv", row, header=header) for folder, row in zip("xy", rows, strict=True)])
    assert (same.run, same.source) == (("r.csv 1: r1", "r.csv 2: r1"), "r.csv + r.csv")


def test_runs_are_named_in_all_tables_or_in_none() -> None:
    one = table("a.csv", "a,1e8,1e9,1,2,0,r1", header=f"{HEADER},run")
    with assert_refused(SourceError, "b.csv", "a.csv"):
        join_tables([one, table("b.csv", "a,1e8,1e9,1,2.1,1")])


def test_a_row_that_is_in_two_tables_is_named() -> None:
    row = "a,1e8,1e9,0.5,2,0"
    with assert_refused(SourceError, "b.csv", "1e+08", "1e+09", "p 0.5"):
        join_tables([table("a.csv", row), table("b.csv", row)])


def test_all_rows_that_are_in_two_tables_are_named_in_order() -> None:
    rows = ("b,1e8,1e9,1,2.5,0", "a,1e8,1e9,1,2,1", "a,1e8,1e9,1,2,0", "c,2e8,1e9,1,3,0")
    with pytest.raises(SourceError) as caught:
        join_tables([table("a.csv", *rows), table("b.csv", "d,1e8,1e9,1,2,0"), table("c.csv", *rows[::-1])])
    assert [line.removeprefix("c.csv: ").partition(" D")[0] for line in str(caught.value).splitlines()] == [
        "a at N 1e+08",
        "a at N 1e+08",
        "b at N 1e+08",
        "c at N 2e+08",
    ]
    assert [line.partition("seed ")[2][0] for line in str(caught.value).splitlines()] == ["0", "1", "0", "0"]

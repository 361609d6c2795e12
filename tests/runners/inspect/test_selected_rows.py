"""Rows that were selected on the map are a part of every filter, by their numbers."""

import pytest

from tests.runners.inspect.opened_stores import ask, opened, write_store
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(write_store(tmp_path_factory.mktemp("selected") / "made"))


def test_samples_and_charts_are_those_of_the_selected_rows(of: Opened) -> None:
    first = ask(of, "samples", size=100)["rows"]
    chosen = [row["row"] for row in first if row["kept"]][:7] + [row["row"] for row in first if not row["kept"]][:4]
    found = ask(of, "samples", filter={"rows": chosen}, size=100)
    assert sorted(row["row"] for row in found["rows"]) == sorted(chosen)
    charts = ask(of, "linked", dimensions=[{"column": "kept"}], filter={"rows": chosen})
    assert (charts["rows"], charts["kept"]) == (11, 7)
    kept = ask(of, "linked", dimensions=[{"column": "source"}], filter={"rows": chosen}, filters={"kept": ["kept"]})
    assert sum(group["rows"] for group in kept["dimensions"][0]["groups"]) == 7


def test_no_selected_row_is_no_row(of: Opened) -> None:
    assert ask(of, "samples", filter={"rows": []})["total"] == 0


@pytest.mark.parametrize("rows", [[-1], [10**9], ["1"], [True], 3])
def test_numbers_that_no_row_has_are_refused(of: Opened, rows: object) -> None:
    with pytest.raises(AskedError, match=r"filter\.rows"):
        ask(of, "samples", filter={"rows": rows})

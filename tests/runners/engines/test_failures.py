"""Errors that workers raise reach the user as one line, whatever they are made of."""

import pytest

from tests.messages import assert_told
from winnow.pipelines.ingest.tables.plain_rows import ForeignFileError, foreign_file
from winnow.pipelines.rules.evaluation import UndecidedError
from winnow.pipelines.store.leases.lease import HeldError
from winnow.runners.engines.failures import user_error
from winnow.schemas.errors import RecipeError, SourceError, StoreError, WinnowError


@pytest.mark.parametrize(
    ("kind", "shown"),
    [(ForeignFileError, SourceError), (UndecidedError, RecipeError), (HeldError, StoreError)],
)
def test_an_error_that_is_made_of_more_than_its_line_is_still_that_line(
    kind: type[WinnowError], shown: type[WinnowError]
) -> None:
    report = (
        f"Traceback (most recent call last):\n  …\n{kind.__module__}.{kind.__name__}: the line [while running 'A']\n"
    )
    found = user_error(RuntimeError(report))
    assert isinstance(found, shown)
    assert str(found) == "the line"


def test_a_foreign_file_is_the_same_error_made_anew_of_its_message() -> None:
    error = foreign_file("a.csv", "the file is compressed", "decompress it")
    assert_told(str(error), "a.csv", "compressed", whole=True)
    again = user_error(type(error)(f"{error} [while running 'Read']"))  # as Beam does it
    assert isinstance(again, ForeignFileError)
    assert str(again) == str(error)

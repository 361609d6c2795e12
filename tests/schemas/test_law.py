"""The law file is written to the same bytes and read strictly."""

from typing import Any

import orjson
import pytest

from tests.messages import assert_refused, assert_told
from tests.scoring.laws import law
from winnow.schemas.errors import SourceError
from winnow.schemas.law import Mode, law_from_json, law_to_json, rounded


@pytest.mark.parametrize("mode", ["full", "gamma"])
def test_a_law_is_read_back_as_it_was_written(mode: Mode) -> None:
    raw = law_to_json(law(mode))
    read = law_from_json(raw)
    assert law_to_json(read) == raw
    assert read.names == ("germanic", "indic", "slavic")
    assert read.family("indic").gamma.value == 0.15


def test_numbers_have_eight_digits() -> None:
    assert rounded(1 / 3) == 0.33333333
    assert rounded(123456789.0) == 123456790.0


def changed(mode: Mode, *path: object, to: object) -> bytes:
    """The bytes of the law with one value replaced, or taken out where `to` is Ellipsis."""
    value: Any = orjson.loads(law_to_json(law(mode)))
    inside = value
    for step in path[:-1]:
        inside = inside[step]
    if to is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return orjson.dumps(value)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "law.json: not JSON"),
        (b"[]", "law.json … schema 1 … 'None'"),
        (changed("full", "schema", to=2), "law.json … schema 1 … '2'"),
        (changed("full", "schema", to=True), "schema 1"),
        (changed("full", "modes", to=1), "law.json … 'mode'"),
        (changed("full", "mode", to="half"), "law.json: mode: unknown value 'half'"),
        (changed("full", "units", "d", to=...), "law.json: units: missing required field d"),
        (changed("full", "units", "d", to=3), "law.json: units.d: expected text"),
        (changed("full", "families", to=[]), "law.json"),
        (changed("full", "families", to={}), "law.json: families: expected a list"),
        (changed("full", "families", 0, "family", to="zulu"), "families:"),
        (changed("full", "families", 0, "gamma", to=0.1), "law.json: families[0].gamma: expected an object"),
        (changed("full", "families", 0, "gamma", "low", to="0"), "families[0].gamma.low: expected a number"),
        (changed("full", "families", 0, "gamma", "low", to=True), "families[0].gamma.low: expected a number"),
        (changed("full", "families", 0, "gamma", "value", to=-0.1), "germanic: … positive value"),
        (
            changed("full", "families", 0, "gamma", "low", to=9.0),
            "germanic: … positive value",
        ),
        (changed("full", "families", 0, "bracket", to=None), "germanic: … full law"),
        (changed("gamma", "families", 0, "cells", to=[]), "germanic: … mode gamma"),
        (changed("full", "families", 0, "fitted", "runs", to=4.5), "families[0].fitted.runs: expected an integer"),
        (
            changed("full", "families", 0, "fitted", "p_max", to=2.0),
            "germanic:",
        ),
        (changed("full", "families", 0, "fitted", "n_min", to=0.0), "germanic: … expected N"),
        (changed("full", "families", 0, "family", to=""), "families: one has no name"),
        (changed("full", "families", 0, "fitted", "seeds", to=-1), "germanic: … 0"),
        (
            changed("full", "families", 0, "gamma", to={"value": 0.5, "low": 0.4, "high": 0.6}),
            "germanic: … 0.5 … drawn 0.076",
        ),
        *(
            (changed("full", "provenance", "confidence", to=to), "law.json: provenance.confidence: ")
            for to in (95, 1, 0, -1)
        ),
        (changed("full", "provenance", "method", to="best"), "provenance.method … 'best' … two_"),
        (changed("full", "provenance", "rows", to=-5), "provenance.rows … -5 … 0"),
        (changed("full", "provenance", "huber_delta", to=0), "provenance.huber_delta: expected a number above 0"),
        (changed("full", "families", 1, "draws", to=[]), "indic: … 5 draws … 6 numbers"),
        (changed("gamma", "families", 1, "draws", 0, to=[1.0]), "indic: … 5 draws … 2 numbers"),
    ],
)
def test_what_is_no_law_is_refused_in_one_line(raw: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        law_from_json(raw, "law.json")
    assert_told(str(caught.value), message)
    assert "\n" not in str(caught.value)


def test_an_unknown_family_is_answered_with_the_nearest() -> None:
    with assert_refused(SourceError, "'Indic'", "'indic'"):
        law().family("Indic")

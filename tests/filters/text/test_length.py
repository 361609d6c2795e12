"""Lengths in every unit."""

import json
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.text.length import VERSION, lengths

WORST = "a"  # takes most of the memory of its kernel


def measured(*texts: str) -> list[dict[str, int]]:
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    rows: list[dict[str, int]] = lengths(batch).to_pylist()
    return rows


def test_every_unit_is_counted() -> None:
    assert measured("Grüße\nan alle\n\n \nzwei") == [{"bytes": 23, "characters": 21, "lines": 3, "paragraphs": 2}]
    assert measured("", " \n\t ") == [
        {"bytes": 0, "characters": 0, "lines": 0, "paragraphs": 0},
        {"bytes": 4, "characters": 4, "lines": 0, "paragraphs": 0},
    ]


@given(st.lists(st.text(st.sampled_from("ab \n\té漢\u200b"), max_size=40), max_size=8))
def test_as_a_person_would_count(texts: list[str]) -> None:
    space = " \t\n\f\r"  # what the engine's patterns take for white space
    for text, found in zip(texts, measured(*texts), strict=True):
        filled = [bool(line.strip(space)) for line in text.split("\n")]
        starts = [here and not before for before, here in zip([False, *filled], filled, strict=False)]
        assert found == {
            "bytes": len(text.encode()),
            "characters": len(text),
            "lines": sum(filled),
            "paragraphs": sum(starts),
        }


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads((Path(__file__).parent / "golden" / "length.json").read_text(encoding="utf-8"))
    assert golden["version"] == VERSION
    rows = measured(*(text for text, _ in golden["texts"]))
    assert [list(row.values()) for row in rows] == [values for _, values in golden["texts"]]

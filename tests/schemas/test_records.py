"""Records are read strictly: one of another shape is one line that names its place."""

import pytest

from winnow.schemas.errors import StoreError
from winnow.schemas.mixture import Amount, PlannedOutput
from winnow.schemas.records import from_json, to_json


def test_a_record_comes_back_as_it_was() -> None:
    output = PlannedOutput("train", 7, (), ("a note",))
    assert from_json(PlannedOutput, to_json(output), "x.json") == output


@pytest.mark.parametrize("raw", [b"[]", b"null", b"7", b'{"samples": []}', b'{"sample": 1}', b"{"])
def test_another_shape_is_refused_with_its_place(raw: bytes) -> None:
    with pytest.raises(StoreError, match=r"^x\.json: not a Amount") as refused:
        from_json(Amount, raw, "x.json")
    assert "\n" not in str(refused.value)

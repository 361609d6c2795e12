"""Facts of a sample's media as `winnow show` prints them."""

from winnow.runners.terminal.samples.item_facts import media_lines

REF = {"path": "a.parquet", "offset": 3, "length": 1, "container": "parquet", "member": "images[1]", "etag": None}
FACTS = {"sha256": None, "width": None, "height": None, "orientation": None, "frames": None, "ref": REF}


def test_a_medium_without_bytes_has_no_hash() -> None:
    lines = list(media_lines([{**FACTS, "mime": "application/x-empty", "bytes": 0}]))
    assert lines == [("medium", "application/x-empty, 0 bytes"), ("", "parquet a.parquet at 3 + 1, member images[1]")]


def test_a_medium_that_was_not_held_has_neither() -> None:
    lines = list(media_lines([{**FACTS, "mime": "image/jpeg", "bytes": None}]))
    assert lines[0] == ("medium", "image/jpeg")

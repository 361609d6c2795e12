"""Facts of a sample's media as `winnow show` prints them."""

from winnow.runners.stages.samples.item_facts import media_lines, unread_lines

REF = {"path": "a.parquet", "offset": 3, "length": 1, "container": "parquet", "member": "images[1]", "etag": None}
FACTS = {"sha256": None, "width": None, "height": None, "orientation": None, "frames": None, "ref": REF}


def test_a_medium_without_bytes_has_no_hash() -> None:
    lines = list(media_lines([{**FACTS, "mime": "application/x-empty", "bytes": 0}]))
    assert lines == [("medium", "application/x-empty, 0 bytes"), ("", "parquet a.parquet at 3 + 1, member images[1]")]


def test_a_medium_that_was_not_held_has_neither() -> None:
    lines = list(media_lines([{**FACTS, "mime": "image/jpeg", "bytes": None}]))
    assert lines[0] == ("medium", "image/jpeg")


def test_sidecars_that_could_not_be_read_are_named_with_the_reason() -> None:
    metadata = '{"place": "Rome", "unread": {"txt": "byte 6 is not UTF-8", "json": "empty"}}'
    lines = list(unread_lines(metadata, 1))
    assert lines == [("unread", "txt: byte 6 is not UTF-8"), ("unread", "json: empty")]


def test_a_column_of_the_sources_own_is_not_taken_for_them() -> None:
    assert not list(unread_lines('{"unread": {"from": "Ann", "to": "Ben"}}', 0))
    assert not list(unread_lines('{"unread": "yes"}', 1))
    assert not list(unread_lines('{"unread": {"count": 3}}', 1))

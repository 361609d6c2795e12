"""What stands in the place of a record that is purged."""

import gzip

import pytest

from winnow.pipelines.forgetting.fetched import empty_member


@pytest.mark.parametrize("length", [21, 22, 100, 150, 190, 200, 201, 1_000, 65_537, 3_000_000])
def test_a_member_of_any_length_is_gzip_and_says_nothing(length: int) -> None:
    member = empty_member(length)
    assert len(member) == length
    content = gzip.decompress(member)
    assert content == b"" or (content.startswith(b"WARC/1.1") and b"Content-Length: 0" in content)
    assert content == b"" if length <= 100 else content

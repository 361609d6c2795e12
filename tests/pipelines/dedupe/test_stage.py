"""Keys of layers of duplicates: the names of what a search covers, written down without holding it."""

from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.dedupe.stage import fingerprint_of_rows
from winnow.schemas.identity import fingerprint_of

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(NAMES, st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=5))
def test_the_fingerprint_of_shards_is_that_of_their_list(settings: str, shards: list[tuple[str, str, str]]) -> None:
    whole = fingerprint_of({"settings": settings, "shards": [list(shard) for shard in shards]})
    assert fingerprint_of_rows(settings, iter(shards)) == whole

"""Which rows with pictures are compared, and when two of them are equal."""

from pathlib import Path

import pyarrow as pa
import pytest

from winnow.pipelines.dedupe.compared import digests_of, hashes_of, statuses_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe.dedupe import PdqConfig
from winnow.schemas.records import StoreRecord

ITEMS = pa.list_(pa.struct([("sha256", pa.string()), ("mime", pa.string())]))
PNG, JPEG, VIDEO = "image/png", "image/jpeg", "video/mp4"


@pytest.fixture
def searching(tmp_path: Path) -> Search:
    store = create_or_open(
        open_location(str(tmp_path / "store")), StoreRecord("store", 7, 64, 1 << 20, 16, 1 << 20, 1 << 20)
    )
    return Search(store, "", "scratch", {"image_bytes": "samples", "pdq": "image.pdq"}, pdq=PdqConfig(min_quality=50))


def media(*rows: list[tuple[str | None, str]]) -> dict[str, pa.Array]:
    items = [[{"sha256": sha256, "mime": mime} for sha256, mime in row] for row in rows]
    modality = ["image" if row else "forgotten" for row in rows]
    return {"samples.media": pa.array(items, ITEMS), "samples.modality": pa.array(modality)}


def test_rows_are_equal_if_all_of_their_pictures_are_in_the_same_order(searching: Search) -> None:
    batch = media(
        [("aa", PNG)],
        [("aa", JPEG)],
        [("aa", PNG), ("bb", PNG)],
        [("aa", PNG), ("bb", PNG)],
        [("bb", PNG), ("aa", PNG)],
    )
    found = digests_of(searching, "image_bytes", batch).to_pylist()
    assert [found.index(one) for one in found] == [0, 0, 2, 2, 4]
    assert statuses_of(searching, "image_bytes", batch).to_pylist() == ["ok"] * 5


def test_rows_without_known_pictures_or_with_other_media_are_not_compared(searching: Search) -> None:
    batch = media([], [("aa", VIDEO)], [("aa", PNG), ("bb", VIDEO)], [("aa", PNG), (None, PNG)])
    assert digests_of(searching, "image_bytes", batch).null_count == 4
    statuses = ["forgotten", "no_picture", "other_media", "not_hashed"]
    assert statuses_of(searching, "image_bytes", batch).to_pylist() == statuses


def test_only_rows_of_one_picture_that_is_not_flat_are_compared_by_hash(searching: Search) -> None:
    one, other = b"1" * 32, b"2" * 32
    rows = [
        ("ok", ["ok"], [one], [50]),
        ("ok", ["ok"], [other], [49]),
        ("ok", ["ok", "ok"], [one, other], [90, 90]),
        ("ok", ["truncated"], [None], [None]),
        ("no_input", None, None, None),
        ("forgotten", None, None, None),
        ("ok", ["ok"], [one], [100]),
    ]
    kinds = {"status": pa.string(), "items": pa.list_(pa.string())}
    kinds |= {"hash": pa.list_(pa.binary(32)), "quality": pa.list_(pa.int16())}
    columns = zip(kinds.items(), zip(*rows, strict=True), strict=True)
    batch = {f"image.pdq.{name}": pa.array(values, kind) for (name, kind), values in columns}
    statuses = ["ok", "low_quality", "several_pictures", "truncated", "no_picture", "forgotten", "ok"]
    assert statuses_of(searching, "pdq", batch).to_pylist() == statuses
    digests = digests_of(searching, "pdq", batch)
    assert digests.is_valid().to_pylist() == [status == "ok" for status in statuses]
    assert digests[0] == digests[6]
    found = hashes_of(searching, batch)
    assert (found.rows.tolist(), found.values.to_pylist()) == ([0, 6], [one, one])

"""Rows with equal digests: the result does not depend on how they are spread over shards."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.pipelines.dedupe.search import Row, search, write_pages
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location


@pytest.mark.parametrize(("shard_rows", "count"), [(1, 60), (7, 300), (64, 300), (1000, 300)])
def test_copies_share_a_cluster_and_match_the_smallest_id_of_another(
    tmp_path: Path, shard_rows: int, count: int
) -> None:
    drawn = random.Random(shard_rows)
    # Texts that occur once, a few times, and in every shard many times.
    texts = [
        f"text {min(drawn.randrange(120), drawn.randrange(120))}" if drawn.random() < 0.7 else "all"
        for _ in range(count)
    ]
    rows: list[Row] = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    write_pages(tmp_path, {"a": rows[: count // 2], "b": rows[count // 2 :]})
    search(tmp_path, "{exact: {}}", shard_rows=shard_rows)
    found = exact_layer(tmp_path)
    assert len(found) == count
    sizes = Counter(texts)
    ids: dict[str, list[bytes]] = {}
    for row, (text, _) in found.items():
        ids.setdefault(text, []).append(row)
    for row, (text, said) in found.items():
        least, *others = sorted(ids[text])
        if not others:
            assert said == ("unmatched", row, 1, None)
        else:
            assert said == ("ok", least, sizes[text], others[0] if row == least else least)


def exact_layer(folder: Path) -> dict[bytes, tuple[str, tuple[object, ...]]]:
    """Return the text of every id, and its status, cluster, size and match."""
    store = open_store(open_location(str(folder / "store")))
    generation = store.require_latest()
    samples, layer = (
        [row for one in store.manifest(generation, name) for batch in store.batches(one) for row in batch.to_pylist()]
        for name in ("samples", "dedupe.exact")
    )
    return {
        sample["id"]: (sample["text"], (row["status"], row["cluster"], row["size"], row["matched"]))
        for sample, row in zip(samples, layer, strict=True)
    }

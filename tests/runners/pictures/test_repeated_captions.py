"""How often captions occur in a whole store, from the command line: lists that rules read."""

import random
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.runners.test_annotate import table

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS}
sources:
  captioned: {root: tables, files: ["*.parquet"], class: public, columns: {media: image, captions: captions}}
dedupe: {captions: {}}
keep:
  - {drop: list_min(dedupe.captions.size) > 10, reason: repeated_captions, when_null: keep}
"""
USUAL = [f"picture {number}" for number in range(60)]
SAID = ["logo", "Logo", "  logo ", "a\u00a0cat", "a cat", "\u732b", "", " \t", *USUAL]
PICTURE = bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b")  # a GIF of one pixel


def captions_of_rows() -> list[list[str]]:
    drawn = random.Random(3)
    usual = [drawn.choices(SAID, k=drawn.randrange(4)) for _ in range(60)]
    return [*usual, *(["logo"] for _ in range(12)), ["logo", "the only harbour"]]


def searched(folder: Path, *, shard_rows: int = 16, reverse: bool = False, workers: int = 1) -> Path:
    (folder / "tables").mkdir(parents=True)
    rows = captions_of_rows()
    ids = [f"row-{number}" for number in range(len(rows))]
    order = range(len(rows))[:: -1 if reverse else 1]
    columns: dict[str, list[object]] = {"id": [ids[at] for at in order], "text": [f"Text {at}." for at in order]}
    columns |= {"image": [PICTURE] * len(rows)}
    captions = pa.array([rows[at] for at in order], pa.list_(pa.string()))
    pq.write_table(pa.table({**columns, "captions": captions}), folder / "tables" / "a.parquet")
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", str(shard_rows)))
    ended(run_here(folder, "run", "recipe.yaml", "--workers", str(workers)))
    return folder


def sizes(folder: Path) -> Counter[tuple[tuple[str, int | None], ...]]:
    """What the layer says of the captions of each row."""
    captions, found = table(folder, "samples")["captions"].to_pylist(), table(folder, "dedupe.captions")
    return Counter(
        tuple((one["text"], size) for one, size in zip(said or [], counted or [], strict=True))
        for said, counted in zip(captions, found["size"].to_pylist(), strict=True)
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return searched(tmp_path_factory.mktemp("captions"))


def test_the_sizes_are_those_of_counting_all_captions(store: Path) -> None:
    rows = table(store, "samples")["captions"].to_pylist()
    said = Counter(" ".join(one["text"].split()) for row in rows for one in row)
    assert said["logo"] > 12
    assert said["a cat"] > 1
    expected = Counter(
        tuple((one["text"], said[key] if (key := " ".join(one["text"].split())) else None) for one in row)
        for row in rows
    )
    assert sizes(store) == expected
    statuses = table(store, "dedupe.captions")["status"].to_pylist()
    assert {status for status, row in zip(statuses, rows, strict=True) if not row} == {"no_caption"}
    assert_clean(store)


def test_a_rule_drops_what_repeats_and_nothing_else_does(store: Path) -> None:
    plan = ended(run_here(store, "plan", "recipe.yaml"))
    often = [row for row in sizes(store).elements() if row and all((size or 11) > 10 for _, size in row)]
    known = [row for row in often if any(size for _, size in row)]
    assert f"{len(known)} of 73 samples dropped" in plan
    assert "duplicate_captions" not in plan
    shown = ended(run_here(store, "duplicates", "recipe.yaml"))
    assert re.search(r"^captions +captions ", shown, re.MULTILINE), shown
    cluster = next(one for one in table(store, "dedupe.captions")["cluster"].to_pylist() if one and one[0])[0].hex()
    assert "captions" in ended(run_here(store, "duplicates", "show", "recipe.yaml", cluster))


@pytest.mark.large
def test_other_shards_order_and_workers_give_the_same_sizes(store: Path, tmp_path: Path) -> None:
    assert sizes(searched(tmp_path / "order", shard_rows=64, reverse=True)) == sizes(store)
    assert tree_hash(searched(tmp_path / "workers", workers=2)) == tree_hash(store)

"""Rules of `items`, compared with a decision medium by medium in plain Python."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_told, assert_told_each
from tests.pipelines.rules.stores import Shard, columns_of, make_store
from tests.property_sizes import scaled
from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rules import rule_program
from winnow.pipelines.rules.chosen_items import dropped_items, item_cuts, items_near
from winnow.pipelines.rules.deciding import choose_representatives, decide
from winnow.pipelines.rules.decisions import DecisionCounts, ShardDecisions, Tally, bits_of
from winnow.pipelines.rules.near_thresholds import sides_in_shard
from winnow.pipelines.rules.pinning import PinnedProgram, pin
from winnow.pipelines.rules.summary import summarise_rules
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import sample_id
from winnow.schemas.recipe import recipe_from_text

ROWS = pa.schema([pa.field("bad", pa.bool_(), nullable=False)])
SIDES = pa.schema(
    [
        pa.field("status", pa.string(), nullable=False),
        pa.field("items", pa.list_(pa.string())),
        pa.field("shorter", pa.list_(pa.int64())),
    ]
)

SMALL, CLUSTERS = 50, 3


@dataclass(frozen=True)
class Medium:
    side: int | None
    cluster: int = 0  # 0: no duplicates


@dataclass(frozen=True)
class Row:
    media: tuple[Medium, ...]
    bad: bool = False
    measured: bool = True  # whether the layer has values for it
    length: int = 1


Shards = Mapping[str, Sequence[Row]]
Place = tuple[str, int]


def recipe_text(when_null: str, left: str, repeated: bool = True) -> str:
    late = "\n  - {drop: duplicate.pdq, reason: repeated}" if repeated else ""
    return f"""
version: 1
store: {{path: s}}
sources: {{pictures: {{root: a, files: ['*'], class: web}}}}
annotate: [image.geometry]
eligible: [{{drop: text.some.bad, reason: bad}}]
dedupe: {{pdq: {{}}, representative: [longest]}}
items:
  - {{drop: image.geometry.shorter < {SMALL}, reason: small, when_null: {when_null}}}{late}
no_items_left: {left}
keep: [{{drop: items.kept > 2, reason: many}}, {{drop: items.dropped > 3, reason: poor}}]
"""


REASONS = ("bad", "duplicate_pdq", "small", "repeated", "many", "poor")


def pinned_on(recipe: str, shards: Shards) -> PinnedProgram:
    sizes = Counter(one.cluster for rows in shards.values() for row in rows for one in row.media)
    tables = {}
    for name, rows in shards.items():
        pdq = []
        for number, row in enumerate(rows):
            own = int.from_bytes(sample_id("pictures", name, str(number)))
            clusters = [one.cluster or own ^ item for item, one in enumerate(row.media)]
            size = [sizes[one.cluster] if one.cluster else 1 for one in row.media]
            pdq.append(
                {"status": "ok", "cluster": [one.to_bytes(16) for one in clusters], "size": size, "hashes": size}
            )
        sides = [[one.side for one in row.media] if row.measured else None for row in rows]
        layers = {
            "text.some": pa.Table.from_pylist([{"bad": row.bad} for row in rows], schema=ROWS),
            "image.geometry": pa.Table.from_pylist([{"status": "ok", "shorter": one} for one in sides], schema=SIDES),
            "dedupe.pdq": pa.Table.from_pylist(pdq, schema=find_kind("pdq").schema),
        }
        lengths, media = [row.length for row in rows], [len(row.media) for row in rows]
        tables[name] = Shard("pictures", len(rows), layers, lengths, media=media)
    store, generation = make_store(
        MemoryStore(uuid4().hex), tables, names=("text.some", "image.geometry", "dedupe.pdq")
    )
    known = columns_of({"text.some": ROWS, "image.geometry": SIDES}) | columns_of(
        {"dedupe.pdq": find_kind("pdq").schema}, "keep"
    )
    return pin(store, generation, rule_program(recipe_from_text(recipe), known))


def expected(shards: Shards, when_null: str, left: str) -> dict[Place, tuple[set[str], list[set[str]]]]:
    """Return the reasons of each row, and those of each of its media."""
    rows = {(name, number): row for name, several in shards.items() for number, row in enumerate(several)}

    def small(row: Row, one: Medium) -> bool:
        if not row.measured or one.side is None:
            return when_null == "drop"
        return one.side < SMALL

    def gone(of_media: list[set[str]]) -> set[str]:
        nothing_left = bool(of_media) and all(of_media) and left == "drop"
        return set().union(*of_media) if nothing_left else set()

    early = {place: [{"small"} if small(row, one) else set() for one in row.media] for place, row in rows.items()}
    eligible = {place for place, row in rows.items() if not row.bad and not gone(early[place])}
    better = sorted(eligible, key=lambda at: (-rows[at].length, sample_id("pictures", at[0], str(at[1]))))
    rank = {place: number for number, place in enumerate(better)}
    held: dict[int, list[tuple[int, int]]] = {}
    for place in better:
        for item, one in enumerate(rows[place].media):
            if one.cluster and not early[place][item]:
                held.setdefault(one.cluster, []).append((rank[place], item))
    found = {}
    for place, row in rows.items():
        of_media = [set(one) for one in early[place]]
        stay = [(item, one) for item, one in enumerate(row.media) if not early[place][item]]
        said = {"bad"} if row.bad else set()
        if place in eligible:
            best = [min(held[one.cluster]) if one.cluster else (rank[place], item) for item, one in stay]
            if stay and all(first < rank[place] for first, _ in best):
                said.add("duplicate_pdq")
            for (item, _), first in zip(stay, best, strict=True):
                if first < (rank[place], item):
                    of_media[item].add("repeated")
        said |= gone(of_media)
        kept = sum(not one for one in of_media)
        said |= {"many"} if kept > 2 else set()
        said |= {"poor"} if len(of_media) - kept > 3 else set()
        found[place] = (said, of_media)
    return found


MEDIA = st.builds(Medium, st.none() | st.integers(0, 100), st.integers(0, CLUSTERS))
ROW = st.builds(
    Row,
    st.lists(MEDIA, max_size=5).map(tuple),
    st.integers(0, 4).map(lambda one: one == 0),
    st.integers(0, 4).map(lambda one: one > 0),
    st.integers(1, 3),
)


def names_of(decided: ShardDecisions, masks: Sequence[int]) -> list[set[str]]:
    return [{REASONS[bit] for bit in bits_of(int(mask)) if bit < len(REASONS)} for mask in masks]


@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(ROW, max_size=6), min_size=1),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from(["keep", "drop"]),
)
@settings(max_examples=scaled(60), deadline=None)
def test_each_medium_and_each_row_is_decided_as_said(shards: Shards, when_null: str, left: str) -> None:
    pinned = pinned_on(recipe_text(when_null, left), shards)
    said = expected(shards, when_null, left)
    duplicates = choose_representatives(pinned)
    for decided in decide(pinned, duplicates=duplicates):
        assert decided.items is not None
        rows = names_of(decided, decided.fired[:, 0].tolist())
        media = iter(names_of(decided, decided.items.fired[:, 0].tolist()))
        for number, own in enumerate(rows):
            wanted, of_media = said[decided.shard, number]
            assert own == wanted
            assert [next(media) for _ in range(int(decided.items.numbers[number]))] == of_media
        assert next(media, None) is None


@given(st.lists(ROW, max_size=8), st.sampled_from(["keep", "drop"]))
@settings(max_examples=scaled(20), deadline=None)
def test_media_are_counted_once_each(rows: Sequence[Row], left: str) -> None:
    pinned = pinned_on(recipe_text("drop", left), {"a": rows})
    decisions = list(decide(pinned, duplicates=choose_representatives(pinned)))
    counts = DecisionCounts.merged(one.counts for one in decisions)
    of_items = DecisionCounts.merged(one.items.counts for one in decisions if one.items is not None)
    items = summarise_rules(pinned, counts, 1, items=of_items).items
    assert items is not None
    media = sum(len(row.media) for row in rows)
    assert items.all == Tally(media, 10 * media)
    assert items.all == items.kept + items.of_dropped + sum((one.dropped for one in items.rules), Tally())
    said = expected({"a": rows}, "drop", left)
    assert items.kept.rows == sum(not of for reasons, media in said.values() if not reasons for of in media)


def test_a_picture_that_is_dropped_anyway_represents_none() -> None:
    first = Row((Medium(10, 1),), length=9)
    second = Row((Medium(90, 1), Medium(80)), length=1)
    pinned = pinned_on(recipe_text("drop", "drop"), {"a": [first, second]})
    (decided,) = decide(pinned, duplicates=choose_representatives(pinned))
    assert decided.kept.tolist() == [False, True]
    assert decided.items is not None
    assert decided.items.left(decided.rules).tolist() == [False, True, True]


def test_a_language_or_source_that_loses_its_media_to_a_rule_is_an_alarm() -> None:
    rows = [Row((Medium(10), Medium(90)) if number < 2 else (Medium(10),)) for number in range(30)]
    pinned = pinned_on(recipe_text("drop", "keep"), {"a": rows})
    (decided,) = decide(pinned, duplicates=choose_representatives(pinned))
    assert decided.items is not None
    summary = summarise_rules(pinned, decided.counts, 1, items=decided.items.counts)
    assert summary.kept.rows == 30
    assert_told_each([loss.message for loss in summary.losses], ("93 %", "30 of 32"))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{drop: samples.url IS NULL, reason: x}", "reads nothing of a medium"),
        ("{drop: image.geometry.shorter < 9, reason: x}", "can be null; set when_null"),
        ("{drop: list_min(image.geometry.shorter) < 9, reason: x, when_null: keep}", "does not fit"),
        ("{drop: image.geometry.shortr < 9, reason: x, when_null: keep}", "did you mean 'image.geometry.shorter'?"),
        (
            "{drop: items.kept > 9 AND image.geometry.width > 9, reason: x, when_null: keep}",
            "unknown column 'items.kept'",
        ),
        ("{drop: duplicate.pdq, reason: x}", "unknown column 'duplicate.pdq'"),
        ("{drop: samples.media IS NULL, reason: x}", "unknown column 'samples.media'"),
        ("{preset: datacomp@basic}", "medium alone"),
        ("{drop: samples.media.mime = 3, reason: x}", "text"),
    ],
)
def test_a_rule_that_does_not_fit_media_is_refused_with_its_line(rule: str, said: str) -> None:
    text = f"""version: 1
store: {{path: s}}
sources: {{a: {{root: a, files: ['*'], class: web}}}}
annotate: [image.geometry]
items:
  - {rule}
"""
    with pytest.raises(RecipeError) as refused:
        _ = bind(recipe_from_text(text)).rules
    assert str(refused.value).startswith("recipe.yaml:6: items[0]")
    assert_told(str(refused.value), said)


def test_rules_of_rows_read_how_many_media_are_left_only_with_rules_of_items() -> None:
    text = recipe_text("drop", "drop").partition("items:")[0] + "keep: [{drop: items.kept > 2, reason: many}]\n"
    with pytest.raises(RecipeError, match=r"unknown column 'items.kept'"):
        _ = bind(recipe_from_text(text.replace("text.some.bad", "samples.url IS NULL"))).rules


def test_a_contact_sheet_of_a_rule_of_items_shows_the_media_that_it_drops() -> None:
    rows = [Row((Medium(10), Medium(90), Medium(20))), Row((Medium(10),)), Row(()), Row((Medium(90),), bad=True)]
    pinned = pinned_on(recipe_text("drop", "keep"), {"a": rows})

    def shown(reason: str) -> set[tuple[int, int]]:
        return {(one.place.row, one.place.item) for one in dropped_items(pinned, reason, 7, 9)}

    assert shown("small") == {(0, 0), (0, 2), (1, 0)}
    assert shown("bad") == {(3, 0)}
    (cut,) = item_cuts(pinned, "small")
    near = items_near(pinned, cut, 9)
    assert [one.value for one in near.met] == [20, 10, 10]
    sides = sides_in_shard(pinned, 0, pinned.shards[0])[0]
    assert (sides.met.rows, sides.unmet.rows) == (3, 2)

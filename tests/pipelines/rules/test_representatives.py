"""Who stays of each cluster, against a choice made row by row in plain Python."""

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.rules.stores import Shard, columns_of, make_store
from winnow.pipelines.rules.deciding import decide, represent
from winnow.pipelines.rules.decisions import DecisionCounts
from winnow.pipelines.rules.pinning import PinnedProgram, pin
from winnow.pipelines.rules.program import rule_program
from winnow.pipelines.rules.summary import RulesSummary, summarise_rules
from winnow.pipelines.store.memory import MemoryStore, forget_memory_store
from winnow.schemas.duplicates import GROUPS, NEAR, Kind
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import sample_id
from winnow.schemas.recipe import recipe_from_text

QUALITY = pa.schema([pa.field("score", pa.float64()), pa.field("good", pa.bool_()), pa.field("name", pa.string())])
KINDS: tuple[Kind, ...] = ("exact", "url", "near")


@dataclass(frozen=True)
class Row:
    """A row of a made-up store: its cluster of each kind by number (0: alone), and what is preferred by."""

    exact: int = 0
    url: int = 0
    near: int = 0
    score: float | None = 0.0
    good: bool | None = True
    length: int = 1

    def cluster(self, kind: Kind) -> int:
        return {"exact": self.exact, "url": self.url, "near": self.near}[kind]


def recipe_text(representative: str, more: str = "", guard: str = "{}", near: str = "{}") -> str:
    return f"""
version: 1
store: {{path: s}}
sources:
  books: {{root: a, files: ['*'], class: web}}
  crawl: {{root: a, files: ['*'], class: web}}
eligible: [{{drop: NOT text.some.good, reason: bad, when_null: drop}}]
dedupe: {{exact: {{}}, url: {{}}, near: {near}, representative: {representative}, guard: {guard}}}
keep: [{{drop: text.some.score > 100, reason: high, when_null: keep}}]
{more}
"""


def tables(shards: Mapping[str, tuple[str, Sequence[Row]]]) -> dict[str, Shard]:
    every = [row for _, rows in shards.values() for row in rows]
    sizes = {(kind, row.cluster(kind)): 0 for kind in KINDS for row in every}
    for kind, row in itertools.product(KINDS, every):
        sizes[kind, row.cluster(kind)] += 1
    found = {}
    for name, (source, rows) in shards.items():
        layers = {
            "text.some": pa.Table.from_pylist(
                [{"score": row.score, "good": row.good, "name": "n"} for row in rows], schema=QUALITY
            )
        }
        for kind in KINDS:
            said = []
            for number, row in enumerate(rows):
                cluster = row.cluster(kind)
                named = cluster.to_bytes(16, "big") if cluster else sample_id(source, name, str(number))
                size = sizes[kind, cluster] if cluster else 1
                said.append({"status": "ok", "cluster": named, "size": size, "texts": size})
            layers[f"dedupe.{kind}"] = pa.Table.from_pylist(said, schema=NEAR if kind == "near" else GROUPS)
        found[name] = Shard(source, len(rows), layers, [row.length for row in rows])
    return found


def columns() -> list[object]:
    duplicates = {f"dedupe.{kind}": NEAR if kind == "near" else GROUPS for kind in KINDS}
    return [*columns_of({"text.some": QUALITY}), *columns_of(duplicates, "keep")]


def pinned_on(objects: MemoryStore, recipe: str, shards: Mapping[str, tuple[str, Sequence[Row]]]) -> PinnedProgram:
    names = ("text.some", *(f"dedupe.{kind}" for kind in KINDS))
    store, generation = make_store(objects, tables(shards), names=names)
    return pin(store, generation, rule_program(recipe_from_text(recipe), columns()))  # type: ignore[arg-type]


def stays(shards: Mapping[str, tuple[str, Sequence[Row]]], preferences: Sequence[str]) -> dict[tuple[str, int], str]:
    """The kind for which each row goes that another one stays for."""

    def rank(at: tuple[str, int]) -> tuple[object, ...]:
        source, row = shards[at[0]][0], shards[at[0]][1][at[1]]
        score = -math.inf if row.score is None or math.isnan(row.score) else row.score
        keys = {
            "source": ["books", "crawl"].index(source),
            "longest": -row.length,
            "shortest": row.length,
            "highest text.some.score": -score,
        }
        return (*(keys[name] for name in preferences), sample_id(source, at[0], str(at[1])))

    left = {(name, n): row for name, (_, rows) in shards.items() for n, row in enumerate(rows) if row.good}
    gone: dict[tuple[str, int], str] = {}
    for kind in KINDS:
        clusters: dict[int, list[tuple[str, int]]] = {}
        for at, row in left.items():
            clusters.setdefault(row.cluster(kind), []).append(at)
        for cluster, members in clusters.items():
            best = min(members, key=rank)
            for at in members:
                if cluster and at != best:
                    gone[at] = kind
                    del left[at]
    return gone


ROWS = st.builds(
    Row,
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 4),
    st.sampled_from([None, math.nan, -1.5, -0.0, 0.0, 2.0, math.inf, -math.inf]),
    st.sampled_from([True, True, True, False, None]),
    st.integers(0, 3),
)
STORES = st.lists(st.tuples(st.sampled_from(["crawl", "books"]), st.lists(ROWS, max_size=9)), min_size=1, max_size=4)
PREFERENCES = st.permutations(["source", "longest", "highest text.some.score", "shortest"]).flatmap(
    lambda names: st.integers(0, 4).map(lambda count: names[:count])
)


@given(STORES, PREFERENCES, st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_the_best_eligible_row_of_each_cluster_stays(
    drawn: list[tuple[str, list[Row]]], preferences: list[str], threads: int
) -> None:
    shards = {f"{source}-{number}": (source, rows) for number, (source, rows) in enumerate(drawn)}
    objects = MemoryStore("representatives")
    try:
        listed = ", ".join([*preferences, "id"])
        pinned = pinned_on(objects, recipe_text(f"[{listed}]"), shards)
        duplicates = represent(pinned, threads)
        want = stays(shards, preferences)
        found = {}
        for one in decide(pinned, threads, duplicates):
            for row, first in enumerate(one.first.tolist()):
                if first >= 0 and pinned.program.rules[first].phase == "dedupe":
                    found[one.shard, row] = pinned.program.reasons[first].removeprefix("duplicate_")
        assert found == want
    finally:
        forget_memory_store("representatives")


def summary_of(recipe: str, shards: Mapping[str, tuple[str, Sequence[Row]]], name: str = "alarms") -> RulesSummary:
    objects = MemoryStore(name)
    try:
        pinned = pinned_on(objects, recipe, shards)
        duplicates = represent(pinned)
        counts = DecisionCounts.merged(one.counts for one in decide(pinned, duplicates=duplicates))
        return summarise_rules(pinned, counts, 1, duplicates)
    finally:
        forget_memory_store(name)


TWO = {"books-0": ("books", [Row(near=1)]), "crawl-0": ("crawl", [Row(near=1, score=200.0, length=9)])}


@pytest.mark.parametrize(
    ("representative", "eligible", "left"),
    [
        ("[source]", "", {"books": 1, "crawl": 0}),
        ("[longest]", "", {"books": 0, "crawl": 0}),  # the one that stays is then dropped by `keep`
        ("[lowest text.some.score]", "", {"books": 1, "crawl": 0}),
        ("[]", "", {"books": 1, "crawl": 0}),  # nobody goes as a duplicate: `keep` alone decides
        ("[longest]", "text.some.score > 100", {"books": 1, "crawl": 0}),  # not eligible, so it cannot stay
    ],
)
def test_rules_and_preferences_choose_anew(representative: str, eligible: str, left: dict[str, int]) -> None:
    recipe = recipe_text(representative)
    if eligible:
        recipe = recipe.replace("NOT text.some.good", eligible)
    summary = summary_of(recipe, TWO)
    assert {group.source: group.kept.rows for group in summary.groups} == left
    reasons = [rule.reason for rule in summary.rules]
    implied = ["duplicate_exact", "duplicate_url", "duplicate_near"] if representative != "[]" else []
    assert reasons == ["bad", *implied, "high"]
    assert summary.rows.rows == summary.kept.rows + sum(rule.dropped.rows for rule in summary.rules)


def test_a_rule_may_read_whether_another_row_stays() -> None:
    recipe = recipe_text("[source]").replace("text.some.score > 100", "duplicate.near AND text.some.score > 100")
    summary = summary_of(recipe, TWO)
    assert summary.rules[-1].fires.rows == 1


def test_a_rule_of_eligible_may_not(tmp_path: Path) -> None:
    recipe = recipe_text("[source]").replace("NOT text.some.good", "duplicate.near")
    with pytest.raises(RecipeError, match=r"duplicate\.near is computed among eligible rows"):
        rule_program(recipe_from_text(recipe), columns())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("preference", "said"),
    [
        ("highest text.some.scor", r"representative\[1\]: unknown column 'text.some.scor'.*text.some.score"),
        ("highest text.some.name", r"text.some.name is string; a preference needs a number, a time or a flag"),
        ("highest dedupe.near.size", "dedupe.near.size is computed among representatives"),
    ],
)
def test_a_preference_that_cannot_be_followed_is_one_line(preference: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said) as caught:
        rule_program(recipe_from_text(recipe_text(f"[source, {preference}]")), columns())  # type: ignore[arg-type]
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_no_preference_is_refused_with_its_line() -> None:
    with pytest.raises(RecipeError, match=r":8: dedupe.representative\[0\]: 'largest' is no preference; expected sou"):
        recipe_from_text(recipe_text("[largest]"))


WIPED = {
    "books-0": ("books", [Row(near=1 + number) for number in range(150)]),
    "crawl-0": ("crawl", [Row(near=1 + number // 2) for number in range(120)]),
}


@pytest.mark.parametrize(
    ("guard", "names"),
    [
        ("{}", ["crawl"]),
        ("{sources: {crawl: {max_loss: 0.99}}}", ["crawl"]),
        ("{sources: {crawl: {max_loss: 1.0}}}", []),
        ("{max_loss: 1.0}", []),
        ("{min_rows: 121}", []),
    ],
)
def test_a_source_that_duplicates_empty_is_an_alarm_until_it_is_accepted(guard: str, names: list[str]) -> None:
    summary = summary_of(recipe_text("[source]", guard=guard), WIPED)
    assert [alarm.name for alarm in summary.alarms] == names
    if names:
        (alarm,) = summary.alarms
        assert alarm.said == "the source crawl loses 120 of 120 eligible samples (100.0%) as duplicates"
        assert alarm.accept == "dedupe.guard.sources: {crawl: {max_loss: 1}}"


def test_what_an_alarm_says_to_write_accepts_it() -> None:
    rows = [Row(near=1)] * 290 + [Row()] * 7
    shards = {"books-0": ("books", rows)}
    (alarm,) = summary_of(recipe_text("[source]"), shards).alarms
    accepted = alarm.accept.removeprefix("dedupe.guard.")
    assert accepted == "sources: {books: {max_loss: 0.974}}"
    assert summary_of(recipe_text("[source]", guard=f"{{{accepted}}}"), shards).alarms == ()


def test_a_cluster_of_too_many_texts_is_an_alarm(tmp_path: Path) -> None:
    first = sample_id("books", "books-0", "0")
    number = int.from_bytes(first, "big")
    shards = {"books-0": ("books", [Row(near=number)] * 6 + [Row(near=2)] * 5 + [Row()] * 20)}
    recipe = recipe_text("[source]", near="{max_cluster: 5}")
    (alarm,) = summary_of(recipe, shards).alarms
    assert alarm.said == f"the cluster {first.hex()} has 6 different texts in 6 rows"
    accepted = alarm.accept.removeprefix("dedupe.guard.")
    assert summary_of(recipe_text("[source]", near="{max_cluster: 5}", guard=f"{{{accepted}}}"), shards).alarms == ()
    assert summary_of(recipe_text("[source]", near="{max_cluster: 6}"), shards).alarms == ()


def test_the_choice_is_the_same_however_rows_are_dealt_out() -> None:
    """Ids come from the source and the record, so one row a shard is dealt with by its own name here."""
    drawn = random.Random(3)
    rows = [Row(near=drawn.randrange(40), exact=drawn.randrange(90), length=drawn.randrange(3)) for _ in range(300)]
    shards = {f"books-{number:03d}": ("books", [row]) for number, row in enumerate(rows)}
    objects = MemoryStore("dealt")
    try:
        pinned = pinned_on(objects, recipe_text("[longest]"), shards)
        lost = represent(pinned).lost
        backwards = represent(pinned, 3).lost
        assert {kind: places.tolist() for kind, places in lost.items()} == {
            kind: places.tolist() for kind, places in backwards.items()
        }
        assert sum(map(len, lost.values())) == len(stays(shards, ["longest"]))
    finally:
        forget_memory_store("dealt")

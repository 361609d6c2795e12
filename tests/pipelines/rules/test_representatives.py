"""The representatives of clusters, compared with a choice row by row in plain Python."""

import itertools
import math
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from tests.pipelines.rules.stores import Shard, columns_of, make_store
from tests.property_sizes import scaled
from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.preferences import BoundPreference, Choice
from winnow.pipelines.binding.rules import rule_program
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.deciding import choose_representatives, decide
from winnow.pipelines.rules.decisions import DecisionCounts
from winnow.pipelines.rules.guards import require_accepted, settings_to_accept
from winnow.pipelines.rules.pinning import PinnedProgram, pin
from winnow.pipelines.rules.representatives.candidates import MAX_NAMED, find_candidates
from winnow.pipelines.rules.representatives.choosing import RepresentativeChooser
from winnow.pipelines.rules.summary import RulesSummary, summarise_rules
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import sample_id
from winnow.schemas.problems import Place
from winnow.schemas.recipe import DedupeConfig, recipe_from_text
from winnow.schemas.recipe.nodes import located
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.rules.checking import ColumnInfo

QUALITY = pa.schema([pa.field("score", pa.float64()), pa.field("good", pa.bool_()), pa.field("name", pa.string())])
PLACE = Place("recipe.yaml", 1)
CONFIG = DedupeConfig(PLACE, located({"exact": {}, "near": {}}, PLACE))
KINDS: tuple[Kind, ...] = ("url", "exact", "near")


@dataclass(frozen=True)
class Row:
    """A row: its cluster of each kind by number (0 for none), and the values that preferences read."""

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
            layers[f"dedupe.{kind}"] = pa.Table.from_pylist(said, schema=find_kind(kind).schema)
        found[name] = Shard(source, len(rows), layers, [row.length for row in rows])
    return found


def columns() -> dict[Column, ColumnInfo]:
    duplicates = {f"dedupe.{kind}": find_kind(kind).schema for kind in KINDS}
    return columns_of({"text.some": QUALITY}) | columns_of(duplicates, "keep")


def pinned_on(objects: MemoryStore, recipe: str, shards: Mapping[str, tuple[str, Sequence[Row]]]) -> PinnedProgram:
    names = ("text.some", *(f"dedupe.{kind}" for kind in KINDS))
    store, generation = make_store(objects, tables(shards), names=names)
    return pin(store, generation, rule_program(recipe_from_text(recipe), columns()))


def stays(shards: Mapping[str, tuple[str, Sequence[Row]]], preferences: Sequence[str]) -> dict[tuple[str, int], str]:
    """Return, for each row that is replaced, the kind of duplicates that it is dropped by."""

    def rank(at: tuple[str, int]) -> tuple[object, ...]:
        source, row = shards[at[0]][0], shards[at[0]][1][at[1]]
        absent = row.score is None or math.isnan(row.score)
        keys = {
            "source": ["books", "crawl"].index(source),
            "longest": -row.length,
            "shortest": row.length,
            "highest text.some.score": (absent, 0.0 if row.score is None or absent else -row.score),
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
@settings(max_examples=scaled(25), deadline=None)
def test_the_best_eligible_row_represents_its_cluster(
    drawn: list[tuple[str, list[Row]]], preferences: list[str], threads: int
) -> None:
    shards = {f"{source}-{number}": (source, rows) for number, (source, rows) in enumerate(drawn)}
    objects = MemoryStore(uuid4().hex)
    listed = ", ".join([*preferences, "id"])
    pinned = pinned_on(objects, recipe_text(f"[{listed}]"), shards)
    duplicates = choose_representatives(pinned, threads)
    want = stays(shards, preferences)
    found = {}
    for one in decide(pinned, threads, duplicates):
        for row, first in enumerate(one.first.tolist()):
            if first >= 0 and pinned.program.rules[first].phase == "dedupe":
                found[one.shard, row] = pinned.program.reasons[first].removeprefix("duplicate_")
    assert found == want


def summary_of(recipe: str, shards: Mapping[str, tuple[str, Sequence[Row]]]) -> RulesSummary:
    objects = MemoryStore(uuid4().hex)
    pinned = pinned_on(objects, recipe, shards)
    duplicates = choose_representatives(pinned)
    counts = DecisionCounts.merged(one.counts for one in decide(pinned, duplicates=duplicates))
    return summarise_rules(pinned, counts, 1, duplicates)


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
def test_changed_rules_and_preferences_change_the_choice(
    representative: str, eligible: str, left: dict[str, int]
) -> None:
    recipe = recipe_text(representative)
    if eligible:
        recipe = recipe.replace("NOT text.some.good", eligible)
    summary = summary_of(recipe, TWO)
    assert {group.source: group.kept.rows for group in summary.groups} == left
    reasons = [rule.reason for rule in summary.rules]
    implied = ["duplicate_url", "duplicate_exact", "duplicate_near"] if representative != "[]" else []
    assert reasons == ["bad", *implied, "high"]
    assert summary.rows.rows == summary.kept.rows + sum(rule.dropped.rows for rule in summary.rules)


def test_a_rule_of_keep_may_read_whether_a_row_is_replaced() -> None:
    recipe = recipe_text("[source]").replace("text.some.score > 100", "duplicate.near AND text.some.score > 100")
    summary = summary_of(recipe, TWO)
    assert summary.rules[-1].fires.rows == 1


def test_a_rule_of_eligible_may_not_read_it(tmp_path: Path) -> None:
    recipe = recipe_text("[source]").replace("NOT text.some.good", "duplicate.near")
    with assert_refused(RecipeError, "duplicate.near", "`eligible`"):
        rule_program(recipe_from_text(recipe), columns())


@pytest.mark.parametrize(
    ("preference", "said"),
    [
        ("highest text.some.scor", "representative[1]: unknown column 'text.some.scor'"),
        ("highest text.some.name", "text.some.name … preference needs"),
        ("highest dedupe.near.size", "dedupe.near.size … computed after"),
    ],
)
def test_a_preference_for_an_unusable_column_is_refused(preference: str, said: str) -> None:
    with assert_refused(RecipeError, said) as caught:
        rule_program(recipe_from_text(recipe_text(f"[source, {preference}]")), columns())
    assert len(str(caught.value).splitlines()) == 1


def test_an_invalid_preference_is_refused_with_its_line() -> None:
    said = r":8: dedupe.representative\[0\]: 'longst' is not a preference \(did you mean 'longest'\?\); expected sou"
    with pytest.raises(RecipeError, match=said):
        recipe_from_text(recipe_text("[longst]"))


@pytest.mark.parametrize(
    ("preferences", "said"),
    [("[id, longest]", "longest has no effect"), ("[source, source]", "source occurs twice")],
)
def test_preferences_without_effect_are_refused(preferences: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        recipe_from_text(recipe_text(preferences))


def test_a_loss_of_an_unknown_source_cannot_be_accepted() -> None:
    recipe = recipe_from_text(recipe_text("[source]", guard="{sources: {boks: {max_loss: 0.9}}}"))
    with assert_refused(RecipeError, "guard.sources.boks", "'boks'", "'books'"):
        rule_program(recipe, columns())


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
def test_a_source_lost_to_duplicates_raises_an_alarm_until_accepted(guard: str, names: list[str]) -> None:
    summary = summary_of(recipe_text("[source]", guard=guard), WIPED)
    assert [alarm.name for alarm in summary.alarms] == names
    if names:
        (alarm,) = summary.alarms
        assert_told(alarm.message, "120 of 120", "100.0 %", whole=True)


def test_the_settings_that_an_alarm_suggests_accept_it() -> None:
    rows = [Row(near=1)] * 290 + [Row()] * 7
    shards = {"books-0": ("books", rows)}
    text = recipe_text("[source]", guard="{min_rows: 50, sources: {crawl: {max_loss: 0.9}}}")
    alarms = summary_of(text, shards).alarms
    config = recipe_from_text(text).dedupe
    assert config is not None
    with pytest.raises(RecipeError, match=r"books loses 289 of 297") as caught:
        require_accepted(config, alarms, "r.yaml")
    accepted = str(caught.value).splitlines()[-1].partition("write under 'dedupe': guard: ")[2]
    assert_told(accepted, "{min_rows", "50", "{crawl", "{max_loss", "0.9}", "{max_loss", whole=True)
    assert summary_of(recipe_text("[source]", guard=accepted), shards).alarms == ()


def test_a_cluster_with_too_many_texts_raises_an_alarm(tmp_path: Path) -> None:
    first = sample_id("books", "books-0", "0")
    number = int.from_bytes(first, "big")
    shards = {"books-0": ("books", [Row(near=number)] * 6 + [Row(near=2)] * 5 + [Row()] * 20)}
    recipe = recipe_text("[source]", near="{max_cluster: 5}")
    (alarm,) = summary_of(recipe, shards).alarms
    assert_told(alarm.message, first.hex(), "6 rows", whole=True)
    config = recipe_from_text(recipe).dedupe
    assert config is not None
    accepted = settings_to_accept(config, [alarm]).removeprefix("guard: ")
    assert accepted == f"{{clusters: {{{first.hex()}: {{max_cluster: 6}}}}}}"
    assert summary_of(recipe_text("[source]", near="{max_cluster: 5}", guard=accepted), shards).alarms == ()
    member = sample_id("books", "books-0", "3").hex()  # any of its rows will do: another may name it tomorrow
    accepted = f"{{clusters: {{{member}: {{max_cluster: 6}}}}}}"
    assert summary_of(recipe_text("[source]", near="{max_cluster: 5}", guard=accepted), shards).alarms == ()
    assert summary_of(recipe_text("[source]", near="{max_cluster: 6}"), shards).alarms == ()


def test_a_text_is_dropped_only_if_a_duplicate_is_kept() -> None:
    """A has the text of B. B's address was fetched again with a longer text, so only A is left with that text."""
    rows = [Row(exact=1, near=1), Row(exact=1, near=1, url=1), Row(url=1, length=9)]
    assert stays({"books-0": ("books", rows)}, ["longest"]) == {("books-0", 1): "url"}
    summary = summary_of(recipe_text("[longest]"), {"books-0": ("books", rows)})
    assert {rule.reason: rule.dropped.rows for rule in summary.rules if rule.dropped.rows} == {"duplicate_url": 1}


def test_the_choice_does_not_depend_on_shards_or_order() -> None:
    """The same rows and ids give the same choice in other shards and another order."""
    drawn = random.Random(3)
    longest = BoundPreference("longest", Column("samples", "length"))
    choice = Choice(("exact", "near"), (longest,), ("books",), CONFIG, {"near": 10_000})
    rows = pa.table(
        {
            "samples.id": pa.array([drawn.randbytes(16) for _ in range(600)], pa.binary(16)),
            "samples.length": [drawn.randrange(3) for _ in range(600)],
            **{
                f"dedupe.{kind}.cluster": pa.array(
                    [bytes(15) + bytes([drawn.randrange(90)]) for _ in range(600)], pa.binary(16)
                )
                for kind in choice.kinds
            },
            **{f"dedupe.{name}": [2] * 600 for name in ("exact.size", "near.size", "near.texts")},
        }
    )

    def gone(order: list[int], shard_rows: int) -> dict[str, set[bytes]]:
        dealt = rows.take(pa.array(order)).combine_chunks()
        parts = [dealt.slice(at, shard_rows) for at in range(0, 600, shard_rows)]
        with RepresentativeChooser(choice) as chooser:
            for number, part in enumerate(parts):
                block = {name: part[name].combine_chunks() for name in part.column_names}
                chooser.add(find_candidates(choice, number, "books", iter([block]), np.ones(len(part), np.bool_)))
            found = chooser.chosen([str(number) for number in range(len(parts))])
        return {
            name: {
                identity
                for number, part in enumerate(parts)
                for identity in part["samples.id"].filter(pa.array(found.of(str(number), len(part))[name])).to_pylist()
            }
            for name in choice.names
        }

    first = gone(list(range(600)), 600)
    assert all(first.values())
    for shard_rows in (7, 250):
        assert gone(drawn.sample(range(600), 600), shard_rows) == first


def test_clusters_beyond_the_named_ones_are_counted_without_accepted_ones() -> None:
    ids = [sample_id("books", "books-0", str(3 * number)) for number in range(MAX_NAMED + 20)]
    rows = [Row(near=int.from_bytes(one, "big")) for one in ids for _ in range(3)]
    shards = {"books-0": ("books", rows)}
    alarms = summary_of(recipe_text("[]", near="{max_cluster: 2}"), shards).alarms
    assert alarms == ()  # nobody goes, so nothing is at stake
    guard = "max_loss: 1.0"
    alarms = summary_of(recipe_text("[id]", near="{max_cluster: 2}", guard=f"{{{guard}}}"), shards).alarms
    assert len(alarms) == MAX_NAMED + 1
    assert_told(alarms[-1].message, "20 more", "2", whole=True)
    accepted = ", ".join(f"{alarm.name}: {{max_cluster: 3}}" for alarm in alarms[:-1])
    guard += f", clusters: {{{accepted}}}"
    left = summary_of(recipe_text("[id]", near="{max_cluster: 2}", guard=f"{{{guard}}}"), shards).alarms
    assert len(left) == 20
    assert not {alarm.name for alarm in left} & {alarm.name for alarm in alarms}


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.time32("s"), pa.timestamp("us", "UTC"), pa.int8(), pa.uint64(), pa.bool_()]
)
def test_columns_of_any_ordered_type_can_be_preferred(kind: pa.DataType) -> None:
    values = (
        pa.array([1, 0, None], pa.int32() if kind != pa.bool_() else None)
        .cast(pa.int64())
        .cast(pa.int32() if pa.types.is_temporal(kind) and kind.bit_width == 32 else pa.int64())
        .cast(kind)
    )
    lowest = BoundPreference("lowest", Column("a.b", "c")).keys(values)
    highest = BoundPreference("highest", Column("a.b", "c")).keys(values)
    assert np.argsort(lowest).tolist() == [1, 0, 2]
    assert np.argsort(highest).tolist() == [0, 1, 2]


FULL = """
import resource
import numpy as np, pyarrow as pa
from tests.pipelines.rules.test_representatives import CONFIG
from winnow.pipelines.rules.representatives.candidates import Candidates
from winnow.pipelines.binding.preferences import Choice
from winnow.pipelines.rules.representatives.choosing import RepresentativeChooser
from winnow.schemas.errors import StageError
rows = np.arange(300_000, dtype=np.uint64)
choice = Choice(("near",), (), ("books",), CONFIG, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
names = ["place", "id_high", "id_low", "near_high", "near_low"]
brought = Candidates(pa.table({name: rows * np.uint64(0x9E3779B97F4A7C15) for name in names}))
try:
    with RepresentativeChooser(choice) as chooser:
        for _ in range(9):
            chooser.add(brought)
        chooser.chosen(["s"])
except StageError as error:
    print(error)
"""


@pytest.mark.processes
def test_a_full_disk_gives_one_line_that_names_the_folder() -> None:
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert line.startswith("choosing representatives of duplicates: ")
    assert line.endswith("free some space there, or set TMPDIR to another folder")

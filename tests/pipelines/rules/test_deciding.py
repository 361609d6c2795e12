"""Decisions of rules, compared with an evaluator in plain Python without Arrow, DuckDB, blocks or threads."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_told
from tests.pipelines.rules.counted import count_decisions
from tests.pipelines.rules.stores import Shard, columns_of, make_store
from tests.property_sizes import scaled
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rules import rule_program
from winnow.pipelines.rules.deciding import decide, dropped_samples
from winnow.pipelines.rules.decisions import DecisionCounts, Outcome, ShardDecisions, Tally, bits_of
from winnow.pipelines.rules.pinning import PinnedProgram, pin
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import RecipeError, StoreError
from winnow.schemas.recipe import recipe_from_text

MEASURES = pa.schema(
    [
        pa.field("status", pa.string(), nullable=False),
        pa.field("words", pa.int64()),
        pa.field("ratio", pa.float64()),
        pa.field("label", pa.string()),
        pa.field("odd", pa.bool_()),
    ]
)
LANGUAGE = pa.schema([pa.field("status", pa.string(), nullable=False), pa.field("code", pa.string())])
SIZES = pa.schema([pa.field("bytes", pa.int64())])
LAYERS = {"text.some": MEASURES, "text.language": LANGUAGE, "text.size": SIZES}

Row = Mapping[str, object]


def rules_of(decisions: ShardDecisions, row: int) -> set[int]:
    """Return the numbers of all rules that fired for a row."""
    return set(bits_of(sum(int(word) << (64 * at) for at, word in enumerate(decisions.fired[row]))))


@dataclass(frozen=True)
class Condition:
    """A condition in SQL, and its value for one row: true, false, or None for null."""

    sql: str
    means: Callable[[Row], bool | None]


def below(column: str, limit: float) -> Condition:
    def means(row: Row) -> bool | None:
        value = row[column]
        return None if value is None else value < limit  # type: ignore[operator]

    return Condition(f"text.some.{column} < {limit}", means)


def equal(column: str, value: str) -> Condition:
    return Condition(
        f"text.some.{column} = '{value}'", lambda row: None if row[column] is None else row[column] == value
    )


def absent(column: str) -> Condition:
    return Condition(f"text.some.{column} IS NULL", lambda row: row[column] is None)


def both(left: Condition, right: Condition) -> Condition:
    def means(row: Row) -> bool | None:
        values = (left.means(row), right.means(row))
        return False if False in values else None if None in values else True

    return Condition(f"({left.sql}) AND ({right.sql})", means)


def either(left: Condition, right: Condition) -> Condition:
    def means(row: Row) -> bool | None:
        values = (left.means(row), right.means(row))
        return True if True in values else None if None in values else False

    return Condition(f"{left.sql} OR {right.sql}", means)


def negated(inner: Condition) -> Condition:
    def means(row: Row) -> bool | None:
        value = inner.means(row)
        return None if value is None else not value

    return Condition(f"NOT ({inner.sql})", means)


SIMPLE = st.one_of(
    st.builds(below, st.just("words"), st.integers(-2, 6)),
    st.builds(below, st.just("ratio"), st.sampled_from([-0.5, 0.0, 0.25, 1.5])),
    st.builds(equal, st.just("label"), st.sampled_from(["", "a", "ß"])),
    st.builds(absent, st.sampled_from(["words", "ratio", "label", "odd"])),
    st.just(Condition("text.some.odd", lambda row: row["odd"])),  # type: ignore[arg-type, return-value]
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(negated, inner)),
    max_leaves=4,
)
RULES = st.lists(st.tuples(CONDITIONS, st.sampled_from(["keep", "drop"])), min_size=1, max_size=6)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "status": st.just("ok"),
            "words": st.none() | st.integers(-3, 7),
            "ratio": st.none() | st.sampled_from([-1.0, 0.0, 0.25, 2.0]),
            "label": st.none() | st.sampled_from(["", "a", "b", "ß"]),
            "odd": st.none() | st.booleans(),
            "code": st.none() | st.sampled_from(["deu_Latn", "fra_Latn"]),
            "bytes": st.none() | st.integers(0, 1 << 40),
        }
    ),
    max_size=12,
)


def recipe_text(eligible: Sequence[tuple[str, str]], keep: Sequence[tuple[str, str]], more: str = "") -> str:
    lines = ["version: 1", "store: {path: s}", "sources: {crawl: {root: crawl, files: ['*'], class: web}}"]
    number = itertools.count()
    for name, rules in (("eligible", eligible), ("keep", keep)):
        lines.append(f"{name}:" if rules else f"{name}: []")
        for sql, when_null in rules:
            quoted = sql.replace('"', '\\"')
            lines.append(f'  - {{drop: "{quoted}", reason: r{next(number)}, when_null: {when_null}}}')
    return "\n".join([*lines, more])


def shard_of(source: str, rows: Sequence[Row]) -> Shard:
    def table(schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist([{**row, "status": "ok"} for row in rows], schema=schema)

    return Shard(source, len(rows), {layer: table(schema) for layer, schema in LAYERS.items()})


def pinned_on(folder: Path | MemoryStore, recipe: str, shards: Mapping[str, Shard]) -> PinnedProgram:
    objects = folder if isinstance(folder, MemoryStore) else LocalStore(folder)
    store, generation = make_store(objects, shards, names=LAYERS if not shards else ())
    return pin(store, generation, rule_program(recipe_from_text(recipe), columns_of(LAYERS)))


def expected(rules: Sequence[tuple[Condition, str]], rows: Sequence[Row]) -> list[tuple[set[int], set[int]]]:
    """Return, for each row, the rules that fire and those that fire because of a null."""
    found = []
    for row in rows:
        values = [condition.means(row) for condition, _ in rules]
        null = {i for i, value in enumerate(values) if value is None and rules[i][1] == "drop"}
        found.append(({i for i, value in enumerate(values) if value} | null, null))
    return found


def expected_counts(
    source: str, rules: Sequence[tuple[Condition, str]], rows: Sequence[Row]
) -> Counter[tuple[Outcome, str]]:
    found: Counter[tuple[Outcome, str]] = Counter()
    for row, (fired, null) in zip(rows, expected(rules, rows), strict=True):
        masks = (sum(1 << i for i in fired), sum(1 << i for i in null))
        outcome = Outcome(source, str(row["code"] or "unknown"), *masks)
        found[outcome, "rows"] += 1
        found[outcome, "bytes"] += int(str(row["bytes"] or 0))
    return found


@given(RULES, RULES, st.lists(st.tuples(st.sampled_from(["crawl", "books"]), ROWS), max_size=4), st.integers(1, 3))
@settings(max_examples=scaled(30), deadline=None)
def test_decisions_equal_those_of_a_slow_evaluator(
    eligible: list[tuple[Condition, str]],
    keep: list[tuple[Condition, str]],
    shards: list[tuple[str, list[Row]]],
    threads: int,
) -> None:
    rules = [*eligible, *keep]
    text = recipe_text([(c.sql, n) for c, n in eligible], [(c.sql, n) for c, n in keep])
    named = {f"{source}-{number}": shard_of(source, rows) for number, (source, rows) in enumerate(shards)}
    objects = MemoryStore(uuid4().hex)
    pinned = pinned_on(objects, text, named)
    decisions = {one.shard: one for one in decide(pinned, threads)}
    assert list(decisions) == sorted(named)
    total: Counter[tuple[Outcome, str]] = Counter()
    for number, (source, rows) in enumerate(shards):
        name = f"{source}-{number}"
        one = decisions[name]
        want = expected(rules, rows)
        assert [rules_of(one, row) for row in range(one.rows)] == [fired for fired, _ in want]
        assert one.kept.tolist() == [not fired for fired, _ in want]
        assert one.first.tolist() == [min(fired, default=-1) for fired, _ in want]
        assert one.eligible.tolist() == [min(fired, default=len(rules)) >= len(eligible) for fired, _ in want]
        assert one.counts.total.rows == len(rows)
        total += expected_counts(source, rules, rows)
    parts = [one.counts for one in decisions.values()]
    random.Random(7).shuffle(parts)
    counts = DecisionCounts.merged(parts)
    assert counts == count_decisions(pinned, 1)
    assert list(counts.tallies) == sorted(counts.tallies)
    assert {outcome: tally.rows for outcome, tally in counts} == {
        o: n for (o, kind), n in total.items() if kind == "rows"
    }
    assert all(tally.bytes == total[outcome, "bytes"] for outcome, tally in counts)


def test_there_may_be_any_number_of_rules(tmp_path: Path) -> None:
    rules = [(below("words", limit), "drop") for limit in range(150)]
    rows: list[Row] = [
        {"words": words, "ratio": None, "label": None, "odd": None, "code": None, "bytes": 1}
        for words in (*range(160), None)
    ]
    text = recipe_text([(c.sql, n) for c, n in rules[:70]], [(c.sql, n) for c, n in rules[70:]])
    pinned = pinned_on(tmp_path, text, {"crawl-0": shard_of("crawl", rows)})
    (one,) = decide(pinned)
    assert one.first.tolist() == [*(min(w + 1, 150) if w < 149 else -1 for w in range(160)), 0]
    assert rules_of(one, 100) == set(range(101, 150))
    assert rules_of(one, 160) == set(range(150))
    assert one.eligible.tolist() == [*(words >= 69 for words in range(160)), False]
    last = max(one.counts.tallies, key=lambda outcome: outcome.null)
    assert (last.fired, last.null) == ((1 << 150) - 1,) * 2
    (eligible,) = decide(pin_of(pinned, tmp_path))
    assert eligible.rules == 70


def pin_of(pinned: PinnedProgram, folder: Path) -> PinnedProgram:
    """Return the same store, pinned with the rules of `eligible` alone."""
    generation = pinned.store.require_latest()
    return pin(pinned.store, generation, pinned.program.only_eligible())


def test_decisions_do_not_depend_on_blocks(tmp_path: Path) -> None:
    """A rule that reads text makes blocks small, and layers differ in their row groups."""
    rows: list[Row] = [
        {"words": n % 5, "ratio": None, "label": "a", "odd": None, "code": "deu_Latn", "bytes": 2}
        for n in range(40_000)
    ]
    wide = recipe_text([("text.some.words < 2 AND samples.text IS NULL", "keep")], [])
    narrow = recipe_text([("text.some.words < 2", "keep")], [])
    shards = {"crawl-0": shard_of("crawl", rows)}
    (slow,) = decide(pinned_on(tmp_path, wide, shards))
    (fast,) = decide(pinned_on(tmp_path, narrow, shards))
    assert slow.counts == fast.counts
    assert slow.counts.kept == Tally(24_000, 48_000)
    assert slow.first.tolist() == fast.first.tolist() == [0 if n % 5 < 2 else -1 for n in range(40_000)]


def test_an_empty_store_has_no_decisions(tmp_path: Path) -> None:
    assert (
        count_decisions(pinned_on(tmp_path, recipe_text([("text.some.odd", "keep")], []), {})) == DecisionCounts.empty()
    )


def test_when_null_error_names_the_first_sample(tmp_path: Path) -> None:
    rows = [{"words": words, "code": None, "bytes": None} for words in (1, 2, None, None)]
    table = pa.Table.from_pylist([{**row, "status": "ok"} for row in rows], schema=MEASURES)
    shards = {
        "crawl-0": Shard("crawl", 0, {"text.some": MEASURES.empty_table()}),
        "crawl-1": Shard("crawl", 4, {"text.some": table}),
        "crawl-2": Shard("crawl", 4, {"text.some": table}),
    }
    pinned = pinned_on(tmp_path, recipe_text([], [("text.some.words < 1", "error")]), shards)
    samples = next(iter(pinned.store.batches(pinned.store.manifest(pinned.store.require_latest(), "samples")[1])))
    with pytest.raises(RecipeError) as raised:
        count_decisions(pinned)
    assert_told(
        str(raised.value),
        "recipe.yaml:6",
        "keep[0]",
        "'r0'",
        str(samples["id"][2].as_py().hex()),
        "crawl-1",
        "row 2",
        whole=True,
    )


def test_a_condition_that_fails_on_a_value_is_refused_with_its_line(tmp_path: Path) -> None:
    rows = [{"label": "7", "code": None, "bytes": None}, {"label": "x", "code": None, "bytes": None}]
    text = recipe_text([("text.some.label = 'y'", "keep"), ("text.some.label::INT > 3", "keep")], [])
    with pytest.raises(RecipeError) as raised:
        count_decisions(pinned_on(tmp_path, text, {"crawl-0": shard_of("crawl", rows)}))
    assert_told(str(raised.value), "recipe.yaml:6", "eligible[1]", "'r1'")
    assert len(str(raised.value).splitlines()) == 1


def test_a_layer_with_other_rows_than_its_samples_is_refused(tmp_path: Path) -> None:
    rows = [{"words": 1, "code": None, "bytes": None}]
    table = pa.Table.from_pylist([{**row, "status": "ok"} for row in rows], schema=MEASURES)
    with pytest.raises(StoreError, match=r"is not aligned with samples/crawl-0\.\w+\.parquet"):
        pinned_on(
            tmp_path, recipe_text([("text.some.odd", "keep")], []), {"crawl-0": Shard("crawl", 2, {"text.some": table})}
        )


def test_without_measured_texts_bytes_are_those_of_records(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"status": "ok", "words": n} for n in range(3)], schema=MEASURES)
    shard = Shard("crawl", 3, {"text.some": table}, lengths=[10, 100, 1000])
    pinned = pinned_on(tmp_path, recipe_text([("text.some.words < 1", "keep")], []), {"crawl-0": shard})
    assert pinned.bytes_of == "record"
    assert count_decisions(pinned).tallies == {
        Outcome("crawl", "unknown", 0, 0): Tally(2, 1100),
        Outcome("crawl", "unknown", 1, 0): Tally(1, 10),
    }


def test_only_valid_declared_languages_count(tmp_path: Path) -> None:
    declared = ["de-AT", "EN", "zh_Hans", "a poem", "<script>", None, ""]
    pages = pa.schema([pa.field("status", pa.string(), nullable=False), pa.field("language", pa.string())])
    table = pa.table({"status": ["ok"] * 7, "language": declared}, schema=pages)
    store, generation = make_store(LocalStore(tmp_path), {"crawl-0": Shard("crawl", 7, {"extract.main": table})})
    text = recipe_text([("extract.main.status = 'x'", "null")], [], "extract: {main: {}}\ntext: extract.main.text")
    counts = count_decisions(pin(store, generation, bind(recipe_from_text(text)).rules))
    assert {outcome.language: tally.rows for outcome, tally in counts} == {"de": 1, "en": 1, "unknown": 4, "zh": 1}


def test_dropped_samples_are_listed_with_all_their_reasons(tmp_path: Path) -> None:
    rows = [{"words": n, "code": None, "bytes": None} for n in range(4)]
    text = recipe_text([("text.some.words < 1", "keep")], [("text.some.words < 3", "keep")])
    pinned = pinned_on(tmp_path, text, {"crawl-0": shard_of("crawl", rows), "crawl-1": shard_of("crawl", [])})
    tables = [dropped_samples(pinned, shard, one) for shard, one in zip(pinned.shards, decide(pinned), strict=True)]
    listed = pa.concat_tables(tables)
    assert listed.select(["source", "url", "reason", "reasons"]).to_pylist() == [
        {"source": "crawl", "url": "https://crawl-0.example/0", "reason": "r0", "reasons": ["r0", "r1"]},
        {"source": "crawl", "url": "https://crawl-0.example/1", "reason": "r1", "reasons": ["r1"]},
        {"source": "crawl", "url": "https://crawl-0.example/2", "reason": "r1", "reasons": ["r1"]},
    ]
    ids = pinned.store.batches(pinned.store.manifest(pinned.store.require_latest(), "samples")[0])
    assert listed["id"].to_pylist() == next(iter(ids))["id"].to_pylist()[:3]

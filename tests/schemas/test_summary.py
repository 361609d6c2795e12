"""A summary reconciles, says what it was given, and survives its JSON."""

import pyarrow as pa

from tests.messages import assert_told
from winnow.schemas.statistics import ShardStatistics, spec_of
from winnow.schemas.summary import (
    Bin,
    ColumnSummary,
    LayerSummary,
    Measure,
    Quantile,
    SourceSummary,
    StageSummary,
    StoreSummary,
    ValueCount,
    by_count,
    summarise_layer,
)
from winnow.schemas.typed_json import read_json

CRAWL = SourceSummary("crawl", "web", "unknown", 2, 900, 10, 6, {"revisit": 3}, {"truncated": 1}, {"text": 6})
BOOKS = SourceSummary("books", "public", "CC0-1.0", 1, 100, 2, 2, by_modality={"text": 1, "image": 1})


def test_a_source_balances_when_every_record_went_somewhere() -> None:
    assert CRAWL.balanced
    assert not SourceSummary("crawl", "web", "unknown", 1, 9, 10, 6, {"revisit": 3}).balanced


def test_a_store_balances_when_all_of_its_sources_and_stages_do() -> None:
    stage = StageSummary("dedupe", 1, 8, 5, {"near": 2})
    assert StoreSummary("s", 1, None, (CRAWL, BOOKS)).unbalanced == ()
    assert not stage.balanced
    assert StoreSummary("s", 1, None, (CRAWL, BOOKS), (stage,)).unbalanced == (stage.name,)


def test_the_total_adds_every_count() -> None:
    total = StoreSummary("s", 1, None, (CRAWL, BOOKS)).total()
    assert total == SourceSummary(
        "total", "", "", 3, 1000, 12, 8, {"revisit": 3}, {"truncated": 1}, {"image": 1, "text": 7}
    )


def test_reasons_are_shown_by_falling_count_and_then_by_name() -> None:
    assert by_count({"b": 1, "c": 2, "a": 1}) == [("c", 2), ("a", 1), ("b", 1)]


def test_a_layer_is_summarised_from_its_statistics() -> None:
    batch = pa.record_batch(
        {
            "status": ["ok", "ok", "failed", "empty"],
            "text": ["né", "abc", None, None],
            "hit": [True, False, True, None],
            "score": [0.5, None, float("nan"), float("inf")],
        }
    )
    statistics = ShardStatistics.of(spec_of(batch.schema, categorical=("status",)), [batch])
    layer = summarise_layer("extract.main", "1", 77, statistics)
    assert (layer.rows, layer.bytes, layer.nulls, layer.statuses) == (4, 77, 1, {"empty": 1, "failed": 1, "ok": 2})
    assert [column.name for column in layer.columns] == ["hit", "score", "status", "text"]
    assert layer.column("hit") == ColumnSummary(
        "hit", "boolean", 4, 1, top=(ValueCount("true", 2), ValueCount("false", 1))
    )
    text, score, status = layer.column("text"), layer.column("score"), layer.column("status")
    assert text is not None
    assert score is not None
    assert status is not None
    assert text.distinct == 2
    assert [(measure.name, measure.minimum, measure.maximum) for measure in text.measures] == [
        ("bytes", 3, 3),
        ("characters", 2, 3),
    ]
    assert text.measures[1].bins == (Bin(2, 2, 1), Bin(3, 3, 1))
    assert text.measures[1].mean == 2.5
    assert text.measures[1].quantile(0.5) == 2
    assert [(measure.name, measure.count, measure.mean) for measure in score.measures] == [("value", 1, 0.5)]
    assert status.top == (ValueCount("ok", 2), ValueCount("empty", 1), ValueCount("failed", 1))


def test_values_past_those_shown_are_counted_as_other() -> None:
    batch = pa.record_batch({"d": [f"{number:02}" for number in range(210)]})
    statistics = ShardStatistics.of(spec_of(batch.schema, categorical=("d",)), [batch])
    column = summarise_layer("samples", "1", 0, statistics).column("d")
    assert column is not None
    assert (len(column.top), column.other, column.uncounted) == (200, 10, 0)


def test_a_summary_survives_its_json() -> None:
    measure = Measure("value", 2, -0.5, 3, 1.25, (Quantile(0.5, 1.0),), (Bin(0, 1.5, 2),))
    column = ColumnSummary("score", "float", 3, 1, (measure,), None, (ValueCount("\u202ea", 1),), 1, 0)
    layer = LayerSummary("samples", "1", 3, 10, 1, {"ok": 2}, (column,))
    summary = StoreSummary("./s", 3, "ab", (CRAWL, BOOKS), (StageSummary("ingest", 1, 12, 8, {}, {}),), (layer,))
    assert read_json(StoreSummary, summary.to_json()) == summary
    assert read_json(StoreSummary, summary.to_json()).to_json() == summary.to_json()


def test_a_store_without_anything_survives_its_json() -> None:
    summary = StoreSummary("./s", 0, None)
    assert read_json(StoreSummary, summary.to_json()) == summary


def test_samples_with_something_unread_are_noted_by_source() -> None:
    pictures = SourceSummary("pictures", "web", "unknown", 3, 900, 3, 3, unread=1)
    summary = StoreSummary("s", 1, None, (CRAWL, pictures))
    (note,) = summary.unread_notes()
    assert_told(note, "pictures:", "1 of 3")
    assert summary.total().unread == 1

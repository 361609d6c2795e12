"""Shards that are unlike the others of their source, told on the report and on the inspector's page by one fact."""

from pathlib import Path

import numpy as np

from tests.runners.inspect.opened_stores import ask, opened, plan, write_store
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.rules_by_language import RulesByLanguage
from winnow.runners.facts.shards import ShardLines, shard_lines, shards, unlike, unlike_others
from winnow.schemas.summary import StoreSummary


def lines(rows: list[int], taken: list[int]) -> ShardLines:
    names, sources = [f"s{at}" for at in range(len(rows))], ["crawl"] * len(rows)
    numbers = np.array(rows, np.int64), np.array(taken, np.int64)
    return ShardLines(names, sources, *numbers, None, unlike_others(sources, *numbers, None))


def test_the_report_lists_shards_that_are_unlike_the_others_and_nothing_where_all_are_alike() -> None:
    summary = StoreSummary("store", 1, None)
    alike = lines([100] * 6, [1000] * 6)
    assert unlike(alike).rows == []
    assert shards(summary, Examples(shards=alike)) is None
    assert shards(summary, Examples()) is None
    other = lines([100] * 5 + [0, 100], [1000] * 6 + [9000])
    found = shards(summary, Examples(shards=other))
    assert found is not None
    assert found.brief == "2 of 7 shards unlike the others"
    assert [row[0] for row in unlike(other).rows] == ["s5", "s6"]
    assert "bytes a row: 9 times the median of crawl" in str(found.body)


def test_a_shard_is_compared_with_the_others_of_its_source() -> None:
    sources = ["b", "a", "a", "a", "b", "a", "a", "b", "a"]
    rows = np.array([1, 100, 100, 100, 1, 10, 100, 99, 0])
    taken = np.array([1, 1_000, 1_200, 1_000, 1, 100, 1_300, 9_999, 5])
    dropped = np.array([1.0, 0.1, 0.3, 0.1, 0.0, 0.5, 0.1, 0.5, 0.9])
    found = unlike_others(sources, rows, taken, dropped)
    assert [at for at, why in enumerate(found) if why is not None] == [5, 6, 8]  # of b there are too few
    assert [why.split(": ")[0] for why in (found[5] or "").split("; ")] == ["rows", "share dropped"]
    assert "0.1 times" in (found[5] or "")
    assert "+40.0%" in (found[5] or "")
    assert "1.3 times" in (found[6] or "")  # 1.2 times is like the others
    noisy = np.exp([0, 0.1, 0.2, 0.3, 1.0, 1.1, 0.1]) * 1e6  # deviations of 0.1: six of them are 0.89
    marks = [why is not None for why in unlike_others(["a"] * 7, np.full(7, 10), noisy.astype(np.int64), None)]
    assert marks == [False] * 5 + [True, False]


def test_the_lines_and_the_languages_are_those_of_the_inspector(tmp_path: Path) -> None:
    file = write_store(tmp_path / "made")
    shown = opened(file)
    found = shard_lines(shown.store, shown.generation)
    listed = {row["shard"]: row for row in ask(shown, "shards", order="shard")["rows"]}
    assert [*listed] == found.names
    for name, rows, taken in zip(found.names, found.rows, found.bytes, strict=True):
        assert (listed[name]["rows"], listed[name]["bytes"]) == (rows, taken)
    counted = RulesByLanguage.of_summary(plan(file))
    heat = ask(shown, "heatmap")
    assert [(one["code"], one["rows"], one["kept"]) for one in heat["languages"]] == [
        (code, counted.rows[code], counted.kept[code]) for code in counted.languages
    ]
    for rule in heat["rules"]:
        key = f"{rule['list']}.{rule['reason']}"
        firsts = [cell["first"] for cell in rule["cells"]]
        assert firsts == [counted.dropped(key, code) for code in counted.languages]
        assert rule["all"]["first"] == sum(firsts)
    assert sum(sum(of.values()) for of in counted.drops.values()) == sum(counted.rows.values()) - sum(
        counted.kept.values()
    )

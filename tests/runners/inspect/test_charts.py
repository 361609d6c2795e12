"""Linked charts, heatmaps, histograms and lists of samples, compared with the rows themselves."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.property_sizes import scaled
from tests.runners.inspect.opened_stores import ask, opened, write_store
from winnow.pipelines.processes.cancelling import CancelledError, cancellable
from winnow.runners.commands.main import main
from winnow.runners.inspect import dimensions, measures
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.errors import WinnowError

Rows = list[dict[str, Any]]
CHARTS = ("source", "reason", "kept", "domain", "day", "text.length.characters", "samples.mime")
NAMES = {"source": "samples.source.name", "domain": "samples.domain"}
READ = [
    "samples.id",
    "samples.source.name",
    "samples.domain",
    "samples.source.fetched_at",
    "samples.mime",
    "samples.text",
    "text.length.characters",
    "text.length.lines",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("inspected") / "made")


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of which one site is forgotten."""
    recipe = write_store(tmp_path_factory.mktemp("forgotten") / "made")
    assert main(["forget", str(recipe), "--domain", "site2.example", "--reason", "asked"]) == 0
    return recipe


def all_rows(of: Opened) -> Rows:
    """Every visible row with its decision, as SQL sees it."""
    rows: Rows = pa.Table.from_batches(of.tables.read("rows", READ)).to_pylist()
    decisions = {
        row["id"]: row
        for row in pa.Table.from_batches(of.tables.read("decisions", ["id", "kept", "reason", "reasons"])).to_pylist()
    }
    for row in rows:
        decided = decisions[row["samples.id"]]
        row |= {"kept": decided["kept"], "reason": decided["reason"], "reasons": decided["reasons"] or []}
        row["day"] = None if row["samples.source.fetched_at"] is None else str(row["samples.source.fetched_at"])[:10]
    return rows


def value_of(row: dict[str, Any], chart: str) -> object:
    if chart == "kept":
        return "kept" if row["kept"] else "dropped"
    if chart == "reason":
        return row["reason"] or "kept"
    return row["day"] if chart == "day" else row[NAMES.get(chart, chart)]


def left(row: dict[str, Any], chart: str, filters: dict[str, Any], edges: list[float]) -> bool:
    """Whether the choice in a chart leaves a row; `edges`: of the bins of lengths."""
    if chart not in filters:
        return True
    if chart != "text.length.characters":
        return value_of(row, chart) in filters[chart]
    low, high = filters[chart]
    value = row[chart]
    return bool((value >= low or low == edges[0]) and (value < high or high == edges[-1]))


def test_each_chart_shows_the_rows_that_the_choices_in_all_others_leave(file: Path, forgotten: Path) -> None:
    chance = random.Random(5)
    for shown in (opened(file), opened(forgotten)):
        rows = all_rows(shown)
        charts = [{"column": name, "bins": 7} for name in CHARTS]
        edges = next(
            one["edges"] for one in ask(shown, "linked", dimensions=charts)["dimensions"] if one["edges"] is not None
        )
        for _ in range(scaled(40)):
            filters: dict[str, Any] = {}
            for chart in chance.sample(CHARTS, chance.randint(0, 4)):
                if chart == "text.length.characters":
                    low = chance.randrange(0, len(edges) - 1)
                    filters[chart] = [edges[low], edges[chance.randrange(low + 1, len(edges))]]
                else:
                    known = sorted({value_of(row, chart) for row in rows}, key=str)
                    filters[chart] = chance.sample(known, chance.randint(1, len(known)))

            found = ask(shown, "linked", dimensions=charts, filters=filters)
            whole = [row for row in rows if all(left(row, chart, filters, edges) for chart in CHARTS)]
            assert (found["rows"], found["kept"]) == (len(whole), sum(row["kept"] for row in whole))
            for chart in found["dimensions"]:
                name = chart["column"]
                others = [row for row in rows if all(left(row, one, filters, edges) for one in CHARTS if one != name)]
                if chart["edges"] is None:
                    expected = Counter(value_of(row, name) for row in others)
                    kept = Counter(value_of(row, name) for row in others if row["kept"])
                    assert {one["label"]: one["rows"] for one in chart["groups"] if one["rows"]} == expected
                    assert {one["label"]: one["kept"] for one in chart["groups"] if one["kept"]} == kept
                else:
                    assert sum(one["rows"] for one in chart["groups"]) == len(others)
                    inner = [row for row in others if edges[1] <= row[name] < edges[2]]
                    assert chart["groups"][1]["rows"] == len(inner)


def test_a_label_that_is_not_among_the_most_frequent_is_chosen_all_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dimensions, "_MOST_LABELS", 2)
    shown = opened(file)
    charts = [{"column": "domain"}, {"column": "source"}]
    (domains, _) = ask(shown, "linked", dimensions=charts)["dimensions"]
    named = [one["label"] for one in domains["groups"]]
    assert len(named) == 3
    assert dimensions.OTHERS in named
    rare = next(f"site{number}.example" for number in range(5) if f"site{number}.example" not in named)
    rows = [row for row in all_rows(shown) if row["samples.domain"] == rare]
    found = ask(shown, "linked", dimensions=charts, filters={"domain": [rare]})
    assert (found["rows"], found["kept"]) == (len(rows), sum(row["kept"] for row in rows))
    chosen = [one["label"] for one in found["dimensions"][0]["groups"] if one["chosen"]]
    assert chosen == [rare]
    assert sum(one["rows"] for one in found["dimensions"][0]["groups"]) == 240
    nothing = ask(shown, "linked", dimensions=charts, filters={"domain": ["nowhere.example"]})
    assert nothing["rows"] == 0


def test_a_threshold_by_a_key_of_long_texts_has_no_edge(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_TEXT_BYTES", 0)
    with pytest.raises(AskedError, match=r"samples\.source\.name has values too long"):
        ask(opened(file), "samples", filter={"reason": "long"}, order="edge")


def test_rows_are_not_grouped_by_long_texts_or_very_many(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charts = [{"column": "samples.text"}]
    assert ask(opened(file), "linked", dimensions=charts)["rows"] == 240  # there are few
    with monkeypatch.context() as patched:
        patched.setattr(dimensions, "_MOST_TEXTS", 50)
        with pytest.raises(UnavailableError, match="more than 50 different texts"):
            ask(opened(file), "linked", dimensions=charts)
    monkeypatch.setattr(dimensions, "FEW_ROWS", 1)
    with pytest.raises(UnavailableError, match=r"samples\.text holds long texts"):
        ask(opened(file), "linked", dimensions=charts)
    assert ask(opened(file), "linked", dimensions=[{"column": "domain"}])["rows"] == 240


def test_a_heatmap_has_what_each_rule_drops_of_each_language(file: Path, forgotten: Path) -> None:
    for shown in (opened(file), opened(forgotten)):
        rows = all_rows(shown)
        found = ask(shown, "heatmap")
        assert [one["rows"] for one in found["languages"]] == [len(rows)]  # none is measured
        fires = Counter(reason for row in rows for reason in row["reasons"])
        assert {one["reason"]: one["cells"][0]["rows"] for one in found["rules"]} == fires
        first = Counter(row["reason"] for row in rows if not row["kept"])
        assert {one["reason"]: one["cells"][0]["first"] for one in found["rules"] if one["cells"][0]["first"]} == first
        assert {one["reason"]: one["all"]["fires"] for one in found["rules"]} == fires
        assert {one["reason"]: one["all"]["first"] for one in found["rules"] if one["all"]["first"]} == first
        rules = {one["reason"]: one for one in ask(shown, "rules")["rules"]}
        assert {reason: one["fires"] for reason, one in rules.items() if one["fires"]} == fires
        assert {reason: one["first"] for reason, one in rules.items() if one["first"]} == first


def test_a_histogram_counts_every_value_and_shows_the_thresholds(file: Path) -> None:
    shown = opened(file)
    rows = [row for row in all_rows(shown) if row["samples.source.name"] == "pages"]
    found = ask(shown, "histogram", column="text.length.characters", bins=12, filter={"source": "pages"})
    assert sum(found["counts"]) + found["nulls"] == len(rows)
    assert sum(found["kept"]) == sum(row["kept"] for row in rows)
    low, high = found["edges"][3:5]
    assert found["counts"][3] == sum(low <= row["text.length.characters"] < high for row in rows)
    assert [(one["reason"], one["value"]) for one in found["thresholds"]] == [
        ("short", 12),
        ("long", None),
        ("site", 40),
    ]


def test_a_threshold_of_a_table_names_the_column_of_its_keys(file: Path) -> None:
    keys = {one["reason"]: [cut["key"] for cut in one["cuts"]] for one in ask(opened(file), "rules")["rules"]}
    assert keys["long"] == ["samples.source.name"]
    assert keys["short"] == [None]


FILTERS: dict[str, tuple[dict[str, Any], Any]] = {
    "all": ({}, lambda row: True),
    "a source": ({"source": "lines"}, lambda row: row["samples.source.name"] == "lines"),
    "two domains": (
        {"domain": ["site1.example", "site4.example", "none.example"]},
        lambda row: row["samples.domain"] in ("site1.example", "site4.example"),
    ),
    "a reason": ({"reason": "lines"}, lambda row: "lines" in row["reasons"]),
    "a first reason": ({"first": ["lines", "short"]}, lambda row: row["reason"] in ("lines", "short")),
    "kept": ({"kept": True}, lambda row: row["kept"]),
    "dropped pages": (
        {"kept": False, "source": ["pages"]},
        lambda row: not row["kept"] and row["samples.source.name"] == "pages",
    ),
    "a range": (
        {"ranges": {"text.length.characters": [20, 30], "text.length.lines": [None, 2]}},
        lambda row: 20 <= row["text.length.characters"] <= 30 and row["text.length.lines"] <= 2,
    ),
    "two days": (
        {"day": ["2024-01-11", "2024-03-11", "1999-01-01"]},
        lambda row: row["day"] in ("2024-01-11", "2024-03-11"),
    ),
    "a very wide range": (
        {"ranges": {"text.length.characters": [-(10**30), 10**400], "text.length.lines": [2, 10**30]}},
        lambda row: row["text.length.lines"] >= 2,
    ),
    "a text": ({"text": "ÜBER", "kept": True}, lambda row: row["kept"] and "über" in row["samples.text"]),
}


@pytest.mark.parametrize("what", FILTERS)
def test_pages_of_samples_have_each_row_that_a_filter_leaves_once(file: Path, forgotten: Path, what: str) -> None:
    wanted, is_left = FILTERS[what]
    for shown in (opened(file), opened(forgotten)):
        expected = {row["samples.id"]: row for row in all_rows(shown) if is_left(row)}
        listed: list[dict[str, Any]] = []
        for page in range(100):
            found = ask(shown, "samples", filter=wanted, page=page, size=17)
            listed += found["rows"]
            if not found["rows"]:
                break
        assert found["total"] == len(expected) == len(listed)
        assert {one["id"] for one in listed} == expected.keys()
        for one in listed:
            row = expected[one["id"]]
            assert (one["kept"], one["reason"], one["reasons"]) == (row["kept"], row["reason"], row["reasons"])
            assert one["preview"] == row["samples.text"][:300]


def test_samples_of_a_reason_come_nearest_to_its_threshold_first(file: Path) -> None:
    shown = opened(file)
    for reason, limits in (("short", {"lines": 12, "pages": 12}), ("long", {"lines": 70, "pages": 85})):
        found = ask(shown, "samples", filter={"reason": reason}, order="edge", size=100)
        distances = [abs(one["value"] - one["limit"]) for one in found["rows"]]
        assert distances == sorted(distances)
        assert len(distances) == min(100, found["total"]) > 0
        assert all(one["limit"] == limits[one["source"]] for one in found["rows"])
        again = ask(shown, "samples", filter={"reason": reason}, order="edge", size=5, page=1)
        assert [one["id"] for one in again["rows"]] == [one["id"] for one in found["rows"][5:10]]
    kept = ask(shown, "samples", filter={"kept": True}, near="long", order="edge")
    assert all(one["kept"] and one["value"] <= one["limit"] for one in kept["rows"])
    ordered = ask(shown, "samples", filter={}, order="-text.length.characters", size=100)
    lengths = [row["text.length.characters"] for row in all_rows(shown)]
    found_lengths = [len(one["preview"]) for one in ordered["rows"]]
    assert found_lengths == sorted(lengths, reverse=True)[:100]


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "a source": ("samples", {"filter": {"source": "line"}}, "did you mean 'lines'"),
    "a reason": ("samples", {"filter": {"reason": "shor"}}, "did you mean 'short'"),
    "a part of a filter": ("samples", {"filter": {"sauce": "lines"}}, "did you mean 'source'"),
    "no object": ("samples", {"filter": 3}, "expected an object"),
    "a page": ("samples", {"page": -1}, "page: expected a whole number"),
    "a range": ("samples", {"filter": {"ranges": {"text.length.lines": "x"}}}, "expected [low, high]"),
    "a range of texts": ("samples", {"filter": {"ranges": {"samples.mime": [1, 2]}}}, "has no ranges"),
    "a range of nothing": (
        "samples",
        {"filter": {"ranges": {"text.length.lines": [float("nan"), 2]}}},
        "expected numbers or null",
    ),
    "an order of texts": ("samples", {"order": "+samples.text"}, "no ranges and no order"),
    "an order of times": ("samples", {"order": "-samples.source.fetched_at"}, "no ranges and no order"),
    "an order of lists": ("samples", {"order": "+samples.media"}, "no ranges and no order"),
    "a text of bins": ("histogram", {"column": "text.length.lines", "bins": "4"}, "bins: expected a whole number"),
    "many bins": (
        "linked",
        {"dimensions": [{"column": "text.length.lines", "bins": 1000}]},
        "bins: expected a whole number",
    ),
    "an order": ("samples", {"order": "best"}, "expected spread, edge"),
    "an edge of nothing": ("samples", {"order": "edge"}, "needs a reason"),
    "a column": ("linked", {"dimensions": [{"column": "text.length.charcters"}]}, "did you mean"),
    "a column of lists": ("linked", {"dimensions": [{"column": "samples.media"}]}, "not grouped by"),
    "a label": ("linked", {"dimensions": [], "filters": {"source": ["line"]}}, "did you mean 'lines'"),
    "an id": ("sample", {"id": "../../etc/passwd"}, "hexadecimal digits"),
    "another id": ("sample", {"id": "0" * 32}, "no sample has the id"),
    "a histogram of texts": ("histogram", {"column": "samples.mime"}, "not a number"),
    "where to save": ("patch", {"changes": [], "save": "../other.yaml"}, "beside recipe.yaml"),
    "over the recipe": ("patch", {"changes": [], "save": "recipe.yaml"}, "exists already"),
    "over a table": ("patch", {"changes": [], "save": "limits.csv"}, "beside recipe.yaml"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_answered_is_told_in_a_line(file: Path, what: str) -> None:
    view, asked, told = WRONG[what]
    before = (file.read_text(), sorted(file.parent.iterdir()))
    with pytest.raises(WinnowError) as error:
        ask(opened(file), view, **asked)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert (file.read_text(), sorted(file.parent.iterdir())) == before


def test_forgotten_samples_are_found_by_nothing(file: Path, forgotten: Path) -> None:
    ids = {row["samples.id"] for row in all_rows(opened(file)) if row["samples.domain"] == "site2.example"}
    shown = opened(forgotten)
    assert len(ids) == 48
    assert ask(shown, "samples", filter={"domain": "site2.example"})["total"] == 0
    for identity in sorted(ids)[:5]:
        with pytest.raises(WinnowError, match="no sample has the id"):
            ask(shown, "sample", id=identity)
    charts = ask(shown, "linked", dimensions=[{"column": "domain"}, {"column": "reason"}])
    labels = {group["label"] for chart in charts["dimensions"] for group in chart["groups"]}
    assert not {"site2.example", "forgotten"} & labels
    assert ask(shown, "rules")["rows"] == charts["rows"] == 240 - len(ids)


@pytest.mark.parametrize("view", ["linked", "heatmap", "samples", "simulate"])
def test_a_request_that_is_cancelled_stops(file: Path, view: str) -> None:
    shown = opened(file)
    ask(shown, "rules")  # the frame is there
    requests: dict[str, dict[str, Any]] = {
        "linked": {"dimensions": [{"column": "source"}]},
        "heatmap": {},
        "samples": {"filter": {"text": "pears"}},
        "simulate": {"changes": [{"reason": "short", "cut": 0, "value": 20}]},
    }
    asked = requests[view]
    with cancellable(lambda: True), pytest.raises(CancelledError):
        ask(shown, view, **asked)
    assert ask(shown, view, **asked)


def test_rules_of_two_lists_with_one_reason_are_counted_together_and_told_apart(tmp_path: Path) -> None:
    file = write_store(tmp_path / "made", dedupe="")
    text = file.read_text().replace("reason: lines", "reason: short")
    file.write_text(text)  # `short` is in eligible and in keep
    shown = opened(file)
    rules = [one for one in ask(shown, "rules")["rules"] if one["reason"] == "short"]
    assert [one["list"] for one in rules] == ["eligible", "keep"]
    assert all(one["first"] > 0 for one in rules)
    both = sum(one["first"] for one in rules)
    (chart,) = ask(shown, "linked", dimensions=[{"column": "reason"}])["dimensions"]
    assert [group["rows"] for group in chart["groups"] if group["label"] == "short"] == [both]
    (chosen,) = ask(shown, "linked", dimensions=[{"column": "source"}], filters={"reason": ["short"]})["dimensions"]
    assert sum(group["rows"] for group in chosen["groups"]) == both
    assert ask(shown, "samples", filter={"first": "short"})["total"] == both
    heat = [one for one in ask(shown, "heatmap")["rules"] if one["reason"] == "short"]
    assert [one["all"]["first"] for one in heat] == [one["first"] for one in rules]
    reasons = [one["reasons"] for one in ask(shown, "domains")["rows"]]
    assert all(len(own) == len({one["reason"] for one in own}) for own in reasons)
    assert sum(one["rows"] for own in reasons for one in own if one["reason"] == "short") == both
    lost = [one for step in ask(shown, "funnel")["steps"] for one in step["lost"] if one["reason"] == "short"]
    assert [one["rows"] for one in lost] == [one["first"] for one in rules]  # in the steps of their lists
    values = {}
    for one in rules:
        edge = ask(shown, "samples", filter={"reason": "short"}, order="edge", list=one["list"])["rows"]
        values[one["list"]] = {row["column"] for row in edge}
    assert values == {"eligible": {"text.length.characters"}, "keep": {"text.length.lines"}}
    for row in ask(shown, "samples", filter={"first": "short"}, size=50)["rows"]:
        fires = [one["list"] for one in ask(shown, "sample", id=row["id"])["decision"]["rules"] if one["fires"]]
        assert 1 <= len(fires) <= 4
    in_keep = ask(shown, "samples", filter={"ranges": {"text.length.lines": [7, None]}, "first": "short"})["rows"]
    long = next(row for row in in_keep if row["reasons"][0] == "short")
    told = ask(shown, "sample", id=long["id"])["decision"]
    assert [one["list"] for one in told["rules"] if one["fires"] and one["reason"] == "short"] == ["keep"]
    assert "(keep)" in told["words"][0]

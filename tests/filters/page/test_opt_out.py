"""The columns of what headers and elements say."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.filters.page.opt_out import OPERATOR
from winnow.filters.web.rights.opt_outs import OptOutConfig, opt_out
from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.rows.samples import TIMESTAMP
from winnow.schemas.safety import subcategories

DEFAULTS = OptOutConfig()
FETCHED = datetime(2024, 5, 1, tzinfo=UTC)
GOLDEN = Path(__file__).parent / "golden" / "opt_out.json"
BOOLEANS = ("opted_out", "noai", "noimageai", "noindex", "noimageindex", "noarchive", "nosnippet", "tdm", "train_ai_no")


def measured(*metadata: Json, config: OptOutConfig = DEFAULTS, fetched: datetime | None = FETCHED) -> list[Any]:
    columns = [
        pa.array([canonical_json(one) for one in metadata], pa.string()),
        pa.array([fetched] * len(metadata), TIMESTAMP),
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=list(OPERATOR.reads(config)))
    found = opt_out(batch, config)
    assert found.schema == OPERATOR.writes(config)
    return list(found.to_pylist())


def headers(**values: str | list[str]) -> Json:
    named = {name.replace("_", "-"): [value] if isinstance(value, str) else value for name, value in values.items()}
    return {"http_status": 200, "opt_out": {"headers": named}}


def metas(values: dict[str, Json]) -> Json:
    return {"opt_out": {"headers": {}, "meta": values}}


def true_of(row: dict[str, Any]) -> set[str]:
    return {name for name, value in row.items() if value is True}


def test_a_response_that_says_nothing_is_not_opted_out() -> None:
    [row] = measured({"opt_out": {"headers": {}}})
    assert row["status"] == "ok"
    assert [row[name] for name in BOOLEANS] == [False] * len(BOOLEANS)
    assert (row["malformed"], row["expired"], row["unavailable_after"], row["signals"]) == (False, False, None, [])


@pytest.mark.parametrize(
    "metadata", [{}, {"warc_type": "conversion"}, {"opt_out": True}, {"a": {"opt_out": {"headers": {}}}}]
)
def test_without_a_response_nothing_is_known(metadata: Json) -> None:
    [row] = measured(metadata)
    assert row["status"] == "no_response"
    assert {value for name, value in row.items() if name != "status"} == {None}


def test_elements_alone_can_say_yes_but_not_no() -> None:
    refused, silent = measured(
        {"opt_out": {"meta": {"robots": ["noai"]}}}, {"opt_out": {"meta": {"robots": ["index"]}}}
    )
    assert (refused["status"], refused["opted_out"], refused["noai"], refused["tdm"]) == ("ok", True, True, None)
    assert (silent["status"], silent["opted_out"], silent["noai"]) == ("ok", None, None)


def test_each_statement_has_its_column_and_is_shown() -> None:
    rows = measured(
        headers(x_robots_tag=["googlebot: noindex", "noai"]),
        headers(tdm_reservation="1", tdm_policy="https://example.org/policy"),
        headers(tdm_reservation="0"),
        headers(tdm_reservation="yes please"),
        headers(content_usage="train-ai=n", content_signal="search=yes"),
        metas({"robots": ["noindex, noarchive"], "ccbot": ["noimageai"], "otherbot": ["noai"]}),
    )
    assert [true_of(row) for row in rows] == [
        {"opted_out", "noai"},
        {"opted_out", "tdm"},
        set(),
        {"opted_out", "tdm", "malformed"},
        {"opted_out", "train_ai_no"},
        {"noindex", "noarchive", "noimageai"},
    ]
    assert rows[0]["signals"] == [{"where": "header", "name": "x-robots-tag", "value": "noai"}]
    assert rows[5]["signals"] == [
        {"where": "meta", "name": "ccbot", "value": "noimageai"},
        {"where": "meta", "name": "robots", "value": "noindex, noarchive"},
    ]


def test_the_configuration_says_who_we_are_and_what_counts() -> None:
    page = headers(x_robots_tag="otherbot: noindex")
    assert true_of(measured(page)[0]) == set()
    assert true_of(measured(page, config=OptOutConfig(agents=("otherbot",)))[0]) == {"noindex"}
    strict = OptOutConfig(agents=("otherbot",), counts=("noindex",), max_signals=0)
    assert true_of(measured(page, config=strict)[0]) == {"noindex", "opted_out"}
    assert measured(page, config=strict)[0]["signals"] == []


def test_a_page_that_was_old_when_it_was_fetched_has_expired() -> None:
    pages = [headers(x_robots_tag=f"unavailable_after: {day}") for day in ("2024-04-30", "2024-05-02", "someday")]
    past, future, malformed = measured(*pages)
    assert (past["expired"], past["unavailable_after"]) == (True, datetime(2024, 4, 30, tzinfo=UTC))
    assert (future["expired"], future["opted_out"]) == (False, False)
    assert (malformed["expired"], malformed["malformed"], malformed["opted_out"]) == (False, True, True)
    [unknown] = measured(pages[0], fetched=None)
    assert (unknown["expired"], unknown["opted_out"]) == (None, False)


@pytest.mark.parametrize(
    "said",
    [
        {"headers": {}, "cut": True},
        {"headers": {"x-robots-tag": [1]}},
        {"headers": {"x-robots-tag": None}},
        {"headers": []},
        {"headers": {}, "meta": "noai"},
        {"headers": {"robots": [""] * 1000}},
    ],
)
def test_what_is_cut_or_cannot_be_read_counts_as_a_refusal(said: Json) -> None:
    [row] = measured({"opt_out": said})
    assert true_of(row) == {"opted_out", "malformed"}


def test_a_value_is_read_and_shown_up_to_a_limit() -> None:
    [row] = measured(headers(x_robots_tag="noai," + "a" * 1_000_000))
    assert true_of(row) == {"opted_out", "noai"}
    assert len(row["signals"][0]["value"]) == 256


STATEMENTS = st.dictionaries(
    st.sampled_from(["x-robots-tag", "tdm-reservation", "content-usage", "robots"]),
    st.lists(st.sampled_from(["noai", "1", "0", "googlebot: noai", "train-ai=n", "index", "\0", ""]), max_size=3),
    max_size=3,
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "opt_out": st.fixed_dictionaries({}, optional={"headers": STATEMENTS, "meta": STATEMENTS, "cut": st.booleans()})
    },
)


@given(st.lists(METADATA, max_size=6))
@settings(deadline=None)
def test_a_row_depends_on_itself_alone(metadata: list[dict[str, Json]]) -> None:
    rows = measured(*metadata)
    assert rows == [row for one in metadata for row in measured(one)]
    assert rows == measured(*metadata[::-1])[::-1]
    for row in rows:
        if row["status"] == "ok" and row["opted_out"] is not True:
            assert not any(row[name] for name in OptOutConfig().counts)


def test_what_it_detects_is_in_the_taxonomy() -> None:
    assert set(OPERATOR.detects(OptOutConfig()).values()) <= set(subcategories())


def test_what_version_1_gives_never_changes() -> None:
    golden = orjson.loads(GOLDEN.read_bytes())
    assert golden["version"] == OPERATOR.version
    rows = measured(*(said for said, _ in golden["rows"]))
    assert [json.loads(json.dumps(row, default=str)) for row in rows] == [row for _, row in golden["rows"]]

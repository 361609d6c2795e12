"""The operator `url.site`, against plain sums over all rows, however these are divided into shards."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.url.site import DOMAIN, LINES, OPERATOR, SiteConfig, lines, load_shard, shown
from winnow.pipelines.annotate.row_totals import added_up
from winnow.schemas.errors import RecipeError

GOLDEN = Path(__file__).parent / "golden" / "site.json"
LANGUAGE, RATIO, FLAG = "text.language.code", "text.gopher.ratio", "page.opt_out.noai"
TYPES = {
    DOMAIN: pa.string(),
    LANGUAGE: pa.string(),
    RATIO: pa.float64(),
    FLAG: pa.bool_(),
    "text.length.lines": pa.int64(),
}
CONFIG = SiteConfig(values=(LANGUAGE,), means=(RATIO, FLAG))


def batch_of(rows: Sequence[Mapping[str, Any]], config: SiteConfig = CONFIG) -> pa.RecordBatch:
    names = OPERATOR.reads(config)
    columns = [pa.array([row.get(name) for row in rows], TYPES[name]) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def measured(
    rows: Sequence[Mapping[str, Any]], config: SiteConfig = CONFIG, shards: int = 1, asking: slice = slice(None)
) -> list[dict[str, Any]]:
    """The layer of a store with these rows, in so many shards; `asking`: the rows of the shard that asks."""
    parts = [batch_of(rows[at::shards], config) for at in range(shards) if rows[at::shards]]
    sums = added_up([lines(config, part) for part in parts], LINES)
    mine = batch_of(rows[asking], config)
    sent = {(line["key"], line["part"]) for line in lines(config, mine).to_pylist()}
    keys = {key for key, _ in sent}
    got = [
        line
        for line, everybody in zip(sums.to_pylist(), shown(config, sums).tolist(), strict=True)
        if line["key"] in keys and (everybody or (line["key"], line["part"]) in sent)
    ]
    found: list[dict[str, Any]] = load_shard(config, pa.RecordBatch.from_pylist(got, schema=LINES))(mine).to_pylist()
    return found


def plain(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same by a loop over all rows for each row, in fractions."""
    found = []
    for row in rows:
        site = [one for one in rows if one[DOMAIN] == row[DOMAIN]]
        codes = Counter(one[LANGUAGE] for one in site if one[LANGUAGE] is not None)
        total = sum(codes.values())
        main = min(codes, key=lambda code: (-codes[code], code)) if codes else None
        means = []
        for name in (RATIO, FLAG):
            values = [Fraction(one[name]) for one in site if one[name] is not None]
            means.append(float(sum(values) / len(values)) if values else None)
        found.append(
            {
                "site": row[DOMAIN],
                "pages": len(site),
                "text_language_code_main": main,
                "text_language_code_main_share": None if main is None else codes[main] / total,
                "text_language_code_own_share": None if row[LANGUAGE] is None else codes[row[LANGUAGE]] / total,
                "text_gopher_ratio_mean": means[0],
                "page_opt_out_noai_mean": means[1],
            }
        )
    return found


_ROWS = st.fixed_dictionaries(
    {
        DOMAIN: st.sampled_from(["a.com", "b.co.uk", "xn--bcher-kva.de", "192.168.1.9", "localhost"]),
        LANGUAGE: st.sampled_from([None, "deu", "eng", "fra", ""]),
        RATIO: st.one_of(st.none(), st.integers(-(1 << 20), 1 << 20).map(lambda number: number / 1024)),
        FLAG: st.sampled_from([None, True, False]),
    }
)


@given(st.lists(_ROWS, min_size=1, max_size=30), st.integers(1, 4))
def test_sums_equal_a_loop_over_all_rows_for_each_row(rows: list[dict[str, Any]], shards: int) -> None:
    assert measured(rows, shards=shards) == plain(rows)


@given(st.lists(_ROWS, min_size=2, max_size=30), st.randoms())
def test_neither_shards_nor_the_order_of_rows_matter(rows: list[dict[str, Any]], chance: Any) -> None:
    expected = [json.dumps(row) for row in measured(rows)]
    for shards in (2, 5):
        assert [json.dumps(row) for row in measured(rows, shards=shards)] == expected
    order = list(range(len(rows)))
    chance.shuffle(order)
    assert [json.dumps(row) for row in measured([rows[at] for at in order])] == [expected[at] for at in order]
    half = slice(0, len(rows) // 2)
    assert [json.dumps(row) for row in measured(rows, asking=half)] == expected[half]


def test_a_site_with_a_page_in_every_language_has_the_first_of_them_as_its_main_one() -> None:
    rows = [{DOMAIN: "a.com", LANGUAGE: f"l{number:04}"} for number in range(1000, 0, -1)]
    found = measured(rows, SiteConfig(values=(LANGUAGE,)), asking=slice(0, 1))
    assert found == [
        {
            "site": "a.com",
            "pages": 1000,
            "text_language_code_main": "l0001",
            "text_language_code_main_share": 0.001,
            "text_language_code_own_share": 0.001,
        }
    ]


def test_means_are_exact_to_a_billionth_and_huge_numbers_are_cut() -> None:
    config = SiteConfig(means=(RATIO, "text.length.lines"))
    rows = [{DOMAIN: "a.com", RATIO: 0.1, "text.length.lines": 7}] * 999 + [{DOMAIN: "a.com", RATIO: -0.3}]
    (row,) = measured(rows, config, asking=slice(0, 1))
    assert row["text_gopher_ratio_mean"] == pytest.approx((99.9 - 0.3) / 1000, abs=1e-9)
    assert row["text_length_lines_mean"] == 7
    rows = [{DOMAIN: "a.com", RATIO: 1e300}, {DOMAIN: "a.com", RATIO: -1e300}, {DOMAIN: "b.com", RATIO: float("inf")}]
    found = measured(rows, SiteConfig(means=(RATIO,)))
    assert [row["text_gopher_ratio_mean"] for row in found] == [0, 0, None]


def test_a_hot_site_costs_one_line_for_each_shard_and_part() -> None:
    rows = [{DOMAIN: "a.com", LANGUAGE: ("deu", "eng")[number % 2], RATIO: 0.5} for number in range(10_000)]
    assert added_up([lines(CONFIG, batch_of(rows))], LINES).num_rows == 6  # pages, two means, all values, two values


def test_texts_too_long_to_be_values_count_as_none() -> None:
    rows = [{DOMAIN: "a.com", LANGUAGE: "x" * size} for size in (256, 257)]
    first, second = measured(rows, SiteConfig(values=(LANGUAGE,)))
    assert (first["text_language_code_own_share"], second["text_language_code_own_share"]) == (1, None)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (SiteConfig(values=(RATIO,)), "put numbers and booleans into 'means'"),
        (SiteConfig(means=(LANGUAGE,)), "no mean"),
    ],
)
def test_columns_of_other_types_are_refused(config: SiteConfig, says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        OPERATOR.load(config, None)(batch_of([], config))  # type: ignore[arg-type]


def test_a_column_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="text_a_b_mean"):
        SiteConfig(means=("text.a.b", "text.a_b"))


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert golden["version"] == OPERATOR.version
    assert measured([row["row"] for row in golden["rows"]]) == [row["values"] for row in golden["rows"]]

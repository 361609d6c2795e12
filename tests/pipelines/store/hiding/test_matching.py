"""Which rows a selector means: addresses in any spelling, hosts and what is below them, texts and media by hash."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.web.urls import registered_domain
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.tombstones import SelectorKind, Selectors

URLS = [
    "https://example.com/a",
    "http://www.example.com/a?b=1",
    "https://blog.example.com/",
    "https://notexample.com/a",
    "https://example.com.evil.net/a",
    "https://user.github.io/page",
    "http://192.0.2.7/x",
    "http://192.0.2.17/x",
    "https://[2001:db8::1]:8443/x",
    "https://bücher.example/ä",
    "https://example.com:99999/a",  # no address: the port is none
    "record 17",
]


def samples(urls: list[str | None], texts: list[str | None] | None = None) -> pa.RecordBatch:
    rows = [
        {
            "id": bytes([number]) * 16,
            "url": url,
            "domain": registered_domain(url) if url else None,
            "modality": "text",
            "text": texts[number] if texts else None,
            "media": [{"sha256": "ab" * 32}] if number == 1 else [],
        }
        for number, url in enumerate(urls)
    ]
    media = pa.list_(pa.field("item", pa.struct([pa.field("sha256", pa.string())]), nullable=False))
    kinds = {name: SAMPLES.field(name).type for name in ("id", "url", "domain", "modality", "text")}
    return pa.RecordBatch.from_pylist(rows, schema=pa.schema([*kinds.items(), ("media", media)]))


def meant(kind: SelectorKind, *values: str) -> list[str]:
    *found, without = (
        Matcher(selectors_of(parse_selector(kind, value) for value in values)).rows(samples([*URLS, None])).tolist()
    )
    assert not without
    return [url for url, hit in zip(URLS, found, strict=True) if hit]


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        ("https://example.com/a", [0]),
        ("HTTP://EXAMPLE.com:80/./a#top", [0]),
        ("example.com/a", [0]),
        ("https://example.com/A", []),
        ("https://www.example.com/a?b=1", [1]),
        ("https://xn--bcher-kva.example/%C3%A4", [9]),
        ("https://[2001:DB8:0::1]:8443/x", [8]),
        ("https://example.com:99999/a", [10]),
        ("record 17", [11]),
    ],
)
def test_an_address_in_any_spelling(value: str, rows: list[int]) -> None:
    assert meant("url", value) == [URLS[row] for row in rows]


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        ("example.com", [0, 1, 2, 10]),
        ("*.Example.com.", [0, 1, 2, 10]),
        ("www.example.com", [1]),
        ("blog.example.com", [2]),
        ("user.github.io", [5]),
        ("192.0.2.7", [6]),
        ("0xC0000207", [6]),
        ("[2001:db8::1]", [8]),
        ("bücher.example", [9]),
        ("evil.net", [4]),
        ("com.evil.net", [4]),
    ],
)
def test_a_host_and_all_below_it(value: str, rows: list[int]) -> None:
    assert meant("domain", value) == [URLS[row] for row in rows]


def test_texts_and_media_by_their_hash() -> None:
    texts: list[str | None] = ["ä", None, "b", ""]
    given_rows = samples([None] * 4, texts)
    for value, rows in ((hashlib.sha256("ä".encode()).hexdigest().upper(), [0]), ("ab" * 32, [1])):
        found = Matcher(selectors_of([parse_selector("sha256", value)])).rows(given_rows)
        assert np.flatnonzero(found).tolist() == rows


def test_which_selectors_met_a_row() -> None:
    selections = [
        parse_selector("domain", "example.com"),
        parse_selector("url", URLS[0]),
        parse_selector("url", URLS[0] + "/no"),
        parse_selector("id", "05" * 16),
    ]
    matcher = Matcher(selectors_of(selections), note=True)
    matcher.rows(samples([*URLS]))
    assert [bool(one.hashes & matcher.met) for one in selections] == [True, True, False, True]


hosts = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(lambda parts: ".".join([*parts, "example", "org"]))


@given(st.lists(hosts, min_size=1), st.lists(hosts, min_size=1, max_size=3), st.integers(1, 5))
def test_a_row_is_meant_by_itself_whatever_is_beside_it(names: list[str], asked: list[str], cut: int) -> None:
    """The narrow look at domains finds what comparing every host by its end finds, in any batches."""
    selectors = selectors_of(parse_selector("domain", name) for name in asked)
    batch = samples([f"https://{name}/" for name in names[:200]])
    expected = [any(name == one or name.endswith(f".{one}") for one in asked) for name in names[:200]]
    assert Matcher(selectors).rows(batch).tolist() == expected
    matcher = Matcher(selectors)
    parts = [matcher.rows(batch.slice(start, cut)).tolist() for start in range(0, batch.num_rows, cut)]
    assert [hit for part in parts for hit in part] == expected


def test_no_selectors_mean_no_row() -> None:
    assert not Matcher(Selectors()).rows(samples([*URLS])).any()
    assert not Matcher(selectors_of([parse_selector("domain", "example.com")])).rows(samples([])).any()


def test_the_domain_of_a_row_may_be_told_by_another_list_of_suffixes() -> None:
    """Rows that were read when `blog.example.com` counted as a registered domain, or `example.com` as a suffix."""
    rows = samples(["https://x.blog.example.com/1"])
    for domain in ("x.blog.example.com", "blog.example.com", "example.com", "com"):
        told = rows.set_column(rows.schema.get_field_index("domain"), "domain", pa.array([domain]))
        for kind, value in (("domain", "blog.example.com"), ("url", "https://x.blog.example.com/1")):
            assert Matcher(selectors_of([parse_selector(kind, value)])).rows(told).tolist() == [True]  # type: ignore[arg-type]

"""An address that is none for a crawl is still of its host, and is found by it and by its one spelling."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.store.hiding.test_matching import samples
from winnow.filters.web.urls import canonical_url
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.store.hiding.addresses import MAX_HOST_TAIL, MAX_LABELS, address_of
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.schemas.tombstones import SelectorKind

SAME = [  # of https://a.victim.example/2
    "a.victim.example/2",
    "//a.victim.example/2",
    "A.Victim.EXAMPLE./2#top",
    "me:secret@a.victim.example/2",
    "ftp://a.victim.example/2",
    "ftp://me@a.victim.example/2",
    "https:/a.victim.example/2",
    "https:\\a.victim.example/2",
    "HTTP:a.victim.example/2",
    "a.victim.example:443/2",
    "view-source:https://a.victim.example/2",
    "\ufeffhttps://a.victim.example/2",
    "<https://a.victim.example/2",
    "URL: https://a.victim.example/x/../2",
    "https://a.victim.example/2#" + "x" * 70_000,
]
BELOW = [  # of victim.example, and of nobody's else
    "https://a.victim.example/" + "x" * 70_000,
    "https://" + "x" * 64 + ".victim.example/",
    "https://" + "x." * 200 + "victim.example/",
    "https://" + "x." * 40_000 + "victim.example/",
    "https://" + "%C3%A4" * 200 + ".victim.example/",
    "https://" + "u" * 70_000 + "@victim.example/",
    "https://blog.victim.example:99999/",
    "https://blog.victim.example:port/",
    "https://blog..victim.example/",
    "https://blog!.victim.example../x",
    "https://%zz.v%69ctim.example/",
    "blog.victim.example:8080/x",
    "blog.victim.example:99999/x",
    "blog.victim.example:",
    "mailto:jane@victim.example",
    "ftp://\uff56ictim\u3002example/",
    "victim.example a title",
]
OTHERS = [
    "ftp://notvictim.example/2",
    "victim.example.evil.net/2",
    "https:/x.example/victim.example",
    "2",
    "",
    "::",
    "//",
]


def meant(urls: list[str], kind: SelectorKind, value: str) -> list[str]:
    found = Matcher(selectors_of([parse_selector(kind, value)])).rows(samples([*urls])).tolist()
    return [url for url, hit in zip(urls, found, strict=True) if hit]


def test_these_are_no_addresses_of_a_crawl() -> None:
    assert {canonical_url(url) for url in SAME + BELOW + OTHERS} == {None}


def test_a_host_means_them_all_and_no_other() -> None:
    assert meant(SAME + BELOW + OTHERS, "domain", "victim.example") == SAME + BELOW
    assert meant(SAME, "domain", "a.victim.example") == SAME


@pytest.mark.parametrize("value", ["https://a.victim.example/2", *SAME])
def test_an_address_means_its_rows_however_either_is_written(value: str) -> None:
    rows = ["http://a.victim.example/2", *SAME]
    assert meant([*rows, *BELOW, *OTHERS, "a.victim.example/3"], "url", value) == rows


@pytest.mark.parametrize("url", [*BELOW, *OTHERS[:3], "2"])
def test_what_is_none_is_found_as_it_is_written(url: str) -> None:
    assert url in meant([*BELOW, *OTHERS], "url", url)


@pytest.mark.parametrize("host", ["bücher.example", "xn--bcher-kva.example"])
def test_a_host_of_another_script(host: str) -> None:
    rows = ["//bücher.example/", "ftp://BÜCHER.example", "xn--bcher-kva.example:99999/", f"{'x' * 64}.bücher.example/"]
    assert meant(rows, "domain", host) == rows


@given(st.text(max_size=60) | st.text("a.:/@\\[]%0 ", max_size=40))
@example("https://[::1]:99999/")
@example("[" * 30)
def test_no_text_is_too_odd(url: str) -> None:
    address = address_of(url)
    assert address.keys
    assert all(host and len(host) <= MAX_HOST_TAIL for host in address.hosts)
    assert all(host.count(".") < MAX_LABELS for host in address.hosts)
    assert not meant([url], "domain", "victim.example")

"""Where addresses lead, and which are not asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.web.urls import canonical_url
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.live.places import MAX_CHARACTERS, Place, place_of
from winnow.pipelines.fetch.outcome import Reason


def test_a_place_is_what_a_request_needs() -> None:
    assert place_of("HTTPS://Example.ORG:443/a/../b?c=d#e") == Place(
        "https://example.org/b?c=d", "https", "example.org", 443, "example.org", "/b?c=d"
    )
    assert place_of("http://[2001:DB8::1]:8080", ports=(8080,)) == Place(
        "http://[2001:db8::1]:8080/", "http", "2001:db8::1", 8080, "[2001:db8::1]:8080", "/"
    )
    assert place_of("http://bücher.example/") == Place(
        "http://xn--bcher-kva.example/", "http", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", "/"
    )


def test_a_place_knows_its_domain() -> None:
    for url, domain in (("http://a.b.co.uk/", "b.co.uk"), ("http://[::1]/", "::1"), ("http://localhost/", "localhost")):
        found = place_of(url)
        assert isinstance(found, Place)
        assert found.domain == domain


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", Reason.NO_ADDRESS),
        ("example.org", Reason.NO_ADDRESS),
        ("ftp://example.org/", Reason.NO_ADDRESS),
        ("file:///etc/passwd", Reason.NO_ADDRESS),
        ("data:text/html,x", Reason.NO_ADDRESS),
        ("http://", Reason.NO_ADDRESS),
        ("http://a b/", Reason.NO_ADDRESS),
        ("http://[fe80::1%eth0]/", Reason.NO_ADDRESS),
        ("http://[::1", Reason.NO_ADDRESS),
        ("http://1.2.3.4.5/", Reason.NO_ADDRESS),
        ("http://256.1.1.1/", Reason.NO_ADDRESS),
        ("http://example.org:99999/", Reason.NO_ADDRESS),
        ("http://user@example.org/", Reason.CREDENTIALS),
        ("http://:@example.org/", Reason.CREDENTIALS),
        ("http://@example.org/", Reason.CREDENTIALS),
        ("http:////user@example.org/", Reason.CREDENTIALS),
        ("http:\\\\user:word@example.org/", Reason.CREDENTIALS),
        ("ht\ntp://us\ter@example.org/", Reason.CREDENTIALS),
        ("  http://" + "u" * 40_000 + "@example.org/", Reason.CREDENTIALS),
        ("http://example.org:22/", Reason.PORT),
        ("https://example.org:80443/", Reason.NO_ADDRESS),
        ("http://example.org:0/", Reason.PORT),
        ("http://example.org/" + "x" * MAX_CHARACTERS, Reason.TOO_LONG),
        ("http://example.org/" + "ü" * 400, Reason.TOO_LONG),
        ("http://example.org/" + "x" * (2 << 20), Reason.TOO_LONG),
    ],
)
def test_what_is_not_asked(written: str, reason: Reason) -> None:
    found = place_of(written)
    assert isinstance(found, Failed)
    assert found.reason is reason
    assert found.detail


def test_what_looks_like_a_user_elsewhere_is_none() -> None:
    for url in ("http://example.org/@user", "http://example.org/?q=a@b", "http://example.org#@"):
        assert isinstance(place_of(url), Place)


@given(st.text() | st.from_regex(r"https?:[/\\]{0,3}[^\s]{0,40}", fullmatch=True))
def test_no_text_raises_and_a_place_is_its_own_normal_form(written: str) -> None:
    found = place_of(written, ports=range(65_536))
    if isinstance(found, Place):
        assert canonical_url(written) == found.url
        assert place_of(found.url, ports=range(65_536)) == found
        assert "@" not in found.authority
        assert found.target.startswith("/")
        assert found.url == f"{found.scheme}://{found.authority}{found.target}"
        assert found.target.isascii()
        assert " " not in found.target


@given(st.text(max_size=80))
def test_no_redirect_raises(written: str) -> None:
    found = place_of(written, base="http://example.org/a/b")
    assert isinstance(found, Failed | Place)

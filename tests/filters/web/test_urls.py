"""One spelling of an address, where links point, and whose domain it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.web.urls import canonical_url, psl_version, registered_domain, resolve


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://WWW.Example.COM:80", "http://www.example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:08443/a", "https://example.com:8443/a"),
        ("http://example.com./a#part", "http://example.com/a"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/../../a/..", "http://example.com/"),
        ("http://example.com/%7euser/%c3%a9/%2f/%41", "http://example.com/~user/%C3%A9/%2F/A"),
        ("http://example.com/a/%2e%2E/b", "http://example.com/b"),
        ("http://example.com/ä b/100%", "http://example.com/%C3%A4%20b/100%25"),
        ("http://example.com/%%34%31", "http://example.com/%2541"),
        ("http://example.com/?b=2&a=1&&c=%7e", "http://example.com/?b=2&a=1&&c=%7e"),
        ("http://example.com/?q=ü x", "http://example.com/?q=%C3%BC%20x"),
        ("http://München.de/", "http://xn--mnchen-3ya.de/"),
        ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("http://☃.net/", "http://xn--n3h.net/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("  http:\\\\example.com\\a\\b\n", "http://example.com/a/b"),
        ("ht\ntp://exa\tmple.com/", "http://example.com/"),
    ],
)
def test_an_address_has_one_spelling(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com/",
        "javascript:alert(1)",
        "http://",
        "http:///",
        "http://a..b/",
        "http://a b/",
        "http://a%00b/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[fe80::1%25eth0]/",
        "http://1.2.3.256/",
        "http://1.2.3.4.5/",
        "http://a:65536/",
        "http://a:x/",
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 200 + "com/",
        "http://" + "ü" * 10_000 + "/",
        "http://a/" + "x" * 70_000,
    ],
)
def test_what_is_no_page_has_no_address(url: str) -> None:
    assert canonical_url(url) is None


@pytest.mark.parametrize(
    ("base", "href", "target"),
    [
        ("http://a.com/x/y?z", "w", "http://a.com/x/w"),
        ("http://a.com/x/y?z", "../w#k", "http://a.com/w"),
        ("http://a.com/x/y?z", "?q=1", "http://a.com/x/y?q=1"),
        ("https://a.com/x", "//b.com", "https://b.com/"),
        ("https://a.com/x", "\\\\b.com\\c", "https://b.com/c"),
        ("https://a.com/x", " http://b.com/ ", "http://b.com/"),
        (None, "http://b.com", "http://b.com/"),
        (None, "/only/a/path", None),
        ("mailto:x@a.com", "y", None),
        ("http://a.com/", "mailto:x@a.com", None),
        ("http://a.com/", "javascript:void(0)", None),
        ("http://a.com/", "//[x", None),
        ("http://a.com/", "data:text/html,x", None),
    ],
)
def test_a_link_points_to_a_page_or_nowhere(base: str | None, href: str, target: str | None) -> None:
    assert resolve(base, href) == target


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("http://www.example.com/a", "example.com"),
        ("https://a.b.example.co.uk:8080/", "example.co.uk"),
        ("http://a.b.github.io/", "b.github.io"),
        ("http://github.io/", "github.io"),
        ("http://co.uk/", "co.uk"),
        ("http://a.b.example/", "b.example"),
        ("http://LOCALHOST/", "localhost"),
        ("http://www.München.de/", "xn--mnchen-3ya.de"),
        ("http://www.xn--mnchen-3ya.de/", "xn--mnchen-3ya.de"),
        ("http://a.公司.cn/", "a.xn--55qx5d.cn"),
        ("http://u:p@www.example.com./", "example.com"),
        ("http://192.0.2.7/x", "192.0.2.7"),
        ("http://[2001:db8::1]/", "2001:db8::1"),
        ("urn:isbn:1", None),
        ("http://a..b/", None),
        ("", None),
    ],
)
def test_the_domain_is_what_somebody_registered(url: str, domain: str | None) -> None:
    assert registered_domain(url) == domain


def test_the_suffix_list_has_a_version() -> None:
    assert len(psl_version()) == 16
    assert int(psl_version(), 16) > 0


HOSTILE = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="htps:/\\.@[]?#%2eEx0179:ü\ud800\0 -_", max_size=40),
    st.text(alphabet="ab./\\@[]:?#%2e0x179üß例\ud800 -", max_size=30).map("http://".__add__),
)


@given(HOSTILE)
def test_no_text_is_too_strange(url: str) -> None:
    registered_domain(url)
    canonical = canonical_url(url)
    if canonical is not None:
        assert canonical.isascii()
        assert canonical_url(canonical) == canonical
        assert registered_domain(canonical) == registered_domain(url)


@given(HOSTILE, HOSTILE)
def test_every_target_is_canonical(base: str, href: str) -> None:
    target = resolve(base, href)
    assert target is None or canonical_url(target) == target

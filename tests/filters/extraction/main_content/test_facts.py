"""Facts of a page, from markup that people write and markup that is meant to mislead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.extraction.main_content.blocks import read_page
from winnow.filters.extraction.main_content.facts import page_facts
from winnow.filters.extraction.page import Addresses, Facts, Image, PageLimits
from winnow.filters.web.urls import resolve

URL = "https://example.org/news/2024/story.html?id=1"


def facts(html: str, url: str | None = URL, limits: PageLimits | None = None) -> Facts:
    source = html.encode()
    return page_facts(read_page(source, url), limits or PageLimits())[0]


def links(html: str, url: str | None = URL) -> list[str]:
    return list(facts(html, url).links)


def images(html: str, url: str | None = URL) -> list[Image]:
    return list(facts(html, url).images.values())


def test_the_head_says_what_the_page_is() -> None:
    found = facts(
        "<html lang=pt-BR><title> A\n &amp; B </title><link rel='alternate canonical' href='/story'><body>x</body>"
    )
    assert (found.title, found.canonical_url, found.language) == ("A & B", "https://example.org/story", "pt-BR")


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Cats | Site</title><meta property='og:title' content=' Cats &amp;\n more '>", "Cats & more"),
        ("<meta content=Cats PROPERTY=OG:Title><title>Cats | Site</title>", "Cats"),
        ("<meta name=og:title content=Cats>", "Cats"),
        ("<title>Cats | Site</title><meta property='og:title' content=' '>", "Cats | Site"),
        ("<title>Cats | Site</title><meta property='og:title'>", "Cats | Site"),
        ("<title>Cats | Site</title><!-- <meta property='og:title' content='Dogs'> -->", "Cats | Site"),
        ("<title>Cats | Site</title></head><body><p>og:title", "Cats | Site"),
    ],
)
def test_the_title_for_sharing_goes_before_that_of_the_window(head: str, title: str) -> None:
    assert facts(f"<html><head>{head}").title == title


def test_a_canonical_link_in_the_body_or_in_a_comment_is_none() -> None:
    assert facts("<head><!-- <link rel=canonical href=/x> --></head><body>").canonical_url is None


@pytest.mark.parametrize(
    ("head", "language"),
    [
        ("<html xml:lang=fr>", "fr"),
        ('<meta name="Content-Language" content="de-AT">', "de-AT"),
        ('<meta property="og:locale" content="es_MX">', "es_MX"),
        ('<html lang="not a language!">', None),
        ("<html>", None),
    ],
)
def test_the_language_is_what_the_page_declares(head: str, language: str | None) -> None:
    assert facts(head + "<body>x").language == language


def test_links_are_absolute_distinct_and_in_order() -> None:
    html = (
        '<a href="/a">1</a><a href="b.html" rel="nofollow ugc">2</a><a href="../up?x=1&amp;y=2">3</a>'
        '<a href="//cdn.example.net/c">4</a><a href="HTTPS://Example.COM:443/d/../e#f">5</a><a href="/a" rel=x>6</a>'
    )
    assert list(facts(html).links.items()) == [
        ("https://example.org/a", None),
        ("https://example.org/news/2024/b.html", "nofollow ugc"),
        ("https://example.org/news/up?x=1&y=2", None),
        ("https://cdn.example.net/c", None),
        ("https://example.com/e", None),
    ]


def test_what_is_no_web_address_is_no_link() -> None:
    html = "".join(
        f'<a href="{href}">x</a>'
        for href in ("#top", "", " ", "mailto:a@b.c", "javascript:void(0)", "tel:+1", "http://", "data:text/html,x")
    )
    assert links(html + "<a name=x>y</a>") == []


def test_a_base_moves_references() -> None:
    assert links('<base href="../../"><a href="x">') == ["https://example.org/x"]
    assert links('<base href="https://b.example/dir/"><a href="x"><a href="/y">') == [
        "https://b.example/dir/x",
        "https://b.example/y",
    ]


def test_without_the_pages_url_only_absolute_links_are_known() -> None:
    assert links('<a href="/a"><a href="b"><a href="https://x.example/">', url=None) == ["https://x.example/"]


def test_links_beyond_the_limit_are_left_out() -> None:
    html = "".join(f'<a href="/{number}">' for number in range(9))
    assert len(facts(html, limits=PageLimits(max_links=4)).links) == 4


def test_commented_links_do_not_count_and_a_comment_in_an_attribute_hides_nothing() -> None:
    assert links('<!-- <a href="/no"> --><a href="/yes">') == ["https://example.org/yes"]
    assert links('<p title="<!--"><a href="/yes">x</a></p><img src=i.png>') == ["https://example.org/yes"]


def test_an_image_is_what_its_tag_declares() -> None:
    html = "<img SRC='a.png?x=1&amp;y=2' alt='A &lt;b&gt;\n c' title=T width=320px height='12.5' alt=second>"
    assert images(html) == [
        Image("https://example.org/news/2024/a.png?x=1&y=2", "A <b> c", "T", None, 320, 12),
    ]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ('src="data:image/gif;base64,R0" data-src="/real.jpg"', "real.jpg"),
        ('src="/blank.gif" data-original="/real.jpg"', "real.jpg"),
        ('src="" srcset="/small.jpg 320w, /real.jpg 1280w, /mid.jpg 640w"', "real.jpg"),
        ('srcset="/c,w_1,h_2/one.jpg 1x, /c,w_2,h_4/real.jpg 2x"', "c,w_2,h_4/real.jpg"),
        ('width="100%" height="-3" src=/real.jpg', "real.jpg"),
    ],
)
def test_the_address_of_an_image_is_the_one_that_a_reader_sees(attributes: str, name: str) -> None:
    found = [image._replace(candidates=()) for image in images(f"<img {attributes}>")]
    assert found == [Image(f"https://example.org/{name}", None, None, None, None, None)]


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("<img src=/a srcset='/b 320w, /c 1280w,/d 640w'>", "a c b d"),
        ("<img data-src=/b src=data:,R0 data-srcset='/c 1x , /d 2x' data-lazy-srcset='/e, /f'>", "b d c e f"),
        ("<img src=/a srcset='/a 1x, ../b/?w=2&amp;h=3 2x,, /c,w_1/d 3x'>", "a c,w_1/d news/b/?w=2&h=3"),
        ("<img srcset='/a 320w 200h, /b 1.2.3x, /c'>", "a c"),
        ("<img src=/a srcset='data:image/gif;base64,R0 1x, javascript:x 2x'>", "a"),
        ("<picture><source srcset='/w 1x, /v 2x'><SOURCE srcset=/u><img src=/a></picture><img src=/b>", "a v u w|b"),
        ("<picture><source srcset='/w 1x, /v 2x'><img alt=x></picture>", "v w"),
        ("<video><source srcset=/no></video><picture><source srcset=/no></picture><img src=/a>", "a"),
        ("<base href=//cdn.example/x/><picture><source srcset='w, /v'><img src=a></picture>", "//cdn x/a x/w v"),
    ],
)  # fmt: skip
def test_the_other_addresses_of_an_image_are_its_candidates(html: str, names: str) -> None:
    host, names = ("cdn.example", names[6:]) if names.startswith("//") else ("example.org", names)
    found = [(image.src, *image.candidates) for image in images(html)]
    assert found == [tuple(f"https://{host}/{name}" for name in one.split()) for one in names.split("|")]


def test_candidates_of_an_image_and_of_a_page_are_limited() -> None:
    many = ", ".join(f"/{number} {number}w" for number in range(1, 90))
    (found,) = images(f"<img srcset='{many}'>")
    assert (found.src, len(found.candidates)) == ("https://example.org/32", 31)
    (cut,) = images(f"<img srcset='/a 1x, /{'b' * 9_000} 2x, /c'>")
    assert (cut.src, cut.candidates) == ("https://example.org/a", ("https://example.org/c",))
    (cut,) = images(f"<img srcset='/a 1x, {' ' * 900_000}/c'>")
    assert (cut.src, cut.candidates) == ("https://example.org/a", ())
    limits = PageLimits(max_images=9)
    page = facts(f"<img src=/0 srcset='{many}'>" * 20, limits=limits).images
    assert (len(page), sum(len(one.candidates) for one in page.values())) == (9, 72)
    nested = "<picture><source srcset=/s>" * 400 + "<img src=/a>" * 9
    assert len(facts(nested, limits=limits).images) == 9


@pytest.mark.parametrize(("levels", "caption"), [(1, "late"), (40, None)])
def test_captions_are_read_until_they_have_more_text_than_the_page(levels: int, caption: str | None) -> None:
    nested = "<figure><figcaption>" * levels + "word " * 900 + "</figcaption></figure>" * levels
    (found,) = images(f"{nested}<figure><img src=/a><figcaption>late</figcaption></figure>")
    assert found.caption == caption


def test_an_image_without_an_address_is_none() -> None:
    assert images("<img><img alt=x><img src='data:image/png;base64,AA'><img src='javascript:x'>") == []


@pytest.mark.parametrize(
    "html",
    [
        "<img src=data:x data-src=/a.jpg alt=A><noscript><img src=/a.jpg alt=A></noscript>",
        "<img src=/wait.gif data-src=/a.jpg><noscript><img src=/a.jpg></noscript>",
        "<noscript><img src=/a.jpg></noscript><img data-src=/a.jpg>",
        "<amp-img src=/a.jpg><noscript><img src=/a.jpg></noscript></amp-img>",
    ],
)
def test_an_image_that_a_noscript_repeats_is_one_image(html: str) -> None:
    assert len(images(f"<p>x {html} y</p>")) == 1
    assert len(images(f"<p>x {html} y {html.replace('/a.jpg', '/b.jpg')}</p>")) == 2
    assert len(images("<p><img src=/a.jpg> x <img src=/a.jpg>")) == 2


def test_without_the_pages_url_an_images_address_is_as_written() -> None:
    assert [image.src for image in images("<img src=' a/b.png '>", url=None)] == ["a/b.png"]


def test_a_caption_belongs_to_its_figure() -> None:
    html = (
        "<figure><img src=/a.png><figcaption>One\n <b>two</b></figcaption></figure><img src=/b.png>"
        "<figcaption>no figure</figcaption>"
    )
    assert [image.caption for image in images(html)] == ["One two", None]


def test_labels_are_cut_at_the_limit() -> None:
    found = facts("<title>abcdef</title><img src=/x alt=abcdef>", limits=PageLimits(max_label_characters=3))
    assert found.title == "abc"
    assert [image.alt for image in found.images.values()] == ["abc"]


def test_templates_of_a_script_are_no_links_even_when_quotes_confuse() -> None:
    html = """<p title='"'>a</p><script>var a = '<a href="/no">' + "<img src='/no'>";</script><a href='/yes'>"""
    assert (links(html), images(html)) == (["https://example.org/yes"], [])


references = st.lists(
    st.sampled_from([*"ab/.?#:&%=-A ", "..", "../", "//", "http://", "https://h.example/", "é"]), max_size=9
).map("".join)


@given(references)
def test_the_short_way_to_an_address_is_the_long_one(reference: str) -> None:
    assert Addresses(URL).absolute(reference) == resolve(URL, reference)

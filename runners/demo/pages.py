"""The ordinary pages of the crawl: articles, encyclopedia entries, board topics, templated pages, illustrated ones.

Pages planted to be found or to break something are in planted.py and hostile.py.
"""

from functools import cache
from urllib.parse import quote

from winnow.runners.demo import grammar, media
from winnow.runners.demo.captures import Capture, Truth
from winnow.runners.demo.choice import between, chance, number, shuffled
from winnow.runners.demo.sites import FORUM, MATCHES, SHOP, WEATHER, WIKI, Site, site_for
from winnow.runners.demo.templates import Document, Figure, render
from winnow.runners.demo.texts import Text, declarations, prose

WIKI_PAGES = 16
FORUM_PAGES = 14
ILLUSTRATED = 12


def ordinary_pages() -> list[Capture]:
    """All of them, in a fixed order."""
    return [*articles(), *encyclopedia(), *board(), *templated(), *illustrated()]


@cache
def web_prose() -> tuple[Text, ...]:
    """The pieces written for the demo that are on pages; the others are on illustrated pages or in books."""
    pieces = _shuffled_prose()
    return pieces[: len(pieces) * 5 // 8]


@cache
def illustrated_prose() -> tuple[Text, ...]:
    """The pieces on the pages with images."""
    return _shuffled_prose()[len(_shuffled_prose()) * 5 // 8 :][:ILLUSTRATED]


@cache
def book_prose() -> tuple[Text, ...]:
    """The pieces that are only in the trusted books."""
    return _shuffled_prose()[len(_shuffled_prose()) * 5 // 8 :][ILLUSTRATED:]


@cache
def _shuffled_prose() -> tuple[Text, ...]:
    return tuple(shuffled(prose(), "prose"))


@cache
def published() -> dict[str, tuple[Text, Site]]:
    """The text and site at each article's address: the Declaration's pages in every language, and the demo's own pieces."""
    texts = [text for entry in declarations().values() for text in entry.pages]
    placed = [(text, site_for(text.language.key, text.title, at)) for at, text in enumerate([*texts, *web_prose()])]
    return {site.url(path_of(text)): (text, site) for text, site in placed}


def article(url: str) -> Capture:
    """The page at the address of an article, with links to others in its language."""
    text, site = published()[url]
    return page(site, text, related=_neighbours(url, text))


def articles() -> list[Capture]:
    """The pages of all articles."""
    return [article(url) for url in published()]


def page(
    site: Site,
    text: Text,
    *,
    path: str | None = None,
    truth: Truth | None = None,
    related: tuple[tuple[str, str], ...] = (),
    figures: tuple[Figure, ...] = (),
    body: str | None = None,
    head: str = "",
    charset: str = "utf-8",
) -> Capture:
    """A text as a page of a site. It is an article unless `truth` says otherwise."""
    url = site.url(path if path is not None else path_of(text))
    document = Document(
        url=url,
        language=text.language,
        title=text.title,
        paragraphs=text.paragraphs,
        date=date_of(url),
        figures=figures,
        related=related,
        body=body,
        head=head,
        charset=charset,
    )
    return Capture(url, render(site, document).encode(), truth or truth_of(text, "article"))


def truth_of(text: Text, kind: str, case: str = "") -> Truth:
    """The truth about a page that holds exactly this text."""
    return Truth(kind, case or kind, text.language.iso, text.title, text.body)


def path_of(text: Text) -> str:
    """A path as news sites have them: a date, then the title or a number."""
    mark = number("path", text.language.key, text.title, text.paragraphs[0])
    slug = "-".join("".join(c if c.isalnum() else " " for c in text.title.lower()).split())[:48]
    if chance(40, "number", mark):
        return f"/{text.language.tag.lower()}/{2015 + mark % 9}/{mark % 1_000_000}"
    return f"/{2015 + mark % 9}/{1 + mark % 12:02}/{quote(slug)}-{mark % 1000}.html"


def date_of(url: str) -> str:
    """The date that the page claims."""
    return f"{between(2015, 2023, url, 'year')}-{between(1, 12, url, 'month'):02}-{between(1, 28, url, 'day'):02}"


def _neighbours(url: str, text: Text) -> tuple[tuple[str, str], ...]:
    same = [
        (other, candidate.title)
        for other, (candidate, _) in published().items()
        if candidate.language == text.language and other != url
    ]
    return tuple(shuffled(same, "related", url)[:3])


def encyclopedia() -> list[Capture]:
    """Entries of the wiki about places that do not exist."""
    entries = [grammar.entry(at) for at in range(WIKI_PAGES)]
    return [page(WIKI, text, path=f"/wiki/{text.title}_{at}") for at, text in enumerate(entries)]


def board() -> list[Capture]:
    """Topics on the forum."""
    threads = [grammar.thread(at) for at in range(FORUM_PAGES)]
    return [
        page(FORUM, one.text, path=f"/viewtopic.php?t={4000 + at}", body=one.markup, truth=truth_of(one.text, "forum"))
        for at, one in enumerate(threads)
    ]


def templated() -> list[Capture]:
    """Forecasts, product sheets and match reports: alike except for their numbers."""
    sites = {"forecast": WEATHER, "product": SHOP, "match": MATCHES}
    pages = []
    for case, (make, count) in grammar.TEMPLATED.items():
        for at in range(count):
            text = make(at)
            pages.append(page(sites[case], text, path=f"/{case}/{100 + at}", truth=truth_of(text, "templated", case)))
    return pages


def illustrated() -> list[Capture]:
    """Pages with one figure each, and their images; some images are used twice, resized or re-encoded."""
    captures = []
    for at, text in enumerate(illustrated_prose()):
        site = site_for(text.language.key, "illustrated", at)
        name, mime, raw = _picture(at)
        src = f"/media/{at}/{name}"
        figure = Figure(src, f"{text.title} ({at + 1})", text.paragraphs[0].split(". ")[0][:120])
        captures.append(page(site, text, figures=(figure,), truth=truth_of(text, "article", "illustrated")))
        captures.append(Capture(site.url(src), raw, Truth("media", name), content_type=mime))
    loose: tuple[tuple[str, str, bytes], ...] = (
        ("badge.gif", "image/gif", media.badge()),
        ("pixel.gif", "image/gif", media.pixel()),
        ("logo.svg", "image/svg+xml", media.svg()),
        ("chart.bmp", "image/bmp", media.bmp(media.scene("chart", 64, 48))),
        (
            "leaflet.pdf",
            "application/pdf",
            media.pdf(("Low tide on Sunday: 06:40 and 19:05.", "Meet at the brewery wall.")),
        ),
        ("ferry.mp4", "video/mp4", media.mp4_stub()),
    )
    site = site_for("swe", "loose")
    captures += [
        Capture(site.url(f"/static/{name}"), raw, Truth("media", name), content_type=mime) for name, mime, raw in loose
    ]
    return captures


def _picture(at: int) -> tuple[str, str, bytes]:
    """The image of the page with this number. Of the first six, all but one show the harbour, in five encodings and sizes."""
    if at < len(media.STORED):
        name = media.STORED[at]
        return name, "image/jpeg" if name.endswith("jpg") else "image/webp", media.stored(name)
    if at == len(media.STORED):
        return "harbour.png", "image/png", media.png(media.scene("harbour"))
    if at == len(media.STORED) + 1:
        return "harbour-half.png", "image/png", media.png(media.scene("harbour", media.WIDTH // 2, media.HEIGHT // 2))
    return f"view-{at}.png", "image/png", media.png(media.scene(f"view-{at}", 96, 72))

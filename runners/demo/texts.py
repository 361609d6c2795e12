"""The texts that the demo's pages are made of: the Declaration of Human Rights and our own short pieces.

Pages must differ unless a likeness is planted, so a language's thirty articles are dealt out once: twenty to
pages, four to the pages that something else is tried on, six (and the preamble) to the trusted books.
Where the texts come from and under which terms: SOURCES.md beside this file.
"""

import json
import lzma
import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from winnow.runners.demo.choice import shuffled

_FOLDER = resources.files("winnow.runners.demo")

PAGES_PER_LANGUAGE = 4
_ARTICLES_PER_PAGE = 5
_SCRAPS = 4


@dataclass(frozen=True, slots=True)
class Language:
    """A language as pages and truth name it. `key` tells scripts apart where one language has two."""

    key: str  # "swe", "cmn-Hans"
    name: str  # English
    tag: str  # for the lang attribute
    rtl: bool

    @property
    def iso(self) -> str:
        """The ISO 639-3 code."""
        return self.key.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Text:
    """One piece: what a page's article, a book's chapter or a note holds."""

    language: Language
    topic: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        """The paragraphs with a blank line between: what an extractor should find."""
        return "\n\n".join(self.paragraphs)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One translation, dealt out so that no two pages share an article by accident."""

    language: Language
    pages: tuple[Text, ...]
    scraps: tuple[Text, ...]  # one article each
    books: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """The words of a site around its articles, in the site's language (or in English, as on many sites)."""

    home: str
    news: str
    sport: str
    culture: str
    contact: str
    search: str
    more: str
    related: str
    comments: str
    share: str
    cookies: str
    accept: str
    rights: str


@cache
def declarations() -> dict[str, Declaration]:
    """The Declaration in each of its languages, by the language's key."""
    packed = lzma.decompress(_FOLDER.joinpath("udhr.json.xz").read_bytes())
    raw = json.loads(unicodedata.normalize("NFC", packed.decode()))
    dealt = {}
    for key, entry in raw.items():
        language = Language(key, entry["name"], _tag(entry["lang"]), entry["dir"] == "rtl")
        articles = shuffled(entry["articles"], "deal", key)
        cut = PAGES_PER_LANGUAGE * _ARTICLES_PER_PAGE
        pages = [_chapter(language, articles[at : at + _ARTICLES_PER_PAGE]) for at in range(0, cut, _ARTICLES_PER_PAGE)]
        scraps = [_chapter(language, [article]) for article in articles[cut : cut + _SCRAPS]]
        last = articles[cut + _SCRAPS :]
        preamble = tuple(entry["preamble"]) or _chapter(language, last[:3]).paragraphs
        opening = Text(language, "rights", entry["title"], preamble)
        closing = _chapter(language, last if entry["preamble"] else last[3:])
        dealt[key] = Declaration(language, tuple(pages), tuple(scraps), (opening, closing))
    return dealt


@cache
def language(key: str) -> Language:
    """The language of this key."""
    return declarations()[key].language


def scrap(key: str, *numbers: int) -> Text:
    """The articles set aside in a language for planted pages, or some of them; use each only once."""
    scraps = declarations()[key].scraps
    chosen = [scraps[number] for number in numbers or range(len(scraps))]
    return replace(chosen[0], paragraphs=tuple(paragraph for one in chosen for paragraph in one.paragraphs))


@cache
def prose() -> tuple[Text, ...]:
    """Our own pieces, English first, in the order of their files."""
    return (*_read_prose("prose_en.txt"), *_read_prose("prose_world.txt"))


def labels(key: str) -> Labels:
    """The words around an article for a language; English where we have none of its own."""
    table = _read_labels()
    return table.get(key, table["eng"])


@cache
def _read_labels() -> dict[str, Labels]:
    lines = _FOLDER.joinpath("labels.txt").read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if not line.startswith("#")]
    return {row[0]: Labels(*row[1:]) for row in rows}


def _tag(tag: str) -> str:
    """The tag as sites write it: without the orthography's name, which only the Declaration's editors note."""
    return tag if tag in ("pt-PT", "sr-Cyrl", "zh-Hant") else tag.partition("-")[0]


def _read_prose(name: str) -> list[Text]:
    pieces = []
    for block in _FOLDER.joinpath(name).read_text("utf-8").split("=== ")[1:]:
        heading, _, rest = block.partition("\n")
        subject, _, title = heading.partition(" | ")
        key, _, topic = subject.partition(" ")
        paragraphs = tuple(paragraph.strip() for paragraph in rest.strip().split("\n\n"))
        pieces.append(Text(language(key), topic, title, paragraphs))
    return pieces


def _chapter(language: Language, articles: list[list[str]]) -> Text:
    """Articles under one title: the first words of the first, as editors of such pages do."""
    paragraphs = tuple(paragraph for article in articles for paragraph in article[1:])
    return Text(language, "rights", _title_of(paragraphs[0]), paragraphs)


def _title_of(sentence: str) -> str:
    words = sentence.split(" ")
    if len(words) < 4:  # a script that puts no spaces between words
        return sentence[:18]
    return " ".join(words[:7])[:60].rstrip(",;:، ")

"""The texts that the demo's pages are made of: the Declaration of Human Rights and short pieces written for the demo.

Pages must differ unless a resemblance is planted, so each of a language's thirty articles is used once: twenty on
ordinary pages, four on planted pages, six (and the preamble) in the trusted books. SOURCES.md beside this file lists
where the texts come from, and their licences.
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
_SPARES = 4


@dataclass(frozen=True, slots=True)
class Language:
    """A language as pages and truth name it. `key` distinguishes the scripts of a language that has two."""

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
    """One piece: a page's article, a book's chapter or a note."""

    language: Language
    topic: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        """The paragraphs separated by blank lines: what an extractor should find."""
        return "\n\n".join(self.paragraphs)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One translation, divided so that no two pages share an article by accident."""

    language: Language
    pages: tuple[Text, ...]
    spares: tuple[Text, ...]  # one article each, for planted pages
    books: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """The words of a site around its articles, in the site's language (or in English, as is common)."""

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
    found = {}
    for key, entry in raw.items():
        language = Language(key, entry["name"], _tag(entry["lang"]), entry["dir"] == "rtl")
        articles = shuffled(entry["articles"], "deal", key)
        cut = PAGES_PER_LANGUAGE * _ARTICLES_PER_PAGE
        pages = [_chapter(language, articles[at : at + _ARTICLES_PER_PAGE]) for at in range(0, cut, _ARTICLES_PER_PAGE)]
        spares = [_chapter(language, [article]) for article in articles[cut : cut + _SPARES]]
        last = articles[cut + _SPARES :]
        preamble = tuple(entry["preamble"]) or _chapter(language, last[:3]).paragraphs
        opening = Text(language, "rights", entry["title"], preamble)
        closing = _chapter(language, last if entry["preamble"] else last[3:])
        found[key] = Declaration(language, tuple(pages), tuple(spares), (opening, closing))
    return found


@cache
def language(key: str) -> Language:
    """The language of this key."""
    return declarations()[key].language


def spare_text(key: str, *numbers: int) -> Text:
    """A language's articles for planted pages, or those with these numbers; use each only once."""
    spares = declarations()[key].spares
    chosen = [spares[number] for number in numbers or range(len(spares))]
    return replace(chosen[0], paragraphs=tuple(paragraph for one in chosen for paragraph in one.paragraphs))


@cache
def prose() -> tuple[Text, ...]:
    """The pieces written for the demo: English first, in the order of their files."""
    return (*_read_prose("prose_en.txt"), *_read_prose("prose_world.txt"))


def labels(key: str) -> Labels:
    """The words around an article in a language; English if there are none for it."""
    table = _read_labels()
    return table.get(key, table["eng"])


@cache
def _read_labels() -> dict[str, Labels]:
    lines = _FOLDER.joinpath("labels.txt").read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if not line.startswith("#")]
    return {row[0]: Labels(*row[1:]) for row in rows}


def _tag(tag: str) -> str:
    """The tag as sites write it: without the name of the orthography, which only the Declaration's editors add."""
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
    """Articles under one title, which is the first words of the first article."""
    paragraphs = tuple(paragraph for article in articles for paragraph in article[1:])
    return Text(language, "rights", _title_of(paragraphs[0]), paragraphs)


def _title_of(sentence: str) -> str:
    words = sentence.split(" ")
    if len(words) < 4:  # a script without spaces between words
        return sentence[:18]
    return " ".join(words[:7])[:60].rstrip(",;:، ")

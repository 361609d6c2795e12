"""Texts in many languages, as packages bring them: translations of programs, handbooks, names and lists of words.

Every reader gives (locale, text) of one source, in an order that its files alone decide.
"""

import csv
import gzip
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Texts = Iterator[tuple[str, str]]

_FLUENT = re.compile(r"^(?:[-\w]+|\s+\.[\w-]+|\s+\*?\[\w+\])\s*=?\s*(.*)$")
_FLUENT_KEYS = re.compile(r"\s+\.(?:accesskey|style|key)")
_ENTITY = re.compile(r'<!ENTITY\s+\S+\s+"([^"]*)"')
_BLOCKLY = re.compile(r'"((?:[^"\\]|\\.){4,})";?$', re.MULTILINE)
_YAML_TEXT = re.compile(r":\s+[\"']?(.+?)[\"']?$", re.MULTILINE)
_MALLARD = re.compile(r"<(p|title|desc)[^>]*>(.*?)</\1>", re.DOTALL)
_MALLARD_INFO = re.compile(r"<info>.*?</info>", re.DOTALL)
_HELP_TEXT = re.compile(r"<(?:p|h\d|td|li)\b[^>]*>(.*?)</(?:p|h\d|td|li)>", re.DOTALL)
_MAN_TEXT = re.compile(r"^(?![.'])(.{40,})$", re.MULTILINE)
_ROFF = re.compile(r"\\f[A-Z]|\\f\(..|\\[&|/,]|\\\(..|\\\[[^\]]*\]|\\-|\\e")
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’\u200c\u200d-][^\W\d_]+)*")
_HELP_PAGES = 8  # one in so many: there are three thousand in each language
_WORDPRESS = re.compile(r"(?:admin-network-|admin-|continents-cities-|.*-(?=[a-z]{2,3}(?:_|$)))")


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of texts."""

    name: str
    licence: str
    read: Callable[[Path], Texts]
    marks: bool = False  # whether `_` or `&` before a letter marks a key of a menu
    words: bool = False  # whether it is lists of words or names, not sentences


def messages(path: Path) -> Iterator[tuple[str, str]]:
    """The messages of a compiled catalogue of gettext, and their translations."""
    data = path.read_bytes()
    if len(data) < 28:
        return
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, originals, translations = struct.unpack(order + "3I", data[8:20])
    for number in range(count):
        size, start = struct.unpack_from(order + "2I", data, originals + 8 * number)
        size_2, start_2 = struct.unpack_from(order + "2I", data, translations + 8 * number)
        if size:
            message = data[start : start + size].split(b"\x04")[-1].split(b"\0")[0].decode("utf-8", "replace")
            for form in sorted(set(data[start_2 : start_2 + size_2].split(b"\0"))):
                yield message, form.decode("utf-8", "replace")


def _catalogues(folder: Path, locale: Callable[[Path], str]) -> Texts:
    for path in sorted(folder.rglob("*.mo")):
        for message, text in messages(path):
            if message != text:
                yield locale(path), text


def _locale_folder(path: Path) -> str:
    return path.parent.parent.name


def _wordpress_locale(path: Path) -> str:
    return _WORDPRESS.sub("", path.stem)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _mediawiki(root: Path) -> Texts:
    for path in sorted((root / "mediawiki").rglob("i18n/**/*.json")):
        if path.stem in ("qqq", "exif", "api"):
            continue
        try:
            found = json.loads(path.read_bytes())
        except ValueError:
            continue  # a few files of its tests are no JSON on purpose
        found.pop("@metadata", None)
        yield from ((path.stem, text) for text in _strings(found))


def _firefox(root: Path) -> Texts:
    for path in sorted((root / "firefox").rglob("*.xpi")):
        locale = path.name.removeprefix("langpack-").split("@")[0]
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                yield from ((locale, text) for text in _mozilla_texts(name, archive))


def _mozilla_texts(name: str, archive: zipfile.ZipFile) -> Iterator[str]:
    kind = name.rpartition(".")[2]
    if kind not in ("ftl", "properties", "dtd"):
        return
    text = archive.read(name).decode("utf-8", "replace")
    if kind == "dtd":
        yield from _ENTITY.findall(text)
        return
    for line in text.split("\n"):
        if line.startswith("#") or _FLUENT_KEYS.match(line):
            continue
        if kind == "properties":
            if "=" in line:
                yield line.split("=", 1)[1]
        else:
            match = _FLUENT.match(line)
            yield match[1] if match and ("=" in line or "[" in line) else line


def _gnome_help(root: Path) -> Texts:
    for path in sorted((root / "gnome").glob("usr/share/help/*/**/*.page")):
        locale = path.relative_to(root / "gnome/usr/share/help").parts[0]
        text = _MALLARD_INFO.sub("", path.read_text(encoding="utf-8"))
        yield from (("en" if locale == "C" else locale, match[1]) for match in _MALLARD.findall(text))


def _office_help(root: Path) -> Texts:
    for folder in sorted((root / "officehelp").glob("usr/share/libreoffice/help/*")):
        for path in sorted(folder.rglob("*.html"))[::_HELP_PAGES]:
            text = path.read_text(encoding="utf-8", errors="replace")
            yield from ((folder.name, found) for found in _HELP_TEXT.findall(text))


def _manpages(root: Path) -> Texts:
    for path in sorted((root / "manpages").glob("usr/share/man/*/man*/*.gz")):
        locale = path.parts[-3]
        if not path.is_symlink() and not locale.startswith("man"):
            text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
            yield from ((locale, _ROFF.sub("", found)) for found in _MAN_TEXT.findall(text))


def _cldr(root: Path) -> Texts:
    annotations = root / "npm/cldr-annotations-full/annotations"
    for path in sorted(annotations.glob("*/annotations.json")):
        for entry in json.loads(path.read_bytes())["annotations"].get("annotations", {}).values():
            yield path.parent.name, ", ".join([*entry.get("default", ()), *entry.get("tts", ())])
    for package in ("localenames", "dates"):
        for path in sorted((root / f"npm/cldr-{package}-full/main").glob("*/*.json")):
            held = [
                text
                for text in _strings(json.loads(path.read_bytes()))
                if not re.search(r"[{}]", text) and re.search(r"[^\W\d_]{3}|[^\x00-\x7f]{2}", text)
            ]
            yield from ((path.parent.name, ", ".join(held[at : at + 4])) for at in range(0, len(held), 4))


def _maps(root: Path) -> Texts:
    for path in sorted((root / "npm/id-tagging-schema/dist/translations").glob("*.json")):
        if ".min" not in path.name and path.stem != "index":
            yield from ((path.stem, text) for text in _strings(json.loads(path.read_bytes())))
    for path in sorted((root / "npm/osm-community-index/i18n").glob("*.yaml")):
        yield from ((path.stem, text) for text in _YAML_TEXT.findall(path.read_text(encoding="utf-8")))


def _blockly(root: Path) -> Texts:
    for path in sorted((root / "npm/blockly/msg").glob("*.js")):
        found = _BLOCKLY.findall(path.read_text(encoding="utf-8"))
        yield from ((path.stem, text) for text in found if "\\" not in text)


def _elotl(root: Path) -> Texts:
    for name, usual in (("axolotl", "nah"), ("tsunkua", "ote")):
        path = next((root / "pip").glob(f"elotl/corpora/{name}.csv"))
        with open(path, encoding="utf-8", newline="") as stream:
            for row in csv.reader(stream):
                match = re.search(r"\(([a-z]{3})\)", " ".join(row))
                code = row[-1] if re.fullmatch("[a-z]{3}", row[-1]) else match[1] if match else usual
                if len(row) > 1:
                    yield code, row[1]


_TESSERACT = {"chi_sim": "zh", "chi_tra": "zh", "kmr": "kmr", "srp_latn": "sr", "fil": "fil", "aze_cyrl": "az"}
_TESSERACT |= {"uzb_cyrl": "uz"}
_WORDS_OF_A_LIST = 24_000
_WORDS_OF_A_LINE = 8


def _word_lists(root: Path) -> Texts:
    for path in sorted((root / "tesseract/words").glob("*.txt")):
        locale = _TESSERACT.get(path.stem, path.stem)
        if "_" in locale or locale in ("frk", "osd", "equ", "enm", "frm"):
            continue
        words = [word for word in path.read_text("utf-8", "replace").split("\n") if _PLAIN_WORD.fullmatch(word)]
        random.Random(1).shuffle(words)
        for at in range(0, min(len(words), _WORDS_OF_A_LIST), _WORDS_OF_A_LINE):
            yield locale, " ".join(words[at : at + _WORDS_OF_A_LINE])


def _wesnoth(root: Path) -> Texts:
    for path in sorted((root / "wesnoth").rglob("*.mo")):
        for message, text in messages(path):
            if len(message) > 60 and text != message:
                yield _locale_folder(path), text.replace("\n", " ")


def _of(folder: str, locale: Callable[[Path], str] = _locale_folder) -> Callable[[Path], Texts]:
    return lambda root: _catalogues(root / folder, locale)


SOURCES = (
    Source("mediawiki", "GPL-2.0-or-later", _mediawiki),
    Source("libreoffice", "MPL-2.0", _of("libreoffice"), marks=True),
    Source("libreoffice-help", "MPL-2.0", _office_help),
    Source("firefox", "MPL-2.0", _firefox, marks=True),
    Source("wordpress", "GPL-2.0-or-later", _of("wordpress", _wordpress_locale)),
    Source("vlc", "GPL-2.0-or-later", _of("vlc"), marks=True),
    Source("tuxpaint", "GPL-2.0-or-later", _of("tuxpaint")),
    Source("applications", "GPL-2.0-or-later, LGPL-2.1-or-later", _of("gnome"), marks=True),
    Source("gnome-help", "CC-BY-SA-3.0", _gnome_help),
    Source("manpages", "GPL-2.0-or-later, MIT and others of the pages", _manpages),
    Source("blockly", "Apache-2.0", _blockly),
    Source("openstreetmap", "ISC", _maps),
    Source("cldr", "Unicode-3.0", _cldr, words=True),
    Source("elotl", "MPL-2.0", _elotl),
    Source("tesseract", "Apache-2.0", _word_lists, words=True),
)
FICTION = Source("wesnoth", "GPL-2.0-or-later", _wesnoth)
"""Never learned from: it is measured on."""

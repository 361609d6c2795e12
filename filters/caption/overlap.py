"""The words that captions share with their media's file names, and which captions repeat earlier ones.

A file name is that of a path or an archive entry, or the end of an address. Names and captions are compared word by
word in lower case and compatible characters (NFKC); in scripts without spaces each letter is a word. Only the beginning
of a very long caption is split into words; it counts as repeated if the rest is exactly equal.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Annotated, Any
from urllib.parse import unquote

import pyarrow as pa
import regex

from winnow.filters.caption.lists import MEDIA, REASONS, captions_of, listed
from winnow.filters.operators import CAPTIONS, STATUS, TextOperator
from winnow.schemas.recipe.checks import NotEmpty

URL = "samples.url"

WRITES = pa.schema(
    [
        STATUS,
        pa.field("file_name_share", pa.list_(pa.float64())),  # the share of its words in the file name
        pa.field("is_file_name", pa.list_(pa.bool_())),  # with its extension; without it for camera file names
        pa.field("repeated", pa.list_(pa.bool_())),  # an earlier caption of the row has the same words
    ]
)

_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Yi}\p{Tibetan}"
_WORDS = regex.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_MOST_CHARACTERS = 1 << 18  # of a caption: its words take about sixty times its memory
_EXTENSION = regex.compile(r"\.[a-z0-9]{1,5}$")
_GIVEN_BY_A_DEVICE = regex.compile(
    r"(?=.*[0-9_])[\x21-\x7e]+"
)  # such as img_2043; descriptions contain spaces or only letters


@dataclass(frozen=True, slots=True)
class OverlapConfig:
    """Which captions are measured."""

    captions: Annotated[str, NotEmpty()] = CAPTIONS  # the recipe's, or a column with lists of captions


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a row's media."""

    whole: frozenset[str]
    words: frozenset[str]


def overlap(batch: pa.RecordBatch, config: OverlapConfig) -> pa.RecordBatch:
    """The layer of a batch."""
    captions = captions_of(batch, config.captions)
    texts = captions.composed()
    shares: list[float | None] = []
    named: list[bool] = []
    repeated: list[bool] = []
    bounds = captions.offsets.tolist()
    media, urls = batch.column(MEDIA).to_pylist(), batch.column(URL).to_pylist()
    for row, (items, url) in enumerate(zip(media, urls, strict=True)):  # a row's captions take microseconds
        if bounds[row] == bounds[row + 1]:
            continue
        names = _names(items, url)
        said: set[tuple[bytes, bytes]] = set()
        for place in range(bounds[row], bounds[row + 1]):
            text: str = texts[place].as_py()
            plain = _plain(text[:_MOST_CHARACTERS])
            words = _WORDS.findall(plain)
            known = words and names.words
            shares.append(sum(word in names.words for word in words) / len(words) if known else None)
            named.append(plain in names.whole and len(text) <= _MOST_CHARACTERS)
            says = _digest(" ".join(words)), _digest(text[_MOST_CHARACTERS:])
            repeated.append(says in said)
            said.add(says)
    columns = [pa.array(shares, pa.float64()), pa.array(named, pa.bool_()), pa.array(repeated, pa.bool_())]
    return listed(captions, WRITES, columns)


def _names(items: Sequence[dict[str, Any]] | None, url: str | None) -> _Names:
    found = {_end(regex.split("[?#]", url, maxsplit=1)[0])} if url and items else set()
    for item in items or ():
        reference = item["ref"]
        if reference["container"] == "file":
            found.add(_end(reference["path"]))
        elif reference["container"].startswith("tar"):
            found.add(_end(reference["member"] or ""))
    names = {_plain(name) for name in found} - {""}
    stems = {_EXTENSION.sub("", name) for name in names}
    whole = (names - stems) | {stem for stem in stems if _GIVEN_BY_A_DEVICE.fullmatch(stem)}
    return _Names(frozenset(whole), frozenset(word for stem in stems for word in _WORDS.findall(stem)))


def _end(path: str) -> str:
    return unquote(path.rsplit("/", 1)[-1])


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


OPERATOR = TextOperator(
    name="caption.overlap",
    version=2,  # 2: only the first 262,144 characters of a caption are split into words
    summary="each caption's overlap with the file's name, and captions that a row repeats",
    config=OverlapConfig,
    reads=lambda config: (config.captions, MEDIA, URL),
    writes=lambda _: WRITES,
    load=lambda config, _assets: partial(overlap, config=config),
    needs=(MEDIA,),
    reasons=REASONS,
)

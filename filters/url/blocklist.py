"""Whether a list matches a sample's address: its domain, host, path, or a word in it.

Lists are winnow's assets or the user's files; `filters/web/url_lists/entries.py` defines their lines. The matching
entry is recorded in the form of a list entry. If several match, the most specific counts: a path before a host before
a domain before a word.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Annotated, Literal
from urllib.parse import unquote_to_bytes

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.operators import STATUS, Assets, Kernel, TextOperator
from winnow.filters.web.url_lists import matching, word_matching
from winnow.filters.web.url_lists.cache import load_list
from winnow.filters.web.url_lists.entries import Entry, Kind, written_entry
from winnow.filters.web.url_lists.index import UrlIndex, is_index
from winnow.filters.web.url_lists.matching import match_places
from winnow.filters.web.url_lists.published_lists import ASSETS
from winnow.filters.web.url_lists.word_matching import Automaton, automaton_of, match_words, word_text
from winnow.filters.web.urls import canonical_url
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between, NotEmpty
from winnow.schemas.safety import subcategories

NAME = "url.blocklist"
URL = "samples.url"
NO_ADDRESS = "no_address"

Match = Literal["domain", "host", "path", "word"]
_KINDS: dict[Match, frozenset[Kind]] = {
    "domain": frozenset({Kind.DOMAIN}),
    "host": frozenset({Kind.HOST}),
    "path": frozenset({Kind.PATH}),
    "word": frozenset({Kind.WORD, Kind.SOFT, Kind.PART}),
}
_MATCH_OF = {kind: match for match, kinds in _KINDS.items() for kind in kinds}


def _categories() -> list[str]:
    return [name for name, found in subcategories().items() if NAME in found.operators]


@dataclass(frozen=True)
class _Category:
    """A taxonomy subcategory that lists of addresses can detect."""

    expects: str = "a taxonomy subcategory that url.blocklist can detect"

    def complaint(self, value: object) -> str | None:
        """The message for an invalid value, with the valid ones."""
        if value in _categories():
            return None
        return f"{str(value)[:60]!r} is not {self.expects}: {', '.join(_categories())}"


@dataclass(frozen=True, slots=True)
class Config:
    """The list, the category of its matches, and which of its entries count."""

    list: Annotated[str, NotEmpty()] = "ut1-adult"  # an asset, or the path of a file with one entry per line
    category: Annotated[str, _Category()] = "sexual.adult_site"
    match: Annotated[tuple[Match, ...], NotEmpty()] = ("domain", "host", "path", "word")
    max_invalid_share: Annotated[float, Between(0, 1)] = 0.1  # of a list's lines; a list with more is refused


_SCHEMA = pa.schema(
    [
        STATUS,
        pa.field("hit", pa.bool_()),
        pa.field("list", pa.string()),  # the name of the asset, or of the file without its ending; null without a match
        pa.field("entry", pa.string()),
        pa.field("match", pa.string()),  # domain, host, path or word
    ]
)


class Matcher:
    """A loaded list that matches addresses."""

    def __init__(self, index: UrlIndex, name: str, match: tuple[Match, ...]) -> None:
        self._index = index
        self._name = name
        self._kinds = frozenset(kind for one in match for kind in _KINDS[one])
        entries = index.summary.entries
        self._by_word = "word" in match and any(entries.get(kind) for kind in ("word", "soft", "part"))
        self._automaton: Automaton = automaton_of(index.parts if self._by_word else ())

    def measure(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The layer of a batch of addresses."""
        urls = batch.column(URL)
        rows = len(urls)
        matches = np.full(rows, None, dtype=object)
        entries = np.full(rows, None, dtype=object)
        unread = np.zeros(rows, np.bool_)
        if rows:
            texts = _frozen(urls)
            odd = self._ask(texts, np.arange(rows), False, matches, entries)
            canonical = [canonical_url(url) for url in urls.take(pa.array(odd)).to_pylist()]
            unread[odd[[url is None for url in canonical]]] = True
            written = [url for url in canonical if url is not None]
            if written:
                read = odd[[url is not None for url in canonical]]
                self._ask(_frozen(pa.array(written, pa.large_string())), read, True, matches, entries)
        hits = np.array([match is not None for match in matches], np.bool_)
        names = [self._name if hit else None for hit in hits.tolist()]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(np.where(unread, NO_ADDRESS, "ok"), pa.string()),
                pa.array(hits, mask=unread),
                *(pa.array(column, pa.string()) for column in (names, entries, matches)),
            ],
            schema=_SCHEMA,
        )

    def _ask(
        self,
        texts: Texts,
        rows: npt.NDArray[np.int64],
        canonical: bool,
        matches: npt.NDArray[np.object_],
        entries: npt.NDArray[np.object_],
    ) -> npt.NDArray[np.int64]:
        """Record the matches of these rows' addresses; returns the rows whose addresses are not plain."""
        found = match_places(self._index, texts, canonical, self._kinds)
        for at in np.flatnonzero(found[:, 0] >= 0).tolist():  # hits are few
            kind, start, end, path, path_end = found[at].tolist()
            url = texts.array[at].as_py().encode()  # positions are those of bytes
            host = url[start:end].decode().lower()
            entry = Entry(Kind(kind), host + url[path:path_end].decode() if kind == Kind.PATH else host)
            entries[rows[at]], matches[rows[at]] = written_entry(entry), _MATCH_OF[entry.kind]
        if self._by_word:
            self._ask_for_words(texts, rows, canonical, found[:, 0] == matching.NO_MATCH, matches, entries)
        unread: npt.NDArray[np.int64] = rows[found[:, 0] == matching.NOT_READ]
        return unread

    def _ask_for_words(
        self,
        texts: Texts,
        rows: npt.NDArray[np.int64],
        canonical: bool,
        wanted: npt.NDArray[np.bool_],
        matches: npt.NDArray[np.object_],
        entries: npt.NDArray[np.object_],
    ) -> None:
        found = match_words(self._index, self._automaton, texts, canonical, False)
        foreign = np.flatnonzero(wanted & (found[:, 0] == word_matching.NOT_FOLDED))
        for at in np.flatnonzero(wanted & (found[:, 0] >= 0)).tolist():
            url = texts.array[at].as_py().encode()
            self._write(found[at], url, rows[at], matches, entries)
        if len(foreign):
            spoken = [word_text(canonical_url(url) or "") for url in texts.array.take(pa.array(foreign)).to_pylist()]
            found = match_words(self._index, self._automaton, _frozen(pa.array(spoken, pa.large_binary())), True, True)
            for at in np.flatnonzero(found[:, 0] >= 0).tolist():
                self._write(found[at], spoken[at], rows[foreign[at]], matches, entries)

    def _write(
        self,
        found: npt.NDArray[np.int32],
        url: bytes,
        row: np.int64,
        matches: npt.NDArray[np.object_],
        entries: npt.NDArray[np.object_],
    ) -> None:
        kind = Kind(int(found[0]))
        if kind == Kind.PART:
            words = [self._index.parts[found[5]]]
        else:
            pieces = [url[found[side] : found[side + 1]] for side in (1, 3) if found[side] >= 0]
            words = [unquote_to_bytes(piece).decode().lower() for piece in pieces]
        entries[row], matches[row] = " ".join(written_entry(Entry(kind, word)) for word in words), _MATCH_OF[kind]


def _frozen(column: pa.Array) -> Texts:
    """The buffers of a column, always read-only, so that kernels are compiled once."""
    texts = texts_of(column)
    texts.buffer.setflags(write=False)
    texts.offsets.setflags(write=False)
    return texts


def list_name(value: str) -> str:
    """A list's name in a layer: an asset's name, or a file's name without its endings."""
    name = PurePath(value).name
    for ending in (".gz", ".zst", ".txt", ".list", ".csv"):
        name = name.removesuffix(ending) or name
    return name


def _load(config: Config, assets: Assets) -> Kernel:
    complaint = _Category().complaint(config.category)
    if complaint is not None:
        raise RecipeError(f"{NAME}: category: {complaint}")
    index = load_list(assets.path(config.list))
    summary = index.summary
    if summary.invalid > config.max_invalid_share * summary.lines:
        raise RecipeError(
            f"{config.list}: {summary.invalid:,} of {summary.lines:,} lines are not entries "
            f"({summary.invalid_shown()}); correct them, or set max_invalid_share above {config.max_invalid_share:g}"
        )
    return partial(Matcher.measure, Matcher(index, list_name(config.list), config.match))


def _remarks(config: Config, assets: Assets) -> tuple[str, ...]:
    path = assets.path(config.list)
    if is_index(path):  # winnow's own
        return ()
    return tuple(f"{config.list}: {remark}" for remark in load_list(path).summary.remarks())


OPERATOR = TextOperator(
    name=NAME,
    version=1,
    summary="match of the page's address with a list of domains, hosts, addresses and words, and the matching entry",
    config=Config,
    reads=lambda _config: (URL,),
    writes=lambda _config: _SCHEMA,
    load=_load,
    needs=(URL,),
    assets=lambda config: (config.list,),
    declares=ASSETS,
    reasons=(NO_ADDRESS,),
    detects=lambda config: {"hit": config.category},
    depends=lambda config: (list_name(config.list),),  # which a layer names
    remarks=_remarks,
)

"""Captions of pictures from the pages of a crawl: alternative texts, figure captions, titles, and surrounding text.

A page shows a picture if the address of one of its images, by the rules of `url.canonical`, is the picture's: either
the one that readers see or an alternative for other screens. If no page does, as with pictures that scripts load, the
pages on which the crawler found the picture count. Page and picture may be in different files and shards: they are
matched by digests of addresses (`RowLookup`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.caption.lists import MEDIA, lengths_of
from winnow.filters.caption.pages.crawl import (
    LOADED,
    PAGE,
    REFUSING,
    SHOWN,
    Loading,
    image_keys,
    keys_of,
    keys_of_kinds,
    kind_of,
    loadings_of,
    of_kind,
    referrers_of,
)
from winnow.filters.extraction.placed_text import CONTEXT_CHARACTERS
from winnow.filters.operators import ANSWERS, STATUS, Assets, Kernel, RowLookup, TextOperator
from winnow.filters.web.rights.opt_outs import FETCHED_AT, METADATA, OptOutConfig, opt_out
from winnow.schemas.recipe.checks import Between, NotEmpty
from winnow.schemas.rows.duplicates import NO_MEDIA
from winnow.schemas.rows.samples import CAPTION

URL = "samples.url"
NO_PAGE = "no_page"  # no page of the store shows the picture

WRITES = pa.schema(
    [
        STATUS,
        pa.field("captions", pa.list_(pa.field("item", CAPTION, nullable=False))),
        pa.field("urls", pa.list_(pa.string())),  # of each caption, the address of its page
        pa.field("pages", pa.int32()),  # all pages of the store that show the picture, also beyond `max_pages`
        pa.field("referrers", pa.list_(pa.string())),  # the pages, in the store or not, on which the crawl found it
        pa.field("opted_out", pa.int32()),  # of these pages, those that opt out for themselves or for their pictures
    ]
)

ANSWER_COLUMNS = pa.schema(
    [pa.field("url", pa.string()), pa.field("captions", WRITES.field("captions").type, nullable=False)]
)
"""What one page says of one picture."""

MOST_CHARACTERS: Final = 2000  # a longer text is not a caption
MOST_CAPTIONS: Final = 64  # per picture: a page may show one many times, each time with another text

MOST_LISTED: Final = 16  # referrers of a picture

MOST_WORD: Final = 40  # characters; a longer one is not a word that was cut

_OPT_OUTS: Final = OptOutConfig(counts=(*OptOutConfig().counts, "noimageai"), max_signals=0)

Origin = Literal["alt", "figcaption", "title", "context", "page_title"]
_TITLE: Final = "page_title"
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "alt": ("alt",),
    "figcaption": ("caption",),
    "title": ("title",),
    "context": ("before", "after"),
    "page_title": (),  # of the page, not of an image
}


@dataclass(frozen=True, slots=True)
class PageConfig:
    """Which extractor's images are read, and which of their texts become captions."""

    extractor: str = "main"
    origins: Annotated[tuple[Origin, ...], NotEmpty()] = ("alt", "figcaption", "title", "context", "page_title")
    max_pages: Annotated[int, Between(1, 64)] = 4  # those with the smallest ids, as a logo is on every page


def wanted_keys(_config: PageConfig, batch: pa.RecordBatch) -> pa.Array:
    """For each picture, the keys of its address as shown and as loaded, and of where it was found: pages, or addresses
    that redirected to it, which pages show; and those under which pages opt out."""
    urls = batch.column(URL).filter(pa.array(lengths_of(batch.column(MEDIA)) > 0))
    pages = pa.array(list(chain(*referrers_of(batch.column(METADATA)))), pa.string())
    return pa.concat_arrays(
        [*keys_of_kinds(urls, SHOWN, LOADED, REFUSING), *keys_of_kinds(pages, SHOWN, PAGE, REFUSING)]
    )


def offered_keys(config: PageConfig, batch: pa.RecordBatch) -> tuple[NDArray[np.int64], pa.Array]:
    """The addresses of each page's images, its own, and those in its list of loaded pictures; again if it opts out."""
    showing, shown, *_ = _images(config, batch)
    pages = np.flatnonzero(batch.column(_columns(config)[0]).is_valid().to_numpy(zero_copy_only=False))
    own = keys_of(batch.column(URL).take(pa.array(pages)), PAGE)
    lists = [(row, url) for row, one in _loadings(batch).items() for url in one.images]
    loaded = keys_of(pa.array([url for _, url in lists], pa.string()), LOADED)
    rows = np.concatenate([showing, pages, np.array([row for row, _ in lists], np.int64)])
    keys = pa.concat_arrays([shown, own, loaded])
    there = keys.is_valid()
    rows, keys = rows[there.to_numpy(zero_copy_only=False)], keys.filter(there)
    refusing = np.flatnonzero(np.isin(rows, _opting_out(batch, rows)))
    refused = of_kind(keys.take(pa.array(refusing)), REFUSING)
    return np.concatenate([rows, rows[refusing]]), pa.concat_arrays([keys, refused])


def answers_for(config: PageConfig, batch: pa.RecordBatch, rows: NDArray[np.int64], keys: pa.Array) -> pa.RecordBatch:
    """The captions that pages give to the pictures with these keys; page titles come last."""
    _, language_of, title_of = _columns(config)
    owners, digests, places, items = _images(config, batch)
    asked = list(zip(rows.tolist(), keys.to_pylist(), strict=True))
    said: dict[tuple[int, bytes], dict[tuple[str, str], str | None]] = {one: {} for one in asked}
    languages, titles = batch.column(language_of).to_pylist(), batch.column(title_of).to_pylist()

    def take(one: tuple[int, bytes], origin: Origin, written: str | None) -> None:
        text, found = " ".join((written or "").split()), said[one]
        if text and len(text) <= MOST_CHARACTERS and len(found) < MOST_CAPTIONS:
            found.setdefault((text, origin), languages[one[0]] or None)

    wanted = pc.is_in(digests, value_set=keys).to_numpy(zero_copy_only=False)
    for at in np.flatnonzero(wanted).tolist():  # only for images that are pictures of the store
        one = int(owners[at]), digests[at].as_py()
        if one in said and len(said[one]) < MOST_CAPTIONS:
            image = items[int(places[at])].as_py()
            for origin in config.origins:
                for name in _FIELDS[origin]:
                    take(one, origin, whole_words(name, image[name]))
    if _TITLE in config.origins:
        for one in said:
            if kind_of(one[1]) in (SHOWN, PAGE):
                take(one, _TITLE, titles[one[0]])
    captions = [
        [{"text": text, "origin": origin, "language": language} for (text, origin), language in said[one].items()]
        for one in asked
    ]
    urls = dict(enumerate(batch.column(URL).to_pylist())) | {row: one.page for row, one in _loadings(batch).items()}
    pages = pa.array([urls[row] for row, _ in asked], pa.string())
    return pa.RecordBatch.from_arrays(
        [pages, pa.array(captions, ANSWER_COLUMNS.field("captions").type)], schema=ANSWER_COLUMNS
    )


def whole_words(field: str, written: str | None) -> str | None:
    """The text before or after an image without a word that its length limit cut; other texts unchanged."""
    if written is None or field not in _FIELDS["context"] or len(written) < CONTEXT_CHARACTERS:
        return written
    if field == "before":
        word, _, rest = written.partition(" ")
    else:
        rest, _, word = written.rpartition(" ")
    return rest if rest and len(word) <= MOST_WORD else written  # scripts without spaces have no word to drop


def load_shard(_config: PageConfig, answers: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from the captions of its pictures."""
    keys = answers.column("key").to_pylist()
    ends = [at for at in range(1, len(keys)) if keys[at] != keys[at - 1]]
    firsts = [0, *ends][: len(keys)]
    shown = {
        keys[first]: _joined(answers.slice(first, last - first))
        for first, last in zip(firsts, [*ends, len(keys)], strict=False)
    }
    return lambda batch: _layer(batch, shown)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The captions of one picture, and the pages that show it."""

    captions: list[tuple[dict[str, str | None], str | None]]  # each with the address of its page
    pages: list[str]
    count: int  # pages of the store, including those without captions


def _joined(answers: pa.RecordBatch) -> _Shown:
    """The answers for one key, joined."""
    said = answers.select(ANSWER_COLUMNS.names).to_pylist()
    captions = _distinct((caption, page["url"]) for page in said for caption in page["captions"])
    return _Shown(captions, [page["url"] for page in said if page["url"]], answers.column("total")[0].as_py())


def _together(pages: Sequence[_Shown]) -> _Shown | None:
    """The captions of several pages, joined; None without pages."""
    if not pages:
        return None
    captions = chain.from_iterable(one.captions for one in pages)
    return _Shown(_distinct(captions), [url for one in pages for url in one.pages], sum(one.count for one in pages))


def _distinct(
    captions: Iterable[tuple[dict[str, str | None], str | None]],
) -> list[tuple[dict[str, str | None], str | None]]:
    """Keep equal texts of one origin once, with the first page that has them; page titles come last."""
    found: dict[tuple[str | None, str | None], tuple[dict[str, str | None], str | None]] = {}
    for caption, url in captions:
        found.setdefault((caption["text"], caption["origin"]), (caption, url))
    return sorted(found.values(), key=lambda one: one[0]["origin"] == _TITLE)[:MOST_CAPTIONS]


def _layer(batch: pa.RecordBatch, shown: Mapping[bytes, _Shown]) -> pa.RecordBatch:
    held = (lengths_of(batch.column(MEDIA)) > 0).tolist()
    own = _rows_of(keys_of_kinds(batch.column(URL), SHOWN, LOADED, REFUSING))
    found_on = referrers_of(batch.column(METADATA))
    pages = _rows_of(keys_of_kinds(pa.array(list(chain(*found_on)), pa.string()), SHOWN, PAGE, REFUSING))
    asked = [(keys, on, list(islice(pages, len(on)))) for keys, on in zip(own, found_on, strict=True)]
    rows = [_row(shown, *one) if has else {STATUS.name: NO_MEDIA} for has, one in zip(held, asked, strict=True)]
    return pa.RecordBatch.from_pylist(rows, schema=WRITES)


def _rows_of(columns: Iterable[pa.Array]) -> Iterator[tuple[bytes | None, ...]]:
    return zip(*(column.to_pylist() for column in columns), strict=True)


def _row(
    shown: Mapping[bytes, _Shown],
    own: tuple[bytes | None, ...],
    found_on: Sequence[str],
    pages: Sequence[tuple[bytes | None, ...]],
) -> dict[str, Any]:
    """The captions come from pages that show the picture's address, or one that redirected to it; without any, from
    those it was found on.

    `own`: the keys of its address, as shown, as loaded and as refused; `pages`: those of each address in `found_on`, as
    shown, as a page and as refused.
    """
    address, loaded, refused = own
    by = shown.get(address) if address else None
    for kind in (0, 1):
        if by is None and found_on:
            by = _together([shown[key] for key in dict.fromkeys(keys[kind] for keys in pages) if key and key in shown])
    listed = shown[loaded].pages if loaded and loaded in shown else ()
    row: dict[str, Any] = {STATUS.name: NO_PAGE if by is None else "ok"}
    row["referrers"] = list(dict.fromkeys((*found_on, *listed)))[:MOST_LISTED] or None
    if by is not None:
        row["captions"], row["urls"] = [one for one, _ in by.captions], [url for _, url in by.captions]
        refusing = (refused, *(keys[-1] for keys in pages))
        opted_out = max((shown[key].count for key in refusing if key and key in shown), default=0)
        row["pages"], row["opted_out"] = (min(count, np.iinfo(np.int32).max) for count in (by.count, opted_out))
    return row


def _opting_out(batch: pa.RecordBatch, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of these rows whose pages opt out."""
    rows = np.unique(rows)
    said = opt_out(batch.select([METADATA, FETCHED_AT]).take(pa.array(rows)), _OPT_OUTS).column("opted_out")
    refusing: NDArray[np.bool_] = said.fill_null(False).to_numpy(zero_copy_only=False)
    return rows[refusing]


def _loadings(batch: pa.RecordBatch) -> dict[int, Loading]:
    return loadings_of(batch.column(URL), batch.column(METADATA))


def _images(
    config: PageConfig, batch: pa.RecordBatch
) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.int64], pa.Array]:
    """The row and digest of each image address of these pages, the index of its image, and the images."""
    images = batch.column(_columns(config)[0])
    items = images.flatten()
    keys, places = image_keys(items)
    return np.repeat(np.arange(len(images)), lengths_of(images))[places], keys, places, items


def _columns(config: PageConfig) -> tuple[str, str, str]:
    """The columns of a page's images, language and title."""
    layer = f"extract.{config.extractor}"
    return f"{layer}.images", f"{layer}.language", f"{layer}.title"


def _load(config: PageConfig, _assets: Assets) -> Kernel:
    return load_shard(config, pa.RecordBatch.from_pylist([], schema=pa.schema([*ANSWERS, *ANSWER_COLUMNS])))


OPERATOR = TextOperator(
    name="caption.page",
    # 2: pages of the whole store; 3: also pages on which the crawler found a picture; 4: titles of all
    # 5: the text around a picture begins and ends with whole words
    # 6: every address that a page gives for a picture
    version=7,  # 7: how many of the pages opt out; pages that show an address that redirected
    summary="what the pages that show a picture say of it: alternative text, caption, title, text around",
    config=PageConfig,
    reads=lambda config: (*_columns(config), URL, MEDIA, METADATA, FETCHED_AT),
    writes=lambda _: WRITES,
    load=_load,
    lookup=RowLookup(
        max_answers=lambda config: config.max_pages,
        wanted_keys=wanted_keys,
        offered_keys=offered_keys,
        answers_for=answers_for,
        answer_columns=ANSWER_COLUMNS,
        load=load_shard,
    ),
    needs=(),
    reasons=(NO_MEDIA, NO_PAGE),
)

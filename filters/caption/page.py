"""What the pages of a crawl say of its pictures: alternative texts, captions of figures, titles, and the text around.

A page shows a picture if the address of one of its images is the picture's, by the rules of `url.canonical`. Page and
picture meet within a shard: a crawler writes a page's pictures soon after the page, so as a rule into the same shard.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.caption.lists import MEDIA, NO_MEDIA
from winnow.filters.operators import STATUS, Assets, Kernel, Operator
from winnow.filters.url.canonical import CanonicalConfig, canonical
from winnow.schemas.recipe.checks import Between, NotEmpty
from winnow.schemas.rows.samples import CAPTION

URL = "samples.url"
NO_PAGE = "no_page"  # none of the shard shows the picture

WRITES = pa.schema(
    [
        STATUS,
        pa.field("captions", pa.list_(pa.field("item", CAPTION, nullable=False))),
        pa.field("urls", pa.list_(pa.string())),  # of each caption, the address of its page
        pa.field("pages", pa.int32()),  # how many pages of the shard show the picture, also beyond `max_pages`
    ]
)

MOST_CHARACTERS: Final = 2000  # a longer text is no caption

Origin = Literal["alt", "figcaption", "title", "context"]
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "alt": ("alt",),
    "figcaption": ("caption",),
    "title": ("title",),
    "context": ("before", "after"),
}


@dataclass(frozen=True, slots=True)
class PageConfig:
    """Which extractor's images are read, and which of their texts become captions."""

    extractor: str = "fast"
    origins: Annotated[tuple[Origin, ...], NotEmpty()] = ("alt", "figcaption", "title", "context")
    max_pages: Annotated[int, Between(1, 64)] = 4  # the first in the order of the shard; a logo is on every page


@dataclass(slots=True)
class _Shown:
    """What pages say of one picture."""

    captions: list[dict[str, str | None]] = field(default_factory=list)
    urls: list[str | None] = field(default_factory=list)
    pages: int = 0
    last: int = -1  # the row of the last page


def captions_of_pages(config: PageConfig, rows: Callable[[], Iterator[pa.RecordBatch]]) -> Kernel:
    """The kernel for one shard.

    Args:
        config: The configuration.
        rows: All rows of the shard, with the columns that the operator reads; called twice.
    """
    pictures: set[bytes] = set()
    for batch in rows():
        there = np.flatnonzero(_counts(batch.column(MEDIA)) > 0)
        pictures.update(one for one in _digests(batch.column(URL).take(pa.array(there))).to_pylist() if one)
    shown = {digest: _Shown() for digest in pictures}
    first = 0
    for batch in rows():
        _read_pages(config, batch, first, shown)
        first += batch.num_rows
    return lambda batch: _layer(batch, shown)


def _read_pages(config: PageConfig, batch: pa.RecordBatch, first: int, shown: dict[bytes, _Shown]) -> None:
    images_of, language_of, _ = _columns(config)
    images = batch.column(images_of)
    counts = _counts(images)
    if not counts.any() or not shown:
        return
    items = images.flatten()
    digests = _digests(pc.struct_field(items, "src"))
    known = pc.is_in(digests, value_set=pa.array(list(shown), digests.type)).to_numpy(zero_copy_only=False)
    owners = np.repeat(np.arange(len(counts)), counts)
    urls, languages = batch.column(URL), batch.column(language_of)
    for at in np.flatnonzero(known).tolist():  # only images that the shard holds
        one, owner = shown[digests[at].as_py()], int(owners[at])
        if one.last != first + owner:
            one.last = first + owner
            one.pages += 1
        if one.pages > config.max_pages:
            continue
        url, language = urls[owner].as_py(), languages[owner].as_py() or None
        said = items[at].as_py()
        before = {(caption["text"], caption["origin"]) for caption in one.captions}
        for origin in config.origins:
            for text in (" ".join((said[name] or "").split()) for name in _FIELDS[origin]):
                if text and len(text) <= MOST_CHARACTERS and (text, origin) not in before:
                    before.add((text, origin))
                    one.captions.append({"text": text, "origin": origin, "language": language})
                    one.urls.append(url)


def _layer(batch: pa.RecordBatch, shown: dict[bytes, _Shown]) -> pa.RecordBatch:
    held = _counts(batch.column(MEDIA)) > 0
    digests = _digests(batch.column(URL)).to_pylist()
    statuses: list[str] = []
    found: list[_Shown | None] = []
    for has_media, digest in zip(held.tolist(), digests, strict=True):  # a look-up for each row
        one = shown.get(digest) if has_media and digest else None
        found.append(one if one is not None and one.pages else None)
        statuses.append(NO_MEDIA if not has_media else NO_PAGE if found[-1] is None else "ok")
    columns: Sequence[list[Any]] = (
        statuses,
        [None if one is None else one.captions for one in found],
        [None if one is None else one.urls for one in found],
        [None if one is None else one.pages for one in found],
    )
    arrays = [pa.array(values, kind) for values, kind in zip(columns, WRITES.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=WRITES)


def _digests(urls: pa.Array) -> pa.Array:
    """The digest of each canonical address; null for what is none."""
    batch = pa.RecordBatch.from_arrays([urls.cast(pa.string())], names=[URL])
    return canonical(batch, CanonicalConfig()).column("digest")


def _counts(lists: pa.ListArray) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = pc.fill_null(lists.value_lengths(), 0).to_numpy(zero_copy_only=False)
    return counts


def _columns(config: PageConfig) -> tuple[str, str, str]:
    return f"extract.{config.extractor}.images", f"extract.{config.extractor}.language", URL


def _load(_config: PageConfig, _assets: Assets) -> Kernel:
    return lambda batch: _layer(batch, {})


OPERATOR = Operator(
    name="caption.page",
    version=1,
    summary="what the pages that show a picture say of it: alternative text, caption, title, text around",
    config=PageConfig,
    reads=lambda config: (*_columns(config), MEDIA),
    writes=lambda _: WRITES,
    load=_load,
    across=captions_of_pages,
    needs=(),
    reasons=(NO_MEDIA, NO_PAGE),
)

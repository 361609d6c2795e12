"""What the pages of a crawl say of its pictures: alternative texts, captions of figures, titles, and the text around.

A page shows a picture if the address of one of its images is the picture's, by the rules of `url.canonical`. Page and
picture may be in different files and shards: they meet by the digests of addresses (`Across`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.caption.lists import MEDIA, NO_MEDIA
from winnow.filters.operators import ANSWERS, STATUS, Across, Assets, Kernel, Operator
from winnow.filters.url.canonical import CanonicalConfig, canonical
from winnow.schemas.recipe.checks import Between, NotEmpty
from winnow.schemas.rows.samples import CAPTION

URL = "samples.url"
NO_PAGE = "no_page"  # none of the store shows the picture

WRITES = pa.schema(
    [
        STATUS,
        pa.field("captions", pa.list_(pa.field("item", CAPTION, nullable=False))),
        pa.field("urls", pa.list_(pa.string())),  # of each caption, the address of its page
        pa.field("pages", pa.int32()),  # how many pages of the store show the picture, also beyond `max_pages`
    ]
)

SAYS = pa.schema([pa.field("url", pa.string()), pa.field("captions", WRITES.field("captions").type, nullable=False)])
"""What one page says of one picture."""

MOST_CHARACTERS: Final = 2000  # a longer text is no caption
MOST_CAPTIONS: Final = 64  # of a picture: a page may show one many times, and write something else each time

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
    max_pages: Annotated[int, Between(1, 64)] = 4  # those with the smallest ids; a logo is on every page


def ask(_config: PageConfig, batch: pa.RecordBatch) -> pa.Array:
    """The digest of each picture's address; null for rows without media."""
    return pc.if_else(pa.array(_counts(batch.column(MEDIA)) > 0), _digests(batch.column(URL)), None)


def offer(config: PageConfig, batch: pa.RecordBatch) -> tuple[NDArray[np.int64], pa.Array]:
    """The digests of the addresses of each page's images."""
    rows, digests, _ = _images(config, batch)
    there = digests.is_valid()
    return rows[there.to_numpy(zero_copy_only=False)], digests.filter(there)


def say(config: PageConfig, batch: pa.RecordBatch, rows: NDArray[np.int64], keys: pa.Array) -> pa.RecordBatch:
    """What pages say of the pictures with these addresses."""
    _, language_of, _ = _columns(config)
    owners, digests, items = _images(config, batch)
    said: dict[tuple[int, bytes], dict[tuple[str, str], str | None]] = {
        (row, key): {} for row, key in zip(rows.tolist(), keys.to_pylist(), strict=True)
    }
    languages = batch.column(language_of).to_pylist()
    asked = pc.is_in(digests, value_set=keys).to_numpy(zero_copy_only=False)
    for at in np.flatnonzero(asked).tolist():  # only images that are pictures of the store
        row = int(owners[at])
        found = said.get((row, digests[at].as_py()))
        if found is not None and len(found) < MOST_CAPTIONS:
            image = items[at].as_py()
            for origin in config.origins:
                for text in (" ".join((image[name] or "").split()) for name in _FIELDS[origin]):
                    if text and len(text) <= MOST_CHARACTERS and len(found) < MOST_CAPTIONS:
                        found.setdefault((text, origin), languages[row] or None)
    captions = [
        [{"text": text, "origin": origin, "language": language} for (text, origin), language in found.items()]
        for found in (said[one] for one in zip(rows.tolist(), keys.to_pylist(), strict=True))
    ]
    urls = batch.column(URL).cast(pa.string()).take(pa.array(rows))
    return pa.RecordBatch.from_arrays([urls, pa.array(captions, SAYS.field("captions").type)], schema=SAYS)


def load_shard(_config: PageConfig, answers: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from what pages say of its pictures."""
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
    """What pages say of one picture."""

    captions: list[dict[str, str | None]]
    urls: list[str | None]
    pages: int


def _joined(answers: pa.RecordBatch) -> _Shown:
    """Equal texts of one origin are kept once, with the first page that has them."""
    found: dict[tuple[str, str], tuple[dict[str, str | None], str | None]] = {}
    for page in answers.select(SAYS.names).to_pylist():
        for caption in page["captions"]:
            if len(found) < MOST_CAPTIONS:
                found.setdefault((caption["text"], caption["origin"]), (caption, page["url"]))
    captions, urls = [caption for caption, _ in found.values()], [url for _, url in found.values()]
    return _Shown(captions, urls, min(answers.column("total")[0].as_py(), np.iinfo(np.int32).max))


def _layer(batch: pa.RecordBatch, shown: dict[bytes, _Shown]) -> pa.RecordBatch:
    held = _counts(batch.column(MEDIA)) > 0
    digests = _digests(batch.column(URL)).to_pylist()
    found = [shown.get(one) if has and one else None for has, one in zip(held.tolist(), digests, strict=True)]
    statuses = [
        NO_MEDIA if not has else NO_PAGE if one is None else "ok" for has, one in zip(held.tolist(), found, strict=True)
    ]
    columns: Sequence[list[Any]] = (
        statuses,
        [None if one is None else one.captions for one in found],
        [None if one is None else one.urls for one in found],
        [None if one is None else one.pages for one in found],
    )
    arrays = [pa.array(values, kind) for values, kind in zip(columns, WRITES.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=WRITES)


def _images(config: PageConfig, batch: pa.RecordBatch) -> tuple[NDArray[np.int64], pa.Array, pa.Array]:
    """The row of each image of these pages, the digest of its address, and the image."""
    images = batch.column(_columns(config)[0])
    items = images.flatten()
    return np.repeat(np.arange(len(images)), _counts(images)), _digests(pc.struct_field(items, "src")), items


def _digests(urls: pa.Array) -> pa.Array:
    """The digest of each canonical address; null for what is none."""
    batch = pa.RecordBatch.from_arrays([urls.cast(pa.string())], names=[URL])
    return canonical(batch, CanonicalConfig()).column("digest")


def _counts(lists: pa.ListArray) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = pc.fill_null(lists.value_lengths(), 0).to_numpy(zero_copy_only=False)
    return counts


def _columns(config: PageConfig) -> tuple[str, str, str]:
    return f"extract.{config.extractor}.images", f"extract.{config.extractor}.language", URL


def _load(config: PageConfig, _assets: Assets) -> Kernel:
    return load_shard(config, pa.RecordBatch.from_pylist([], schema=pa.schema([*ANSWERS, *SAYS])))


OPERATOR = Operator(
    name="caption.page",
    version=2,  # 2: pages of the whole store, of which those with the smallest ids give captions
    summary="what the pages that show a picture say of it: alternative text, caption, title, text around",
    config=PageConfig,
    reads=lambda config: (*_columns(config), MEDIA),
    writes=lambda _: WRITES,
    load=_load,
    across=Across(most=lambda config: config.max_pages, ask=ask, offer=offer, say=say, says=SAYS, load=load_shard),
    needs=(),
    reasons=(NO_MEDIA, NO_PAGE),
)

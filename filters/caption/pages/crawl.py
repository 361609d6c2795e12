"""Which page shows a picture, according to crawl records other than the pages themselves."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.schemas.rows.referrers import LOADED, MOST_LOADED, MOST_REFERRERS, PAGE_INFO, REFERRERS


@dataclass(frozen=True, slots=True)
class Loading:
    """The pictures that a browser loaded for a page."""

    page: str
    images: list[str]


def referrers_of(metadata: pa.Array) -> list[list[str]]:
    """For each row, the addresses of the pages on which the crawler found it."""
    noted = pc.fill_null(pc.match_substring(metadata, f'"{REFERRERS}"'), False)
    found = pc.if_else(noted, metadata, None).to_pylist()  # only for pictures of crawls: most rows are not parsed
    return [_texts(_parsed(one).get(REFERRERS), MOST_REFERRERS) for one in found]


def loadings_of(urls: pa.Array, metadata: pa.Array) -> dict[int, Loading]:
    """The rows that list the pictures a page loaded, by row number."""
    lists = pc.fill_null(pc.starts_with(urls, PAGE_INFO), False)
    found = {}
    for row in pc.indices_nonzero(lists).to_pylist():
        said = _parsed(metadata[row].as_py()).get(LOADED)
        page = said.get("url") if isinstance(said, Mapping) else None
        if isinstance(said, Mapping) and isinstance(page, str):
            found[row] = Loading(page, _texts(said.get("images"), MOST_LOADED))
    return found


def _parsed(metadata: str | None) -> Mapping[str, object]:
    said = orjson.loads(metadata) if metadata else {}
    return said if isinstance(said, dict) else {}


def _texts(value: object, most: int) -> list[str]:
    """The strings of a list; sources other than crawls may use the same name for something else."""
    return [one for one in value if isinstance(one, str)][:most] if isinstance(value, list) else []

"""The common part of all extractors: which pages they read, and the rows they write.

Rows are built column by column: a hundred links per page are too many for dicts.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.extraction.page import Facts
from winnow.filters.extraction.placed_text import PlacedText, context
from winnow.schemas.rows.extraction import EXTRACTION, IMAGE, LINK, PART, Status

_NOWHERE = (None, None)
_TAG = ord("<")


class ExtractionRows:
    """Collects rows of EXTRACTION, followed by columns of the extractor's own."""

    def __init__(self, own: Sequence[pa.Field] = ()) -> None:
        self._own: list[tuple[pa.Field, list[object]]] = [(field, []) for field in own]
        self._status: list[str] = []
        self._text: list[bytes | None] = []
        self._title: list[str | None] = []
        self._canonical_url: list[str | None] = []
        self._language: list[str | None] = []
        self._links = _Lists(2)
        self._images = _Lists(IMAGE.num_fields)
        self._parts = _Lists(4)

    def refuse(self, status: Status, own: Mapping[str, object] | None = None) -> None:
        """Add a row without text: null except for its status and the extractor's own columns."""
        self._status.append(status)
        for column in (self._text, self._title, self._canonical_url, self._language):
            column.append(None)
        for lists in (self._links, self._images, self._parts):
            lists.end_null()
        for field, values in self._own:
            values.append(None if own is None else own.get(field.name))

    def add(self, placed: PlacedText, facts: Facts, own: Mapping[str, object] | None = None) -> None:
        """Add an extracted row. Parts and metadata use the same image numbers."""
        for field, values in self._own:
            values.append(own[field.name] if own is not None else None)
        text, parts = placed.text, placed.parts
        self._status.append("ok" if text else "empty")
        self._text.append(text)
        self._title.append(facts.title)
        self._canonical_url.append(facts.canonical_url)
        self._language.append(facts.language)
        urls, rels = self._links.columns
        urls.extend(facts.links)
        rels.extend(facts.links.values())
        self._links.end()
        indices: dict[int | None, int | None] = {None: None}
        if facts.images:
            places = {
                number: start for number, start in zip(parts.images, parts.starts, strict=True) if number is not None
            }
            columns = self._images.columns
            for index, (number, image) in enumerate(facts.images.items()):
                indices[number] = index
                before, after = context(text, places[number]) if number in places else _NOWHERE
                said = (image.src, image.alt, image.title, image.caption)
                row = (*said, before, after, image.width, image.height, image.candidates or None)
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
        self._images.end()
        kinds, starts, ends, images = self._parts.columns
        for mark, kind, start, end in zip(parts.images, parts.kinds, parts.starts, parts.ends, strict=True):
            if mark in indices:
                kinds.append(kind)
                starts.append(start)
                ends.append(end)
                images.append(indices[mark])
        self._parts.end()

    def batch(self) -> pa.RecordBatch:
        """All rows so far."""
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self._status, pa.string()),
                pa.array(self._text, pa.large_string()),
                pa.array(self._title, pa.string()),
                pa.array(self._canonical_url, pa.string()),
                pa.array(self._language, pa.string()),
                self._links.array(LINK, "links"),
                self._images.array(IMAGE, "images"),
                self._parts.array(PART, "parts"),
                *(pa.array(values, field.type) for field, values in self._own),
            ],
            schema=pa.schema([*EXTRACTION, *(field for field, _ in self._own)]),
        )


class _Lists:
    """One list column of structs: flat columns, and the end of each row's list."""

    def __init__(self, columns: int) -> None:
        self.columns: list[list[str | int | tuple[str, ...] | None]] = [[] for _ in range(columns)]
        self._offsets: list[int] = [0]
        self._null: list[bool] = []

    def end(self) -> None:
        self._offsets.append(len(self.columns[0]))
        self._null.append(False)

    def end_null(self) -> None:
        self._offsets.append(len(self.columns[0]))
        self._null.append(True)

    def array(self, item: pa.StructType, column: str) -> pa.ListArray:
        fields = [item.field(place) for place in range(item.num_fields)]
        values = pa.StructArray.from_arrays(
            [pa.array(values, field.type) for values, field in zip(self.columns, fields, strict=True)], fields=fields
        )
        return pa.ListArray.from_arrays(
            pa.array(self._offsets, pa.int32()),
            values,
            type=EXTRACTION.field(column).type,
            mask=pa.array(self._null, pa.bool_()) if any(self._null) else None,
        )


def readable(
    pages: pa.RecordBatch, rows: ExtractionRows, max_bytes: int, max_nodes: int
) -> Iterator[tuple[bytes, str | None]]:
    """The source and address of each page of PAGES within the limits; the others are refused in `rows`."""
    html = pages.column("html")
    for place, (url, size) in enumerate(  # page by page: the work on each is compiled
        zip(pages.column("url").to_pylist(), pc.binary_length(html).to_pylist(), strict=True)
    ):
        if size is None:
            rows.refuse("not_html")
        elif size > max_bytes:
            rows.refuse("too_large")
        elif np.count_nonzero(np.frombuffer(source := html[place].as_buffer(), np.uint8) == _TAG) > max_nodes:
            rows.refuse("too_many_nodes")
        else:
            yield source.to_pybytes(), url

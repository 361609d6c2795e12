"""Rows with captions, as operators read them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from winnow.filters.operators import CAPTIONS, find_operator
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.rows.samples import SAMPLES

Row = tuple[Sequence[str], str | None, str | None]  # its captions, its file's path if it has a medium, its address


def medium(path: str, container: str = "file", member: str | None = None) -> dict[str, Any]:
    reference = {"path": path, "offset": 0, "length": 1, "container": container, "member": member, "etag": None}
    return {"mime": "image/jpeg", "ref": reference}


def batch(*rows: Row, media: Sequence[dict[str, Any]] | None = None) -> pa.RecordBatch:
    """The columns that operators on captions read; `media` takes the place of the media files' paths."""
    items = media or [medium(path) if path else {} for _, path, _ in rows]
    values = {
        "captions": [[{"text": text, "origin": "source"} for text in said] for said, _, _ in rows],
        "media": [[item] if item else [] for item in items],
        "url": [url for _, _, url in rows],
    }
    names = {name: CAPTIONS if name == CAPTIONS else f"samples.{name}" for name in values}
    columns = {names[name]: pa.array(values[name], SAMPLES.field(name).type) for name in values}
    return pa.RecordBatch.from_pydict(columns)


def layer(name: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """What an operator with its defaults writes."""
    operator = find_operator(f"caption.{name}")
    config = operator.config()
    found = operator.load(config, AssetFiles())(rows.select(list(operator.inputs(config))))
    assert found.schema.equals(operator.writes(config))
    found.validate(full=True)
    return found


def measured(name: str, *rows: Row) -> list[dict[str, Any]]:
    """The layer's rows; binary values in hexadecimal digits."""
    return [{column: _shown(value) for column, value in row.items()} for row in layer(name, batch(*rows)).to_pylist()]


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value

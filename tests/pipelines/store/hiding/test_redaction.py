"""What is left of a forgotten row: its place, and nothing of what it held."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.store.hiding.redaction import is_redacted, redacted, redacted_batches
from winnow.schemas.rows.extraction import EXTRACTION
from winnow.schemas.rows.samples import SAMPLES

SAMPLE = {
    "id": b"0123456789abcdef",
    "source": {
        "name": "crawl",
        "path": "a.warc.gz",
        "record": "jane@mail.example",
        "offset": 7,
        "length": 11,
        "unit": "bytes",
        "member": 2,
        "fetched_at": datetime(2024, 5, 1, tzinfo=UTC),
        "fetched_with": "somebody",
    },
    "source_class": "web",
    "licence": "unknown",
    "url": "https://example.com/",
    "domain": "example.com",
    "modality": "image",
    "mime": "image/png",
    "text": "words",
    "media": [
        {
            "sha256": None,
            "mime": "image/png",
            "ref": {
                "path": "a.png",
                "offset": 0,
                "length": 1,
                "container": "file",
                "member": None,
                "etag": None,
            },
            "width": 1,
            "height": 1,
            "orientation": 1,
            "frames": 1,
            "seconds": None,
        }
    ],
    "captions": [{"text": "words", "origin": "alt", "language": None}],
    "metadata": '{"author":"Jane"}',
}


def test_a_sample_keeps_its_place_alone() -> None:
    batch = pa.RecordBatch.from_pylist([SAMPLE, SAMPLE], schema=SAMPLES)
    kept, gone = redacted("samples", batch, np.array([False, True])).to_pylist()
    assert kept == batch.to_pylist()[0]
    assert gone == {
        "id": b"0123456789abcdef",
        "source": {
            "name": "crawl",
            "path": "a.warc.gz",
            "record": "",
            "offset": 7,
            "length": 11,
            "unit": "bytes",
            "member": 2,
            "fetched_at": None,
            "fetched_with": None,
        },
        "source_class": "web",
        "licence": "unknown",
        "url": None,
        "domain": None,
        "modality": "forgotten",
        "mime": None,
        "text": None,
        "media": [],
        "captions": [],
        "metadata": "{}",
    }
    assert is_redacted(redacted("samples", batch, np.array([False, True]))).tolist() == [False, True]


def test_a_measurement_says_that_it_is_forgotten() -> None:
    batch = pa.RecordBatch.from_pylist([{"status": "ok", "text": "words", "links": []}] * 2, schema=EXTRACTION)
    gone = redacted("extract.main", batch, np.array([True, False])).to_pylist()[0]
    assert gone == {name: "forgotten" if name == "status" else None for name in EXTRACTION.names}


def test_a_layer_of_any_columns_becomes_empty() -> None:
    """Where null may not be, the empty value is."""
    kinds = [pa.string(), pa.large_binary(), pa.binary(2), pa.int32(), pa.float64(), pa.bool_(), pa.list_(pa.int8())]
    kinds.append(pa.struct([pa.field("a", pa.string(), nullable=False), pa.field("b", pa.int8())]))
    values: list[object] = ["a", b"a", b"aa", 1, 1.5, True, [1], {"a": "a", "b": 1}]
    schema = pa.schema([pa.field(str(number), kind, nullable=False) for number, kind in enumerate(kinds)])
    batch = pa.RecordBatch.from_arrays([pa.array([v], k) for v, k in zip(values, kinds, strict=True)], schema=schema)
    gone = redacted("dedupe.near", batch, np.array([True]))
    assert list(gone.to_pylist()[0].values()) == ["", b"", b"\0\0", 0, 0.0, False, [], {"a": "", "b": None}]


@given(st.integers(0, 40), st.sets(st.integers(0, 39)), st.integers(1, 9))
def test_batches_and_order_do_not_matter_and_twice_is_once(rows: int, numbers: set[int], cut: int) -> None:
    table = pa.table({"status": ["ok"] * rows, "n": pa.array(range(rows), pa.int64())})
    chosen = np.array(sorted(number for number in numbers if number < rows), np.int64)
    once = list(redacted_batches("text.x", table.to_batches(max_chunksize=cut), chosen))
    found = pa.Table.from_batches(once, schema=table.schema)
    assert found["n"].to_pylist() == [None if row in numbers else row for row in range(rows)]
    assert found["status"].to_pylist() == ["forgotten" if row in numbers else "ok" for row in range(rows)]
    assert pa.Table.from_batches(redacted_batches("text.x", once, chosen), schema=table.schema).equals(found)

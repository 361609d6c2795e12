"""The documents of `benchmarks.safety`: real pages, with personal data, addresses and headers as pages of the web have.

A line of made-up personal data (an e-mail address, a telephone number, a bank account …) stands in every fifth page,
one page in fifty lies on an adult site, one in twenty says something in its headers. What is planted where depends on
the page's name alone.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.inputs.pages import CACHE
from benchmarks.parity.documents import Document
from benchmarks.safety_parity.known import Known, with_codes
from benchmarks.safety_parity.planting import all_planters
from winnow.schemas.identity import digest
from winnow.schemas.rows.samples import TIMESTAMP

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("text", pa.large_string()),
        pa.field("text.language.code", pa.string()),
        pa.field("samples.url", pa.string()),
        pa.field("samples.domain", pa.string()),
        pa.field("samples.metadata", pa.string()),
        pa.field("samples.source.fetched_at", TIMESTAMP),
    ]
)
_KINDS = tuple(f"personal.{kind}" for kind in ("email", "phone", "ip", "iban", "card", "crypto_address"))
_BATCH = 512
_PLANTED = all_planters()


def safety_documents(count: int) -> Path:
    """A Parquet file of this many documents, made once."""
    target = CACHE / f"safety-{count}.parquet"
    if not target.exists():
        unfinished = target.with_suffix(".unfinished")
        with pq.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer:
            for batch in _batches(cached_documents(count)):
                writer.write_batch(batch)
        unfinished.rename(target)
    return target


def _batches(documents: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(documents) as parquet:
        for batch in parquet.iter_batches(_BATCH, columns=["id", "language", "text"]):
            known = with_codes(
                [Known(Document(row["id"], row["text"], row["language"]), "page") for row in batch.to_pylist()]
            )
            yield pa.RecordBatch.from_pylist([_row(one) for one in known], schema=SCHEMA)


def _row(known: Known) -> dict[str, object]:
    number = int.from_bytes(digest("safety", known.document.id)[:4], "big")
    document = known.document
    if number % 5 == 0:
        document = next(_PLANTED(known, frozenset((_KINDS[number // 5 % len(_KINDS)],)))).document
    host = "pornhub.com" if number % 50 == 1 else f"site-{number % 997}.example.org"
    said = '{"http_status":200,"opt_out":{"headers":{"x-robots-tag":["noindex, noai"]}}}'
    return {
        "id": document.id,
        "text": document.text,
        "text.language.code": document.language,
        "samples.url": f"https://www.{host}/pages/{number}/{number % 31}.html?page={number % 7}",
        "samples.domain": host if "pornhub" in host else "example.org",
        "samples.metadata": said if number % 20 == 2 else '{"http_status":200,"opt_out":{"headers":{}}}',
        "samples.source.fetched_at": None,
    }

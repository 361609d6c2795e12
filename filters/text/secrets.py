"""Credentials in a text: tokens and keys by format, private keys, passwords assigned to names and in URLs.

Each is a typed span. A token whose format has a checksum counts only if the checksum is right. Placeholders in
documentation, `password = "your-password"`, do not count. Folded texts are searched, so that no zero-width space
inside a key hides it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa

from winnow.filters.language.folding import FoldedTexts, fold
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.operators import STATUS, TEXT, TextOperator
from winnow.filters.private.credentials import Credential, Settings, credentials, kinds
from winnow.filters.spans import TYPED_SPANS, typed_spans_column
from winnow.schemas.recipe.checks import Between

_TOO_MANY = "too_many_spans"

_SCHEMA = pa.schema(
    [
        STATUS,
        pa.field("credentials", pa.int32()),
        pa.field("private_keys", pa.int32()),
        pa.field("assigned", pa.int32()),  # of these, found only by the name they are assigned to
        pa.field("spans", TYPED_SPANS),
    ]
)


@dataclass(frozen=True, slots=True)
class Config:
    """What to detect besides tokens of known formats and private keys."""

    assigned: bool = True  # `password = "…"`, `api_key: …`
    urls: bool = True  # `https://user:password@host`
    max_spans: Annotated[int, Between(1, 10_000_000)] = 100_000  # texts with more are not measured


def _in_original(found: list[Credential], folded: FoldedTexts) -> list[Credential]:
    """The credentials in bytes of the original texts."""
    if not found:
        return found
    rows = np.array([one.row for one in found], np.int64)
    starts = folded.original(rows, np.array([one.start for one in found], np.int64))
    ends = folded.original(rows, np.array([one.end for one in found], np.int64), end=True)
    # Two spans that meet inside one original character would both include it: it belongs to the first.
    starts[1:] = np.where(rows[1:] == rows[:-1], np.maximum(starts[1:], ends[:-1]), starts[1:])
    return [
        Credential(one.row, int(start), int(end), one.kind)
        for one, start, end in zip(found, starts, ends, strict=True)
        if start < end
    ]


def secrets(batch: pa.RecordBatch, config: Config) -> pa.RecordBatch:
    """The credentials of every text."""
    folded = fold(texts_of(batch.column(TEXT)), case=False)
    found, full = credentials(folded.texts, Settings(config.assigned, config.urls, config.max_spans))
    found = _in_original(found, folded)
    refused = np.zeros(batch.num_rows, np.bool_)
    refused[list(full)] = True
    rows = np.array([one.row for one in found], np.int64)
    kinds = np.array([one.kind for one in found], dtype=object)
    counts = [
        np.bincount(rows[chosen], minlength=batch.num_rows)
        for chosen in (slice(None), kinds == "private_key", kinds == "assigned_secret")
    ]
    spans = typed_spans_column(
        np.concatenate([[0], np.cumsum(counts[0])]),
        np.array([(one.start, one.end) for one in found], np.int32).reshape(-1, 2),
        [one.kind for one in found],
    )
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.where(refused, _TOO_MANY, "ok"), pa.string()),
            *(pa.array(count.astype(np.int32), mask=refused) for count in counts),
            pa.ListArray.from_arrays(spans.offsets, spans.values, type=TYPED_SPANS, mask=pa.array(refused)),
        ],
        schema=_SCHEMA,
    )


OPERATOR = TextOperator(
    name="text.secrets",
    version=1,
    summary="credentials: tokens, keys and passwords as typed spans, by format, checksum and name",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: partial(secrets, config=config),
    memory=8,
    reasons=(_TOO_MANY,),
    detects=lambda _config: {"credentials": "secrets.credential"},  # the other columns count subsets
    kinds=lambda _config: kinds(),
)

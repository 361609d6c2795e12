"""Opt-outs in a response's headers and its page's elements, as columns.

Ingest stores the raw statements (`schemas/rows/opt_out.py`); here they are interpreted. An unreadable statement counts
as a refusal. Sources without headers, such as tables, give null columns, which never means that use is allowed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import STATUS
from winnow.filters.web.rights.statements import MALFORMED, MEANINGS, NOTHING, Meaning, said_by
from winnow.schemas.identity import Json
from winnow.schemas.recipe.checks import Between, Matching
from winnow.schemas.rows.opt_out import CUT, HEADERS, KEY, MAX_CHARACTERS, MAX_VALUES, META, TRAINING_AGENTS
from winnow.schemas.rows.samples import TIMESTAMP

NO_RESPONSE = "no_response"
METADATA = "samples.metadata"
FETCHED_AT = "samples.source.fetched_at"

_SHOWN_CHARACTERS = 256
_AGENT = Matching(r"[a-z0-9][a-z0-9._-]{0,63}", "a crawler's name in lower case, such as ccbot")

SIGNALS = pa.list_(pa.field("item", pa.struct([pa.field(name, pa.string()) for name in ("where", "name", "value")])))

WRITES = pa.schema(
    [
        STATUS,
        pa.field("opted_out", pa.bool_()),  # by any statement that the configuration counts
        *(pa.field(name, pa.bool_()) for name in MEANINGS),
        pa.field("expired", pa.bool_()),  # it had expired when it was fetched
        pa.field("unavailable_after", TIMESTAMP),  # the earliest
        pa.field("signals", SIGNALS),  # the evidence: `header` or `meta`, its name, its value
    ]
)
_BOOLEANS = ("opted_out", *MEANINGS, "expired")
_ILLEGIBLE = Meaning(frozenset((MALFORMED,)))

Counted = Literal[
    "noai",
    "noimageai",
    "noindex",
    "noimageindex",
    "noarchive",
    "nosnippet",
    "tdm",
    "train_ai_no",
    "malformed",
    "expired",
]


@dataclass(frozen=True, slots=True)
class OptOutConfig:
    """The crawlers that we count as, and which statements opt a page out."""

    agents: tuple[Annotated[str, _AGENT], ...] = TRAINING_AGENTS
    """Statements to these crawlers count, in addition to those to everybody."""
    counts: tuple[Counted, ...] = ("noai", "tdm", "train_ai_no", "malformed")
    max_signals: Annotated[int, Between(0, 2 * MAX_VALUES)] = 16


_PLACE = {name: number for number, name in enumerate(_BOOLEANS)}
_UNKNOWN, _NO, _YES = -1, 0, 1


@dataclass(slots=True)
class _Found:
    """Builder of a batch's columns; every row starts as unknown."""

    values: npt.NDArray[np.int8]  # _BOOLEANS of every row
    statuses: list[str]
    until: list[datetime | None]
    signals: list[list[dict[str, str]] | None]


def opt_out(batch: pa.RecordBatch, config: OptOutConfig) -> pa.RecordBatch:
    """The layer of a batch."""
    rows = batch.num_rows
    found = _Found(
        np.full((rows, len(_BOOLEANS)), _UNKNOWN, np.int8), [NO_RESPONSE] * rows, [None] * rows, [None] * rows
    )
    metadata = batch.column(METADATA)
    # In JSON only an object's key looks like this; most tables have none, so nothing is parsed.
    perhaps = np.flatnonzero(pc.match_substring(metadata, f'"{KEY}":').to_numpy(zero_copy_only=False))
    agents = frozenset(config.agents)
    fetched = batch.column(FETCHED_AT).take(pa.array(perhaps)).to_pylist()
    texts = metadata.take(pa.array(perhaps)).to_pylist()
    for row, text, moment in zip(perhaps.tolist(), texts, fetched, strict=True):
        recorded = orjson.loads(text).get(KEY)
        if isinstance(recorded, Mapping) and (HEADERS in recorded or META in recorded):
            _fill(found, row, recorded, moment, agents, config)
    values = found.values
    booleans = [
        pa.array(values[:, place] == _YES, mask=values[:, place] == _UNKNOWN) for place in range(len(_BOOLEANS))
    ]
    columns = [
        pa.array(found.statuses, pa.string()),
        *booleans,
        pa.array(found.until, TIMESTAMP),
        pa.array(found.signals, SIGNALS),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _fill(
    found: _Found,
    row: int,
    recorded: Mapping[str, Json],
    fetched_at: datetime | None,
    agents: frozenset[str],
    config: OptOutConfig,
) -> None:
    values = found.values[row]
    found.statuses[row] = "ok"
    signals: list[dict[str, str]] = []
    found.signals[row] = signals
    if HEADERS in recorded:  # without the header, an absent statement may still have been made
        values[:] = _NO
    stated = False
    for where, name, value in _statements(recorded):
        one = _ILLEGIBLE if value is None else said_by(name, value, agents)
        if one is NOTHING:
            continue
        stated = True
        for meaning in one.meanings:
            values[_PLACE[meaning]] = _YES
        if one.until is not None:
            earlier = found.until[row]
            found.until[row] = one.until if earlier is None else min(earlier, one.until)
        if len(signals) < config.max_signals:
            signals.append({"where": where, "name": name, "value": (value or "")[:_SHOWN_CHARACTERS]})
    if not stated:
        return
    until = found.until[row]
    if until is not None and fetched_at is None:
        values[_PLACE["expired"]] = _UNKNOWN
    elif until is not None and fetched_at is not None and until <= fetched_at:
        values[_PLACE["expired"]] = _YES
    counted = [values[_PLACE[name]] for name in config.counts]
    if _YES in counted:
        values[_PLACE["opted_out"]] = _YES
    elif _UNKNOWN in counted:
        values[_PLACE["opted_out"]] = _UNKNOWN


def _statements(recorded: Mapping[str, Json]) -> Iterator[tuple[str, str, str | None]]:
    """Each statement's origin, name and value; None for one that is missing."""
    count = 0
    for place, where in ((HEADERS, "header"), (META, "meta")):
        named = recorded.get(place, {})
        if not isinstance(named, Mapping):
            yield where, "", None
            continue
        for name, values in named.items():
            for value in values if isinstance(values, list) else [values]:
                count += 1
                if count > 2 * MAX_VALUES:
                    yield where, CUT, None
                    return
                yield where, name.lower(), value[:MAX_CHARACTERS] if isinstance(value, str) else None
    if recorded.get(CUT):
        yield "header" if HEADERS in recorded else "meta", CUT, None

"""Personal data in a text, as typed spans: addresses and numbers that identify a person, account or machine.

Detectors search a folded copy (see `filters/language/folding`), so that zero-width characters, full-width forms and
digits of other scripts hide nothing; spans are in bytes of the original. Each kind is defined in the file of its
detector in `filters/private/personal/`. Where spans overlap, the kind that comes first in `KINDS` stays.

Telephone numbers and national ids are those of a text's possible countries, by its language and domain, or of those
in the recipe; if the detector knows none of these, the count is null and not 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.folding import FoldedTexts, fold
from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.filters.private.personal.candidates import digit_groups
from winnow.filters.private.personal.cards import cards
from winnow.filters.private.personal.detections import Detections, DisjointSpans, disjoint_spans
from winnow.filters.private.personal.emails import emails
from winnow.filters.private.personal.ibans import ibans
from winnow.filters.private.personal.ips import ips
from winnow.filters.private.personal.national_ids import national_ids, national_ids_ready
from winnow.filters.private.personal.phones import phones, phones_ready
from winnow.filters.private.personal.regions import SHORT_TEXT_BYTES, Regions, row_regions
from winnow.filters.private.personal.wallets import wallets
from winnow.filters.spans import TYPED_SPANS, typed_spans_column
from winnow.schemas.recipe.checks import Between, Matching, NotEmpty

Kind: TypeAlias = Literal["email", "crypto_address", "iban", "card", "national_id", "ip", "phone"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The most trusted first: a later kind never finds what an earlier one has found."""

_LANGUAGE, _DOMAIN = "text.language.code", "samples.domain"
_BY_REGION: Mapping[Kind, Callable[[], None]] = {"national_id": national_ids_ready, "phone": phones_ready}
_TOO_MANY = "too_many_spans"

_SCHEMA = pa.schema(
    [
        STATUS,
        *(pa.field(kind, pa.int32()) for kind in KINDS),  # null where it was not, or could not be, searched for
        pa.field("density", pa.float64()),  # share of the text's characters in spans
        pa.field("spans", TYPED_SPANS),
    ]
)


_A_REGION = "a country of ISO 3166 in capitals, such as DE"


@dataclass(frozen=True, slots=True)
class Config:
    """Which kinds are detected, and how."""

    kinds: Annotated[tuple[Kind, ...], NotEmpty()] = KINDS  # the extra `pii` is needed for phone and national_id
    regions: tuple[Annotated[str, Matching("[A-Z]{2}", _A_REGION)], ...] = ()  # default: by language and domain
    spelled_out: bool = True  # addresses such as `name [at] host [dot] tld`
    reserved: bool = False  # addresses that are reserved for documentation: example.com, 192.0.2.0/24, 2001:db8::/32
    max_spans: Annotated[int, Between(1, 10_000_000)] = 100_000  # texts with more are not measured


def _characters(buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> list[int]:
    """The number of code points in each range of bytes; ranges are few."""
    ranges = zip(starts.tolist(), ends.tolist(), strict=True)
    return [int(np.count_nonzero(buffer[start:end] & 0xC0 != 0x80)) for start, end in ranges]


def _regional(config: Config) -> bool:
    """Whether any detector depends on a text's possible countries."""
    return not _BY_REGION.keys().isdisjoint(config.kinds)


def _regions(batch: pa.RecordBatch, config: Config, short: npt.NDArray[np.bool_] | None = None) -> Regions:
    """The possible countries of each text."""
    if config.regions or not _regional(config):
        return row_regions(None, None, batch.num_rows, config.regions)
    return row_regions(batch.column(_LANGUAGE), batch.column(_DOMAIN), batch.num_rows, short=short)


def _found(texts: Texts, batch: pa.RecordBatch, config: Config) -> list[Detections]:
    """The detections of each kind in the folded texts of a batch, in the order of `KINDS`."""
    groups = cache(lambda: digit_groups(texts))
    short = np.diff(texts.offsets) <= SHORT_TEXT_BYTES
    detectors: Mapping[Kind, Callable[[], Detections]] = {
        "email": lambda: emails(texts, spelled_out=config.spelled_out, reserved=config.reserved),
        "crypto_address": lambda: wallets(texts, groups()),
        "iban": lambda: ibans(texts, groups()),
        "card": lambda: cards(texts, groups()),
        "national_id": lambda: national_ids(texts, groups(), _regions(batch, config)),
        "ip": lambda: ips(texts, groups(), reserved=config.reserved),
        "phone": lambda: phones(texts, groups(), _regions(batch, config, short)),
    }
    return [detectors[kind]() for kind in KINDS if kind in config.kinds]


def _in_original(spans: DisjointSpans, folded: FoldedTexts) -> DisjointSpans:
    """The spans in bytes of the original texts, counted from each text's start."""
    bases = folded.texts.offsets[spans.documents]
    starts = folded.original(spans.documents, spans.starts - bases)
    ends = folded.original(spans.documents, spans.ends - bases, end=True)
    # Two spans that meet inside one original character would both include it: it belongs to the first.
    same = spans.documents[1:] == spans.documents[:-1]
    starts[1:] = np.where(same, np.maximum(starts[1:], ends[:-1]), starts[1:])
    kept = starts < ends
    return DisjointSpans(spans.documents[kept], starts[kept], ends[kept], spans.kinds[kept])


def pii(batch: pa.RecordBatch, config: Config) -> pa.RecordBatch:
    """The personal data of every text."""
    texts = texts_of(batch.column(TEXT))
    rows = batch.num_rows
    folded = fold(texts, case=False)
    found = _found(folded.texts, batch, config)
    spans = _in_original(disjoint_spans(found), folded)
    counts = np.zeros((rows, len(found)), np.int64)
    np.add.at(counts, (spans.documents, spans.kinds), 1)
    totals = counts.sum(axis=1)
    refused = totals > config.max_spans
    kept = ~refused[spans.documents]
    inside = np.zeros(rows, np.int64)
    bases = texts.offsets[spans.documents]
    np.add.at(inside, spans.documents, _characters(texts.buffer, bases + spans.starts, bases + spans.ends))
    whole = pc.utf8_length(texts.array).to_numpy()
    names = pa.array([one.kind for one in found], pa.string())
    column = typed_spans_column(
        np.concatenate([[0], np.cumsum(np.where(refused, 0, totals))]),
        np.column_stack([spans.starts, spans.ends])[kept].astype(np.int32),
        names.take(pa.array(spans.kinds[kept])),
    )
    by_kind = {
        one.kind: pa.array(counts[:, number].astype(np.int32), mask=refused | ~one.searched)
        for number, one in enumerate(found)
    }
    nothing = pa.nulls(rows, pa.int32())
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.where(refused, _TOO_MANY, "ok"), pa.string()),
            *(by_kind.get(kind, nothing) for kind in KINDS),
            pa.array(inside / np.maximum(whole, 1), mask=refused),
            pc.if_else(pa.array(refused), pa.scalar(None, TYPED_SPANS), column) if refused.any() else column,
        ],
        schema=_SCHEMA,
    )


def _load(config: Config, _assets: Assets) -> Kernel:
    for kind, ready in _BY_REGION.items():
        if kind in config.kinds:
            ready()
    return partial(pii, config=config)


OPERATOR = TextOperator(
    name="text.pii",
    # 2: of wallets, Bitcoin's alone; 3: words that announce phones, by language; 4: more of them, and hours between;
    # 6: the groups of Kazakhstan, and groups that are parted further;
    # 7: things whose numbers are no phones, and words of advertisements; 8: phones by form and place;
    # 9: phones of short texts in the countries of neighbouring languages
    version=9,
    summary="personal data: e-mail, IP, phone, bank account, card, national id and Bitcoin wallet, as typed spans",
    config=Config,
    reads=lambda config: (TEXT, _LANGUAGE, _DOMAIN) if _regional(config) and not config.regions else (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=_load,
    memory=56,
    reasons=(_TOO_MANY,),
    detects=lambda config: {kind: f"personal.{kind}" for kind in KINDS if kind in config.kinds},
    kinds=lambda config: config.kinds,
)

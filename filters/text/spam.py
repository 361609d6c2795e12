"""Adverts for betting and for paid sex: how many of their terms a text has, and their share of it.

The terms are commercial ones, in thirty languages and in international use (`spam_terms/terms.txt`): advice on
addiction, health, law and sex education uses others. One term proves nothing; many different ones that make up much of
a text do. A text in a language without terms is null unless a term is found, as it was not searched.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.folding import fold
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.filters.text.spam_terms.lexicon import KINDS, lexicon, occurrences

_LANGUAGE = "text.language.code"
_ADVERTS = ("gambling", "sexual")
_SCHEMA = pa.schema(
    [
        STATUS,
        *(
            field
            for kind in _ADVERTS
            for field in (
                pa.field(f"{kind}_terms", pa.int32()),  # occurrences
                pa.field(f"{kind}_distinct", pa.int32()),  # different terms
                pa.field(f"{kind}_share", pa.float64()),  # of the text's bytes after folding
            )
        ),
        pa.field("contacts", pa.int32()),  # names of messengers, where such adverts ask for replies
    ]
)


@dataclass(frozen=True, slots=True)
class Config:
    """No settings."""


def spam(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The terms of adverts in every text."""
    folded = fold(texts_of(batch.column(TEXT)), case=True).texts
    terms = lexicon()
    found = occurrences(folded, terms)
    count = batch.num_rows
    kinds = terms.kinds[found.terms]
    sizes = np.maximum(np.diff(folded.offsets), 1)
    known = _known(batch.column(_LANGUAGE), terms.languages)
    columns: list[pa.Array] = []
    seen = np.zeros(count, np.bool_)
    for kind in _ADVERTS:
        own = kinds == KINDS.index(kind)
        rows = found.rows[own]
        occurring = np.bincount(rows, minlength=count)
        distinct = np.bincount(np.unique(np.stack((rows, found.terms[own])), axis=1)[0], minlength=count)
        share = np.bincount(rows, weights=(found.ends - found.starts)[own], minlength=count) / sizes
        measured = known | (occurring > 0)
        seen |= measured
        columns += [
            _masked(occurring.astype(np.int32), measured),
            _masked(distinct.astype(np.int32), measured),
            _masked(share, measured),
        ]
    contacts = np.bincount(found.rows[kinds == KINDS.index("contact")], minlength=count).astype(np.int32)
    missing = np.where(batch.column(_LANGUAGE).is_null().to_numpy(zero_copy_only=False), "no_language", "no_detector")
    status = pa.array(np.where(seen, "ok", missing), pa.string())
    return pa.RecordBatch.from_arrays([status, *columns, _masked(contacts, seen)], schema=_SCHEMA)


def _known(codes: pa.StringArray, languages: frozenset[str]) -> npt.NDArray[np.bool_]:
    names = pc.fill_null(pc.list_element(pc.split_pattern(pc.fill_null(codes, ""), "_"), 0), "")
    found: npt.NDArray[np.bool_] = pc.is_in(names, pa.array(sorted(languages))).to_numpy(zero_copy_only=False)
    return found


def _masked(values: npt.NDArray[np.generic], measured: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~measured)


def _load(_config: Config, _assets: Assets) -> Kernel:
    lexicon()
    return spam


OPERATOR = TextOperator(
    name="text.spam",
    version=1,
    summary="terms of adverts for betting and paid sex: their number, different ones, and their share of the text",
    config=Config,
    reads=lambda _config: (TEXT, _LANGUAGE),
    writes=lambda _config: _SCHEMA,
    load=_load,
    memory=12,
    reasons=("no_language", "no_detector"),
    detects=lambda _config: {"gambling_terms": "spam.gambling", "sexual_terms": "sexual.spam"},
    languages=lambda _config: lexicon().languages,
)

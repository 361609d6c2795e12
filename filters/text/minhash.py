"""Near-duplicate signatures: the MinHash of a text's shingles, their number, and a digest of its words.

The signature is datasketch's scheme `affine32`, bit for bit, over shingles of the normal form
(`winnow.filters.duplicates`): no case, no width, no punctuation, one form of Unicode. `dedupe.near` finds near
duplicates of a whole store from it.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.duplicates.normal_form import Unit, forms
from winnow.filters.duplicates.shingles import MOST_UNITS
from winnow.filters.duplicates.signatures import Scheme, sign
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.recipe.checks import Between

NO_WORDS = "no_words"
"""The text has no letter or digit."""

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class MinhashConfig:
    """How signatures are made; those with different settings cannot be compared."""

    shingle: Unit = "words"
    size: Annotated[int, Between(1, MOST_UNITS)] = 5  # FineWeb: 5 words
    hashes: Annotated[int, Between(1, 10_000)] = 112  # FineWeb: 14 bands of 8
    seed: Annotated[int, Between(0, (1 << 32) - 1)] = 1  # datasketch's

    @property
    def scheme(self) -> Scheme:
        """The scheme of the signatures."""
        return Scheme(self.shingle, self.size, self.hashes, self.seed)


def schema(config: MinhashConfig) -> pa.Schema:
    """The columns of the layer."""
    return pa.schema(
        [
            STATUS,
            pa.field("signature", pa.binary(4 * config.hashes)),  # little-endian uint32
            pa.field("digest", pa.binary(_DIGEST_BYTES)),  # of the normal form
            pa.field("shingles", pa.int64()),  # with repeats
        ]
    )


def minhash(batch: pa.RecordBatch, scheme: Scheme, columns: pa.Schema) -> pa.RecordBatch:
    """The signature of every text."""
    signed = sign(batch.column(TEXT), scheme)
    missing = signed.shingles == 0
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.where(missing, NO_WORDS, "ok"), pa.string()),
            _packed(signed.signature.astype("<u4", copy=False), missing),
            _packed(signed.digest, missing),
            pa.array(signed.shingles, pa.int64(), mask=missing),
        ],
        schema=columns,
    )


def _packed(rows: npt.NDArray[np.generic], missing: npt.NDArray[np.bool_]) -> pa.FixedSizeBinaryArray:
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    width = rows.shape[1] * rows.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(rows), [valid, pa.py_buffer(np.ascontiguousarray(rows))], int(missing.sum())
    )


def _load(config: MinhashConfig, _assets: Assets) -> Kernel:
    forms()
    columns = schema(config)
    return lambda batch: minhash(batch, config.scheme, columns)


OPERATOR = TextOperator(
    name="text.minhash",
    version=1,
    summary="MinHash signature of shingles of words or characters, for near duplicates; digest of the words",
    config=MinhashConfig,
    reads=lambda _config: (TEXT,),
    writes=schema,
    load=_load,
    reasons=(NO_WORDS,),
)

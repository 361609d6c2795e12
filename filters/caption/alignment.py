"""How well captions fit a picture by their vectors, and one vector of the pair, for heads.

The vectors are those of two layers, of the two towers of a dual encoder. Then a cosine says how well they fit, and a
head over the pair's vector, trained on trusted pairs against others, is a filter like the network of Data Filtering
Networks (DFN, arXiv 2309.17425). Vectors of two encoders without a space in common have no cosine; a head may still
read both.

The picture is a sample's first that has a vector, the caption of `cosine` and `vector` its first. Sums of products of
vectors as layers hold them are exact, so no value depends on its batch.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.caption.lists import lengths_of
from winnow.filters.models.unit_vectors import VECTOR, unit_vectors, vector_column
from winnow.filters.operators import STATUS, Kernel, TextOperator
from winnow.schemas.recipe.checks import NotEmpty

NO_PICTURE: Final = "no_picture_vector"
"""No picture of the sample has a vector."""
NO_CAPTION: Final = "no_caption_vector"
"""The first caption has no vector."""

WRITES = pa.schema(
    [
        STATUS,
        pa.field("cosine", pa.float64()),  # of the first caption; null for vectors of different length
        pa.field("cosines", pa.list_(pa.float64())),  # of each caption
        VECTOR,  # the picture's, the caption's and, if they are of one length, their products; of unit length
    ]
)
_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class AlignmentConfig:
    """The layers of vectors."""

    pictures: Annotated[str, NotEmpty()] = "image.embedding"
    captions: Annotated[str, NotEmpty()] = "caption.embedding"


def alignment(batch: pa.RecordBatch, config: AlignmentConfig) -> pa.RecordBatch:
    """The layer of a batch."""
    pictures, captions = batch.column(f"{config.pictures}.vector"), batch.column(f"{config.captions}.vector")
    seen, shown = _first(pictures, vectors=True), _first(captions, vectors=False)
    counts = lengths_of(captions)
    each = pa.array(np.repeat(seen, counts), mask=np.repeat(seen < 0, counts))
    cosines = _cosines(pictures.values.take(each), captions.flatten())
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), mask=np.append(counts == 0, False))
    lists = pa.ListArray.from_arrays(offsets, pa.array(cosines, mask=np.isnan(cosines)))
    picture = pictures.values.take(pa.array(seen, mask=seen < 0))
    caption = captions.values.take(pa.array(shown, mask=shown < 0))
    first = _cosines(picture, caption)
    there = np.stack([one.is_valid().to_numpy(zero_copy_only=False) for one in (picture, caption)])
    statuses = np.where(there.all(0), "ok", np.where(there[0], NO_CAPTION, NO_PICTURE)).tolist()
    columns = [
        pa.array(statuses, pa.string()),
        pa.array(first, mask=np.isnan(first)),
        lists,
        _joint(picture, caption, np.flatnonzero(there.all(0)), statuses),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _first(column: pa.ListArray, *, vectors: bool) -> NDArray[np.int64]:
    """Where in its values the first item of each list is, of those that are no null if only `vectors` count; -1 if
    nowhere."""
    lengths = lengths_of(column)
    starts = column.offsets.to_numpy()[:-1].astype(np.int64)
    if not vectors:
        return np.where(lengths > 0, starts, -1)
    known = np.flatnonzero(column.values.is_valid().to_numpy(zero_copy_only=False))
    place = np.searchsorted(known, starts)
    found = np.append(known, np.iinfo(np.int64).max)[place]
    return np.where(found < starts + lengths, found, -1)


def _cosines(ours: pa.ListArray, theirs: pa.ListArray) -> NDArray[np.float64]:
    """Of each two vectors; NaN where one is missing, or they have different lengths."""
    found = np.full(len(ours), np.nan)
    lengths = np.stack([one.value_lengths().fill_null(0).to_numpy(zero_copy_only=False) for one in (ours, theirs)])
    which = np.flatnonzero((lengths[0] == lengths[1]) & (lengths[0] > 0))
    if len(which):
        one, other = _rows(ours, which), _rows(theirs, which)
        norms = np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other)
        found[which] = np.round(np.einsum("ij,ij->i", one, other) / np.sqrt(norms), _DECIMALS)
    return found


def _rows(column: pa.ListArray, which: NDArray[np.int64]) -> NDArray[np.float64]:
    """Some of its vectors, which are all of one length."""
    some = column.take(pa.array(which)).flatten().to_numpy(zero_copy_only=False)
    found: NDArray[np.float64] = some.astype(np.float64).reshape(len(which), -1)
    return found


def _joint(picture: pa.ListArray, caption: pa.ListArray, which: NDArray[np.int64], statuses: list[str]) -> pa.ListArray:
    if not len(which):
        return pa.nulls(len(statuses), VECTOR.type)
    parts = [_rows(picture, which), _rows(caption, which)]
    if parts[0].shape == parts[1].shape:
        products = parts[0] * parts[1]
        parts.append(products * np.sqrt(products.shape[1]))  # of a size with the others
    found, vectors = unit_vectors(np.concatenate(parts, axis=1).astype(np.float32))
    every = np.zeros((len(statuses), vectors.shape[1]), np.float32)
    every[which] = vectors
    ok = np.full(len(statuses), "none", object)
    ok[which] = found
    return vector_column(ok.tolist(), every)


def _load(config: AlignmentConfig, _assets: object) -> Kernel:
    return lambda batch: alignment(batch, config)


OPERATOR = TextOperator(
    name="caption.alignment",
    version=1,
    summary="how well captions fit their picture by vectors of both, and a vector of the pair for heads",
    config=AlignmentConfig,
    reads=lambda config: (f"{config.pictures}.vector", f"{config.captions}.vector"),
    writes=lambda _: WRITES,
    load=_load,
    needs=(),
    reasons=(NO_PICTURE, NO_CAPTION),
)

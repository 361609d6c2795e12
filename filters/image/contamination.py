"""Whether a picture is, perhaps changed, in an evaluation set: the nearest in a list of PDQ hashes or of vectors.

It reads the layer `image.pdq` or one of `image.embedding`, so a new list decodes no picture again. `winnow pdq` and
`winnow vectors` write lists. A line of hashes has 64 hexadecimal digits and, after a comma, a name. Hashes of flat
pictures match unrelated pictures and are not compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.perceptual.hamming import MAX_RADIUS
from winnow.filters.duplicates.perceptual.hamming_index import HammingIndex
from winnow.filters.duplicates.perceptual.pdq import MIN_QUALITY
from winnow.filters.duplicates.vectors.listed_vectors import VectorList, nearest_listed, parse_vector_list
from winnow.filters.operators import STATUS, Assets, Kernel, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between, NotEmpty

HASH, QUALITY = "image.pdq.hash", "image.pdq.quality"
_BYTES = 32
MAX_LIST_BYTES = 1 << 30

OF_HASHES = pa.schema(
    [
        STATUS,
        pa.field("distance", pa.list_(pa.int16())),  # bits to the nearest listed hash; null if none is in the radius
        pa.field("matched", pa.list_(pa.string())),  # its name, or its digits if it has none
    ]
)
OF_VECTORS = pa.schema(
    [
        STATUS,
        pa.field(
            "similarity", pa.list_(pa.float32())
        ),  # the cosine with the nearest listed vector; null if none is close
        pa.field("matched", pa.list_(pa.string())),
    ]
)
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True)
class ListConfig:
    """The list, and what counts as a match."""

    list: Annotated[str, NotEmpty()] = ""  # the path of a file; a recipe must give it
    by: Literal["pdq", "embedding"] = "pdq"  # what the list contains
    embedding: str = "image.embedding"  # by embedding: the layer of vectors, of the encoder that made the list
    min_similarity: Annotated[float, Between(0.5, 1.0)] = 0.6  # a cosine: nearly all copies reach it with `copies@sscd`
    radius: Annotated[int, Between(0, MAX_RADIUS)] = MAX_RADIUS  # of 256 bits; the threshold of PDQ's authors
    min_quality: Annotated[int, Between(0, 100)] = MIN_QUALITY


@dataclass(frozen=True)
class HashList:
    """The hashes of a list, and their names."""

    index: HammingIndex
    names: pa.StringArray


def parse_hashes(content: bytes, name: str) -> HashList:
    """Read a list.

    Raises:
        RecipeError: It has no hash, or a line is invalid; the message names the line.
    """
    hashes, names = [], []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        said, _, title = line.strip().partition(",")
        if not said or said.startswith("#"):
            continue
        try:
            found = bytes.fromhex(said.strip())
        except ValueError:
            found = b""
        if len(found) != _BYTES:
            raise RecipeError(f"{name}:{number}: expected 64 hexadecimal digits and perhaps a comma and a name")
        hashes.append(found)
        names.append(title.strip() or said.strip())
    if not hashes:
        raise RecipeError(f"{name}: has no hash; write one with: winnow pdq FOLDER --output {name}")
    words = np.frombuffer(b"".join(hashes), "<u8").reshape(-1, 4)
    return HashList(HammingIndex.of(words), pa.array(names, pa.string()))


def matches(batch: pa.RecordBatch, listed: HashList, config: ListConfig) -> pa.RecordBatch:
    """`OF_HASHES` of rows with the lists `image.pdq.hash` and `image.pdq.quality`."""
    hashes, quality = batch.column(HASH), batch.column(QUALITY)
    flat = hashes.flatten()
    compared = pc.and_(
        flat.is_valid(), pc.fill_null(pc.greater_equal(quality.flatten(), config.min_quality), False)
    ).to_numpy(zero_copy_only=False)
    some = flat.filter(pa.array(compared)).cast(pa.binary(_BYTES))
    words = np.frombuffer(some.buffers()[1] or b"", "<u8", 4 * len(some), some.offset * _BYTES)
    found, apart = listed.index.nearest(words.astype(np.uint64), config.radius)
    nearest, distance = np.full(len(flat), -1, np.int64), np.full(len(flat), -1, np.int64)
    nearest[compared], distance[compared] = found, apart
    none = nearest < 0
    values = (pa.array(distance.astype(np.int16), mask=none), listed.names.take(pa.array(nearest, mask=none)))
    return _listed(hashes, values, OF_HASHES)


def near_vectors(batch: pa.RecordBatch, listed: VectorList, config: ListConfig) -> pa.RecordBatch:
    """`OF_VECTORS` of rows with the list of each item's vector."""
    rows = batch.column(0)
    each = rows.flatten()
    there = np.flatnonzero(each.is_valid().to_numpy(zero_copy_only=False))
    lengths = np.unique(pc.list_value_length(each.take(pa.array(there))).to_numpy(zero_copy_only=False))
    if len(lengths) and lengths.tolist() != [listed.dimensions]:
        raise RecipeError(
            f"{config.list}: has vectors of {listed.dimensions} numbers, and {config.embedding} of {int(lengths[-1])}; "
            "write it again with the encoder of the recipe: winnow vectors"
        )
    numbers = each.take(pa.array(there)).flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    near, cosine = np.full(len(each), -1, np.int64), np.zeros(len(each))
    if len(there):
        near[there], cosine[there] = nearest_listed(numbers.reshape(len(there), -1), listed, config.min_similarity)
    values = (
        pa.array(cosine.round(_DECIMALS).astype(np.float32), mask=near < 0),
        listed.names.take(pa.array(near, mask=near < 0)),
    )
    return _listed(rows, values, OF_VECTORS)


def _listed(rows: pa.ListArray, values: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """The layer of some rows, given values of their items."""
    counts = pc.fill_null(pc.list_value_length(rows), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    lists = [pa.ListArray.from_arrays(offsets, one, mask=rows.is_null()) for one in values]
    columns = [one.cast(field.type) for one, field in zip(lists, list(schema)[1:], strict=True)]
    return pa.RecordBatch.from_arrays([pc.if_else(rows.is_null(), "no_input", "ok"), *columns], schema=schema)


def _load(config: ListConfig, assets: Assets) -> Kernel:
    path = Path(assets.path(config.list))
    if path.stat().st_size > MAX_LIST_BYTES:
        raise RecipeError(f"{path.name}: a list of at most {MAX_LIST_BYTES:,} bytes is read")
    raw = path.read_bytes()
    if config.by == "embedding":
        return partial(near_vectors, listed=parse_vector_list(raw, path.name), config=config)
    return partial(matches, listed=parse_hashes(raw, path.name), config=config)


OPERATOR = TextOperator(
    name="image.contamination",
    version=1,
    summary="nearest picture of an evaluation set, by PDQ hashes or embeddings",
    config=ListConfig,
    reads=lambda config: (HASH, QUALITY) if config.by == "pdq" else (f"{config.embedding}.vector",),
    writes=lambda config: OF_HASHES if config.by == "pdq" else OF_VECTORS,
    load=_load,
    needs=(),
    assets=lambda config: (config.list,),
)

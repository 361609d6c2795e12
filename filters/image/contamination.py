"""Whether a picture is one of an evaluation set, perhaps resized or recompressed: the nearest of a list of PDQ hashes.

It reads the layer `image.pdq`, so another list decodes no picture again. `winnow pdq` writes lists: a line has a hash
of 64 hexadecimal digits and, after a comma, a name. Hashes of flat pictures match strangers and are not compared.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.hamming import MAX_RADIUS
from winnow.filters.duplicates.hamming_index import HammingIndex
from winnow.filters.duplicates.pdq import MIN_QUALITY
from winnow.filters.operators import Assets, Kernel, Operator
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between, NotEmpty

__all__ = ["OPERATOR", "HashList", "ListConfig", "matches", "parse_hashes"]

HASH, QUALITY = "image.pdq.hash", "image.pdq.quality"
_BYTES = 32
MAX_LIST_BYTES = 1 << 30

WRITES = pa.schema(
    [
        pa.field("distance", pa.list_(pa.int16())),  # bits to the nearest listed hash; null if none is in the radius
        pa.field("matched", pa.list_(pa.string())),  # its name, or its digits if it has none
    ]
)


@dataclass(frozen=True, slots=True)
class ListConfig:
    """The list, and what counts as the same picture."""

    list: Annotated[str, NotEmpty()] = ""  # the path of a file; a recipe must give it
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
        RecipeError: It has no hash, or a line is none; the message names the line.
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
    """`WRITES` of rows with the lists `image.pdq.hash` and `image.pdq.quality`."""
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
    counts = pc.fill_null(pc.list_value_length(hashes), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    lists = [pa.ListArray.from_arrays(offsets, one, mask=hashes.is_null()) for one in values]
    columns = [one.cast(field.type) for one, field in zip(lists, WRITES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _load(config: ListConfig, assets: Assets) -> Kernel:
    path = Path(assets.path(config.list))
    if path.stat().st_size > MAX_LIST_BYTES:
        raise RecipeError(f"{path.name}: a list of at most {MAX_LIST_BYTES:,} bytes is read")
    return partial(matches, listed=parse_hashes(path.read_bytes(), path.name), config=config)


OPERATOR = Operator(
    name="image.contamination",
    version=1,
    summary="nearest picture of an evaluation set, by PDQ hashes",
    config=ListConfig,
    reads=lambda _: (HASH, QUALITY),
    writes=lambda _: WRITES,
    load=_load,
    needs=(HASH,),
    assets=lambda config: (config.list,),
)

"""A digest of each caption: equal digests mean equal captions, ignoring white space and invisible characters."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import pyarrow as pa

from winnow.filters.caption.lists import MEDIA, REASONS, captions_of, listed
from winnow.filters.language.kernels.digests import DIGEST
from winnow.filters.operators import CAPTIONS, ITEMS, STATUS, TEXT, TextOperator
from winnow.filters.text.digest import digests
from winnow.schemas.recipe.checks import NotEmpty

WRITES = pa.schema([STATUS, ITEMS, pa.field("digest", pa.list_(DIGEST))])


@dataclass(frozen=True, slots=True)
class CaptionDigestConfig:
    """Which captions are measured."""

    captions: Annotated[str, NotEmpty()] = CAPTIONS  # the recipe's, or a column with lists of captions


def caption_digests(batch: pa.RecordBatch, config: CaptionDigestConfig) -> pa.RecordBatch:
    """The layer of a batch."""
    captions = captions_of(batch, config.captions)
    found = digests(pa.RecordBatch.from_arrays([captions.as_written.fill_null("")], [TEXT]), "spaces")
    return listed(captions, WRITES, [found["status"], found["digest"]])


OPERATOR = TextOperator(
    name="caption.digest",
    version=1,
    summary="digest of each caption, ignoring white space and invisible characters",
    config=CaptionDigestConfig,
    reads=lambda config: (config.captions, MEDIA),
    writes=lambda _: WRITES,
    load=lambda config, _assets: partial(caption_digests, config=config),
    needs=(MEDIA,),
    reasons=REASONS,
)

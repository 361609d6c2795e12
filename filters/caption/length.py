"""The length of captions: in characters, and in words or, in scripts without spaces, letters.

Words are those of `str.split()` and characters are code points, as in image–text datasets. For scripts without spaces
such a count of words means nothing, so letters are counted.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.caption.lists import MEDIA, REASONS, captions_of, listed
from winnow.filters.language.identification.scripts import dominant_scripts, script_names
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.lexicons.scanning import UNSPACED
from winnow.filters.language.words import segment
from winnow.filters.operators import CAPTIONS, STATUS, TextOperator
from winnow.schemas.recipe.checks import NotEmpty

WRITES = pa.schema(
    [
        STATUS,
        pa.field("characters", pa.list_(pa.int32())),  # as written: é may be two
        pa.field("words", pa.list_(pa.int32())),  # between white space, in any script
        pa.field("letters", pa.list_(pa.int32())),
        pa.field("script", pa.list_(pa.string())),  # ISO 15924, of most letters; null without letters
        pa.field("spaced_words", pa.list_(pa.int32())),  # `words` for scripts with spaces, else null
        pa.field("unspaced_letters", pa.list_(pa.int32())),  # `letters` for scripts without, else null
    ]
)

_WITHOUT_SPACES = UNSPACED | {"Jpan", "Tibt"}


@dataclass(frozen=True, slots=True)
class LengthConfig:
    """Which captions are measured."""

    captions: Annotated[str, NotEmpty()] = CAPTIONS  # the recipe's, or a column with lists of captions


def length(batch: pa.RecordBatch, config: LengthConfig) -> pa.RecordBatch:
    """The layer of a batch."""
    captions = captions_of(batch, config.captions)
    composed = captions.composed()
    texts = texts_of(composed)
    scripts = dominant_scripts(texts.buffer, texts.offsets[:-1], texts.offsets[1:])
    words = np.diff(segment(composed, "whitespace").documents).astype(np.int32)
    letters = scripts.letters.astype(np.int32)
    written = scripts.numbers >= 0
    unspaced = np.isin(scripts.numbers, [script_names().index(name) for name in sorted(_WITHOUT_SPACES)])
    columns = [
        pc.utf8_length(captions.as_written).cast(pa.int32()),
        pa.array(words),
        pa.array(letters),
        pa.array(script_names(), pa.string()).take(pa.array(scripts.numbers, mask=~written)),
        pa.array(words, mask=~written | unspaced),
        pa.array(letters, mask=~unspaced),
    ]
    return listed(captions, WRITES, columns)


OPERATOR = TextOperator(
    name="caption.length",
    version=3,  # 3: letters are counted in composed form (NFC), characters as written
    summary="characters, words and letters of each caption, by its script",
    config=LengthConfig,
    reads=lambda config: (config.captions, MEDIA),
    writes=lambda _: WRITES,
    load=lambda config, _assets: partial(length, config=config),
    needs=(MEDIA,),
    reasons=REASONS,
)

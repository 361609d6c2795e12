"""The language of each caption by a fastText model, as `text.language` finds it, and the model's own label."""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from winnow.filters.caption.lists import MEDIA, REASONS, captions_of, listed
from winnow.filters.language.identification.heads import best_codes, guesses_of, heads_of
from winnow.filters.language.identification.lid_176 import LID_176
from winnow.filters.language.identification.model import Normalise, one_line
from winnow.filters.language.identification.named import assets_of_models, model_named
from winnow.filters.operators import CAPTIONS, STATUS, Assets, Kernel, TextOperator
from winnow.schemas.recipe.checks import NotEmpty

WRITES = pa.schema(
    [
        STATUS,
        pa.field("label", pa.list_(pa.string())),  # ISO 639-3, `und` or `zxx`; null without letters
        pa.field("code", pa.list_(pa.string())),  # label_script
        pa.field("score", pa.list_(pa.float64())),
        pa.field("model_label", pa.list_(pa.string())),  # the model's own, such as `en`, as written
    ]
)

_MAX_BYTES = 1 << 20  # longer captions are judged by their beginning


@dataclass(frozen=True, slots=True)
class LanguageConfig:
    """The model."""

    model: str = LID_176.name  # an asset, the path of a fastText model, or `winnow`
    normalise: Normalise = "line"  # `openlid` for OpenLID
    captions: Annotated[str, NotEmpty()] = CAPTIONS  # the recipe's, or a column with lists of captions


def _load(config: LanguageConfig, assets: Assets) -> Kernel:
    model = model_named(config.model, assets)

    def kernel(batch: pa.RecordBatch) -> pa.RecordBatch:
        captions = captions_of(batch, config.captions)
        composed = captions.composed()
        heads = heads_of(composed, _MAX_BYTES)
        guesses = guesses_of(heads, model, config.normalise, 1)
        missing = ~guesses.judged
        numbers, score = best_codes(guesses, model)
        found = pa.array(numbers, mask=missing)
        unchanged = composed is captions.as_written
        written = heads if unchanged else heads_of(captions.as_written, _MAX_BYTES)
        own = model.names([one_line(text, config.normalise) for text in written.texts()])
        columns = [
            pa.array([known.label for known in model.codes], pa.string()).take(found),
            pa.array([known.code for known in model.codes], pa.string()).take(found),
            pa.array(score, pa.float64(), mask=missing),
            pa.array([name or None for name in own], pa.string()),
        ]
        return listed(captions, WRITES, columns)

    return kernel


OPERATOR = TextOperator(
    name="caption.language",
    version=5,  # 5: labels such as `zho_Hans` have the codes that thresholds have
    summary="language of each caption by a fastText model, and the model's own label",
    config=LanguageConfig,
    reads=lambda config: (config.captions, MEDIA),
    writes=lambda _: WRITES,
    load=_load,
    needs=(MEDIA,),
    assets=lambda config: assets_of_models(config.model),
    declares=(LID_176,),
    reasons=REASONS,
)

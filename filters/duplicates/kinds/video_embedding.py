"""Videos with similar embeddings: other cuts and edits, and other views of the same thing."""

from functools import partial
from typing import Final

from winnow.filters.duplicates.kind import VIDEOS, DuplicateKind, Signature
from winnow.filters.duplicates.kinds.embedding import (
    COSINES,
    CosineConfig,
    cosine_remarks,
    cosine_said,
    cosine_search,
    cosine_settings,
    vector_values,
)

_LEAST: Final = {"efficientnet-lite0.features": 0.97, "sscd.distilled": 0.9}
"""From which cosine videos count as copies, by encoder; docs/howto/dedupe.md has what each joins by mistake."""


def _options(_: CosineConfig) -> dict[str, object]:
    return {"every_seconds": 1.0}  # keyframes of a copy are other ones


KIND = DuplicateKind(
    name="video_embedding",
    version=1,
    summary="videos with close embeddings",
    unit=VIDEOS,
    settings=CosineConfig,
    signature=Signature(
        "video.embedding", ("vector",), partial(vector_values, "video_embedding"), _options, as_measured=True
    ),
    search=cosine_search("video_embedding"),
    distinct="vectors",
    members="copies",
    measures=COSINES,
    said=cosine_said,
    listed=80,
    null_unless_asked=True,
    chosen=80,
    split=80,
    bind=lambda config, encoder: cosine_settings(config, encoder.image.model, _LEAST),
    remarks=partial(cosine_remarks, "sampled embeddings of videos"),
)

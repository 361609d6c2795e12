"""Videos with similar embeddings: other cuts and edits, and other views of the same thing."""

from winnow.filters.duplicates.kind import VIDEOS
from winnow.filters.duplicates.vectors.cosine_kinds import cosine_kind

KIND = cosine_kind(
    "video_embedding",
    1,
    "videos with close embeddings",
    VIDEOS,
    "video.embedding",
    encoder=lambda operator: operator.image.model,
    least={"efficientnet-lite0.features": 0.97, "sscd.distilled": 0.9},
    sampled="sampled embeddings of videos",
    order=(80, 80, 80),
    options={"every_seconds": 1.0},  # keyframes of a copy are other ones
)
"""The least cosines are measured; docs/howto/dedupe.md has what each joins by mistake."""

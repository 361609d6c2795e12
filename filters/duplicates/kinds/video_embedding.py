"""Videos with similar embeddings: other cuts and edits, and other views of the same thing."""

from winnow.filters.duplicates.kind import VIDEOS
from winnow.filters.duplicates.kinds.embedding import cosine_kind

KIND = cosine_kind(
    "video_embedding",
    VIDEOS,
    "video.embedding",
    {"efficientnet-lite0.features": 0.97, "sscd.distilled": 0.9},  # docs/howto/dedupe.md has what each joins wrongly
    lambda config: config.image.model,
    lambda _: {"every_seconds": 1.0},  # copies have other keyframes
    "sampled embeddings of videos",
    version=1,
    listed=80,
    split=80,
)

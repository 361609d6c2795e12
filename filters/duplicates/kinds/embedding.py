"""Pictures whose embeddings point the same way: crops and edits, and other views of the same thing."""

from winnow.filters.duplicates.kind import PICTURES
from winnow.filters.duplicates.vectors.cosine_kinds import cosine_kind

KIND = cosine_kind(
    "embedding",
    2,
    "pictures with close embeddings",
    PICTURES,
    "image.embedding",
    encoder=lambda operator: operator.model,
    least={"efficientnet-lite0.features": 0.95, "sscd.distilled": 0.75},
    sampled="sampled embeddings",
    order=(60, 60, 40),
)
"""The least cosines are measured; docs/howto/dedupe.md has what each joins by mistake."""

"""Texts whose embeddings point the same way: paraphrases, rewritten pages, and texts on the same thing ("SemDeDup",
Abbas et al. 2023, which joins what has a cosine of at least `1 - eps` within a cell)."""

from winnow.filters.duplicates.kind import ROWS
from winnow.filters.duplicates.vectors.cosine_kinds import cosine_kind

KIND = cosine_kind(
    "semantic",
    1,
    "texts of close meaning",
    ROWS,
    "text.embedding",
    encoder=lambda operator: operator.model,
    least={"wordllama": 0.95},
    sampled="sampled texts",
    order=(35, 35, 15),
)
"""The least cosine is measured; docs/howto/dedupe.md has what it joins by mistake."""

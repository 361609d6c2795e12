"""How a classifier of text quality is trained: what may be set."""

from dataclasses import dataclass
from typing import Literal

from winnow.filters.models.normalisation import Normalisation


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a classifier is trained. Defaults that name no other source are fastText's own, which DCLM kept."""

    positive: str = "__label__hq"  # DCLM
    negative: str = "__label__cc"  # DCLM
    normalisation: Normalisation = "words"
    balance: Literal["equal", "given"] = "equal"  # DCLM: about 100 k texts a side
    held_out: float = 0.1  # of the texts, to measure on
    seed: int = 0
    max_characters: int = 100_000  # of a text; longer ones are cut
    learning_rate: float = 0.1
    epochs: int = 5
    dimension: int = 100
    word_ngrams: int = 2  # DCLM
    min_subword: int = 0
    max_subword: int = 0
    min_count: int = 1
    buckets: int = 2_000_000
    cutoff: int = 100_000  # of a quantised model: words and n-grams that are kept; fastText's tutorial

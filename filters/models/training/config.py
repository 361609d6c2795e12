"""Settings for training a classifier of text quality."""

from dataclasses import dataclass
from typing import Literal

from winnow.filters.models.normalisation import Normalisation


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Training settings. Defaults without a source are fastText's own, which DCLM also used."""

    positive: str = "__label__hq"  # DCLM
    negative: str = "__label__cc"  # DCLM
    normalisation: Normalisation = "words"
    balance: Literal["equal", "given"] = "equal"  # DCLM: about 100 k texts per side
    held_out: float = 0.1  # share of texts used for evaluation
    seed: int = 0
    max_characters: int = 100_000  # longer texts are cut
    learning_rate: float = 0.1
    epochs: int = 5
    dimension: int = 100
    word_ngrams: int = 2  # DCLM
    min_subword: int = 0
    max_subword: int = 0
    min_count: int = 1
    buckets: int = 2_000_000
    cutoff: int = 100_000  # words and n-grams kept in a quantised model; fastText's tutorial

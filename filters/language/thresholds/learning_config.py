"""Settings for learning thresholds by language."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """What counts as good, and how many texts say something; defaults without a source are winnow's own."""

    beta: float = 0.1  # FinePDFs: weight of recall against precision
    least: float = 0.3  # FineWeb-2: no threshold is below this, as few texts say little about either end
    most: float = 0.9  # FineWeb-2
    least_kept: float = 0.9  # of a language's texts that are found at all
    least_texts: int = 20  # of a language
    confused_share: float = 0.02  # of a language's texts: so many in another language make the two hard to tell apart

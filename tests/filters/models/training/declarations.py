"""Real texts in many languages, and small classifiers trained on them."""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from winnow.filters.models.training.config import TrainingConfig
from winnow.filters.models.training.examples import Examples
from winnow.filters.models.training.quality import TrainedModel, train_quality

ROOT = Path(__file__).parents[4]
SMALL = TrainingConfig(dimension=8, buckets=2000, epochs=30, cutoff=2000)


@cache
def _declarations() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress((ROOT / "runners" / "demo" / "udhr.json.xz").read_bytes()))
    return found


def paragraphs(code: str) -> list[str]:
    """The Declaration of Human Rights in a language."""
    found = _declarations()[code]
    return [*found["preamble"], *(text for _, *rest in found["articles"] for text in rest)]


def rows() -> list[tuple[str, bool, str]]:
    """Texts with their side and language: English and French are wanted, German and Spanish are not."""
    sides = {"eng": True, "fra": True, "deu": False, "spa": False}
    return [(text, side, code) for code, side in sides.items() for text in paragraphs(code)]


def train(
    output: Path, scratch: Path, config: TrainingConfig = SMALL, given: list[tuple[str, bool, str]] | None = None
) -> TrainedModel:
    """Train on these rows, or on all."""
    scratch.mkdir(parents=True, exist_ok=True)
    with Examples(scratch, config.normalisation, config.max_characters) as examples:
        for text, positive, language in rows() if given is None else given:
            examples.add(text, positive=positive, language=language)
        return train_quality(examples, config, output, scratch)

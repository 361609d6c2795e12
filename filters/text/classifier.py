"""Scores of a user's fastText classifier: the probability of one label, and the most probable label.

A typical model separates texts like selected ones from the rest of the web (DCLM's `oh-eli5`, or one made by `winnow
train-quality`). The score is fastText's own probability, which can be 1e-5 too high: it is clipped to [0, 1] and
rounded, so that it is the same wherever the same build of fastText ran.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import pyarrow as pa

from winnow.filters.extras import required_model
from winnow.filters.models.card import read_card
from winnow.filters.models.fasttext_files import load_fasttext
from winnow.filters.models.normalisation import Normalisation, one_line
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import nearest
from winnow.schemas.recipe.checks import Between

NO_WORDS = "no_words"
"""The model knows no word of the text, so fastText has no answer."""

_GROUP_ROWS = 512
_GROUP_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class ClassifierConfig:
    """The model and the label whose probability is measured."""

    model: str = ""  # the path of a .bin or .ftz; required
    positive: str = "__label__hq"  # DCLM
    normalisation: Literal["auto", "newlines", "lines", "words", "lower", "tutorial"] = "auto"
    """How the text becomes one line. `auto`: as the card next to the model says, or `lines` without a card."""
    decimals: Annotated[int, Between(1, 6)] = 4  # DCLM's published threshold, 0.018112, wants 6


WRITES = pa.schema(
    [
        STATUS,
        pa.field("score", pa.float64()),  # the probability of the positive label
        pa.field("label", pa.string()),  # the most probable
    ]
)


def classify(batch: pa.RecordBatch, score: Callable[[list[str]], Iterator[tuple[str, float] | None]]) -> pa.RecordBatch:
    """The layer of a batch of texts.

    Args:
        batch: Rows with a column `text` that is never null.
        score: Gives each text's top label and the probability of the positive one; None where it knows no word.
    """
    statuses, scores, labels = [], [], []
    for group in _groups(batch[TEXT]):
        for found in score(group):
            statuses.append(NO_WORDS if found is None else "ok")
            labels.append(None if found is None else found[0])
            scores.append(None if found is None else found[1])
    columns = [pa.array(statuses, pa.string()), pa.array(scores, pa.float64()), pa.array(labels, pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _groups(texts: pa.LargeStringArray) -> Iterator[list[str]]:
    """The texts in order, in groups that keep texts and answers small in memory."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text.as_py())
        size += len(group[-1])
        if len(group) == _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


class FastTextScorer:
    """A model that scores lists of texts."""

    def __init__(self, path: str, positive: str, normalisation: str, decimals: int) -> None:
        self._model, header = load_fasttext(path)
        card = read_card(path)
        if positive not in header.labels:
            near = nearest(positive, header.labels)
            known = f"did you mean {near!r}?" if near else f"its labels: {', '.join(header.labels[:8])}"
            raise RecipeError(f"{path}: the model has no label {positive!r} ({known}); set `positive`")
        kind = normalisation
        if kind == "auto":
            kind = "lines" if card is None else card.normalisation
        self._line = one_line(_kind(kind))
        self._positive = positive
        self._decimals = decimals
        self._labels = len(header.labels)

    def __call__(self, texts: list[str]) -> Iterator[tuple[str, float] | None]:
        """Each text's top label and probability of the positive one; None where the model knows no word."""
        labels, values = self._model.multilinePredict([self._line(text) for text in texts], self._labels, 0.0, "strict")
        for names, found in zip(labels, values, strict=True):
            if not names:
                yield None
                continue
            # Labels below 1e-5 in the hierarchical softmax are missing from the answers.
            value = float(found[names.index(self._positive)]) if self._positive in names else 0.0
            yield names[0], min(max(round(value, self._decimals), 0.0), 1.0)


def _kind(name: str) -> Normalisation:
    return name  # type: ignore[return-value]  # the config's Literal less `auto`


def _model(config: ClassifierConfig) -> str:
    return required_model(
        "text.classifier",
        config.model,
        "the path of a fastText model (.bin or .ftz), such as one made by `winnow train-quality`",
    )


def _load(config: ClassifierConfig, assets: Assets) -> Kernel:
    path = assets.path(_model(config))
    scorer = FastTextScorer(path, config.positive, config.normalisation, config.decimals)
    return lambda batch: classify(batch, scorer)


OPERATOR = TextOperator(
    name="text.classifier",
    version=1,
    summary="probability of a label, such as __label__hq, by your own fastText model",
    config=ClassifierConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: WRITES,
    load=_load,
    assets=lambda config: (_model(config),),
    resource="model",
    reasons=(NO_WORDS,),
    memory=72,  # `tutorial` makes three characters of a mark, of four bytes each beside an emoji, copied in lower case
)

"""The model card: a small JSON file next to a model trained by winnow, with its settings and measurements."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from winnow.filters.models.normalisation import NORMALISATIONS, Normalisation
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.typed_json import read_value

FORMAT = 1
MAX_CARD_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A classifier's card. Only the first three fields decide how the model is used."""

    sha256: str  # of the model's file: a card next to another model is refused
    normalisation: Normalisation
    positive: str
    labels: tuple[str, ...]
    training: Mapping[str, Json] = field(default_factory=dict)  # counts and settings
    held_out: Mapping[str, Json] = field(default_factory=dict)  # measured on texts not used in training
    versions: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """The file's bytes."""
        value = {
            "format": FORMAT,
            "sha256": self.sha256,
            "normalisation": self.normalisation,
            "positive": self.positive,
            "labels": list(self.labels),
            "training": self.training,
            "held_out": self.held_out,
            "versions": self.versions,
        }
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def card_path(model: str) -> str:
    """The path of a model's card."""
    return f"{model}.json"


def read_card(model: str) -> ModelCard | None:
    """Read the card next to a model; None if there is none.

    Raises:
        RecipeError: It is not a card, or describes another model.
    """
    path = card_path(model)
    try:
        with open(path, "rb") as stream:
            raw = stream.read(MAX_CARD_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}") from None
    card = _parsed(path, raw)
    if card.sha256 != file_sha256(model):
        raise RecipeError(
            f"{path}: describes another model than {os.path.basename(model)}; "
            "train again, or remove it and set `normalisation`"
        )
    return card


def file_sha256(path: str) -> str:
    """The hash of a file's content."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _parsed(path: str, raw: bytes) -> ModelCard:
    try:
        value = orjson.loads(raw) if len(raw) <= MAX_CARD_BYTES else None
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
        raise RecipeError(f"{path}: not a model's card; expected what `winnow train-quality` writes, or no such file")
    if (kind := value.get("normalisation")) not in NORMALISATIONS:
        raise RecipeError(f"{path}: normalisation {str(kind)[:60]!r}; expected {', '.join(NORMALISATIONS)}")
    try:
        return read_value(ModelCard, value)
    except ValueError as error:
        raise RecipeError(f"{path}: not a model's card: {error}; train again, or remove it") from None

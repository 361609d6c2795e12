"""Load a model that recognises names (from an entry point, a dotted path, or a spaCy pipeline), and check its spans.

A package provides one with an entry point of the group `winnow.ner`. The model is an object, or a class of it:

    class Gazetteer:
        languages = frozenset({"deu"})  # ISO 639-3; None for all
        kinds = frozenset({"name"})  # of `name` and `address`

        def __call__(self, texts: list[str], language: str) -> list[list[tuple[int, int, str]]]:
            ...  # for each text its spans: start and end in characters, and the kind
"""

import importlib
import operator
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, packages_distributions, version
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, cast

from winnow.filters.entry_points import entry_points
from winnow.filters.models.code import code_identity
from winnow.schemas.environment.modules import import_users_module
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import read_label, same_language
from winnow.schemas.problems import nearest

ENTRY_POINTS = "winnow.ner"
SPACY = "spacy:"
KINDS = ("name", "address")

Recognised: TypeAlias = tuple[int, int, str]
"""Start and end in characters of a text (half-open), and the kind."""


class NameModel(Protocol):
    """Recognises names and addresses in texts of one language. Its result for a text depends only on that text."""

    @property
    def languages(self) -> frozenset[str] | None:
        """The languages that it knows, as ISO 639-3; None for all."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that it detects: `name`, `address` or both."""

    def __call__(self, texts: list[str], language: str) -> Sequence[Iterable[Recognised]]:
        """For each text its spans, in any order, that do not overlap. `language` is `und` where it is not known."""


@dataclass(frozen=True)
class FoundModel:
    """A model with its name in the recipe and its package and version."""

    model: NameModel
    label: str

    def knows(self, language: str | None) -> bool:
        """Whether the model supports this language."""
        known = self.model.languages
        return known is None or (language is not None and any(same_language(language, one) for one in known))


def no_model(operator: str) -> str:
    """The message for a recipe without a model."""
    installed = sorted(point.name for point in entry_points(ENTRY_POINTS))
    own = (
        f"one that is installed ({', '.join(installed)})"
        if installed
        else f"a package with an entry point of {ENTRY_POINTS}"
    )
    return (
        f"{operator}: `model` is not set, and winnow has none of its own; name {own}, or run: "
        "pip install 'winnow[names]', install a spaCy pipeline, and set model: spacy:NAME"
    )


@lru_cache(maxsize=8)
def find_model(name: str) -> FoundModel:
    """Load the model that a recipe names.

    Raises:
        RecipeError: There is no such model, it cannot be loaded, or it is not a model of names.
    """
    try:
        made, label = _spacy(name.removeprefix(SPACY)) if name.startswith(SPACY) else _registered(name)
    except RecipeError:
        raise
    except Exception as error:  # a package may raise anything on import
        what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")
        raise RecipeError(f"text.names: the model {name!r} cannot be loaded: {what[:300]}") from error
    return FoundModel(_checked(made, name), label)


def model_identity(name: str) -> tuple[str, ...]:
    """The packages and code behind the model of this name."""
    if name.startswith(SPACY):
        return (*code_identity("spacy"), *code_identity(name.removeprefix(SPACY)))
    point = next((point for point in entry_points(ENTRY_POINTS) if point.name == name), None)
    return code_identity(point.module if point is not None else name.partition(":")[0])


def _registered(name: str) -> tuple[object, str]:
    points = {point.name: point for point in entry_points(ENTRY_POINTS)}
    if name in points:
        made, package = points[name].load(), _package(points[name])
    elif ":" in name:
        module, _, attribute = name.partition(":")
        made, package = getattr(import_users_module(module), attribute), _distribution(module)
    else:
        near = nearest(name, points)
        hint = f"did you mean {near!r}?" if near else f"installed: {', '.join(sorted(points)) or 'none'}"
        raise RecipeError(
            f"text.names: no installed package offers the model {name!r} ({hint}); expected the name of an entry point "
            f"of {ENTRY_POINTS}, package.module:object, or spacy:PIPELINE"
        )
    return (made() if isinstance(made, type) else made), f"{name} ({package})"


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _distribution(module: str) -> str:
    names = packages_distributions().get(module.partition(".")[0], [])
    return f"{names[0]} {version(names[0])}" if names else "unknown"


def _checked(made: object, name: str) -> NameModel:
    languages, kinds = getattr(made, "languages", ()), getattr(made, "kinds", ())
    codes = languages is None or (isinstance(languages, frozenset) and all(isinstance(one, str) for one in languages))
    if not callable(made) or not codes or not isinstance(kinds, frozenset) or not kinds or not kinds <= set(KINDS):
        raise RecipeError(
            f"text.names: {name!r} is not a model of names: expected `languages`, a frozenset of ISO 639-3 codes or "
            f"None, `kinds`, a frozenset of {' and '.join(KINDS)}, and a call with texts and a language"
        )
    return cast(NameModel, made)


_SPACY_KINDS: Mapping[str, str] = {"PER": "name", "PERSON": "name", "persName": "name", "PS": "name", "PRS": "name"}
"""The labels for persons in various pipelines. No spaCy pipeline separates street addresses from other places."""

_SPACY_OWN_KINDS: Mapping[str, str] = {"NAME": "name", "ADDRESS": "address", "STREET": "address"}


class _Spacy:
    """A spaCy pipeline as a model of names."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        label = read_label(pipeline.lang, "iso")
        self.languages = frozenset({label.code}) if label is not None else None
        known = {**_SPACY_KINDS, **_SPACY_OWN_KINDS}
        labels = {label for name in pipeline.pipe_names for label in pipeline.pipe_labels.get(name, ())}
        self._kinds = {label: known[label] for label in sorted(labels & known.keys())}
        self.kinds = frozenset(self._kinds.values())

    def __call__(self, texts: list[str], language: str) -> list[list[Recognised]]:  # noqa: ARG002, it has one alone
        found = self._pipeline.pipe(texts, batch_size=32)
        return [
            [
                (one.start_char, one.end_char, self._kinds[one.label_])
                for one in document.ents
                if one.label_ in self._kinds
            ]
            for document in found
        ]


def _spacy(name: str) -> tuple[object, str]:
    try:
        spacy = importlib.import_module("spacy")
    except ImportError:
        raise RecipeError("text.names: spaCy is not installed; run: pip install 'winnow[names]'") from None
    try:
        pipeline = spacy.load(name)
    except OSError:
        raise RecipeError(
            f"text.names: spaCy has no pipeline {name!r}; run: python -m spacy download {name}, or name its folder"
        ) from None
    made = _Spacy(pipeline)
    if not made.kinds:
        raise RecipeError(f"text.names: the pipeline {name!r} has no label for persons; use another pipeline")
    meta = pipeline.meta
    return made, f"spacy:{meta.get('lang')}_{meta.get('name')} {meta.get('version')} (spacy {spacy.__version__})"


ByteSpan: TypeAlias = tuple[int, int, str]
"""Start and end in the UTF-8 of a text (half-open), and the kind."""

_JOINER = "\u200d"


def byte_spans(text: str, found: Iterable[object], kinds: Set[str]) -> list[ByteSpan] | None:
    """The sorted spans in bytes; None if one is invalid: not numbers, outside the text, empty or overlapping.

    A model may return anything; no invalid span may result. Models count characters, spans count bytes. Marks that
    belong to the last character of a span, such as separate accents, are included.
    """
    spans = []
    for one in found:
        if not isinstance(one, tuple | list) or len(one) != 3 or not isinstance(one[2], str) or one[2] not in kinds:
            return None
        start, end = _place(one[0]), _place(one[1])
        if start is None or end is None or not 0 <= start < end <= len(text):
            return None
        spans.append((start, end, str(one[2])))
    spans.sort()
    if any(later[0] < former[1] for former, later in pairwise(spans)):
        return None
    return spans if text.isascii() else _in_bytes(text, spans)


def _place(value: object) -> int | None:
    """Read an integer, also of numpy's types, but not a boolean."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _in_bytes(text: str, spans: list[ByteSpan]) -> list[ByteSpan]:
    found, at, reached = [], 0, 0  # characters and bytes so far: the text is read once
    for number, (start, end, kind) in enumerate(spans):
        limit = spans[number + 1][0] if number + 1 < len(spans) else len(text)
        while end < limit and _belongs(text, end):
            end += 1
        first = reached + len(text[at:start].encode())
        last = first + len(text[start:end].encode())
        found.append((first, last, kind))
        at, reached = end, last
    return found


def _belongs(text: str, at: int) -> bool:
    """Whether a character extends the one before it."""
    character = text[at]
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or _JOINER in (character, text[at - 1])

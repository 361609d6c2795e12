"""The language of a text by a model, in a code common to all models, by CLD2, and by a second model if one is given.

The default model is lid.176; GlotLID, OpenLID or any other fastText model whose labels are languages is given by its
path. Codes are like `eng_Latn`: ISO 639-3 and a script, measured from the letters if the label names none. Special
cases: a text without letters has the status `no_letters`, one in a script that the model was not trained on is
`und_Scrp` with score 0, and text that a model labels as no language is `zxx`. A text that a model takes for a language
not written in the text's script is `und_Scrp` with score 0, too; `mismatch` holds that guess, such as `jpn_Latn`.
`own_script_share` is the share of letters in the script of `code`; the rest are of other languages, code or names.

Scores belong to the pinned class: clamped to 1 and rounded to 1e-4.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.identification.cld2 import Cld2Result, second_opinion
from winnow.filters.language.identification.heads import (
    TextHeads,
    best_codes,
    guesses_of,
    heads_of,
    macrolanguage_scores,
)
from winnow.filters.language.identification.lid_176 import LID_176
from winnow.filters.language.identification.model import Guesses, LanguageModel, Normalise
from winnow.filters.language.identification.named import assets_of_models, languages_of, model_named
from winnow.filters.language.identification.paragraphs import Bounds, Mixture, mixtures
from winnow.filters.language.identification.scripts import script_names
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, language, macrolanguage, same_language
from winnow.schemas.recipe.checks import Between

NO_LETTERS = "no_letters"

_TOP = pa.list_(pa.struct([pa.field("code", pa.string()), pa.field("score", pa.float64())]))

_DOCUMENT = (
    STATUS,
    pa.field("label", pa.string()),  # ISO 639-3, `und` or `zxx`
    pa.field("script", pa.string()),  # ISO 15924
    pa.field("code", pa.string()),  # label_script
    pa.field("score", pa.float64()),
    pa.field("macrolanguage", pa.string()),  # ISO 639-3: `hbs` for Croatian; the language itself if it is in none
    pa.field("macrolanguage_score", pa.float64()),  # the sum of its members' scores
    pa.field("top", _TOP),  # the likeliest languages, that of `code` first
    pa.field("family", pa.string()),
    pa.field("group", pa.string()),
    pa.field("text_script", pa.string()),  # script of most letters
    pa.field("text_script_share", pa.float64()),  # of letters
    pa.field("own_script_share", pa.float64()),  # share of letters in the script of `code`: less in mixed texts
    pa.field("mismatch", pa.string()),  # the model's guess if that language is not written in the text's script
)
_SECOND = (
    pa.field("cld2", pa.string()),  # ISO 639-3; null where CLD2 names none
    pa.field("cld2_reliable", pa.bool_()),
    pa.field("cld2_percent", pa.int32()),
    pa.field("cld2_score", pa.float64()),
    pa.field("agree", pa.bool_()),  # null where either names none
)
_OTHER = (
    pa.field("second", pa.string()),  # the second model's code
    pa.field("second_score", pa.float64()),
    pa.field("agrees", pa.bool_()),  # null where either names none, or one that the other does not know
)
_MIXTURE = (
    pa.field("paragraphs", pa.int32()),  # how many were classified
    pa.field("own_share", pa.float64()),  # share of their characters in the text's language
    pa.field("other_share", pa.float64()),  # share confidently in other languages
    pa.field("languages", pa.int32()),  # with at least 5 % of the characters
)


@dataclass(frozen=True, slots=True)
class Config:
    """The model and which text it classifies."""

    model: str = LID_176.name  # an asset, the path of a fastText model, or `winnow`
    normalise: Normalise = "line"  # `openlid` for OpenLID
    max_bytes: Annotated[int, Between(1_000, 64 << 20)] = 1 << 20  # longer texts are judged by their beginning
    alternatives: Annotated[int, Between(1, 10)] = 3  # languages in `top`; each beyond the first slows the model down
    second_opinion: bool = True  # CLD2's
    second: str | None = None  # another model, beside whose code stands whether it `agrees`; it reads texts as `line`
    columns: tuple[str, ...] = field(default=())  # more columns, such as extract.main.title or samples.captions
    max_paragraphs: Annotated[int, Between(0, 10_000)] = 16  # classified one by one; 0 for none
    max_paragraph_chars: Annotated[int, Between(20, 100_000)] = 500  # read of each
    min_paragraph_chars: Annotated[int, Between(1, 100_000)] = 50  # of a line that is a paragraph
    min_paragraph_score: Annotated[float, Between(0, 1)] = 0.5  # below this, its language is unsure


def _document_columns(heads: TextHeads, guesses: Guesses, model: LanguageModel, normalise: Normalise) -> list[pa.Array]:
    scripts, missing = heads.scripts, ~guesses.judged
    codes = _taken([known.mismatch or known.code for known in model.codes], guesses.numbers)
    best, score = best_codes(guesses, model)
    whole = macrolanguage_scores(heads, guesses, model, normalise)
    numbers = pa.array(best, mask=missing)
    places = [language(known.label) for known in model.codes]
    top = pa.StructArray.from_arrays([codes, pa.array(guesses.scores)], fields=list(_TOP.value_type))
    of_second = np.array([*(known.of_second for known in model.codes), False], np.bool_)  # the last: of no language
    own = (
        np.where(of_second[best] & ~missing, scripts.second_letters, scripts.own_letters)
        if len(of_second)
        else scripts.own_letters
    )
    return [
        pa.array(np.where(missing, NO_LETTERS, "ok"), pa.string()),
        _taken([known.label for known in model.codes], numbers),
        _taken([known.script for known in model.codes], numbers),
        _taken([known.code for known in model.codes], numbers),
        pa.array(score, pa.float64(), mask=missing),
        _taken([macrolanguage(known.label) for known in model.codes], numbers),
        pa.array(whole, pa.float64(), mask=missing),
        pa.ListArray.from_arrays(pa.array(guesses.offsets), top, mask=pa.array(missing)),
        _taken([place.family if place else None for place in places], numbers),
        _taken([place.group if place else None for place in places], numbers),
        _taken(script_names(), pa.array(scripts.numbers, mask=missing)),
        pa.array(scripts.own_letters / np.maximum(scripts.letters, 1), pa.float64(), mask=missing),
        pa.array(own / np.maximum(scripts.letters, 1), pa.float64(), mask=missing),
        _taken([known.mismatch for known in model.codes], numbers),
    ]


def _taken(values: Sequence[str | None], numbers: pa.Array | npt.NDArray[np.int32]) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(numbers))


def _second_columns(heads: TextHeads, labels: Sequence[str | None]) -> list[pa.Array]:
    opinions = [
        None if label is None else second_opinion(text) for text, label in zip(heads.texts(), labels, strict=True)
    ]
    return [
        pa.array([opinion and opinion.label for opinion in opinions], pa.string()),
        pa.array([None if opinion is None else opinion.reliable for opinion in opinions], pa.bool_()),
        pa.array([None if opinion is None else opinion.percent for opinion in opinions], pa.int32()),
        pa.array([None if opinion is None else opinion.score for opinion in opinions], pa.float64()),
        pa.array([_agreed(*both) for both in zip(labels, _labels_of(opinions), strict=True)], pa.bool_()),
    ]


def _labels_of(opinions: Iterable[Cld2Result | None]) -> Iterator[str | None]:
    return (opinion.label if opinion else None for opinion in opinions)


def _known_to_both(*models: LanguageModel) -> frozenset[str]:
    """The macrolanguages on which models can agree: one that does not know a language contradicts nobody."""
    return frozenset.intersection(*(frozenset(map(macrolanguage, languages_of(one))) for one in models))


def _other_columns(
    heads: TextHeads, guesses: Guesses, model: LanguageModel, other: LanguageModel, shared: frozenset[str]
) -> list[pa.Array]:
    """What another model says, and whether the two agree: asked once for each pair of codes."""
    theirs = guesses_of(heads, other, "line", 1)
    numbers, _ = best_codes(guesses, model)
    others, scores = best_codes(theirs, other)
    missing = ~(guesses.judged & theirs.judged)
    width = max(len(other.codes), 1)
    pairs, places = np.unique(np.where(missing, -1, numbers * width + others), return_inverse=True)
    asked = [(model.codes[pair // width].label, other.codes[pair % width].label) for pair in pairs[pairs >= 0].tolist()]
    told = [_agreed(*both) if shared.issuperset(map(macrolanguage, both)) else None for both in asked]
    agreed = pa.array([*[None] * int((pairs < 0).sum()), *told], pa.bool_())
    return [
        _taken([one.code for one in other.codes], pa.array(others, mask=missing)),
        pa.array(scores, pa.float64(), mask=missing),
        agreed.take(pa.array(places)),
    ]


def _agreed(label: str | None, other: str | None) -> bool | None:
    if label is None or other is None or {label, other} & {UNKNOWN, NO_LANGUAGE}:
        return None
    return same_language(label, other)


def _mixture_columns(
    heads: TextHeads, labels: Sequence[str | None], model: LanguageModel, config: Config
) -> list[pa.Array]:
    bounds = Bounds(
        config.max_paragraphs, config.max_paragraph_chars, config.min_paragraph_chars, config.min_paragraph_score
    )
    named = [(row, label) for row, label in enumerate(labels) if label is not None]
    every = list(heads.texts())
    texts = [every[row].decode() for row, _ in named]
    measured = mixtures(texts, [label for _, label in named], model, config.normalise, bounds)
    found: list[Mixture | None] = [None] * len(labels)
    for (row, _), mixture in zip(named, measured, strict=True):
        found[row] = mixture
    return [
        pa.array([mixture and mixture.paragraphs for mixture in found], pa.int32()),
        pa.array([mixture and mixture.own_share for mixture in found], pa.float64()),
        pa.array([mixture and mixture.other_share for mixture in found], pa.float64()),
        pa.array([mixture and mixture.languages for mixture in found], pa.int32()),
    ]


def _further_columns(
    column: pa.Array, model: LanguageModel, config: Config, measured: npt.NDArray[np.bool_]
) -> list[pa.Array]:
    """The language of a title, or of all captions of a document together; null where there is no text."""
    guesses = guesses_of(heads_of(_joined(column), config.max_bytes), model, config.normalise, 1)
    missing = ~(guesses.judged & measured)
    numbers, score = best_codes(guesses, model)
    return [
        _taken([known.code for known in model.codes], pa.array(numbers, mask=missing)),
        pa.array(score, pa.float64(), mask=missing),
    ]


def _joined(column: pa.Array) -> pa.Array:
    """A column as texts: a list's strings, or the `text` of its items, become one line each."""
    if not pa.types.is_list(column.type) and not pa.types.is_large_list(column.type):
        return column
    rows: Iterable[list[str | dict[str, str | None] | None] | None] = column.to_pylist()
    lines = [[item.get("text") if isinstance(item, dict) else item for item in row or ()] for row in rows]
    return pa.array(["\n".join(line for line in row if line) for row in lines], pa.large_string())


def _fields(config: Config) -> list[pa.Field]:
    found = [*_DOCUMENT]
    if config.second_opinion:
        found += _SECOND
    if config.second is not None:
        found += _OTHER
    if config.max_paragraphs:
        found += _MIXTURE
    for name in config.columns:
        column = name.replace(".", "_")
        found += [pa.field(f"{column}_code", pa.string()), pa.field(f"{column}_score", pa.float64())]
    return found


def _load(config: Config, assets: Assets) -> Kernel:
    model = model_named(config.model, assets)
    other = None if config.second is None else model_named(config.second, assets)
    shared = frozenset() if other is None else _known_to_both(model, other)
    schema = pa.schema(_fields(config))

    def kernel(batch: pa.RecordBatch) -> pa.RecordBatch:
        heads = heads_of(batch.column(TEXT), config.max_bytes)
        guesses = guesses_of(heads, model, config.normalise, config.alternatives)
        columns = _document_columns(heads, guesses, model, config.normalise)
        labels: list[str | None] = columns[1].to_pylist()
        if config.second_opinion:
            columns += _second_columns(heads, labels)
        if other is not None:
            columns += _other_columns(heads, guesses, model, other, shared)
        if config.max_paragraphs:
            columns += _mixture_columns(heads, labels, model, config)
        for name in config.columns:
            columns += _further_columns(batch.column(name), model, config, guesses.judged)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return kernel


OPERATOR = TextOperator(
    name="text.language",
    version=6,
    summary="language by a fastText model and by CLD2, its script, family and group, and language mixing",
    config=Config,
    reads=lambda config: (TEXT, *config.columns),
    writes=lambda config: pa.schema(_fields(config)),
    load=_load,
    memory=4,
    assets=lambda config: assets_of_models(config.model, config.second),
    declares=(LID_176,),
    reasons=(NO_LETTERS,),
)

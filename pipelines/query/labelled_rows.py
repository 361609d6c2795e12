"""Finds the labelled rows of a store, with their vectors or texts, for training a head; and rows to be labelled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.models.training.heads import LabelledVectors
from winnow.pipelines.query.label_tables import Labels, name_of_text
from winnow.pipelines.query.store_rows import rows_of_store
from winnow.pipelines.query.training_texts import LANGUAGE, Text, column_in, columns_of_rule
from winnow.pipelines.reading.chosen_text import first_text
from winnow.pipelines.reading.columns import column_of
from winnow.pipelines.reading.conditions import selected_rows
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import seeded_hash
from winnow.schemas.records import Generation

UNKNOWN: Final = "unknown"
_ID = "samples.id"

T = TypeVar("T")
Rows: TypeAlias = dict[str, pa.Array]
_Labelled: TypeAlias = tuple[NDArray[np.float32], float, str]
"""A vector, its label and the text's language."""


class Labeller(Protocol):
    """Gives rows of a store their labels."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The dotted columns that it needs."""

    def of(self, rows: Rows) -> NDArray[np.float64]:
        """The label of each row; NaN for none."""

    def left_out(self) -> dict[str, int]:
        """Labels that no row got, by reason, once all rows were seen."""


class TableLabels:
    """Labels from tables."""

    def __init__(self, labels: Labels, texts: Sequence[str]) -> None:
        self._labels, self._places = labels, labels.places
        self._seen = np.zeros(len(labels.names), np.bool_)
        self.reads = {"id": (_ID,), "key": ("samples.source.record",), "text": tuple(texts)}[labels.key]

    def of(self, rows: Rows) -> NDArray[np.float64]:
        """The label of each row, by its id, key or text."""
        names: Sequence[bytes | None]
        if self._labels.key == "id":
            names = rows[_ID].to_pylist()
        else:
            texts = first_text([rows[name] for name in self.reads]).to_pylist()
            name_of = str.encode if self._labels.key == "key" else name_of_text
            names = [None if one is None else name_of(one) for one in texts]
        places = np.array([-1 if one is None else self._places.get(one, -1) for one in names], np.int64)
        self._seen[places[places >= 0]] = True
        return np.where(places < 0, np.nan, self._labels.values[places])

    def left_out(self) -> dict[str, int]:
        """Labels of samples that the store does not have."""
        return {"not in the store": int((~self._seen).sum())}


class RuleLabels:
    """Two rules: rows that meet the first are wanted, those that meet the second are not; none that meets both."""

    def __init__(self, positives: str, negatives: str) -> None:
        self._rules = {rule: columns_of_rule(rule) for rule in (positives, negatives)}
        self._positives, self._negatives = positives, negatives
        self._both = 0
        self.reads = tuple(dict.fromkeys(name for names in self._rules.values() for name in names))

    def of(self, rows: Rows) -> NDArray[np.float64]:
        """1 or 0, by the rule that a row meets."""
        count = len(next(iter(rows.values())))
        wanted, unwanted = (
            selected_rows(rule, {name: rows[name] for name in self._rules[rule]}, count)
            for rule in (self._positives, self._negatives)
        )
        self._both += int((wanted & unwanted).sum())
        return np.where(wanted & ~unwanted, 1.0, np.where(unwanted & ~wanted, 0.0, np.nan))

    def left_out(self) -> dict[str, int]:
        """Rows that meet both rules."""
        return {"labelled both ways": self._both}


@dataclass
class _Smallest(Generic[T]):
    """Keeps, of each kind of item, those with the smallest hashes of their ids."""

    seed: int
    purpose: str
    most: int  # of a kind
    held: dict[str, list[tuple[int, bytes, T]]] = field(default_factory=dict)

    def add(self, kind: str, name: bytes, item: T) -> None:
        """Add an item; twice as many as wanted are held at most."""
        kept = self.held.setdefault(kind, [])
        kept.append((seeded_hash(self.seed, self.purpose, name), name, item))
        if len(kept) >= 2 * self.most:
            self._trim(kept)

    def items(self) -> Iterator[tuple[str, bytes, T]]:
        """The kept items with their kinds, in the order of kinds and hashes."""
        for kind in sorted(self.held):
            self._trim(self.held[kind])
            for _, name, item in self.held[kind]:
                yield kind, name, item

    def _trim(self, kept: list[tuple[int, bytes, T]]) -> None:
        kept.sort(key=lambda one: one[:2])
        del kept[self.most :]


@dataclass(frozen=True)
class Places:
    """Where labelled rows are read."""

    store: Store
    generation: Generation
    texts: tuple[str, ...]  # the columns of the recipe's `text`

    def rows(self, names: Sequence[str], why: str) -> Iterator[tuple[Rows, list[str]]]:
        """Batches of columns, and the language of each row; RecipeError if a column is missing."""
        layers = sorted(self.generation.layers)
        languages = [LANGUAGE] if column_of(LANGUAGE, layers) else []
        columns = [column_in(name, layers, why) for name in dict.fromkeys((_ID, *names, *languages))]
        for rows in rows_of_store(self.store, self.generation, columns):
            found = rows[LANGUAGE].fill_null(UNKNOWN).to_pylist() if languages else [UNKNOWN] * len(rows[_ID])
            yield rows, found


def labelled_vectors(
    places: Places, labeller: Labeller, embedding: str, most: int, seed: int
) -> tuple[LabelledVectors, dict[str, int]]:
    """The labelled rows that have a vector, at most `most` of each label's side, and labels left out by reason.

    Raises:
        SourceError: No labelled row has a vector, or they are of several lengths.
    """
    column = f"{embedding}.vector"
    kept = _Smallest[_Labelled](seed, "head labels", most)
    no_vector = labelled = 0
    for rows, languages in places.rows((*labeller.reads, column), column):
        labels = labeller.of(rows)
        there = np.flatnonzero(~np.isnan(labels))
        labelled += len(there)
        chosen = rows[column].take(pa.array(there))
        for at, vector in zip(there.tolist(), chosen, strict=True):  # labelled rows alone
            numbers = vector.values.to_numpy() if vector.is_valid else np.zeros(0, np.float32)
            if not len(numbers) or not np.isfinite(numbers).all():
                no_vector += 1
                continue
            side = "positive" if labels[at] > 0 else "negative"
            kept.add(side, rows[_ID][at].as_py(), (numbers.copy(), float(labels[at]), languages[at]))
    others = labeller.left_out()
    left_out = {"without a vector": no_vector} | others
    items = [(name, *item) for _, name, item in kept.items()]
    if not items:
        said = "".join(f"; {count:,} are {reason}" for reason, count in others.items() if count)
        raise SourceError(
            f"no labelled sample has a vector: {labelled:,} of the store's rows are labelled, {no_vector:,} of these "
            f"have none in {embedding}{said}; check that labels and store belong together"
        )
    names, vectors, values, spoken = zip(*items, strict=True)
    widths = sorted({len(vector) for vector in vectors})
    if len(widths) > 1:
        raise SourceError(f"{column}: vectors of {widths[0]} and of {widths[-1]} numbers; measure all with one encoder")
    return LabelledVectors(names, np.stack(vectors), np.array(values), spoken), left_out


def labelled_texts(places: Places, labeller: Labeller) -> Iterator[tuple[Text, bool]]:
    """The text of every labelled row with its language, and whether it is wanted."""
    for rows, languages in places.rows((*labeller.reads, *places.texts), "labels"):
        labels = labeller.of(rows)
        texts = first_text([rows[name] for name in places.texts])
        for at in np.flatnonzero(~np.isnan(labels)).tolist():
            if texts[at].is_valid:
                yield (texts[at].as_py(), languages[at]), bool(labels[at] > 0)


def texts_to_label(
    places: Places, rule: str | None, most: int, characters: int, seed: int
) -> Iterator[tuple[bytes, Text]]:
    """Of each language, the ids and texts with the smallest hashes among rows that meet a rule, cut to a length."""
    asked = () if rule is None else columns_of_rule(rule)
    kept = _Smallest[str](seed, "head prompts", most)
    for rows, languages in places.rows((*asked, *places.texts), rule or "text"):
        texts = first_text([rows[name] for name in places.texts])
        met = texts.is_valid().to_numpy(zero_copy_only=False)
        if rule is not None:
            met = met & selected_rows(rule, {name: rows[name] for name in asked}, len(met))
        for at in np.flatnonzero(met).tolist():
            text = texts[at].as_py()
            if text.strip():
                kept.add(languages[at], rows[_ID][at].as_py(), text[:characters])
    for language, name, text in kept.items():
        yield name, (text, language)

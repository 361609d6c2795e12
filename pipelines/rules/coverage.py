"""Detector coverage by language: for each language and subcategory of harm, the rows that some detector checked.

A detector is a column that an operator declares for a subcategory (`Operator.detects`). Null means "not checked",
never "nothing found": a language without a detector is uncovered, however clean its counts may look.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.reading.items import list_counts, list_sums
from winnow.pipelines.rules.deciding import NARROW_BLOCK_ROWS, languages_of
from winnow.pipelines.rules.pinning import ShardObjects
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.identity import Json
from winnow.schemas.safety import VERSION, subcategories

_PLACE = Column(layout.SAMPLES, "source.member")  # a narrow column that every row has


@dataclass(frozen=True, slots=True)
class Detector:
    """A column that detects one subcategory."""

    subcategory: str
    column: Column
    counted: bool  # whether it reports findings, as a flag or count rather than a score


@dataclass(frozen=True, slots=True)
class LanguageCoverage:
    """The kept samples of one language."""

    language: str
    rows: int
    seen: Mapping[str, int]  # checked rows, by subcategory that the recipe detects
    found: Mapping[str, int]  # rows with findings; only for flags and counts


@dataclass(frozen=True, slots=True)
class SafetyCoverage:
    """Detector coverage of the kept samples of one generation."""

    version: int  # of the taxonomy
    detectors: Mapping[str, tuple[str, ...]]  # the layers that detect each subcategory, in the taxonomy's order
    unwatched: tuple[str, ...]  # subcategories without a detector in the recipe
    languages: tuple[LanguageCoverage, ...]  # largest first

    @property
    def rows(self) -> int:
        """All kept samples."""
        return sum(language.rows for language in self.languages)

    @property
    def total(self) -> LanguageCoverage:
        """All languages together."""
        seen = {name: sum(language.seen[name] for language in self.languages) for name in self.detectors}
        counted = self.languages[0].found if self.languages else {}
        found = {name: sum(language.found[name] for language in self.languages) for name in counted}
        return LanguageCoverage("all", self.rows, seen, found)

    def to_json(self) -> dict[str, Json]:
        """Return plain values for `--json`."""
        return asdict(self)


def detectors_of(operators: Sequence[BoundOperator]) -> tuple[Detector, ...]:
    """Return the detectors of these operators."""
    found = []
    for bound in operators:
        types = {field.name: field.type for field in bound.schema}
        for name, subcategory in bound.operator.detects(bound.config).items():
            counted = pa.types.is_integer(types[name]) or pa.types.is_boolean(types[name])
            found.append(Detector(subcategory, Column(bound.layer, name), counted))
    order = list(subcategories())
    return tuple(sorted(found, key=lambda one: (order.index(one.subcategory), one.column.name)))


class CoverageCounter:
    """Counts coverage shard by shard; counts are sums, so the order of shards does not matter."""

    def __init__(self, objects: ObjectStore, detectors: Sequence[Detector], languages: tuple[Column, ...]) -> None:
        """Begin. The objects of a shard are those of the detectors' and the languages' layers, and its samples."""
        self._objects = objects
        self._detectors = tuple(detectors)
        self._languages = languages
        self._columns = list(dict.fromkeys((_PLACE, *languages, *(detector.column for detector in detectors))))
        self._names = list(dict.fromkeys(detector.subcategory for detector in detectors))
        self._counted = list(dict.fromkeys(detector.subcategory for detector in detectors if detector.counted))
        self._rows: dict[str, int] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._found: dict[tuple[str, str], int] = {}

    def add(self, shard: ShardObjects, kept: NDArray[np.bool_]) -> None:
        """Count the kept rows of a shard."""
        at = 0
        for block in read_aligned(self._objects, shard.objects, self._columns, NARROW_BLOCK_ROWS):
            rows = len(next(iter(block.values())))
            self._add(block, kept[at : at + rows])
            at += rows

    def languages(self) -> tuple[LanguageCoverage, ...]:
        """Return the counts of each language, the largest first."""
        by_size = sorted(self._rows, key=lambda language: (-self._rows[language], language))
        return tuple(
            LanguageCoverage(
                language,
                self._rows[language],
                {name: self._seen.get((language, name), 0) for name in self._names},
                {name: self._found.get((language, name), 0) for name in self._counted},
            )
            for language in by_size
        )

    def _add(self, block: Mapping[str, pa.Array], kept: NDArray[np.bool_]) -> None:
        coded = languages_of(block, self._languages, len(kept))
        which, names = coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()

        def count(rows: NDArray[np.bool_]) -> list[tuple[str, int]]:
            return list(zip(names, np.bincount(which[rows], minlength=len(names)).tolist(), strict=True))

        for language, rows in count(kept):
            if rows:
                self._rows[language] = self._rows.get(language, 0) + rows
        for name in self._names:
            seen = np.zeros(len(kept), np.bool_)
            found = np.zeros(len(kept), np.bool_)
            for detector in self._detectors:
                if detector.subcategory == name:
                    values = block[detector.column.name]
                    seen |= _checked(values)
                    if detector.counted:
                        found |= pc.fill_null(pc.greater(values.cast(pa.int64()), 0), False).to_numpy(
                            zero_copy_only=False
                        )
            for counts, rows_of in ((self._seen, seen), (self._found, found)):
                for language, rows in count(kept & rows_of):
                    if rows:
                        counts[language, name] = counts.get((language, name), 0) + rows


def _checked(values: pa.Array) -> NDArray[np.bool_]:
    """The rows that a detector checked: of items, those whose items it has all checked, and that have any."""
    if not pa.types.is_list(values.type):
        valid: NDArray[np.bool_] = values.is_valid().to_numpy(zero_copy_only=False)
        return valid
    counts = list_counts(values)
    known = list_sums(values, values.flatten().is_valid().to_numpy(zero_copy_only=False).astype(np.int64))
    found: NDArray[np.bool_] = (counts > 0) & (known == counts)
    return found


def merged_languages(parts: Iterable[Sequence[LanguageCoverage]]) -> tuple[LanguageCoverage, ...]:
    """Return the sums of several counts, the largest language first."""
    sums: dict[str, LanguageCoverage] = {}
    for one in (one for part in parts for one in part):
        had = sums.get(one.language)
        sums[one.language] = one if had is None else _sum(had, one)
    return tuple(sorted(sums.values(), key=lambda one: (-one.rows, one.language)))


def coverage_of(detectors: Sequence[Detector], languages: tuple[LanguageCoverage, ...]) -> SafetyCoverage:
    """Return the coverage by these detectors, whose layers the generation has."""
    names = list(dict.fromkeys(detector.subcategory for detector in detectors))
    layers: dict[str, list[str]] = {name: [] for name in names}
    for layer in dict.fromkeys(detector.column.layer for detector in detectors):
        for name in dict.fromkeys(detector.subcategory for detector in detectors if detector.column.layer == layer):
            layers[name].append(layer)
    return SafetyCoverage(
        version=VERSION,
        detectors={name: tuple(found) for name, found in layers.items()},
        unwatched=tuple(name for name in subcategories() if name not in names),
        languages=languages,
    )


def _sum(one: LanguageCoverage, other: LanguageCoverage) -> LanguageCoverage:
    return LanguageCoverage(
        one.language,
        one.rows + other.rows,
        {name: count + other.seen[name] for name, count in one.seen.items()},
        {name: count + other.found[name] for name, count in one.found.items()},
    )

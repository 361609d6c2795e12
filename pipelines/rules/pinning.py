"""A program of rules on a pinned generation: every object that is read, found before the first row is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.rules import MEASURED_LANGUAGE, RuleProgram
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.query.columns import Column
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import ManifestRow, Store
from winnow.pipelines.store.hiding.looks import NOTHING
from winnow.schemas.conditions import columns_read
from winnow.schemas.errors import StoreError
from winnow.schemas.mixture import MIXTURES
from winnow.schemas.problems import Place, Problem, recipe_error
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import DUPLICATES
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rows.scores import SCORES, TRACES
from winnow.schemas.thresholds import PREFIX

_WIDE = {
    f"{layout.SAMPLES}.{field.name}" for field in SAMPLES if field.name in ("text", "metadata", "media", "captions")
}
_WIDE_LEAF = re.compile(r"extract\.[^.]+\.(text|links|images|parts)")

LayerKeys = Mapping[str, Mapping[str, str]]
"""For each layer the key that it should have, by source."""


@dataclass(frozen=True, slots=True)
class ShardObjects:
    """One shard: how many rows it has, and which object of each layer holds their values."""

    shard: str
    source: str
    rows: int
    objects: Mapping[str, str]
    hidden: NDArray[np.int64] = field(default_factory=lambda: NOTHING.rows, compare=False)  # forgotten: no rule sees it


@dataclass(frozen=True)
class PinnedProgram:
    """Rules, and all that they will read. Picklable: each shard can be decided anywhere."""

    store: Store
    program: RuleProgram
    shards: tuple[ShardObjects, ...]
    languages: tuple[Column, ...]
    size: Column | None

    @property
    def wide(self) -> bool:
        """Whether the rules read texts or the like, of which a row may have megabytes."""
        return any(one.name in _WIDE or _WIDE_LEAF.fullmatch(one.name) for one in self.program.columns)

    @property
    def bytes_of(self) -> str:
        """What is counted as a sample's bytes."""
        return "text" if self.size is not None else "record"


def expected_keys(context: IngestContext, operators: Sequence[BoundOperator]) -> dict[str, dict[str, str]]:
    """The keys that the layers of a recipe have when they are up to date.

    Args:
        context: The recipe's sources and extractors.
        operators: Its operators, each after those whose layers it reads.
    """
    samples = {name: source.key(context.limits) for name, source in context.sources.items()}
    keys = {layout.SAMPLES: samples}
    for extractor in context.extractors:
        keys[extractor.layer] = {name: extractor.key(key) for name, key in samples.items()}
    for bound in operators:
        keys[bound.layer] = {name: bound.key({layer: keys[layer][name] for layer in bound.reads}) for name in samples}
    return keys


def pin(
    store: Store,
    generation: Generation,
    program: RuleProgram,
    keys: LayerKeys | None = None,
    recipe: str = "RECIPE",
    more: Sequence[str] = (),
) -> PinnedProgram:
    """Find the objects of every layer that the program reads.

    Args:
        store: Where they are.
        generation: What is read.
        program: The rules.
        keys: What the layers' keys should be; None to take them as they are.
        recipe: The recipe's file, for messages.
        more: Layers that are read beside those of the program.

    Raises:
        RecipeError: A layer that rules read is not in the generation, or was made with other settings; each with the
            first rule that reads it.
    """
    samples = store.manifest(generation, layout.SAMPLES)
    rows = {layout.SAMPLES: {row.shard: row for row in samples}}
    problems = []
    for layer in dict.fromkeys((layout.SAMPLES, *program.layers, *more)):
        complaint = _complaint(store, generation, layer, samples, keys, rows)
        if complaint is not None:
            stage = _stage(layer)
            problems.append(_problem(program, layer, f"{complaint}; run: winnow {stage} {recipe}", recipe))
    if problems:
        raise recipe_error(problems)
    languages = _usable(store, generation, program.languages, samples, keys, rows)
    if languages and languages[0].name == MEASURED_LANGUAGE:
        languages = languages[:1]
    size = _usable(store, generation, () if program.size is None else (program.size,), samples, keys, rows)
    read = {layout.SAMPLES, *program.layers, *more, *(column.layer for column in (*languages, *size))}
    hidden = hidden_rows(store, generation)
    shards = tuple(
        ShardObjects(
            row.shard,
            row.source,
            row.rows,
            {layer: rows[layer][row.shard].object for layer in sorted(read)},
            hidden.get(row.shard, NOTHING).rows,
        )
        for row in samples
    )
    return PinnedProgram(store, program, shards, languages, size[0] if size else None)


def _stage(layer: str) -> str:
    """The stage that makes a layer."""
    if layer == layout.SAMPLES or layer.startswith(EXTRACTED):
        return "ingest"
    if layer.startswith(MIXTURES):
        return "mix"
    if layer.startswith((SCORES, TRACES)):
        return "score"
    return "dedupe" if layer.startswith(DUPLICATES) else "annotate"


def _complaint(
    store: Store,
    generation: Generation,
    layer: str,
    samples: Sequence[ManifestRow],
    keys: LayerKeys | None,
    rows: dict[str, dict[str, ManifestRow]],
) -> str | None:
    """Why a layer of a generation cannot be read for every shard; None if it can, and its objects are in `rows`."""
    entry = generation.layers.get(layer)
    if entry is None:
        return f"generation {generation.number} has no layer {layer}"
    if keys is not None:
        wanted = keys.get(layer, {})
        stale = sorted(source for source, key in entry.keys.items() if wanted.get(source, key) != key)
        if stale:
            made = f"for {', '.join(stale[:3])}" if len(stale) < len(entry.keys) else ""
            over = " or over other rows" if layer.startswith((DUPLICATES, SCORES)) else ""
            what = f"with other settings{over}"
            return f"the layer {layer} of generation {generation.number} was made {what} {made}".rstrip()
    if layer not in rows:
        rows[layer] = {row.shard: row for row in store.manifest(generation, layer)}
    lacking = [row.shard for row in samples if row.shard not in rows[layer]]
    if lacking:
        return f"the layer {layer} of generation {generation.number} lacks {len(lacking)} shards, {lacking[0]} first"
    for row in samples:
        found = rows[layer][row.shard]
        if found.rows != row.rows or found.samples != row.object:
            raise StoreError(
                f"{store.root}: {found.object} is not aligned with {row.object}; run 'winnow audit' to see what else"
            )
    return None


def _problem(program: RuleProgram, layer: str, message: str, recipe: str) -> Problem:
    for one in program.rules:
        if any(name.startswith(f"{layer}.") for name in columns_read(one.rule.drop)):
            return Problem(one.rule.place, one.path, message)
    for table in program.tables:  # the layer is read only to look thresholds up
        for one in program.rules:
            used = any(name.startswith(f"{PREFIX}.{table.name}.") for name in columns_read(one.rule.drop))
            if used and table.key.startswith(f"{layer}."):
                return Problem(one.rule.place, one.path, f"looks {PREFIX}.{table.name} up by {layer}: {message}")
    place = next((one.rule.place for one in program.rules if one.phase == "dedupe"), Place(recipe, 1))
    return Problem(place, "dedupe" if program.choice else "", message)


def _usable(
    store: Store,
    generation: Generation,
    columns: Sequence[Column],
    samples: Sequence[ManifestRow],
    keys: LayerKeys | None,
    rows: dict[str, dict[str, ManifestRow]],
) -> tuple[Column, ...]:
    """The columns whose layers can be read; what only describes rows is done without where it cannot."""
    return tuple(
        column for column in columns if _complaint(store, generation, column.layer, samples, keys, rows) is None
    )

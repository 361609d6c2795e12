"""Pins a program of rules to a generation: finds every object that rules read before reading the first row."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.rules import MEASURED_LANGUAGES, GuardedEdit, RuleProgram
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, covers_more
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.scans import NOTHING, load_hiding
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.state import covered_key, inputs_of_shards
from winnow.schemas.errors import StoreError
from winnow.schemas.mixture import MIXTURES
from winnow.schemas.problems import Place, Problem, recipe_error
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import DUPLICATES
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rows.scores import SCORES, TRACES
from winnow.schemas.rules.conditions import columns_read
from winnow.schemas.rules.thresholds import PREFIX

_WIDE = {
    f"{layout.SAMPLES}.{field.name}" for field in SAMPLES if field.name in ("text", "metadata", "media", "captions")
}
_WIDE_LEAF = re.compile(r"extract\.[^.]+\.(text|links|images|parts)")


def is_wide(column: str) -> bool:
    """Whether a column may have megabytes in a row."""
    return column in _WIDE or _WIDE_LEAF.fullmatch(column) is not None


LayerKeys = Mapping[str, Mapping[str, str]]
"""The expected key of each layer, by source."""


@dataclass(frozen=True, slots=True)
class ShardObjects:
    """One shard: its number of rows, and its object in each layer."""

    shard: str
    source: str
    rows: int
    objects: Mapping[str, str]
    hidden: NDArray[np.int64] = field(
        default_factory=lambda: NOTHING.rows, compare=False
    )  # forgotten rows, which rules do not read


_NONE = ManifestRows.of(())


@dataclass(frozen=True)
class PinnedShards(Sequence[ShardObjects]):
    """Every shard of a generation, made from the manifests of its layers when it is asked for. Picklable."""

    layers: Mapping[str, ManifestRows] = field(default_factory=lambda: {layout.SAMPLES: _NONE})
    hidden: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)  # of shards with forgotten rows

    def __len__(self) -> int:
        return len(self.layers[layout.SAMPLES])

    def __iter__(self) -> Iterator[ShardObjects]:
        return map(self._shard, self.layers[layout.SAMPLES])

    @overload
    def __getitem__(self, at: int) -> ShardObjects: ...
    @overload
    def __getitem__(self, at: slice) -> "PinnedShards": ...
    def __getitem__(self, at: int | slice) -> "ShardObjects | PinnedShards":
        if isinstance(at, slice):
            some = self.layers[layout.SAMPLES][at]
            return PinnedShards({**self.layers, layout.SAMPLES: some}, self.hidden)
        return self._shard(self.layers[layout.SAMPLES][at])

    def _shard(self, row: ManifestRow) -> ShardObjects:
        objects = {layer: rows.objects[row.shard] for layer, rows in self.layers.items()}
        return ShardObjects(row.shard, row.source, row.rows, objects, self.hidden.get(row.shard, NOTHING.rows))


@dataclass(frozen=True)
class PinnedProgram:
    """Rules, and every object that they read. Picklable, so each shard can be decided anywhere."""

    store: Store
    program: RuleProgram
    shards: Sequence[ShardObjects]
    languages: tuple[Column, ...]
    size: Column | None
    text_statuses: tuple[Column, ...] = ()
    guarded_edits: tuple[GuardedEdit, ...] = ()

    @property
    def described(self) -> tuple[Column, ...]:
        """The columns that describe rows: they are counted by them, and decided without them."""
        cuts = (column for edit in self.guarded_edits for column in (edit.share, edit.words))
        return (*self.languages, *self.text_statuses, *cuts, *(() if self.size is None else (self.size,)))

    @property
    def wide(self) -> bool:
        """Whether the rules read texts or other columns that may have megabytes per row."""
        return any(is_wide(column.name) for column in self.program.columns)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of its shards."""
        assert isinstance(self.shards, PinnedShards)  # all of them, not those of a task
        return tuple(self.shards.layers)

    @property
    def only_eligible(self) -> "PinnedProgram":
        """The rules of `eligible` alone, for the pass before duplicates are known, which counts nothing."""
        return replace(self, program=self.program.only_eligible(), languages=(), guarded_edits=())

    def with_layers(self, generation: Generation, layers: Iterable[str]) -> "PinnedProgram":
        """The same rules, with the objects of more layers of the generation."""
        assert isinstance(self.shards, PinnedShards)  # all of them, not those of a task
        there = self.shards.layers
        lacking = {layer: self.store.manifest(generation, layer) for layer in layers if layer not in there}
        return replace(self, shards=replace(self.shards, layers={**there, **lacking})) if lacking else self

    @property
    def bytes_of(self) -> str:
        """What a sample's bytes are: those of its text, or those of its record."""
        return "text" if self.size is not None else "record"


def pin_no_rules(store: Store, generation: Generation) -> PinnedProgram:
    """Every shard of a generation, with its samples, and no rules."""
    shards = PinnedShards({layout.SAMPLES: store.manifest(generation, layout.SAMPLES)}, _hidden(store, generation))
    return PinnedProgram(store, RuleProgram((), (), ()), shards, (), None)


def _hidden(store: Store, generation: Generation) -> dict[str, NDArray[np.int64]]:
    return {shard: found.rows for shard, found in hidden_rows(store, generation).items()}


def expected_keys(
    context: IngestContext, operators: Sequence[BoundOperator], store: Store, generation: Generation | None
) -> dict[str, dict[str, str]]:
    """Return the keys of a recipe's layers when they are up to date.

    `operators`: each after those whose layers it reads; `generation`: has the shards that layers over all shards must
    cover (None: there are none yet).
    """
    samples = {name: source.key(context.limits) for name, source in context.sources.items()}
    keys = {layout.SAMPLES: samples}
    for extractor in context.extractors:
        keys[extractor.layer] = {name: extractor.key(key) for name, key in samples.items()}
    for bound in operators:
        found = {name: bound.key({layer: keys[layer][name] for layer in bound.reads}) for name in samples}
        if bound.covers is not None and generation is not None:
            covered = _covered(store, generation, bound.covers, keys)
            hidden = load_hiding(store.objects).tombstones
            found = {name: covered_key(key, covered, hidden) for name, key in found.items()}
        keys[bound.layer] = found
    return keys


def _covered(store: Store, generation: Generation, layers: Sequence[str], keys: LayerKeys) -> list[tuple[str, ...]]:
    """What a layer over these layers depends on of each shard of a generation, as far as it has them."""
    if layout.SAMPLES not in generation.layers:
        return []
    there = [layer for layer in layers if layer in generation.layers or not layer.startswith(EXTRACTED)]
    objects = {layer: store.manifest(generation, layer).objects for layer in there if layer.startswith(EXTRACTED)}
    return list(inputs_of_shards(there, store.manifest(generation, layout.SAMPLES), objects, keys))


def pin(
    store: Store,
    generation: Generation,
    program: RuleProgram,
    keys: LayerKeys | None = None,
    recipe: str = "RECIPE",
    more: Sequence[str] = (),
    operators: Sequence[BoundOperator] = (),
) -> PinnedProgram:
    """Find the objects of every layer that the program reads.

    `keys`: the expected keys of layers (None: any); `more`: further layers to read; `recipe`: the file, for messages;
    `operators` know what their layers depend on besides settings. RecipeError, naming the first rule that reads it, for
    each layer that is missing or was made with other settings or packages.
    """
    samples = store.manifest(generation, layout.SAMPLES)
    rows = {layout.SAMPLES: samples}
    problems = []
    for layer in dict.fromkeys((layout.SAMPLES, *program.layers, *more)):
        problem = _layer_problem(store, generation, layer, samples, keys, rows, operators)
        if problem is not None:
            stage = stage_of(layer)
            problems.append(_problem(program, layer, f"{problem}; run: winnow {stage} {recipe}", recipe))
    if problems:
        raise recipe_error(problems)
    languages = _readable(store, generation, program.languages, samples, keys, rows)
    languages = tuple(column for column in languages if column.name in MEASURED_LANGUAGES) or languages
    sizes = () if program.size is None else (program.size,)
    size = next(iter(_readable(store, generation, sizes, samples, keys, rows)), None)
    statuses = _readable(store, generation, program.text_statuses, samples, keys, rows)
    statuses = statuses if len(statuses) == len(program.text_statuses) else ()
    shares = _readable(store, generation, [edit.share for edit in program.guarded_edits], samples, keys, rows)
    edits = tuple(edit for edit in program.guarded_edits if edit.share in shares)
    pinned = PinnedProgram(store, program, (), languages, size, statuses, edits)
    read = {layout.SAMPLES, *program.layers, *more, *(column.layer for column in pinned.described)}
    shards = PinnedShards({layer: rows[layer] for layer in sorted(read)}, _hidden(store, generation))
    return replace(pinned, shards=shards)


def stage_of(layer: str) -> str:
    """The stage that writes a layer."""
    if layer == layout.SAMPLES or layer.startswith(EXTRACTED):
        return "ingest"
    if layer.startswith(MIXTURES):
        return "mix"
    if layer.startswith((SCORES, TRACES)):
        return "score"
    return "dedupe" if layer.startswith(DUPLICATES) else "annotate"


def _layer_problem(
    store: Store,
    generation: Generation,
    layer: str,
    samples: ManifestRows,
    keys: LayerKeys | None,
    rows: dict[str, ManifestRows],
    operators: Sequence[BoundOperator] = (),
) -> str | None:
    """Return why a layer of a generation cannot be read for every shard; if it can, add its objects to `rows`."""
    entry = generation.layers.get(layer)
    if layer in generation.partial:
        there, lacking = generation.partial[layer], len(samples) - generation.partial[layer]
        which = f"the layer {layer} of generation {generation.number}"
        if lacking < 0:
            return f"{which} {covers_more(there, len(samples))}"
        return f"{which} lacks {lacking:,} of {len(samples):,} shards"
    if entry is None:
        return f"generation {generation.number} has no layer {layer}"
    if keys is not None:
        wanted = keys.get(layer, {})
        stale = sorted(source for source, key in entry.keys.items() if wanted.get(source, key) != key)
        if stale:
            which = f"for {', '.join(stale[:3])}" if len(stale) < len(entry.keys) else ""
            among = layer.startswith((DUPLICATES, SCORES)) or any(
                one.layer == layer and one.covers is not None for one in operators
            )
            over = " or over other rows" if among else ""
            moved = _with_other_packages(layer, {one: entry.keys[one] for one in stale}, keys, operators)
            what = "with other packages" if moved else f"with other settings{over}"
            return f"the layer {layer} of generation {generation.number} was made {what} {which}".rstrip()
    if layer not in rows:
        rows[layer] = store.manifest(generation, layer)
    if rows[layer].aligned(samples):
        return None
    for row in samples:  # which one is not
        found = rows[layer].by_shard[row.shard]
        if found.rows != row.rows or found.samples != row.object:
            raise StoreError(f"{store.root}: {found.object} is not aligned with {row.object}; run 'winnow audit'")
    return None


def _with_other_packages(
    layer: str, found: Mapping[str, str], keys: LayerKeys, operators: Sequence[BoundOperator]
) -> bool:
    """Whether the recipe's own settings lead to these keys of a layer where other packages are installed."""
    bound = next((operator for operator in operators if operator.layer == layer), None)
    return bound is not None and all(
        key in bound.keys_elsewhere({read: keys[read][source] for read in bound.reads}) for source, key in found.items()
    )


def _problem(program: RuleProgram, layer: str, message: str, recipe: str) -> Problem:
    for rule in program.rules:
        if any(name.startswith(f"{layer}.") for name in columns_read(rule.rule.drop)):
            return Problem(rule.rule.place, rule.path, message)
    for table in program.tables:  # the layer is only read for its keys of a threshold table
        for rule in program.rules:
            used = any(name.startswith(f"{PREFIX}.{table.name}.") for name in columns_read(rule.rule.drop))
            if used and table.key.startswith(f"{layer}."):
                return Problem(rule.rule.place, rule.path, f"looks {PREFIX}.{table.name} up by {layer}: {message}")
    place = next((rule.rule.place for rule in program.rules if rule.phase == "dedupe"), Place(recipe, 1))
    return Problem(place, "dedupe" if program.choice else "", message)


def _readable(
    store: Store,
    generation: Generation,
    columns: Sequence[Column],
    samples: ManifestRows,
    keys: LayerKeys | None,
    rows: dict[str, ManifestRows],
) -> tuple[Column, ...]:
    """Return the columns whose layers can be read; those that only describe rows are optional."""
    return tuple(
        column for column in columns if _layer_problem(store, generation, column.layer, samples, keys, rows) is None
    )

"""Scores before they are computed: whether they are current, what each needs, and how many bytes it reads.

A task's inputs, its weights and the resources it requests are known once it is bound; no rows are read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.reading.columns import MEDIA
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.score.stage import generation_scores
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.estimating.rates import Rates
from winnow.runners.tables.quantities import byte_size
from winnow.schemas.counts import count_of
from winnow.schemas.identity import Json
from winnow.schemas.records import Generation, LayerEntry
from winnow.schemas.rows.extraction import EXTRACTED


@dataclass(frozen=True)
class LayerSizes:
    """The sizes of layers: actual sizes of current layers, estimates for others."""

    current: Mapping[str, int]
    operators: Mapping[str, str]  # the operator of each layer
    held: int  # bytes of samples and texts
    fresh: int  # bytes that ingest will add
    rates: Rates

    def existing(self, names: Iterable[str]) -> int:
        """The bytes of these layers for ingested rows."""
        return sum(self.current.get(name, self._expected_bytes(name, self.held)) for name in names)

    def upcoming(self, names: Iterable[str]) -> int:
        """The bytes of these layers for rows not ingested yet."""
        made = sum(self._expected_bytes(name, self.fresh) for name in names)
        return made + (self.fresh if any(is_text(name) for name in names) else 0)

    def _expected_bytes(self, name: str, read: int) -> int:
        return round(read * self.rates.of(self.operators[name]).written) if name in self.operators else 0


@dataclass(frozen=True, slots=True)
class PlannedScore:
    """A score of the recipe, and whether it is current for all rows of the latest generation."""

    bound: BoundScore
    is_current: bool

    @property
    def name(self) -> str:
        """Its name in the recipe."""
        return self.bound.entry.name

    @property
    def part(self) -> str:
        """The name of its rate."""
        return f"score.{self.bound.entry.task}"

    @property
    def by_row(self) -> bool:
        """Whether a row's score depends only on that row, so that new rows do not change the others."""
        bound = self.bound
        trained = any(one is not None for one in (bound.reference_rows, bound.trajectory_rows, bound.target_rows))
        return not trained and not bound.kind.contrastive

    def pending_bytes(self, sizes: LayerSizes) -> int:
        """The bytes that its trace still has to read."""
        reads = self.bound.reads
        return sizes.upcoming(reads) + (sizes.existing(reads) if self.covers_all(sizes) else 0)

    def covers_all(self, sizes: LayerSizes) -> bool:
        """Whether its trace reads the rows again that are ingested."""
        return not self.is_current or (not self.by_row and sizes.upcoming(self.bound.reads) > 0)

    def needs(self) -> list[tuple[str, str]]:
        """Its inputs and training steps, each as a label and a text."""
        bound = self.bound
        lines = [("reads", ", ".join(bound.reads) + (" and media files" if MEDIA in bound.inputs else ""))]
        if bound.where.text is not None:
            lines.append(("where", bound.where.text))
        looking = tuple(one.file for one in bound.trajectory)
        lines += [
            (what, ", ".join(files))
            for what, files in (("reference", _reference_files(bound)), ("trajectory", looking))
            if files
        ]
        if bound.reference_rows is not None:
            lines.append(("trains", f"the reference on {bound.reference_rows.text}"))
        if bound.trajectory_rows is not None:
            rows = "all rows" if bound.trajectory_rows.text is None else bound.trajectory_rows.text
            lines.append(("trains", f"a trajectory of {_checkpoints(bound)} on {rows}"))
        if bound.target_rows is not None:
            lines.append(("compares", f"gradients with those of {bound.target_rows.text}"))
        if bound.entry.accelerator is not None:
            lines.append(("requests", bound.entry.accelerator))
        if bound.entry.min_ram_bytes is not None:
            lines.append(("requests", f"{byte_size(bound.entry.min_ram_bytes)} of memory per worker"))
        return lines

    def to_json(self) -> dict[str, Json]:
        """Plain values for JSON."""
        bound, entry = self.bound, self.bound.entry
        return {
            "name": entry.name,
            "task": entry.task,
            "current": self.is_current,
            "reads": list(bound.reads),
            "media": MEDIA in bound.inputs,
            "reference": list(_reference_files(bound)),
            "trajectory": [one.file for one in bound.trajectory],
            "trains_reference": bound.reference_rows is not None,
            "trains_trajectory": bound.trajectory_rows is not None,
            "checkpoints": entry.checkpoints,
            "accelerator": entry.accelerator,
            "min_ram_bytes": entry.min_ram_bytes,
        }


def is_text(layer: str) -> bool:
    """Whether ingest writes this layer."""
    return layer == layout.SAMPLES or layer.startswith(EXTRACTED)


def planned_scores(
    recipe: BoundRecipe,
    store: Store,
    generation: Generation | None,
    context: IngestContext,
    operators: Sequence[BoundOperator],
) -> tuple[PlannedScore, ...]:
    """All scores of the recipe; RecipeError if one is invalid, or a file that it needs does not exist."""
    scores = recipe.scores
    if not scores or generation is None:
        return tuple(PlannedScore(bound, is_current=False) for bound in scores)
    expected = expected_keys(context, operators, store, generation)
    keys = generation_scores(store, recipe, generation, expected)
    layers = generation.layers
    return tuple(
        PlannedScore(
            bound, all(_has_keys(layers, name, keys.get(name, {})) for name in (bound.entry.trace, bound.entry.layer))
        )
        for bound in scores
    )


def print_needs(scores: Sequence[PlannedScore], shards: int, console: Console) -> None:
    """Print one line per score, followed by what it needs."""
    for one in scores:
        entry = one.bound.entry
        how = "measures without weights" if one.bound.kind.measures else f"{entry.variant} at {_checkpoints(one.bound)}"
        left = f"{count_of(shards, 'shard')}, {0 if one.is_current else shards:,} to do" if shards else "no shards yet"
        console.print(f"score   {one.name}: {entry.task}, {how}; {left}")
        for word, what in one.needs():
            console.print(f"  {word:<11}{what}")
        console.print()


def _has_keys(layers: Mapping[str, LayerEntry], name: str, keys: Mapping[str, str]) -> bool:
    return name in layers and all(keys.get(source) == key for source, key in layers[name].keys.items())


def _checkpoints(bound: BoundScore) -> str:
    count = bound.entry.checkpoints
    return f"{count} checkpoint{'s' if count > 1 else ''}"


def _reference_files(bound: BoundScore) -> tuple[str, ...]:
    """The weight files of the reference."""
    return tuple(one.file for one in (*bound.reference, bound.base) if one is not None)

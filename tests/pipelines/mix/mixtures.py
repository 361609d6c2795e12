"""Small stores with rows of given sources, languages, sizes and scores, and plans over them in this process."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import pyarrow as pa

from tests.pipelines.rules.stores import Shard, make_store
from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.mix.laws import Laws
from winnow.pipelines.mix.plans import NewPlan, PlanRecord, layers_read, planned_mixture, put_plan
from winnow.pipelines.rules.pinning import PinnedProgram, pin
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import read_table
from winnow.schemas.identity import sample_id
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.recipe import Recipe, recipe_from_text
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import Kind

LANGUAGE = pa.schema([pa.field("status", pa.string()), pa.field("code", pa.string()), pa.field("score", pa.float32())])
LENGTH = pa.schema([pa.field("status", pa.string()), pa.field("characters", pa.int64()), pa.field("bytes", pa.int64())])


@dataclass(frozen=True)
class Text:
    """One row."""

    source: str
    language: str | None
    tokens: int | None
    score: float | None = None  # stored as `text.length.characters`
    cluster: int | None = None  # rows of one number are near duplicates
    status: str = "ok"
    other: int | None = None  # rows of one number have equal texts


CLUSTERED: Mapping[Kind, Callable[[Text], int | None]] = {
    "exact": lambda text: text.other,
    "near": lambda text: text.cluster,
}


@dataclass(frozen=True)
class Mixing:
    """A store and a recipe for it."""

    store: Store
    generation: Generation
    recipe: Recipe
    pinned: PinnedProgram
    jobs: Jobs = HERE

    def plan(self, sample: Fraction = Fraction(1), laws: Mapping[str, ScalingLaw] | None = None) -> NewPlan:
        """Plan the mixture in this process."""
        with self._planned(sample, laws) as planned:
            return planned

    def draw(
        self, sample: Fraction = Fraction(1), laws: Mapping[str, ScalingLaw] | None = None
    ) -> tuple[MixturePlan, dict[str, Counter[tuple[bytes, int]]]]:
        """Plan and draw; return the plan, and each output's copies as (id, number of the copy)."""
        with self._planned(sample, laws) as planned:
            record = put_plan(self.store, planned)
        return record.plan, drawn_copies(self.store, record)

    def _planned(self, sample: Fraction, laws: Mapping[str, ScalingLaw] | None) -> AbstractContextManager[NewPlan]:
        named = Laws(laws or {}, dict.fromkeys(laws or {}, "digest"))
        return planned_mixture(bind(self.recipe), self.pinned, self.generation, named, sample, self.jobs)


def drawn_copies(store: Store, record: PlanRecord) -> dict[str, Counter[tuple[bytes, int]]]:
    """Return every copy of a draw, by output."""
    found: dict[str, Counter[tuple[bytes, int]]] = {output.name: Counter() for output in record.plan.outputs}
    names = [output.name for output in record.plan.outputs]
    for one in DrawnObjects.read(store.objects, record.draws):
        for row in read_table(store.objects, one.object).to_pylist():
            copies = range(row["first"], row["first"] + row["copies"])
            found[names[row["output"]]].update((row["id"], copy) for copy in copies)
    return found


def identity(shard: str, source: str, number: int) -> bytes:
    """Return the id of a row."""
    return sample_id(source, shard, str(number))


def class_of(source: str) -> str:
    """Return the class of a source: its name up to the first `_`."""
    return source.partition("_")[0]


def mixing(texts: Iterable[Text], mix: str, *, shard_rows: int = 50, extra: str = "", name: str = "mixing") -> Mixing:
    """Return a store of these texts, with one source per shard, and a recipe with this `mix` (one line of YAML)."""
    listed = list(texts)
    shards: dict[str, Shard] = {}
    clusters: dict[Kind, dict[int, list[bytes]]] = {kind: {} for kind in CLUSTERED}
    placed: list[tuple[str, int, Text]] = []
    for source, group in groupby(sorted(listed, key=lambda text: text.source), key=lambda text: text.source):
        rows = list(group)
        for start in range(0, len(rows), shard_rows):
            shard = f"{source}-{start // shard_rows:04d}"
            for number, text in enumerate(rows[start : start + shard_rows]):
                placed.append((shard, number, text))
                for kind, named in CLUSTERED.items():
                    if (cluster := named(text)) is not None:
                        clusters[kind].setdefault(cluster, []).append(identity(shard, source, number))
    clusters = {kind: found for kind, found in clusters.items() if found}
    for shard, members in groupby(placed, key=lambda one: one[0]):
        of_shard = [text for _, _, text in members]
        layers = _layers(shard, of_shard, clusters)
        source = of_shard[0].source
        shards[shard] = Shard(source, len(of_shard), layers, source_class=class_of(source))
    store, generation = make_store(MemoryStore(name), shards)
    sources = sorted({text.source for text in listed})
    listing = ", ".join(f'{source}: {{root: ., files: ["*.warc"], class: {class_of(source)}}}' for source in sources)
    kinds = "".join(f"{kind}: {{}}, " for kind in clusters)
    dedupe = f"dedupe: {{{kinds}representative: []}}" if clusters else ""
    recipe = recipe_from_text(
        f"version: 1\nstore: {{path: s}}\nsources: {{{listing}}}\nannotate: [text.language, text.length]\n"
        f"{dedupe}\n{extra}\nmix: {mix}\n",
        "recipe.yaml",
    )
    program = bind(recipe).rules
    pinned = pin(store, generation, program, None, "recipe.yaml", layers_read(bind(recipe)))
    return Mixing(store, generation, recipe, pinned)


def _layers(shard: str, texts: list[Text], clusters: Mapping[Kind, Mapping[int, list[bytes]]]) -> dict[str, pa.Table]:
    ok = ["ok" if text.status == "ok" else text.status for text in texts]
    tokens = [text.tokens if text.status == "ok" else None for text in texts]
    layers = {
        "text.language": pa.table(
            [ok, [text.language for text in texts], pa.array([1.0] * len(texts), pa.float32())], schema=LANGUAGE
        ),
        "text.length": pa.table([ok, [text.score for text in texts], tokens], schema=LENGTH),
        TOKENS_LAYER: pa.table({"status": ok, "tokens": tokens, "bytes": tokens}, schema=TOKENS),
    }
    for kind, of_kind in clusters.items():
        rows = []
        for number, text in enumerate(texts):
            own, named = identity(shard, text.source, number), CLUSTERED[kind](text)
            members = [own] if named is None else of_kind[named]
            rows.append(
                {"status": "ok", "cluster": min(members), "size": len(members), "texts": len(members), "matched": None}
            )
        layers[f"dedupe.{kind}"] = pa.Table.from_pylist(rows, schema=find_kind(kind).schema)
    return layers

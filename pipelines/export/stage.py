"""An export as its driver sees it: the recipe's exports, what already exists, and the pipeline for the rest.

All exports of a recipe are written by one run: rows are read and edited once, travel once for all exports with
equal caps, and each shard is written by every format that needs it.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from winnow.filters.image.changes.options import PictureChanges
from winnow.filters.page.interleaved import InterleavedConfig
from winnow.pipelines.binding.operators import measurements
from winnow.pipelines.export.formats import find_format
from winnow.pipelines.export.formats.protocol import About, ExportFormat, FileRecord, WrittenShard
from winnow.pipelines.export.formats.wanted_media import MediaOptions
from winnow.pipelines.export.places.destination import ExportPlace
from winnow.pipelines.export.places.manifest import (
    MEDIA_GONE,
    LeftOut,
    Manifest,
    Outline,
    ShardCommit,
    content_records,
)
from winnow.pipelines.export.places.overlaps import nesting_of, overlap_of
from winnow.pipelines.export.planning.export_run import FACES, Places
from winnow.pipelines.export.planning.sizing import Cutting, Way
from winnow.pipelines.mix.draws import Draw
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.errors import ExportError, StageError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.problems import Place, Problems
from winnow.schemas.recipe import Recipe
from winnow.schemas.recipe.build import build
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.interleaved import LAYER

VERSION = 1
"""The version of the code that selects, orders and edits a shard's rows for a plan."""


EXCHANGE = "exchange"


@dataclass(frozen=True)
class BoundExport:
    """One export of a recipe, checked."""

    format: ExportFormat
    config: Any  # of the format's own type
    path: str  # of its folder, relative to the current directory
    shard_bytes: int
    place: Place  # its position in the recipe
    where: str  # its name there, such as `export[0].parquet`
    atlas: str = ""  # the layer by whose vectors its samples are put on a map
    images: str | None = None  # of documents, the extractor that knows their images; empty for none

    @property
    def way(self) -> Way:
        """How its rows travel."""
        wants_media = isinstance(self.config, MediaOptions) and self.config.wants_media
        clips = self.config.clip_file if wants_media else None
        clip_file = "" if clips is None else clips.to_json()
        return Way(self.shard_bytes, wants_media, self._changes.to_json(), clip_file, self.images is not None)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that it reads besides those of texts."""
        faces = (FACES.layer,) if self._changes.blur_faces is not None else ()
        if self.images is None:
            return faces
        return (*faces, LAYER, *([self.images] if self.images else []))

    @property
    def _changes(self) -> PictureChanges:
        return self.config.changes if isinstance(self.config, MediaOptions) else PictureChanges()

    def outline(self, plan: str) -> Outline:
        """What its bytes depend on, given the name of a plan."""
        options = self.format.identity(self.config)
        return Outline(VERSION, plan, self.format.name, options, self.shard_bytes)

    def identity(self, plan: MixturePlan) -> str:
        """A hash: equal identities mean equal files."""
        return self.outline(plan.name).identity


@dataclass(frozen=True)
class Finished:
    """A finished export."""

    export: BoundExport
    manifest: Manifest
    new: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """An export whose shards are all committed, before it is published: the input of a card."""

    export: BoundExport
    plan: MixturePlan
    shards: tuple[WrittenShard, ...]  # outputs in plan order, by number
    files: tuple[FileRecord, ...]  # of the shards, or the joined files
    left_out: tuple[LeftOut, ...]  # samples in the plan but not in the export
    notes: tuple[str, ...] = ()  # for the user


Closing = Callable[[Written], Mapping[str, bytes]]
"""Small files that are written beside an export's own, such as a card."""


def no_closing(_: Written) -> Mapping[str, bytes]:
    """No closing files."""
    return {}


def bind_exports(recipe: Recipe) -> tuple[BoundExport, ...]:
    """The recipe's exports, each with its checked format; RecipeError with a line for each problem."""
    problems = Problems()
    bound = [bind_export(recipe, number, problems) for number in range(len(recipe.export))]
    problems.stop_if_any()
    return tuple(one for one in bound if one is not None)


def bind_export(recipe: Recipe, number: int, problems: Problems) -> BoundExport | None:
    """One of the recipe's exports; None if its options are invalid. Problems are added to `problems`."""
    entry = recipe.export[number]
    where = f"export[{number}].{entry.name}"
    path = recipe.located(entry.path)
    if (problem := overlap_of(recipe, number) or nesting_of(path)) is not None:
        problems.add(entry.place, f"{where}.path", problem)
    try:
        export_format = find_format(entry.name)
        config = build(export_format.config, entry.options, where, problems)
        if config is None:
            return None
        config = _with_tokenizer(recipe, config)
        if entry.shard_bytes > (most := export_format.max_shard_bytes):
            said = f"{entry.shard_bytes:,} is too large for a shard of {entry.name}; expected at most {most:,}"
            problems.add(entry.place, f"{where}.shard_bytes", said)
        export_format.check(config)
        if isinstance(config, MediaOptions) and any(source.clips for source in recipe.sources) and config.clip_problem:
            problems.add(entry.place, where, config.clip_problem)
            return None
    except WinnowError as error:
        problems.add(entry.place, where, str(error))
        return None
    images = None
    if isinstance(config, MediaOptions) and config.documents:
        if (images := _extractor_of_documents(recipe)) is None:
            problems.add(entry.place, where, f"needs {LAYER}, the nodes of documents: add it to `annotate`")
            return None
        if config.changes.blur_faces is not None:
            said = "faces are measured with a picture's own row, not with the pages that show it; remove it"
            problems.add(entry.place, f"{where}.pictures.blur_faces", said)
            return None
    bound = BoundExport(export_format, config, path, entry.shard_bytes, entry.place, where, entry.atlas, images)
    measured = [one.layer for one in recipe.annotate if one.name == one.layer]
    if FACES.layer in bound.layers and FACES.layer not in measured:
        problems.add(entry.place, f"{where}.pictures.blur_faces", f"needs {FACES.layer}: add it to `annotate`")
        return None
    return bound


def _extractor_of_documents(recipe: Recipe) -> str | None:
    """The layer that knows the images of a recipe's documents, empty if there is none; None without documents."""
    for one in measurements(recipe):
        if one.entry.layer == LAYER and isinstance(one.config, InterleavedConfig):
            return f"{EXTRACTED}{one.config.extractor}" if one.config.reads_pages else ""
    return None


def _with_tokenizer(recipe: Recipe, config: Any) -> Any:
    """Resolves a format's `tokenizer` relative to the recipe; the default is the mixture's."""
    if not hasattr(config, "tokenizer"):
        return config
    named = config.tokenizer or (recipe.mix.tokenizer if recipe.mix is not None else None) or ""
    return replace(config, tokenizer=named if named in ("", "bytes") else recipe.located(named))


@dataclass
class Unfinished:
    """An export that is being written: its place is locked."""

    export: BoundExport
    place: ExportPlace
    commits: dict[tuple[str, int], ShardCommit]

    def refresh(self) -> None:
        """Reads which shards are committed."""
        self.commits = self.place.committed()


def require_planned(plan: MixturePlan, cuttings: Mapping[Way, Cutting]) -> None:
    """Checks that the draw matches the plan, before anything is moved."""
    for cutting in cuttings.values():
        for planned, size in zip(plan.outputs, cutting.outputs, strict=True):
            if planned.given.samples != size.samples:
                raise ExportError(
                    f"plan {plan.name}: {planned.name} has {planned.given.samples:,} samples, but its draw has "
                    f"{size.samples:,}; plan again: winnow mix"
                )


def pending_partitions(places: Places, exports: Sequence[Unfinished]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The shards that some export lacks."""
    pending = np.zeros(len(places), np.bool_)
    for partition in range(len(places)):  # one iteration per file of the export
        place = places[partition]
        pending[partition] = any(
            export.export.way == place.way and (place.shard.output, place.shard.number) not in export.commits
            for export in exports
        )
    return pending


def finish_export(
    unfinished: Unfinished, draw: Draw, cutting: Cutting, closing: Closing, notes: Sequence[str]
) -> Finished:
    """Checks that every sample is there, writes the closing files, and publishes the export; StageError if one is
    missing."""
    plan, export = draw.plan, unfinished.export
    shards, left_out = _complete(unfinished, cutting)
    export_format = export.format
    about = About(plan.store, plan.name, plan.unit, tuple(output.name for output in plan.outputs), weights_of(plan))
    joined = unfinished.place.join(export_format, export.config, shards)
    of_shards: Sequence[FileRecord] = joined or [file for shard in shards for file in shard.files]
    notes = [*notes, *export_format.notes(export.config, shards), *_left_out_notes(left_out)]
    written = Written(export, plan, shards, tuple(of_shards), left_out, tuple(notes))
    files: dict[str, bytes] = {}
    for made in (export_format.finish(export.config, shards, about), closing(written)):
        for path, content in made.items():
            if path in files:
                raise ExportError(f"{export.path}: {path} would be written twice, by the format and by its card")
            files[path] = content
    records = tuple(sorted([*of_shards, *content_records(files)], key=lambda file: file.path))
    _refuse_repeated(export, records)
    manifest = Manifest(
        format=export_format.name,
        plan=plan.name,
        store=plan.store,
        unit=plan.unit,
        options=export_format.identity(export.config),
        shard_bytes=export.shard_bytes,
        identity=export.identity(plan),
        winnow_version=winnow_version(),
        outputs={size.output: _output(size.output, size.samples, shards) for size in cutting.outputs},
        files=records,
        left_out=left_out,
        notes=tuple(notes),
    )
    unfinished.place.finish(manifest, files)
    return Finished(export, manifest, True, manifest.notes)


def weights_of(plan: MixturePlan) -> dict[str, dict[str, float]]:
    """The share of units by output and source class."""
    weights: dict[str, dict[str, float]] = {}
    for output in plan.outputs:
        units: dict[str, int] = {}
        for one in output.strata:
            units[one.stratum.source_class] = units.get(one.stratum.source_class, 0) + one.given.units
        total = sum(units.values())
        weights[output.name] = {name: count / total for name, count in sorted(units.items()) if count}
    return weights


def _complete(unfinished: Unfinished, cutting: Cutting) -> tuple[tuple[WrittenShard, ...], tuple[LeftOut, ...]]:
    path = unfinished.export.path
    shards: list[WrittenShard] = []
    left_out: Counter[tuple[str, str, str]] = Counter()
    for size in cutting.outputs:
        for number, planned in enumerate(size.counts):
            commit = unfinished.commits.get((size.output, number))
            if commit is None:
                raise StageError(f"{path}: shard {number} of {size.output} was not written; run the same command again")
            found = commit.written.samples + sum(line.samples for line in commit.left_out)
            if found != planned or commit.written.shard.of != len(size.counts):
                raise StageError(
                    f"{path}: shard {number} of {size.output} has {found:,} samples where {planned:,} were "
                    "planned; remove the unfinished folder beside it and run again"
                )
            if commit.written.samples:
                shards.append(commit.written)
            for line in commit.left_out:
                left_out[line.reason, line.file, line.detail] += line.samples
    return tuple(shards), tuple(LeftOut(*line, count) for line, count in sorted(left_out.items()))


def _output(name: str, planned: int, shards: Sequence[WrittenShard]) -> dict[str, Json]:
    mine = [shard for shard in shards if shard.shard.output == name]
    return {"planned": planned, "samples": sum(one.samples for one in mine), "shards": len(mine)}


def _left_out_notes(left_out: Sequence[LeftOut]) -> Sequence[str]:
    if not left_out:
        return ()
    count = sum(line.samples for line in left_out)
    missing = all(line.reason == MEDIA_GONE for line in left_out)
    whose = "1 sample is left out because its" if count == 1 else f"{count:,} samples are left out because their"
    why = "media are missing" if missing else "media are missing, too large or cannot be changed as asked"
    return [f"{whose} {why}; planned shard sizes differ by at most one sample"]


def _refuse_repeated(export: BoundExport, records: Sequence[FileRecord]) -> None:
    for first, second in itertools.pairwise(records):
        if first.path == second.path:
            raise ExportError(f"{export.path}: {first.path} would be written twice")

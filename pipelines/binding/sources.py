"""Binds a recipe's sources and extractors for ingest."""

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from winnow.filters.extractors import Extractor, find_extractor
from winnow.filters.image.decode.stills import DecodeLimits, require_decoders
from winnow.filters.video.decode.opening import VideoLimits
from winnow.pipelines.decoding.known_harm import HarmListFile, KnownHarm
from winnow.pipelines.fetch.archives.references import RangedObjects
from winnow.pipelines.fetch.host_files import HOST_FILES
from winnow.pipelines.ingest.clips import film_store
from winnow.pipelines.ingest.formats import refused_settings
from winnow.pipelines.ingest.planning.context import BoundExtractor, IngestContext, IngestSource
from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.rows import SourceRows
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.reading.columns import leaves
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import RecipeError, SourceError, StoreError
from winnow.schemas.problems import Problem, recipe_error, suggestion
from winnow.schemas.recipe import ExtractorEntry, Recipe, SourceConfig, build_config, load_recipe
from winnow.schemas.records import StoreRecord
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules.checking import check_where


def store_record(recipe: Recipe) -> StoreRecord:
    """Return the fixed settings of a store that this recipe creates."""
    store = recipe.store
    return StoreRecord(
        name=store.path.rstrip("/").rpartition("/")[2],
        seed=store.seed,
        shard_rows=store.shard_rows,
        shard_bytes=store.shard_bytes,
        row_group_rows=store.row_group_rows,
        row_group_bytes=store.row_group_bytes,
        task_bytes=store.task_bytes,
    )


@dataclass(frozen=True)
class BoundSources:
    """Everything that ingest depends on, apart from the store."""

    sources: Mapping[str, IngestSource]
    extractors: tuple[BoundExtractor, ...]
    limits: ReadLimits
    known_harm: KnownHarm | None = None

    def context(self, store: Store) -> IngestContext:
        """Return everything that ingest into a store depends on."""
        videos = VideoLimits() if find_spec("av") else None  # not the recipe's, which may change: samples stay
        return IngestContext(store, self.sources, self.extractors, self.limits, videos, self.known_harm)


def bind_sources(recipe: Recipe) -> BoundSources:
    """Return the recipe's sources and extractors.

    RecipeError for a faulty extractor, setting or condition; SourceError if a source's folder is missing.
    """
    if problems := [problem for source in recipe.sources for problem in _of_format(source)]:
        raise recipe_error(problems)
    check_conditions(recipe)
    return BoundSources(
        sources={source.name: bind_source(recipe, source) for source in recipe.sources},
        extractors=tuple(bind_extractor(entry) for entry in recipe.extract),
        limits=read_limits(recipe),
        known_harm=bind_known_harm(recipe),
    )


def read_limits(recipe: Recipe) -> ReadLimits:
    """Return the size limits for reading records."""
    return ReadLimits(
        max_body_bytes=recipe.limits.max_body_bytes,
        max_header_bytes=recipe.limits.max_header_bytes,
        max_member_bytes=recipe.limits.max_member_bytes,
        batch_bytes=recipe.limits.batch_bytes,
    )


def decode_limits(recipe: Recipe) -> DecodeLimits:
    """Return what decoding a picture may cost."""
    limits = recipe.limits
    return DecodeLimits(
        max_bytes=limits.max_body_bytes,
        max_pixels=limits.max_image_pixels,
        max_frames=limits.max_image_frames,
        max_scans=limits.max_image_scans,
        max_exif_bytes=limits.max_exif_bytes,
        max_icc_bytes=limits.max_icc_bytes,
    )


def video_limits(recipe: Recipe) -> VideoLimits:
    """Return what watching a video may cost."""
    limits = recipe.limits
    return VideoLimits(
        max_streams=limits.max_video_streams,
        max_packets=limits.max_video_packets,
        max_frames=limits.max_video_frames,
        max_pixels=limits.max_video_pixels,
    )


def bind_known_harm(recipe: Recipe) -> KnownHarm | None:
    """Return the recipe's lists of known harm; RecipeError if one cannot be read or needs a package."""
    if not recipe.known_harm:
        return None
    files = []
    for one in recipe.known_harm:
        file = recipe.located(one.path)
        try:
            with open(file, "rb") as content:
                digest = hashlib.file_digest(content, "blake2b").hexdigest()
        except OSError as error:
            where = f"{one.place}: known_harm.{one.name}"
            raise RecipeError(f"{where}: {file}: {error.strerror or error}; expected a list of hashes") from None
        files.append(HarmListFile(one.name, file, digest, one.kind, one.radius, one.min_quality))
    harm = KnownHarm(tuple(files), decode_limits(recipe))
    if "pdq" in harm.kinds:
        require_decoders()
    return harm


def bind_media(recipe: Recipe, source: SourceConfig) -> IngestSource:
    """Where the media of a source's rows are; for clips, the source of the whole videos."""
    if source.clips is None:
        return bind_source(recipe, source)
    films = film_recipe(recipe, source)
    return bind_media(films, film_source(films, source))


def media_root(recipe: Recipe, source: SourceConfig) -> str:
    """The root of the media of a source's rows."""
    if source.clips is None:
        return source_root(recipe, source)
    films = film_recipe(recipe, source)
    return media_root(films, film_source(films, source))


def film_recipe(recipe: Recipe, source: SourceConfig) -> Recipe:
    """The recipe of the store whose videos a source of clips refers to."""
    try:
        return load_recipe(source_root(recipe, source))
    except RecipeError as error:
        raise RecipeError(
            f"source {source.name!r}: 'root' of clips is the recipe of the whole videos: {error}"
        ) from None


def film_source(films: Recipe, source: SourceConfig) -> SourceConfig:
    """The source of whole videos that a source of clips names."""
    try:
        return films.source(source.files[0])
    except KeyError:
        names = [one.name for one in films.sources]
        raise RecipeError(
            f"source {source.name!r}: 'files' names {source.files[0]!r}, which {films.file} does not have"
            f"{suggestion(source.files[0], names)}"
        ) from None


def _bind_clips(recipe: Recipe, source: SourceConfig) -> IngestSource:
    """Bind a source of clips; SourceError if the store of the whole videos lacks what it needs."""
    assert source.clips is not None
    films = film_recipe(recipe, source)
    found = film_store(films.located(films.store.path), film_source(films, source).name, source.clips)
    rows = SourceRows(source.name, source.source_class, source.licence, ())
    return IngestSource(rows, found.listed, source.format, ColumnMapping(), clips=found, place=str(source.place))


def _of_format(source: SourceConfig) -> Iterator[Problem]:
    """Settings of a source that its format does not accept, or an unknown format."""
    where = f"sources.{source.name}"
    try:
        if why := refused_settings(source):
            yield Problem(source.place, where, why)
    except RecipeError as error:
        yield Problem(source.place, f"{where}.format", str(error))


def source_root(recipe: Recipe, source: SourceConfig) -> str:
    """Where a source's files are: its root, or the folder of the store where `winnow fetch` puts them."""
    if source.root is not None:
        return recipe.located(source.root)
    return f"{recipe.located(recipe.store.path).rstrip('/')}/{layout.fetched(source.name).rstrip('/')}"


def unfetched_source(recipe: Recipe, file: str) -> SourceConfig | None:
    """The source whose fetch has yet to write this file; None if it is there, or none writes it."""
    if os.path.exists(file):
        return None
    fetched = (source for source in recipe.sources if source.is_fetched)
    path = os.path.abspath(file)
    return next((one for one in fetched if os.path.abspath(f"{source_root(recipe, one)}/{HOST_FILES}") == path), None)


def fetch_command(recipe: Recipe) -> str:
    """The command that fetches a recipe's sources."""
    return f"winnow fetch {shlex.quote(recipe.file)}"


def bind_source(recipe: Recipe, source: SourceConfig) -> IngestSource:
    """Bind one source.

    RecipeError for settings that do not fit its format; SourceError if its root is missing or is a file.
    """
    if problems := list(_of_format(source)):
        raise recipe_error(problems)
    if source.clips is not None:
        return _bind_clips(recipe, source)
    address = source_root(recipe, source)
    named = f"{source.place}: sources.{source.name}" if source.place.file else f"sources.{source.name}"
    if "://" not in address and not source.is_fetched:
        root = Path(address)
        if not root.exists():
            raise SourceError(f"{named}.root: no folder {address}; the path is relative to the recipe's folder")
        if not root.is_dir():
            raise SourceError(f"{named}.root: {address} is a file; give its folder, and name the file in 'files'")
    names = source.columns
    objects = _opened(address, named)
    flaw_of = None
    if source.commoncrawl is not None and source.commoncrawl.fetch == "by_reference":
        objects = referred = RangedObjects(objects)
        flaw_of = referred.flaw_of
    return IngestSource(
        rows=SourceRows(source.name, source.source_class, source.licence, tuple(sorted(set(source.accept_status)))),
        objects=objects,
        format=source.format,
        columns=ColumnMapping(
            names.text, source.key, names.url, names.fetched_at, names.media, names.captions, names.language
        ),
        on_schema_mismatch=source.on_schema_mismatch,
        place=str(source.place) if source.place.file else "",
        fetched_by=fetch_command(recipe) if source.is_fetched else "",
        flaw_of=flaw_of,
    )


def _opened(address: str, named: str) -> ObjectStore:
    try:
        return open_location(address)
    except StoreError as error:
        raise SourceError(f"{named}.root: {error}") from None


def extractor_of(entry: ExtractorEntry) -> Extractor:
    """The extractor that a recipe names; the error for an unknown name says where."""
    try:
        return find_extractor(entry.name)
    except RecipeError as error:
        raise RecipeError(f"{entry.place}: {error}") from None


def bind_extractor(entry: ExtractorEntry) -> BoundExtractor:
    """Bind one extractor to its configuration in the recipe."""
    extractor = extractor_of(entry)
    return BoundExtractor(
        extractor, build_config(extractor.config, entry.options, f"extract.{entry.name}"), entry.where
    )


def check_conditions(recipe: Recipe) -> None:
    """Refuse conditions with unknown columns or wrong types; one line each.

    An extractor's `where` may read the samples, as `mime` or `samples.mime`.
    """
    own = dict(leaves(SAMPLES))
    samples = {f"samples.{name}": info for name, info in own.items()}
    problems = []
    for entry in recipe.extract:
        if entry.where is not None:
            where = f"extract.{entry.name}.where"
            problems += check_where(entry.where, own | samples, entry.place, where)[1]
    if problems:
        raise recipe_error(problems)

"""Binds the operators of a recipe's `annotate`: configures and checks them, and puts them in order."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, cast

import pyarrow as pa

from winnow.filters.extractors import extractor_names, find_extractor
from winnow.filters.image.decode.stills import DECODER, DecodeLimits
from winnow.filters.language.folding.composed import FORM
from winnow.filters.operators import (
    CAPTIONS,
    FILES,
    IMAGES,
    ITEMS,
    MAX_KERNEL_BYTES,
    STATUS,
    TEXT,
    Operator,
    PictureOperator,
    Resource,
    TextOperator,
    find_operator,
    operator_names,
)
from winnow.filters.presets import find_preset
from winnow.filters.video.decode.facts import PASS
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.pipelines.assets import asset_digest, asset_path, known_asset, require_file
from winnow.pipelines.binding.duplicates import asked_kinds, signature_entries
from winnow.pipelines.binding.sources import (
    bind_extractor,
    decode_limits,
    fetch_command,
    unfetched_source,
    video_limits,
)
from winnow.pipelines.reading.chosen_captions import bind_captions
from winnow.pipelines.reading.chosen_text import text_setting
from winnow.pipelines.reading.columns import MEDIA, Column, column_of, leaves
from winnow.pipelines.store import layout
from winnow.schemas.assets import AnyAsset
from winnow.schemas.environment.local_files import here
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.problems import Place, Problem, recipe_error, suggestion
from winnow.schemas.recipe import OperatorEntry, Recipe, build_config
from winnow.schemas.recipe.build import settings
from winnow.schemas.recipe.checks import is_in_keys
from winnow.schemas.recipe.nodes import MapNode, located
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rows.scores import score_schema, trace_schema
from winnow.schemas.rules.checking import ColumnInfo, check_where
from winnow.scoring.tasks import find_task, task_names


@dataclass(frozen=True, slots=True)
class BoundAsset:
    """A file that an operator needs: its name in the configuration, and the digest of its content."""

    name: str
    file: AnyAsset | str  # an asset, which each machine looks up itself, or the path of the user's own file
    digest: str


@dataclass(frozen=True)
class BoundAssets:
    """The files that one operator may open."""

    assets: tuple[BoundAsset, ...]

    def path(self, name: str) -> str:
        """Return the path of an asset on this machine."""
        file = next(asset.file for asset in self.assets if asset.name == name)
        return here(file) if isinstance(file, str) else asset_path(file)


def layer_schema(operator: Operator, config: object) -> pa.Schema:
    """Return the columns of an operator's layer: the status first, and every measure nullable.

    The layer of an operator that looks at items has a list for each measure, aligned with the sample's media.
    """
    measures = [field.with_nullable(True) for field in operator.writes(config) if field.name != STATUS.name]
    if isinstance(operator, TextOperator):
        return pa.schema([STATUS, *measures])
    return pa.schema([STATUS, ITEMS, *(pa.field(field.name, pa.list_(field.type)) for field in measures)])


@dataclass(frozen=True)
class BoundOperator:
    """An operator with its configuration, its condition, and everything else that its values depend on."""

    operator: Operator
    config: Any  # the operator's own frozen dataclass
    layer: str
    where: str | None
    text: tuple[str, ...]  # the columns of the recipe's `text`, in order of preference
    captions: tuple[str, ...]  # those of its `captions`
    assets: BoundAssets
    max_text_bytes: int
    decoding: DecodeLimits
    watching: VideoLimits
    columns: tuple[Column, ...]  # everything that it reads from the store
    input_schema: pa.Schema  # of the batches that its kernel gets
    path: str  # its path in the recipe
    place: Place

    @property
    def schema(self) -> pa.Schema:
        """The columns of its layer."""
        return layer_schema(self.operator, self.config)

    @property
    def signals(self) -> frozenset[Signal]:
        """What its watchers see of each video."""
        return self.operator.wants(self.config) if isinstance(self.operator, VideoOperator) else frozenset()

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""
        return tuple(dict.fromkeys(column.layer for column in self.columns))

    @property
    def covers(self) -> tuple[str, ...] | None:
        """The layers of all shards that its values depend on, besides samples; None if each value depends on its own
        row alone."""
        if not isinstance(self.operator, TextOperator) or self.operator.lookup is None:
            return None
        return tuple(layer for layer in self.reads if layer != layout.SAMPLES)

    @property
    def model(self) -> str:
        """A digest of the operator's name and of the files that it reads, which its settings do not change."""
        digests = sorted(asset.digest for asset in self.assets.assets)
        return fingerprint_of({"operator": self.operator.name, "files": digests})

    def key(self, keys: Mapping[str, str]) -> str:
        """Return the layer's key for one source, given the keys of the layers that it reads."""
        return self._key(keys, self.operator.depends(self.config))

    def keys_elsewhere(self, keys: Mapping[str, str]) -> frozenset[str]:
        """Return the keys it would have with other packages installed, as far as the operator knows them."""
        return frozenset(self._key(keys, depends) for depends in self.operator.elsewhere(self.config))

    def _key(self, keys: Mapping[str, str], depends: tuple[str, ...]) -> str:
        return fingerprint_of(
            ({"depends": list(depends)} if depends else {})
            | self._reading()
            | {
                "operator": self.operator.name,
                "version": self.operator.version,
                "config": plain_config(self.config, {asset.name: asset.digest for asset in self.assets.assets}),
                "where": self.where,
                "text": text_setting(self.text) if TEXT in self.operator.inputs(self.config) else [],
                "max_text_bytes": self.max_text_bytes,
                "reads": {layer: keys[layer] for layer in sorted(self.reads)},
            }
        )

    def _reading(self) -> dict[str, Any]:
        """What its values depend on of how its texts, pictures or videos are read."""
        match self.operator:
            case VideoOperator():
                return {"pass": PASS, **asdict(self.watching)}
            case PictureOperator(files=True):
                return {"max_bytes": self.decoding.max_bytes}
            case PictureOperator():
                return {"decoder": DECODER, **asdict(self.decoding)}
            case TextOperator() as operator:
                reads = operator.reads(self.config)
                composed = {"form": FORM} if TEXT in reads and not operator.as_written else {}
                met = {"meets": "selected"} if operator.lookup is not None and self.where is not None else {}
                return composed | met | ({"captions": list(self.captions)} if CAPTIONS in reads else {})
        return {}


@dataclass(frozen=True)
class Pass:
    """One pass over the store: operators of one resource class that run on each batch, in this order."""

    resource: Resource
    operators: tuple[BoundOperator, ...]


@dataclass(frozen=True)
class Measurement:
    """An operator that a recipe names, with its configuration."""

    entry: OperatorEntry
    path: str  # its path in the recipe
    operator: Operator
    config: Any  # the operator's own frozen dataclass


def measurements(recipe: Recipe) -> tuple[Measurement, ...]:
    """Return every measurement: the listed ones, and those that the search for duplicates needs.

    RecipeError for an unknown preset, operator or setting, and for a layer that both would write with different values.
    """
    listed = [(entry, f"annotate[{number}].{entry.name}") for number, entry in enumerate(recipe.annotate)]
    implied = []
    taken = {entry.layer: (entry, where) for entry, where in listed}
    for entry, where in signature_entries(recipe):
        if entry.layer in taken:
            other, path = taken[entry.layer]
            if _measures_the_same(other, path, entry, where):
                continue
            message = f"{where} writes the layer {entry.layer}; put its settings there, or rename this one with 'as'"
            raise recipe_error([Problem(other.place, path, message)])
        implied.append((entry, where))
    return tuple(Measurement(entry, where, *configure(entry, where)) for entry, where in (*listed, *implied))


def bind_operators(
    recipe: Recipe, measured: Sequence[Measurement], columns: Mapping[Column, ColumnInfo]
) -> tuple[BoundOperator, ...]:
    """Return the recipe's operators, each after those whose layers it reads.

    RecipeError with a line for each faulty operator; WinnowError with the command to run if an asset is missing.
    """
    known = {column.name: info for column, info in columns.items()}
    layers = _layers(known)
    bound, problems = [], []
    if any(CAPTIONS in one.operator.inputs(one.config) for one in measured):
        bind_captions(recipe, columns)  # raises RecipeError
    for one in measured:
        try:
            bound.append(_bind(recipe, one, known, layers))
        except RecipeError as error:
            problems += [error]
    if problems:
        raise RecipeError("\n".join(str(error) for error in problems))
    return _sort_by_reads(bound)


def store_columns(recipe: Recipe, measured: Iterable[Measurement]) -> dict[Column, ColumnInfo]:
    """Return every column of the recipe's store with these measurements, samples first."""
    schemas = [(layout.SAMPLES, SAMPLES)]
    schemas += [(one.layer, one.schema) for one in map(bind_extractor, recipe.extract)]
    schemas += [(one.entry.layer, layer_schema(one.operator, one.config)) for one in measured]
    late = [(asked.kind.layer, asked.kind.schema) for asked in asked_kinds(recipe)]
    for score in recipe.score:
        aligned = score.task in task_names() and find_task(score.task).contrastive
        trace = trace_schema(score.checkpoints, aligned=aligned, beside=score.beside)
        late += [(score.trace, trace), (score.layer, score_schema(score.beside))]
    found = {Column(layer, leaf): info for layer, schema in schemas for leaf, info in leaves(schema)}
    for layer, schema in late:
        found |= {Column(layer, leaf): replace(info, phase="keep") for leaf, info in leaves(schema)}
    return found


def configure(entry: OperatorEntry, where: str) -> tuple[Operator, Any]:
    """Return the operator that an entry names, and its configuration; the entry's settings override its preset's."""
    try:
        operator = find_operator(entry.name)
        options = entry.options if entry.preset is None else _with_preset(entry, operator)
    except RecipeError as error:
        raise recipe_error([Problem(entry.place, where, str(error))]) from None
    config = build_config(operator.config, options, where)
    return operator.configured(config), config


def _measures_the_same(listed: OperatorEntry, path: str, implied: OperatorEntry, where: str) -> bool:
    """Whether a listed measurement equals the one that the search for duplicates needs, for all rows."""
    if listed.name != implied.name or listed.where is not None:
        return False
    configs: list[object] = [configure(entry, place)[1] for entry, place in ((listed, path), (implied, where))]
    return configs[0] == configs[1]


def passes_of(operators: Sequence[BoundOperator]) -> list[Pass]:
    """Return the fewest passes over the store in which each operator runs after those that it reads.

    One that looks across rows needs what it reads of every shard, from an earlier pass.
    """
    left, passes = list(operators), []
    done: set[str] = set()
    own_layers = {bound.layer for bound in operators}
    while left:
        resource, before = left[0].operator.resource, frozenset(done)
        chosen: list[BoundOperator] = []
        for bound in left:
            ready = done if bound.covers is None else before
            if bound.operator.resource == resource and set(bound.reads) & own_layers <= ready:
                chosen.append(bound)
                done.add(bound.layer)
        left = [bound for bound in left if bound.layer not in done]
        passes.append(Pass(resource, tuple(chosen)))
    return passes


def _bind(
    recipe: Recipe, measured: Measurement, known: Mapping[str, ColumnInfo], layers: Sequence[str]
) -> BoundOperator:
    entry, where, operator, config = measured.entry, measured.path, measured.operator, measured.config
    problems: list[Problem] = []
    names: list[str] = []
    if entry.layer != entry.name and entry.layer in operator_names():
        taken = f"'as' names {entry.layer}, which is an operator; choose another name"
        problems.append(Problem(entry.place, where, taken))
    for name in operator.reads(config) if isinstance(operator, TextOperator) else (MEDIA.name,):
        if name == TEXT:
            names += recipe.text
        elif name == CAPTIONS:
            names += recipe.captions
        elif name in known and known[name].phase == "keep":
            late = f"{operator.name} reads {name}, which is computed after all operators of 'annotate'"
            problems.append(Problem(entry.place, where, late))
        elif name in known:
            names.append(name)
        else:
            missing = f"{operator.name} reads {name}, which no layer of this recipe has"
            problems.append(Problem(entry.place, where, f"{missing}{_remedy(name, known)}"))
    if entry.where is not None:
        others = {name: info for name, info in known.items() if not name.startswith(f"{entry.layer}.")}
        read, complaints = check_where(entry.where, others, entry.place, f"{where}.where")
        names += [name for name in read if name in known]
        problems += complaints
    columns = [column for name in dict.fromkeys(names) if (column := column_of(name, layers)) is not None]
    if problems:
        raise recipe_error(problems)
    memory = operator.memory if isinstance(operator, TextOperator) else 1
    return BoundOperator(
        operator=operator,
        config=config,
        layer=entry.layer,
        where=entry.where,
        text=recipe.text,
        captions=recipe.captions,
        assets=bind_assets(recipe, partial(operator.assets, config), operator.declares, entry.place, where),
        max_text_bytes=min(recipe.limits.max_text_bytes, MAX_KERNEL_BYTES // memory),
        decoding=decode_limits(recipe),
        watching=video_limits(recipe),
        columns=tuple(columns),
        input_schema=_input_schema(operator, config, known),
        path=where,
        place=entry.place,
    )


_COMPUTED: Mapping[str, pa.DataType] = {TEXT: pa.large_string(), CAPTIONS: SAMPLES.field("captions").type}


def _remedy(missing: str, known: Mapping[str, ColumnInfo]) -> str:
    """The operator or the setting that would write a missing column, or else the column that was probably meant."""
    extractor, _, leaf = missing.removeprefix(EXTRACTED).partition(".")
    is_extracted = missing.startswith(EXTRACTED) and extractor in extractor_names()
    if is_extracted and (setting := find_extractor(extractor).asked_by(leaf)):
        return f"; write `extract: {{{extractor}: {{{setting}: true}}}}`"
    writes = next((one for one in operator_names() if missing.startswith(f"{one}.")), None)
    if writes is None or any(name.startswith(f"{writes}.") for name in known):
        return suggestion(missing, known)
    return f"; add `{writes}` to 'annotate'"


def _input_schema(operator: Operator, config: object, known: Mapping[str, ColumnInfo]) -> pa.Schema:
    if isinstance(operator, PictureOperator):
        return FILES if operator.files else IMAGES
    names = operator.reads(config) if isinstance(operator, TextOperator) else ()  # watchers see signals
    return pa.schema([(name, _COMPUTED[name] if name in _COMPUTED else known[name].type) for name in names])


def bind_assets(
    recipe: Recipe, names: Callable[[], Sequence[str]], declared: Sequence[AnyAsset], place: Place, where: str
) -> BoundAssets:
    """Return files by name: assets, or paths that the recipe gives; RecipeError if one is missing."""
    found = []
    try:
        for name in names():
            file = os.path.abspath(recipe.located(name))
            asset = next((asset for asset in declared if asset.name == name), None)
            if asset is None and not os.path.isfile(file):
                asset = known_asset(name)  # of another operator
            if asset is None:
                if (source := unfetched_source(recipe, file)) is not None:
                    raise RecipeError(f"{file}: sources.{source.name} is not fetched yet; run: {fetch_command(recipe)}")
                require_file(file)
                found.append(BoundAsset(name, file, asset_digest(file)))
            else:
                asset_path(asset)
                found.append(BoundAsset(name, asset, asset.value_digest))
    except WinnowError as error:
        raise recipe_error([Problem(place, where, str(error))]) from None
    return BoundAssets(tuple(found))


def _with_preset(entry: OperatorEntry, operator: Operator) -> MapNode:
    preset = find_preset(entry.preset or "")
    preset_config = preset.operators.get(operator.name)
    if preset_config is None:
        names = ", ".join(preset.operators)
        raise RecipeError(f"the preset {preset.name} does not configure {operator.name}; it configures {names}")
    written = {item.key for item in entry.options.entries}
    below = located({key: value for key, value in preset_config.items() if key not in written}, entry.place)
    return MapNode((*below.entries, *entry.options.entries), entry.place)


def _layers(known: Mapping[str, ColumnInfo]) -> list[str]:
    return sorted(
        {".".join(name.split(".")[:2]) if not name.startswith("samples.") else layout.SAMPLES for name in known}
    )


def _sort_by_reads(bound: Sequence[BoundOperator]) -> tuple[BoundOperator, ...]:
    ordered: list[BoundOperator] = []
    left = list(bound)
    own_layers = {one.layer for one in bound}
    while left:
        done = {one.layer for one in ordered}
        ready = next((one for one in left if set(one.reads) & own_layers <= done), None)
        if ready is None:
            names = ", ".join(one.layer for one in left)
            raise RecipeError(f"{left[0].place}: annotate: {names} read each other in a circle, so none can run first")
        ordered.append(ready)
        left.remove(ready)
    return tuple(ordered)


def plain_config(config: Any, digests: Mapping[str, str]) -> Any:
    """Return the configuration as plain values, with the digests of files in place of their paths.

    Fields that came later (`LATER`) are left out at their defaults, so that layers keep their keys.
    """

    def plain(value: Any) -> Any:
        if is_dataclass(value):
            return {item.name: plain(getattr(value, item.name)) for item in fields(value) if is_in_keys(value, item)}
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return digests.get(value, value) if isinstance(value, str) else value

    written = {item.field for item in settings(cast(type, type(config)))}
    return {name: value for name, value in plain(config).items() if name in written}

"""Binds a recipe's `score`: configures tasks, finds files, and checks columns."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, cast, get_args

import pyarrow as pa

from winnow.filters.image.decode.stills import DECODER, DecodeLimits
from winnow.filters.language.folding.composed import FORM
from winnow.filters.models.tensors import read_tensors
from winnow.filters.operators import TEXT
from winnow.filters.video.decode.facts import PASS
from winnow.filters.video.decode.opening import VideoLimits
from winnow.pipelines.assets import asset_digest, require_file
from winnow.pipelines.binding.operators import BoundAssets, bind_assets, plain_config
from winnow.pipelines.binding.sources import decode_limits, video_limits
from winnow.pipelines.reading.chosen_text import text_setting
from winnow.pipelines.reading.columns import MEDIA, Column, column_of
from winnow.pipelines.store import layout
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.problems import Problem, recipe_error, suggestion
from winnow.schemas.recipe import Recipe, ScoreEntry, build_config
from winnow.schemas.recipe.score import Beside
from winnow.schemas.rows.scores import SCORES, TRACES, trace_schema
from winnow.schemas.rules.checking import ColumnInfo, check_where
from winnow.scoring.protocol import IMAGE, Measure, Method, Task, TaskKind, Weights
from winnow.scoring.tasks import find_task

VERSION = 1
"""The version of everything that decides the values of a trace, given the task, its weights and the rows."""


@dataclass(frozen=True)
class Condition:
    """A condition that selects rows of the store; `text` is None for all rows."""

    text: str | None
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class WeightsFile:
    """A weights file that the recipe names, and the digest of its content."""

    file: str
    digest: str

    def read(self, task: Task) -> Weights:
        """Its weights, checked against a task; RecipeError if they are damaged or another model's."""
        weights = read_tensors(self.file).arrays
        task.check(weights, self.file)
        return weights


@dataclass(frozen=True)
class BoundScore:
    """A score with everything that its values depend on. Picklable."""

    entry: ScoreEntry
    kind: TaskKind
    config: Any  # the task's own configuration
    assets: BoundAssets
    text: tuple[Column, ...]  # in order of preference
    inputs: tuple[Column, ...]  # what the task reads from the store
    input_schema: pa.Schema  # of the batches that the task gets
    where: Condition
    reference_rows: Condition | None  # what the reference is trained on; None if its weights are given
    trajectory_rows: Condition | None  # what the trajectory is trained on; None if its weights are given
    target_rows: Condition | None  # whose gradient others are compared with; None if it is not asked for
    reference: tuple[WeightsFile, ...]
    base: WeightsFile | None
    trajectory: tuple[WeightsFile, ...]
    seed: int
    max_text_bytes: int
    decoding: DecodeLimits  # of the pictures that the task reads
    watching: VideoLimits  # of the videos whose frames it reads

    @property
    def layer(self) -> str:
        """The trace: the layer that is computed row by row."""
        return self.entry.trace

    @property
    def trace_schema(self) -> pa.Schema:
        """A row of the trace."""
        entry = self.entry
        return trace_schema(entry.checkpoints, aligned=self.kind.contrastive, beside=entry.beside)

    @property
    def adapted(self) -> bool:
        """Whether training of the reference starts from the end of the trajectory."""
        begin = None if self.entry.reference is None else self.entry.reference.begin
        return self.reference_rows is not None and (self.kind.adapts if begin is None else begin == "trajectory")

    @property
    def method(self) -> Method:
        """How samples are weighted when the trajectory is trained."""
        return self.entry.trajectory.method or ("uniform" if self.adapted else "mimic")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the trace depends on."""
        return tuple(dict.fromkeys((*self.inputs, *self.where.columns)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that the trace depends on, each once."""
        return layers_of(self.columns)

    @property
    def passes(self) -> int:
        """The passes over the samples, for time estimates: one per checkpoint and measure, and the reference's."""
        if self.kind.measures or self.kind.reading_costs:
            return 1
        return self.entry.checkpoints * (1 + len(self.entry.beside)) + 1

    def task(self) -> Task:
        """Load the task in this process."""
        return cast(Task, self.kind.load(self.config, self.assets))

    def measure(self) -> Measure:
        """Load a task that needs no weights in this process."""
        return cast(Measure, self.kind.load(self.config, self.assets))

    @property
    def settings(self) -> dict[str, Json]:
        """The settings that both the weights and the trace depend on."""
        reads, frames = self.kind.reads(self.config), self.entry.frames
        return {
            "version": VERSION,
            "task": self.kind.name,
            "task_version": self.kind.version,
            "config": plain_config(self.config, {asset.name: asset.digest for asset in self.assets.assets}),
            "depends": list(self.kind.depends(self.config)),
            "text": text_setting([column.name for column in self.text]) if TEXT in reads else [],
            **({"form": FORM} if TEXT in reads else {}),
            "max_text_bytes": self.max_text_bytes,
            **({"decoder": DECODER, **asdict(self.decoding)} if IMAGE in reads else {}),
            **({"frames": asdict(frames), "pass": PASS, "videos": asdict(self.watching)} if frames else {}),
        }


def layers_of(columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the layers of columns, each once."""
    return tuple(dict.fromkeys(column.layer for column in columns))


def bind_scores(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> tuple[BoundScore, ...]:
    """Return the recipe's scores, bound to these columns; RecipeError if one is faulty or lacks a file."""
    known = {column.name: info for column, info in columns.items()}
    return tuple(_bind_score(recipe, entry, known) for entry in recipe.score)


def _bind_score(recipe: Recipe, entry: ScoreEntry, known: Mapping[str, ColumnInfo]) -> BoundScore:
    where = f"score.{entry.name}"
    measured = {name: info for name, info in known.items() if not name.startswith((SCORES, TRACES))}
    problems: list[Problem] = []
    try:
        kind = find_task(entry.task)
    except WinnowError as error:
        raise recipe_error([Problem(entry.place, f"{where}.task", str(error))]) from None
    if kind.measures and entry.reference is not None:
        message = f"{entry.task} uses no weights; remove 'reference'"
        raise recipe_error([Problem(entry.place, where, message)])
    if not kind.measures and entry.reference is None:
        message = f"the key 'reference' is missing: {entry.task} needs it; write train_on, weights or merge under it"
        raise recipe_error([Problem(entry.place, where, message)])
    of = entry.filter.of
    if of != "mimic" and (kind.measures or (of == "alignment" and not kind.contrastive)):
        message = f"{entry.task} has no {'loss' if of in ('rho', 'loss') else of}; write mimic"
        raise recipe_error([Problem(entry.place, f"{where}.filter.of", message)])
    if of in get_args(Beside) and of not in entry.beside:
        message = f"{of} is measured on request; write the key '{of}' beside 'filter', or another measure"
        raise recipe_error([Problem(entry.place, f"{where}.filter.of", message)])
    for asked in entry.beside:
        if kind.measures or (asked == "token_rho" and not kind.tokens):
            message = f"{entry.task} has no {_ASKED[asked]}; remove '{asked}'"
            raise recipe_error([Problem(entry.place, f"{where}.{asked}", message)])
    config = build_config(kind.config, entry.options, where)
    if entry.frames is not None and IMAGE not in kind.reads(config):
        message = f"{entry.task} reads no pictures, so no frames of videos; remove 'frames'"
        raise recipe_error([Problem(entry.place, f"{where}.frames", message)])
    layers = sorted({".".join(name.split(".")[:2]) for name in measured if not name.startswith("samples.")})
    layers.insert(0, layout.SAMPLES)

    def condition(text: str | None, at: str) -> Condition:
        if text is None:
            return Condition(None, ())
        read, complaints = check_where(text, measured, entry.place, f"{where}.{at}")
        problems.extend(complaints)
        return Condition(text, _columns([name for name in read if name in measured], layers))

    names: list[str] = []
    reads = tuple(dict.fromkeys(kind.reads(config)))  # one column may be both input and label
    for name in reads:
        if not name:
            continue  # a missing setting: the task reports it when it is loaded
        if name == TEXT:
            names += recipe.text
        elif name == IMAGE:
            names.append(MEDIA.name)
        elif name in measured:
            names.append(name)
        else:
            message = f"{entry.task} reads {name}, which no layer of this recipe has{suggestion(name, measured)}"
            problems.append(Problem(entry.place, where, message))
    if entry.filter.by is not None and entry.filter.by not in measured:
        message = f"no layer of this recipe has {entry.filter.by}{suggestion(entry.filter.by, measured)}"
        problems.append(Problem(entry.place, f"{where}.filter.by", message))
    chosen = condition(entry.where, "where")
    plan = entry.reference
    reference_rows = None if plan is None else plan.train_on
    trajectory_rows = entry.trajectory.train_on
    bound = BoundScore(
        entry=entry,
        kind=kind,
        config=config,
        assets=bind_assets(recipe, partial(kind.files, config), kind.declares, entry.place, where),
        text=_columns(recipe.text, layers),
        inputs=_columns(names, layers),
        input_schema=pa.schema(
            [(name, _type(name, measured)) for name in reads if name in _COMPUTED or name in measured]
        ),
        where=chosen,
        reference_rows=condition(reference_rows, "reference.train_on") if reference_rows is not None else None,
        trajectory_rows=None
        if plan is None or entry.trajectory.weights is not None
        else condition(trajectory_rows, "trajectory.train_on")
        if trajectory_rows is not None
        else chosen,
        target_rows=None if entry.target is None else condition(entry.target.rows, "target.rows"),
        reference=tuple(_weights_file(recipe, entry, path, f"{where}.reference") for path in _reference_files(entry)),
        base=_weights_file(recipe, entry, plan.base, f"{where}.reference.base")
        if plan is not None and plan.base is not None
        else None,
        trajectory=tuple(
            _weights_file(recipe, entry, path, f"{where}.trajectory.weights") for path in entry.trajectory.weights or ()
        ),
        seed=recipe.store.seed,
        max_text_bytes=recipe.limits.max_text_bytes,
        decoding=decode_limits(recipe),
        watching=video_limits(recipe),
    )
    for files, at in ((bound.reference, "reference.merge"), (bound.trajectory, "trajectory.weights")):
        if (same := _same_content(files)) is not None:
            problems.append(Problem(entry.place, f"{where}.{at}", f"two files are the same: {same}; name each once"))
    if (column := entry.filter.by) in measured and not _is_groupable(measured[column].type):
        message = f"{column} is {measured[column].type}; expected a column of strings, integers or booleans"
        problems.append(Problem(entry.place, f"{where}.filter.by", message))
    if bound.adapted and bound.trajectory_rows is not None and bound.method in ("mimic", "rho"):
        message = (
            f"{bound.method} needs the reference, whose training starts from the end of the trajectory; write uniform "
            "or grand, or 'begin: untrained' under 'reference'"
        )
        problems.append(Problem(entry.place, f"{where}.trajectory.method", message))
    if problems:
        raise recipe_error(problems)
    return bound


_ASKED: Mapping[Beside, str] = {"target": "gradients", "token_rho": "losses of tokens"}
"""What measures on request need of a task."""
_COMPUTED = {TEXT: pa.large_string(), IMAGE: pa.large_binary()}
"""The types of inputs that are computed rather than read from a column."""


def _type(name: str, known: Mapping[str, ColumnInfo]) -> pa.DataType:
    return _COMPUTED[name] if name in _COMPUTED else known[name].type


def _same_content(files: tuple[WeightsFile, ...]) -> str | None:
    """Return the names of two files with the same content, if there are any."""
    first: dict[str, str] = {}
    for one in files:
        if one.digest in first:
            return f"{first[one.digest]} and {one.file}"
        first[one.digest] = one.file
    return None


def _is_groupable(kind: pa.DataType) -> bool:
    """Whether rows can be grouped by the values of a column."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def group_column(bound: BoundScore) -> Column | None:
    """Return the column whose values are fitted separately; None if all rows are fitted together."""
    name = bound.entry.filter.by
    if name is None:
        return None
    layer = layout.SAMPLES if name.startswith("samples.") else ".".join(name.split(".")[:2])
    return Column(layer, name.removeprefix(f"{layer}."))


def _reference_files(entry: ScoreEntry) -> tuple[str, ...]:
    if entry.reference is None:
        return ()
    return entry.reference.merge or ((entry.reference.weights,) if entry.reference.weights is not None else ())


def _columns(names: "list[str] | tuple[str, ...]", layers: list[str]) -> tuple[Column, ...]:
    found = (column_of(name, layers) for name in dict.fromkeys(names))
    return tuple(column for column in found if column is not None)


def _weights_file(recipe: Recipe, entry: ScoreEntry, path: str, where: str) -> WeightsFile:
    file = os.path.abspath(recipe.located(path))
    try:
        require_file(file)
        return WeightsFile(file, asset_digest(file))
    except WinnowError as error:
        raise recipe_error([Problem(entry.place, where, str(error))]) from None

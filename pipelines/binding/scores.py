"""From a recipe's `score` to scores that are ready to be made: tasks configured, files found, columns known."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pyarrow as pa

from winnow.filters.operators import TEXT
from winnow.pipelines.assets import asset_digest, require_file
from winnow.pipelines.binding.operators import BoundAssets, bound_assets, settled_config
from winnow.pipelines.query.columns import Column, column_of
from winnow.pipelines.store import layout
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.problems import Problem, recipe_error, suggestion
from winnow.schemas.recipe import Recipe, ScoreEntry, build_config
from winnow.schemas.rows.scores import SCORES, TRACES
from winnow.schemas.rules import ColumnInfo, check_where
from winnow.scoring.mimic.direction import chosen_parameters
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.protocol import IMAGE, Measure, Method, Task, TaskKind

VERSION = 1
"""Of all that decides what a trace says of a row, given the task, its weights and the rows."""

MEDIA = Column(layout.SAMPLES, "media")


@dataclass(frozen=True)
class Condition:
    """A rule over the store that says which rows are meant; None for all."""

    text: str | None
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class WeightsFile:
    """Weights that the recipe gives, and their content."""

    file: str
    digest: str


@dataclass(frozen=True)
class BoundScore:
    """A score with everything that its values depend on. Picklable."""

    entry: ScoreEntry
    kind: TaskKind
    config: Any  # the task's own
    assets: BoundAssets
    text: tuple[Column, ...]  # in order of preference
    inputs: tuple[Column, ...]  # what the task reads of the store
    given: pa.Schema  # the same as the task gets it
    where: Condition
    trusted: Condition | None  # what the reference is trained on; None where it is given
    looked: Condition | None  # what the trajectory is trained on; None where it is given
    reference: tuple[WeightsFile, ...]
    base: WeightsFile | None
    trajectory: tuple[WeightsFile, ...]
    seed: int
    max_text_bytes: int

    @property
    def layer(self) -> str:
        """The trace: what is made row by row."""
        return self.entry.trace

    @property
    def adapted(self) -> bool:
        """Whether the reference is trained on from the trajectory's end."""
        begin = None if self.entry.reference is None else self.entry.reference.begin
        return self.trusted is not None and (self.kind.adapts if begin is None else begin == "trajectory")

    @property
    def method(self) -> Method:
        """What weighs samples where the trajectory is trained."""
        return self.entry.trajectory.method or ("uniform" if self.adapted else "mimic")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Everything that a trace is made of."""
        return tuple(dict.fromkeys((*self.inputs, *self.where.columns)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that a trace is made of, each once."""
        return layers_of(self.columns)

    @property
    def passes(self) -> int:
        """How often samples are gone through, as far as time goes: at each checkpoint, and under the reference."""
        return 1 if self.kind.measures or self.kind.reading_costs else self.entry.checkpoints + 1

    def task(self) -> Task:
        """The task, in this process."""
        return cast(Task, self.kind.load(self.config, self.assets))

    def measure(self) -> Measure:
        """What measures without weights, in this process."""
        return cast(Measure, self.kind.load(self.config, self.assets))

    @property
    def settings(self) -> dict[str, Json]:
        """What both the weights and the trace depend on."""
        reads = self.kind.reads(self.config)
        return {
            "version": VERSION,
            "task": self.kind.name,
            "task_version": self.kind.version,
            "config": settled_config(self.config, {asset.name: asset.digest for asset in self.assets.assets}),
            "depends": list(self.kind.depends(self.config)),
            "text": [column.name for column in self.text] if TEXT in reads else [],
            "max_text_bytes": self.max_text_bytes,
        }


def layers_of(columns: tuple[Column, ...]) -> tuple[str, ...]:
    """The layers of columns, each once."""
    return tuple(dict.fromkeys(column.layer for column in columns))


def bind_scores(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> tuple[BoundScore, ...]:
    """The recipe's scores, of these columns.

    Raises:
        RecipeError: What is wrong with one, or a file that it needs is not there.
    """
    known = {column.name: info for column, info in columns.items()}
    return tuple(_bound(recipe, entry, known) for entry in recipe.score)


def _bound(recipe: Recipe, entry: ScoreEntry, known: Mapping[str, ColumnInfo]) -> BoundScore:
    where = f"score.{entry.name}"
    measured = {name: info for name, info in known.items() if not name.startswith((SCORES, TRACES))}
    problems: list[Problem] = []
    try:
        kind = find_task(entry.task)
    except WinnowError as error:
        raise recipe_error([Problem(entry.place, f"{where}.task", str(error))]) from None
    if kind.measures and entry.reference is not None:
        said = f"{entry.task} measures without weights; 'reference' is for tasks with a loss"
        raise recipe_error([Problem(entry.place, where, said)])
    if not kind.measures and entry.reference is None:
        said = f"the key 'reference' is missing: {entry.task} scores towards weights; write train_on, weights or merge"
        raise recipe_error([Problem(entry.place, where, said)])
    if kind.measures and entry.filter.of == "rho":
        raise recipe_error([Problem(entry.place, f"{where}.filter.of", f"{entry.task} has no loss; write mimic")])
    config = build_config(kind.config, entry.options, where)
    layers = sorted({".".join(name.split(".")[:2]) for name in measured if not name.startswith("samples.")})
    layers.insert(0, layout.SAMPLES)

    def condition(text: str | None, at: str) -> Condition:
        if text is None:
            return Condition(None, ())
        read, complaints = check_where(text, measured, entry.place, f"{where}.{at}")
        problems.extend(complaints)
        return Condition(text, _columns([name for name in read if name in measured], layers))

    names: list[str] = []
    reads = tuple(dict.fromkeys(kind.reads(config)))  # one column may hold both what is read and its label
    for name in reads:
        if not name:
            continue  # a setting that is missing: the task says so when it is loaded
        if name == TEXT:
            names += recipe.text
        elif name == IMAGE:
            names.append(MEDIA.name)
        elif name in measured:
            names.append(name)
        else:
            said = f"{entry.task} reads {name}, which no layer of this recipe has{suggestion(name, measured)}"
            problems.append(Problem(entry.place, where, said))
    if entry.filter.by is not None and entry.filter.by not in measured:
        said = f"no layer of this recipe has {entry.filter.by}{suggestion(entry.filter.by, measured)}"
        problems.append(Problem(entry.place, f"{where}.filter.by", said))
    chosen = condition(entry.where, "where")
    plan = entry.reference
    trusted = None if plan is None else plan.train_on
    looked = entry.trajectory.train_on
    bound = BoundScore(
        entry=entry,
        kind=kind,
        config=config,
        assets=bound_assets(recipe, partial(kind.files, config), kind.declares, entry.place, where),
        text=_columns(recipe.text, layers),
        inputs=_columns(names, layers),
        given=pa.schema([(name, _type(name, measured)) for name in reads if name in _MADE or name in measured]),
        where=chosen,
        trusted=condition(trusted, "reference.train_on") if trusted is not None else None,
        looked=None
        if plan is None or entry.trajectory.weights is not None
        else condition(looked, "trajectory.train_on")
        if looked is not None
        else chosen,
        reference=tuple(_given(recipe, entry, path, f"{where}.reference") for path in _reference_files(entry)),
        base=_given(recipe, entry, plan.base, f"{where}.reference.base")
        if plan is not None and plan.base is not None
        else None,
        trajectory=tuple(
            _given(recipe, entry, path, f"{where}.trajectory.weights") for path in entry.trajectory.weights or ()
        ),
        seed=recipe.store.seed,
        max_text_bytes=recipe.limits.max_text_bytes,
    )
    for files, at in ((bound.reference, "reference.merge"), (bound.trajectory, "trajectory.weights")):
        if (twice := _twice(files)) is not None:
            problems.append(Problem(entry.place, f"{where}.{at}", f"two files are the same: {twice}; name each once"))
    if (column := entry.filter.by) in measured and not _told_apart(measured[column].type):
        said = f"{column} holds something else; expected a column of strings, integers or booleans"
        problems.append(Problem(entry.place, f"{where}.filter.by", said))
    if bound.adapted and bound.looked is not None and bound.method in ("mimic", "rho"):
        said = (
            f"{bound.method} weighs by the reference, which begins where the trajectory ends; write uniform or grand, "
            "or 'begin: untrained' for the reference"
        )
        problems.append(Problem(entry.place, f"{where}.trajectory.method", said))
    if problems:
        raise recipe_error(problems)
    return bound


_MADE = {TEXT: pa.large_string(), IMAGE: pa.large_binary()}
"""Of which type is what tasks read that no column holds."""


def _type(name: str, known: Mapping[str, ColumnInfo]) -> pa.DataType:
    return _MADE[name] if name in _MADE else known[name].type


def _twice(files: tuple[WeightsFile, ...]) -> str | None:
    """Two files of one content."""
    first: dict[str, str] = {}
    for one in files:
        if one.digest in first:
            return f"{first[one.digest]} and {one.file}"
        first[one.digest] = one.file
    return None


def _told_apart(kind: pa.DataType) -> bool:
    """Whether values of a column can be groups."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


_TRIED: set[str] = set()  # what loaded in this process before: a run asks at its beginning, and again when it scores


def try_scores(scores: tuple[BoundScore, ...]) -> None:
    """Load every task once, so that a missing package, a bad file or a column is told of before hours of work.

    Raises:
        RecipeError: What they refuse, one line each.
    """
    problems = []
    for bound in scores:
        asked: dict[str, Json] = {"parameters": list(bound.entry.parameters), "given": str(bound.given)}
        tried = fingerprint_of({**bound.settings, **asked, "seed": bound.seed})
        if tried in _TRIED:
            continue
        try:
            if bound.kind.measures:
                ready: Task | Measure = bound.measure()
            else:
                ready = task = bound.task()
                chosen_parameters(tuple(task.initial(bound.seed)), bound.entry.parameters)
            ready.encode(pa.RecordBatch.from_pylist([], schema=bound.given))  # columns of other types are refused
            _TRIED.add(tried)
        except WinnowError as error:
            problems.append(Problem(bound.entry.place, f"score.{bound.entry.name}", str(error)))
    if problems:
        raise recipe_error(problems)


def by_column(bound: BoundScore) -> Column | None:
    """The column whose values are fitted each by itself."""
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


def _given(recipe: Recipe, entry: ScoreEntry, path: str, where: str) -> WeightsFile:
    file = os.path.abspath(recipe.located(path))
    try:
        require_file(file)
        return WeightsFile(file, asset_digest(file))
    except WinnowError as error:
        raise recipe_error([Problem(entry.place, where, str(error))]) from None

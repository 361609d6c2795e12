"""The weights of a score: the reference, and the checkpoints of the trajectory that samples are scored at.

Weights are given, merged or trained once, and stored under a key that covers everything that they depend on. So later
runs find them again, and workers read all weights from the store.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from winnow.filters.models.tensors import tensors_bytes, tensors_of
from winnow.pipelines.binding.scores import BoundScore, Condition, layers_of
from winnow.pipelines.media.score_inputs import Inputs
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.score.examples import HELD_OUT_SHARE, ScoredShard, collect_examples
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import delete_objects
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.global_keys import forgotten_in, with_forgotten
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.integrity.sealed import find_record, put_record, put_record_if_absent
from winnow.pipelines.store.state import StoreState
from winnow.schemas.environment.fingerprint import current_fingerprint
from winnow.schemas.errors import ScoreError
from winnow.schemas.identity import Json, content_name, fingerprint_of
from winnow.schemas.recipe import TrainingConfig
from winnow.schemas.records import StoredWeights, WeightKeys
from winnow.scoring.merging import average, task_arithmetic
from winnow.scoring.protocol import Checkpoint, Contrastive, Mismatching, Task, TrainingSettings, Weights

RESUME_CHECKPOINTS = 8  # the checkpoints of a training that it can continue from

Report = Callable[[str], None]
"""Prints a line for the user."""


def forgotten_by(store: Store) -> str:
    """Return a fingerprint of all tombstones so far, for keys; empty if there are none."""
    return forgotten_in(load_hiding(store.objects).tombstones)


def weight_keys(bound: BoundScore, state: StoreState, forgotten: str) -> WeightKeys:
    """Return the keys of a score's weights over the state, which has the layers that trainings read.

    `forgotten`: the result of `forgotten_by`.
    """
    if bound.entry.reference is None:
        return WeightKeys("", "")
    reference_settings = _reference_settings(bound, state)
    if bound.adapted:
        trajectory = fingerprint_of(_trajectory_settings(bound, state))
        reference = fingerprint_of({**reference_settings, "begins": trajectory})
    else:
        reference = fingerprint_of(reference_settings)
        towards: dict[str, Json] = {"reference": reference} if bound.trajectory_rows is not None else {}
        trajectory = fingerprint_of({**_trajectory_settings(bound, state), **towards})
    if bound.reference_rows is not None:
        reference = with_forgotten(reference, forgotten)
    if bound.trajectory_rows is not None:
        trajectory = with_forgotten(trajectory, forgotten)
    companions = target = ""
    if bound.kind.contrastive:
        rows: dict[str, Json] = {"seed": bound.seed, "rows": _training_rows(bound, bound.where, state)}
        found = fingerprint_of({"weights": "companions", "settings": bound.settings, **rows})
        companions = with_forgotten(found, forgotten)
    if bound.target_rows is not None:
        settings = _target_settings(bound, state) | {"trajectory": trajectory, "companions": companions}
        target = with_forgotten(fingerprint_of(settings), forgotten)
    return WeightKeys(reference, trajectory, companions, target)


def _reference_settings(bound: BoundScore, state: StoreState) -> dict[str, Json]:
    plan = bound.entry.reference
    assert plan is not None
    settings: dict[str, Json] = {"weights": "reference", "settings": bound.settings}
    if bound.reference_rows is not None:
        return settings | {
            "train": _training_settings(bound, plan.training),
            "rows": _training_rows(bound, bound.reference_rows, state),
        }
    return settings | {
        "given": [one.digest for one in bound.reference],
        "how": plan.how,
        "base": None if bound.base is None else bound.base.digest,
        "scale": plan.scale,
    }


def _trajectory_settings(bound: BoundScore, state: StoreState) -> dict[str, Json]:
    plan = bound.entry.trajectory
    settings: dict[str, Json] = {"weights": "trajectory", "settings": bound.settings}
    if bound.trajectory_rows is None:
        return settings | {"given": [one.digest for one in bound.trajectory]}
    return settings | {
        "train": _training_settings(bound, plan.training),
        "method": bound.method,
        "temperature": asdict(plan)["temperature"],
        "checkpoints": plan.checkpoints,
        "parameters": list(bound.entry.parameters),
        "held_out": HELD_OUT_SHARE,
        "rows": _training_rows(bound, bound.trajectory_rows, state),
    }


def _target_settings(bound: BoundScore, state: StoreState) -> dict[str, Json]:
    assert bound.entry.target is not None
    assert bound.target_rows is not None
    return {
        "weights": "target",
        "settings": bound.settings,
        "seed": bound.seed,
        "max_samples": bound.entry.target.max_samples,
        "parameters": list(bound.entry.parameters),
        "rows": _training_rows(bound, bound.target_rows, state),
    }


def _training_rows(bound: BoundScore, condition: Condition, state: StoreState) -> Json:
    columns = tuple(dict.fromkeys((*bound.inputs, *condition.columns)))
    return {
        "condition": condition.text,
        "shards": [[scored_shard.shard, dict(scored_shard.objects)] for scored_shard in scored_shards(state, columns)],
    }


def shards_to_prepare(bound: BoundScore, state: StoreState) -> list[ScoredShard]:
    """Return every shard with all objects that making weights of it, and trying them, may read."""
    conditions = (bound.reference_rows, bound.trajectory_rows, bound.target_rows)
    columns = [column for one in conditions if one is not None for column in one.columns]
    return scored_shards(state, tuple(dict.fromkeys((*bound.columns, *columns))))


def scored_shards(state: StoreState, columns: tuple[Column, ...]) -> list[ScoredShard]:
    """Return every shard, sorted by name, with the objects of its samples and of the layers of these columns."""
    layers = {layer: state.layers[layer].objects for layer in layers_of(columns) if layer != layout.SAMPLES}
    return [
        ScoredShard(
            row.shard,
            row.source,
            {layout.SAMPLES: row.object, **{layer: found[row.shard] for layer, found in layers.items()}},
        )
        for row in state.shards
    ]


def find_weights(store: Store, score: str, key: str, count: int) -> StoredWeights | None:
    """Return the weights under a key if they exist and have `count` objects, else None."""
    stored = find_record(store.objects, StoredWeights, layout.weights_record(score, key))
    if stored is None:
        return None
    complete = len(stored.objects) == count and all(store.objects.exists(path) for path in stored.objects)
    return stored if complete else None


def load_weights(store: Store, path: str) -> Weights:
    """Load the weights of one object."""
    return tensors_of(read_content(store.objects, path), f"{store.objects.root}/{path}").arrays


def record_use(store: Store, bound: BoundScore, keys: WeightKeys, traces: Iterable[str]) -> None:
    """Record which weights traces use, so that garbage collection keeps them."""
    for trace in sorted(traces):
        put_record_if_absent(store.objects, layout.weights_use(bound.entry.name, trace), keys)


@dataclass(frozen=True)
class WeightsContext:
    """Everything that making weights needs, apart from the score."""

    store: Store
    shards: Sequence[ScoredShard]  # from `shards_to_prepare`
    inputs: Inputs
    report: Report


def make_weights(
    context: WeightsContext, task: Task, bound: BoundScore, keys: WeightKeys
) -> tuple[StoredWeights, StoredWeights]:
    """Load or make the reference and the trajectory; the one that the other is trained from comes first."""
    if bound.adapted:
        trajectory = make_trajectory(context, task, bound, keys.trajectory, None)
        end = load_weights(context.store, trajectory.objects[-1])
        return make_reference(context, task, bound, keys.reference, end), trajectory
    reference = make_reference(context, task, bound, keys.reference, None)
    towards = load_weights(context.store, reference.objects[0])
    return reference, make_trajectory(context, task, bound, keys.trajectory, towards)


def make_reference(
    context: WeightsContext, task: Task, bound: BoundScore, key: str, begin: Weights | None
) -> StoredWeights:
    """Load or make the reference; training starts from `begin` if it is given."""
    score = bound.entry.name
    assert bound.entry.reference is not None
    if (found := find_weights(context.store, score, key, 1)) is not None:
        return found
    if bound.reference_rows is None:
        return _put(context.store, score, key, [_given_reference(task, bound)], 0)
    settings = _task_settings(bound, bound.entry.reference.training)
    start = None if begin is None else Checkpoint(0, begin, {})
    return _train(context, task, bound, key, bound.reference_rows, "reference", settings, None, 1, start)


def make_trajectory(
    context: WeightsContext, task: Task, bound: BoundScore, key: str, reference: Weights | None
) -> StoredWeights:
    """Load or make the checkpoints of the trajectory."""
    score = bound.entry.name
    if (found := find_weights(context.store, score, key, bound.entry.checkpoints)) is not None:
        return found
    if bound.trajectory_rows is None:
        return _put(context.store, score, key, [one.read(task) for one in bound.trajectory], 0)
    plan = bound.entry.trajectory
    settings = replace(
        _task_settings(bound, plan.training),
        method=bound.method,
        temperature=plan.temperature,
        parameters=bound.entry.parameters,
    )
    return _train(context, task, bound, key, bound.trajectory_rows, "trajectory", settings, reference, plan.checkpoints)


def make_companions(context: WeightsContext, task: Contrastive, bound: BoundScore, key: str) -> StoredWeights:
    """Load or choose the rows that a contrastive task contrasts others with."""
    score = bound.entry.name
    if (found := find_weights(context.store, score, key, 1)) is not None:
        return found
    wanted = task.companion_count
    collected = collect_examples(
        context.store, task, bound, context.shards, bound.where, "companions", None, context.inputs, wanted=wanted
    )
    arrays = task.companions(collected.examples) if collected.count else {}
    return _put(context.store, score, key, [arrays], collected.count)


def make_target(
    context: WeightsContext, task: Task, bound: BoundScore, key: str, trajectory: StoredWeights
) -> StoredWeights:
    """Load or compute the gradient of a target's mean loss at each checkpoint."""
    entry, target = bound.entry, bound.entry.target
    assert target is not None
    assert bound.target_rows is not None
    if (found := find_weights(context.store, entry.name, key, entry.checkpoints)) is not None:
        return found
    collected = collect_examples(
        context.store, task, bound, context.shards, bound.target_rows, "target", target.max_samples, context.inputs
    )
    context.report(f"{entry.layer}  the target's gradient, of {collected.count:,} of {collected.matching:,} samples")
    at = (load_weights(context.store, path) for path in trajectory.objects)
    gradients = [task.gradient(weights, collected.examples, entry.parameters) for weights in at]
    return _put(context.store, entry.name, key, gradients, collected.count)


def _task_settings(bound: BoundScore, training: TrainingConfig) -> TrainingSettings:
    """Return the recipe's settings of a training, with the task's defaults for the others."""
    given = {name: getattr(training, name) for name in ("epochs", "batch", "learning_rate", "weight_decay")}
    defaults = bound.kind.training(bound.config)
    return replace(defaults, seed=bound.seed, **{name: one for name, one in given.items() if one is not None})


def _training_settings(bound: BoundScore, training: TrainingConfig) -> dict[str, Json]:
    """Return the settings of a training that weights depend on."""
    return {**asdict(_task_settings(bound, training)), "parameters": [], "max_samples": training.max_samples}


def _given_reference(task: Task, bound: BoundScore) -> Weights:
    plan = bound.entry.reference
    assert plan is not None
    found = {one.file: one.read(task) for one in bound.reference}
    if plan.merge is None:
        return next(iter(found.values()))
    if bound.base is None:
        return average(found)
    return task_arithmetic(bound.base.read(task), found, plan.scale)


def _train(
    context: WeightsContext,
    task: Task,
    bound: BoundScore,
    key: str,
    condition: Condition,
    what: str,
    settings: TrainingSettings,
    reference: Weights | None,
    wanted: int,
    begin: Checkpoint | None = None,
) -> StoredWeights:
    """Train, saving checkpoints to the store's scratch folder so that a stopped training can continue."""
    entry = bound.entry
    training = entry.trajectory.training
    if what == "reference" and entry.reference is not None:
        training = entry.reference.training
    held_out = False if what == "trajectory" and isinstance(task, Mismatching) else None
    collected = collect_examples(
        context.store,
        task,
        bound,
        context.shards,
        condition,
        what,
        training.max_samples,
        context.inputs,
        held_out=held_out,
    )
    context.report(
        f"score.{entry.name}  training the {what} on {collected.count:,} of {collected.matching:,} samples"
        + "".join(f"; {count:,} {reason}" for reason, count in collected.excluded.items())
    )
    # The wanted checkpoints are among those that are saved for continuing.
    kept = replace(settings, keep=wanted * -(-RESUME_CHECKPOINTS // wanted))
    scratch = f"{layout.SCRATCH}score/{entry.name}/{key}/"
    checkpoints = list(_saved_checkpoints(context.store, scratch, kept.keep))
    start = checkpoints[-1] if checkpoints else begin
    if checkpoints and start is not None:
        context.report(f"score.{entry.name}  continues after step {start.step:,}")
    named = f"score.{entry.name}: training the {what}"
    for checkpoint in _told_by(named, task.train(collected.examples, collected.count, kept, reference, start)):
        if checkpoints and checkpoint.step <= checkpoints[-1].step:
            continue
        _require_finite(entry.name, what, checkpoint)
        checkpoints.append(checkpoint)
        raw = _checkpoint_bytes(checkpoint)
        context.store.objects.put(f"{scratch}{len(checkpoints):04d}.{content_name(raw)}.safetensors", raw)
    chosen = _pick_checkpoints(checkpoints, wanted, f"{named} on {collected.count:,} samples")
    done = _put(context.store, entry.name, key, [one.weights for one in chosen], collected.count)
    delete_objects(context.store.objects, [info.path for info in context.store.objects.list(scratch)])
    return done


def _told_by(named: str, checkpoints: Iterator[Checkpoint]) -> Iterator[Checkpoint]:
    """The checkpoints of a training, whose errors begin with its name: a recipe may have several."""
    try:
        yield from checkpoints
    except ScoreError as error:
        raise ScoreError(f"{named}: {str(error).removeprefix('training: ')}") from error


def _pick_checkpoints(checkpoints: Sequence[Checkpoint], wanted: int, what: str) -> list[Checkpoint]:
    """Return this many checkpoints at even distances, always with the last one; ScoreError if the training has too few
    steps."""
    total = checkpoints[-1].step
    steps = sorted({max(1, total * number // wanted) for number in range(1, wanted + 1)})
    found = {checkpoint.step: checkpoint for checkpoint in checkpoints}
    if len(steps) < wanted:
        raise ScoreError(
            f"{what} has {total:,} steps, fewer than the {wanted} checkpoints; lower 'checkpoints' or 'batch', or "
            "raise 'epochs'"
        )
    return [found[step] for step in steps]


def _require_finite(score: str, what: str, checkpoint: Checkpoint) -> None:
    for name, array in checkpoint.weights.items():
        if not np.isfinite(array).all():
            raise ScoreError(
                f"score.{score}: training the {what} diverged before step {checkpoint.step:,}: {name} is not finite; "
                "lower its learning_rate"
            )


def _put(store: Store, score: str, key: str, weights: Sequence[Weights], samples: int) -> StoredWeights:
    paths = []
    for weight in weights:
        raw = tensors_bytes(weight, {})
        path = layout.weights_object(score, key, content_name(raw))
        if not store.objects.exists(path):
            store.objects.put(path, raw)
        paths.append(path)
    stored = StoredWeights(key, tuple(paths), samples, current_fingerprint().name)
    put_record(store.objects, layout.weights_record(score, key), stored)
    return stored


def _checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    arrays: dict[str, Any] = {f"weight.{name}": array for name, array in checkpoint.weights.items()}
    arrays |= {f"state.{name}": array for name, array in checkpoint.state.items()}
    return tensors_bytes(arrays, {"step": str(checkpoint.step)})


def _saved_checkpoints(store: Store, scratch: str, most: int) -> Iterator[Checkpoint]:
    """Yield the checkpoints that a stopped training saved, up to the first one that is lost or damaged."""
    paths = sorted(info.path for info in store.objects.list(scratch))
    for number, path in enumerate(paths[:most], 1):
        if not path.startswith(f"{scratch}{number:04d}."):
            return
        try:
            found = tensors_of(read_content(store.objects, path), path)
        except (DamagedError, MissingError):
            return

        def part(prefix: str, arrays: Mapping[str, Any] = found.arrays) -> Weights:
            named = ((name.removeprefix(prefix), array) for name, array in arrays.items() if name.startswith(prefix))
            return {name: np.array(array) for name, array in named}

        yield Checkpoint(int(found.metadata["step"]), part("weight."), part("state."))

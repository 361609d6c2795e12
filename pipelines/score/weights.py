"""The weights that a score points to and looks from: given, merged or trained once, and kept in the store by their key.

A key says everything that weights depend on, so what stands is found again and workers read all weights from one place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from winnow.filters.models.tensors import read_tensors, tensors_bytes, tensors_of
from winnow.pipelines.binding.scores import BoundScore, Condition, WeightsFile, layers_of
from winnow.pipelines.media.score_inputs import Inputs
from winnow.pipelines.query.columns import Column
from winnow.pipelines.score.examples import ScoredShard, collect_examples
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.looks import load_hiding
from winnow.pipelines.store.state import StoreState
from winnow.schemas.errors import ScoreError
from winnow.schemas.fingerprint import current_fingerprint
from winnow.schemas.identity import Json, canonical_json, content_name, fingerprint_of
from winnow.schemas.recipe import TrainingConfig
from winnow.schemas.records import from_json
from winnow.scoring.merging import average, task_arithmetic
from winnow.scoring.tasks.protocol import Checkpoint, Task, TrainingSettings, Weights

RESUMED = 8  # checkpoints of a training from which it can go on

Tell = Callable[[str], None]
"""Says a line to whoever waits."""


@dataclass(frozen=True, slots=True)
class Made:
    """Weights that stand in the store, in the order of their steps."""

    key: str
    objects: tuple[str, ...]
    samples: int  # that they were trained on; 0 where they were given
    fingerprint: str = ""  # of the environment that made them, whose kind they are pinned to

    def to_json(self) -> bytes:
        """As it is kept."""
        return canonical_json(asdict(self)).encode()


@dataclass(frozen=True, slots=True)
class WeightKeys:
    """What the weights of a score depend on."""

    reference: str
    trajectory: str


def forgotten_by(store: Store) -> str:
    """What has been forgotten so far, for keys; empty for nothing."""
    tombstones = load_hiding(store.objects).tombstones
    return fingerprint_of(sorted(tombstones)) if tombstones else ""


def with_forgotten(key: str, forgotten: str) -> str:
    """A key of what is made of all rows but those that are forgotten."""
    return f"{key}-{forgotten}" if forgotten else key


def without_forgotten(key: str) -> str:
    """The key, whatever was forgotten when it was made."""
    return key.partition("-")[0]


def weight_keys(bound: BoundScore, state: StoreState, forgotten: str) -> WeightKeys:
    """The keys of a score's weights over what the state holds; the layers that trainings read must stand.

    Args:
        bound: The score.
        state: What is trained on.
        forgotten: What no training sees (`forgotten_by`).
    """
    if bound.entry.reference is None:
        return WeightKeys("", "")
    says = _reference_says(bound, state)
    if bound.adapted:
        trajectory = fingerprint_of(_trajectory_says(bound, state))
        reference = fingerprint_of({**says, "begins": trajectory})
    else:
        reference = fingerprint_of(says)
        towards: dict[str, Json] = {"reference": reference} if bound.looked is not None else {}
        trajectory = fingerprint_of({**_trajectory_says(bound, state), **towards})
    if bound.trusted is not None:
        reference = with_forgotten(reference, forgotten)
    if bound.looked is not None:
        trajectory = with_forgotten(trajectory, forgotten)
    return WeightKeys(reference, trajectory)


def _reference_says(bound: BoundScore, state: StoreState) -> dict[str, Json]:
    plan = bound.entry.reference
    assert plan is not None
    said: dict[str, Json] = {"weights": "reference", "settings": bound.settings}
    if bound.trusted is not None:
        return said | {"train": _said(bound, plan.training), "rows": _covered(bound, bound.trusted, state)}
    return said | {
        "given": [one.digest for one in bound.reference],
        "how": plan.how,
        "base": None if bound.base is None else bound.base.digest,
        "scale": plan.scale,
    }


def _trajectory_says(bound: BoundScore, state: StoreState) -> dict[str, Json]:
    plan = bound.entry.trajectory
    said: dict[str, Json] = {"weights": "trajectory", "settings": bound.settings}
    if bound.looked is None:
        return said | {"given": [one.digest for one in bound.trajectory]}
    return said | {
        "train": _said(bound, plan.training),
        "method": bound.method,
        "temperature": plan.temperature,
        "checkpoints": plan.checkpoints,
        "parameters": list(bound.entry.parameters),
        "rows": _covered(bound, bound.looked, state),
    }


def _covered(bound: BoundScore, condition: Condition, state: StoreState) -> Json:
    columns = tuple(dict.fromkeys((*bound.inputs, *condition.columns)))
    return {
        "condition": condition.text,
        "shards": [[one.shard, dict(one.objects)] for one in scored_shards(state, columns)],
    }


def scored_shards(state: StoreState, columns: tuple[Column, ...]) -> list[ScoredShard]:
    """Every shard in the order of names, with the objects of samples and of the layers of these columns."""
    layers = {
        layer: {commit.shard: commit.object.path for commit in state.layers[layer]}
        for layer in layers_of(columns)
        if layer != layout.SAMPLES
    }
    shards = sorted(state.shards, key=lambda one: one[1].shard)
    return [
        ScoredShard(
            record.shard,
            source,
            {layout.SAMPLES: record.object.path, **{layer: found[record.shard] for layer, found in layers.items()}},
        )
        for source, record in shards
    ]


def find_weights(store: Store, score: str, key: str, count: int) -> Made | None:
    """Weights that stand under a key, so many; None where there are none."""
    try:
        raw = store.objects.read(layout.weights_record(score, key))
    except FileNotFoundError:
        return None
    made = from_json(Made, raw, f"{store.objects.root}/{layout.weights_record(score, key)}")
    whole = len(made.objects) == count and all(store.objects.exists(path) for path in made.objects)
    return made if whole else None


def load_weights(store: Store, path: str) -> Weights:
    """The weights of one object."""
    return tensors_of(store.objects.read(path), f"{store.objects.root}/{path}").arrays


def note_use(store: Store, bound: BoundScore, keys: WeightKeys, traces: Iterable[str]) -> None:
    """Say which weights traces are made with, so that garbage can be told from them."""
    raw = canonical_json([keys.reference, keys.trajectory]).encode()
    for trace in sorted(traces):
        store.objects.put_if_absent(layout.weights_use(bound.entry.name, trace), raw)


@dataclass(frozen=True)
class Makers:
    """What making weights needs."""

    store: Store
    state: StoreState
    inputs: Inputs
    tell: Tell


def make_weights(makers: Makers, task: Task, bound: BoundScore, keys: WeightKeys) -> tuple[Made, Made]:
    """The reference and the trajectory, found or made; which of them is first depends on where the reference begins."""
    if bound.adapted:
        trajectory = make_trajectory(makers, task, bound, keys.trajectory, None)
        end = load_weights(makers.store, trajectory.objects[-1])
        return make_reference(makers, task, bound, keys.reference, end), trajectory
    reference = make_reference(makers, task, bound, keys.reference, None)
    towards = load_weights(makers.store, reference.objects[0])
    return reference, make_trajectory(makers, task, bound, keys.trajectory, towards)


def make_reference(makers: Makers, task: Task, bound: BoundScore, key: str, begin: Weights | None) -> Made:
    """The reference, found or made; it is trained on from `begin` where there is one."""
    score = bound.entry.name
    assert bound.entry.reference is not None
    if (found := find_weights(makers.store, score, key, 1)) is not None:
        return found
    if bound.trusted is None:
        return _put(makers.store, score, key, [_given_reference(task, bound)], 0)
    settings = _settings(bound, bound.entry.reference.training)
    start = None if begin is None else Checkpoint(0, begin, {})
    return _trained(makers, task, bound, key, bound.trusted, "reference", settings, None, 1, start)


def make_trajectory(makers: Makers, task: Task, bound: BoundScore, key: str, reference: Weights | None) -> Made:
    """The checkpoints that look, found or made."""
    score = bound.entry.name
    if (found := find_weights(makers.store, score, key, bound.entry.checkpoints)) is not None:
        return found
    if bound.looked is None:
        return _put(makers.store, score, key, [_checked(task, one) for one in bound.trajectory], 0)
    plan = bound.entry.trajectory
    settings = replace(
        _settings(bound, plan.training),
        method=bound.method,
        temperature=plan.temperature,
        parameters=bound.entry.parameters,
    )
    return _trained(makers, task, bound, key, bound.looked, "trajectory", settings, reference, plan.checkpoints)


def _settings(bound: BoundScore, training: TrainingConfig) -> TrainingSettings:
    """What the recipe says of a training, over what the task does by itself."""
    said = {name: getattr(training, name) for name in ("epochs", "batch", "learning_rate", "weight_decay")}
    by_itself = bound.kind.training(bound.config)
    return replace(by_itself, seed=bound.seed, **{name: one for name, one in said.items() if one is not None})


def _said(bound: BoundScore, training: TrainingConfig) -> dict[str, Json]:
    """All of a training that weights depend on."""
    return {**asdict(_settings(bound, training)), "parameters": [], "max_samples": training.max_samples}


def _given_reference(task: Task, bound: BoundScore) -> Weights:
    plan = bound.entry.reference
    assert plan is not None
    found = {one.file: _checked(task, one) for one in bound.reference}
    if plan.merge is None:
        return next(iter(found.values()))
    if bound.base is None:
        return average(found)
    return task_arithmetic(_checked(task, bound.base), found, plan.scale)


def _checked(task: Task, one: WeightsFile) -> Weights:
    weights = read_tensors(one.file).arrays
    task.check(weights, one.file)
    return weights


def _trained(
    makers: Makers,
    task: Task,
    bound: BoundScore,
    key: str,
    condition: Condition,
    what: str,
    settings: TrainingSettings,
    reference: Weights | None,
    wanted: int,
    begin: Checkpoint | None = None,
) -> Made:
    """Train, keeping what is needed to go on after a stop in the store's scratch."""
    entry = bound.entry
    training = entry.trajectory.training
    if what == "reference" and entry.reference is not None:
        training = entry.reference.training
    shards = scored_shards(makers.state, tuple(dict.fromkeys((*bound.inputs, *condition.columns))))
    collected = collect_examples(
        makers.store, task, bound, shards, condition, what, training.max_samples, makers.inputs
    )
    makers.tell(
        f"score.{entry.name}  training the {what} on {collected.count:,} of {collected.meant:,} samples"
        + "".join(f"; {count:,} {reason}" for reason, count in collected.left.items())
    )
    # The checkpoints that are wanted are among those that are kept to go on from.
    kept = replace(settings, keep=wanted * -(-RESUMED // wanted))
    scratch = f"{layout.SCRATCH}score/{entry.name}/{key}/"
    made = list(_standing(makers.store, scratch, kept.keep))
    start = made[-1] if made else begin
    if made and start is not None:
        makers.tell(f"score.{entry.name}  going on after step {start.step:,}")
    for checkpoint in task.train(collected.examples, collected.count, kept, reference, start):
        if made and checkpoint.step <= made[-1].step:
            continue
        _finite(entry.name, what, checkpoint)
        made.append(checkpoint)
        makers.store.objects.put(f"{scratch}{len(made):04d}.safetensors", _checkpoint_bytes(checkpoint))
    chosen = _chosen(made, wanted, f"score.{entry.name}: training the {what} on {collected.count:,} samples")
    done = _put(makers.store, entry.name, key, [one.weights for one in chosen], collected.count)
    for info in list(makers.store.objects.list(scratch)):
        makers.store.objects.delete(info.path)
    return done


def _chosen(made: Sequence[Checkpoint], wanted: int, what: str) -> list[Checkpoint]:
    """So many of the checkpoints, evenly over the steps; the last is always one.

    Raises:
        ScoreError: There are fewer steps than that.
    """
    total = made[-1].step
    steps = sorted({max(1, total * number // wanted) for number in range(1, wanted + 1)})
    found = {one.step: one for one in made}
    if len(steps) < wanted:
        raise ScoreError(
            f"{what} has {total:,} steps, and {wanted} checkpoints are asked for; lower 'checkpoints' or 'batch', or "
            "raise 'epochs'"
        )
    return [found[step] for step in steps]


def _finite(score: str, what: str, checkpoint: Checkpoint) -> None:
    for name, array in checkpoint.weights.items():
        if not np.isfinite(array).all():
            raise ScoreError(
                f"score.{score}: training the {what} diverged before step {checkpoint.step:,}: {name} is not finite; "
                "lower its learning_rate"
            )


def _put(store: Store, score: str, key: str, weights: Sequence[Weights], samples: int) -> Made:
    paths = []
    for one in weights:
        raw = tensors_bytes(one, {})
        path = layout.weights_object(score, key, content_name(raw))
        if not store.objects.exists(path):
            store.objects.put(path, raw)
        paths.append(path)
    made = Made(key, tuple(paths), samples, current_fingerprint().name)
    store.objects.put(layout.weights_record(score, key), made.to_json())
    return made


def _checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    arrays: dict[str, Any] = {f"weight.{name}": array for name, array in checkpoint.weights.items()}
    arrays |= {f"state.{name}": array for name, array in checkpoint.state.items()}
    return tensors_bytes(arrays, {"step": str(checkpoint.step)})


def _standing(store: Store, scratch: str, most: int) -> Iterator[Checkpoint]:
    """The checkpoints that a stopped training left, from the first on without a gap."""
    for number in range(1, most + 1):
        path = f"{scratch}{number:04d}.safetensors"
        if not store.objects.exists(path):
            return
        found = tensors_of(store.objects.read(path), path)

        def part(prefix: str, arrays: Mapping[str, Any] = found.arrays) -> Weights:
            named = ((name.removeprefix(prefix), array) for name, array in arrays.items() if name.startswith(prefix))
            return {name: np.array(array) for name, array in named}

        yield Checkpoint(int(found.metadata["step"]), part("weight."), part("state."))

"""What `benchmarks.mimic.text` ranks by: losses and Mimic scores of passages, kept so that more can be added.

One gradient a passage gives the scores of every choice of parameters and their cosines at once. `differences_from_task`
holds them against what winnow's task `language_model` says of the same passages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.mimic.models import END, Models, Plan, encoder_of
from benchmarks.mimic.passages import Trial
from winnow.pipelines.assets.cached import AssetFiles
from winnow.scoring.mimic.direction import chosen_parameters, direction
from winnow.scoring.probe.grid import Shape
from winnow.scoring.probe.model import mean_loss
from winnow.scoring.probe.training import deterministic
from winnow.scoring.protocol import Task, Weights
from winnow.scoring.tasks.language_model import TASK, LanguageModelConfig
from winnow.scoring.torch_models.blocks import Size

GLOBS: Final = {"all": ("*",), "last": ("3.mlp.*",)}
"""All parameters, and the last layer as the paper has it for text: the MLP of the last block."""

Floats = NDArray[np.float64]
Tokens = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of passages at one checkpoint: their losses, and by the names of `GLOBS` their scores of both kinds."""

    loss: Floats
    projection: Mapping[str, Floats]
    cosine: Mapping[str, Floats]


def tokens_of(models: Models, trials: Sequence[Trial], context: int) -> list[Tokens]:
    """Passages as the models read them: behind an end, as many tokens as they learnt to see at once."""
    encoder = encoder_of(models.tokenizer)
    end = encoder.token_to_id(END)
    encoded = encoder.encode_batch([trial.text for trial in trials], add_special_tokens=False)
    return [np.array([end, *one.ids[:context]], np.int64) for one in encoded]


def losses_at(shape: Shape, weights: Weights, tokens: Sequence[Tokens]) -> Floats:
    """The mean loss of each passage, in nats a token."""
    torch: Any = import_module("torch")
    parameters = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    with deterministic("cpu", 1), torch.no_grad():
        return np.array([[float(mean_loss(parameters, shape, torch.from_numpy(one)[None]))] for one in tokens])


def scores_of(rows: Floats) -> Scores:
    """What `gradients_at` says, by its names."""
    loss, projections, norms = rows[:, 0], rows[:, 1::2], rows[:, 2::2]
    return Scores(
        loss, dict(zip(GLOBS, projections.T, strict=True)), dict(zip(GLOBS, (projections / norms).T, strict=True))
    )


def gradients_at(shape: Shape, at: Weights, reference: Weights, tokens: Sequence[Tokens]) -> Floats:
    """A row a passage: its loss, then the projection and the norm of its gradient for each of `GLOBS`."""
    torch: Any = import_module("torch")
    parameters = {name: torch.from_numpy(np.array(value)).requires_grad_() for name, value in at.items()}
    names = list(parameters)
    ways = []
    for globs in GLOBS.values():
        chosen = chosen_parameters(names, globs)
        unit = direction(at, reference, chosen).unit
        ways.append([(names.index(name), torch.from_numpy(np.array(unit[name]))) for name in chosen])
    rows = np.empty((len(tokens), 1 + 2 * len(ways)))
    with deterministic("cpu", 1):
        for row, one in zip(rows, tokens, strict=True):
            loss = mean_loss(parameters, shape, torch.from_numpy(one)[None])
            gradients = torch.autograd.grad(loss, list(parameters.values()))
            found = [float(loss.detach())]
            for way in ways:
                slope = sum(float(torch.vdot(gradients[place].flatten(), unit.flatten())) for place, unit in way)
                found += [-slope, sum(float(gradients[place].square().sum()) for place, _ in way) ** 0.5]
            row[:] = found
    return rows


def kept(
    file: Path, trials: Sequence[Trial], tokens: Sequence[Tokens], compute: Callable[[Sequence[Tokens]], Floats]
) -> Floats:
    """Rows of trials out of a file; those that are not in it are computed of their tokens and added."""
    held: dict[str, list[float]] = {}
    if file.exists():
        table = pq.read_table(file)
        held = dict(zip(table["name"].to_pylist(), table["row"].to_pylist(), strict=True))
    missing = [place for place, trial in enumerate(trials) if trial.name not in held]
    if missing:
        made = compute([tokens[place] for place in missing])
        held |= {trials[place].name: row.tolist() for place, row in zip(missing, made, strict=True)}
        table = pa.table({"name": list(held), "row": pa.array(list(held.values()), pa.list_(pa.float64()))})
        unfinished = file.with_suffix(".unfinished")
        pq.write_table(table, unfinished)
        unfinished.rename(file)
    return np.array([held[trial.name] for trial in trials])


def language_task(models: Models, plan: Plan) -> Task:
    """Winnow's own task for the models of a plan."""
    size = Size(layers=plan.shape.layers, width=plan.shape.width, heads=plan.shape.heads)
    context = plan.schedule.context
    config = LanguageModelConfig(str(models.tokenizer), start=END, network=size, max_tokens=context)
    return cast(Task, TASK.load(config, AssetFiles()))  # no measure


def difference_from_task(
    task: Task, at: Weights, reference: Weights, parameters: str, trials: Sequence[Trial], ours: Floats
) -> float:
    """How far scores are from those of winnow's task, of the largest."""
    places = task.initial(0)["places"].shape
    at, reference = ({**one, "places": _longer(one["places"], places)} for one in (at, reference))
    texts = pa.record_batch({"text": pa.array([trial.text for trial in trials], pa.large_string())})
    said = task.scorer(at, reference, GLOBS[parameters])(task.encode(texts).examples)
    return float(np.abs(said.score - ours).max() / np.abs(ours).max())


def _longer(places: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Embeddings of places with zeros for places that no passage reaches."""
    return np.concatenate([places, np.zeros((shape[0] - len(places), shape[1]), places.dtype)])

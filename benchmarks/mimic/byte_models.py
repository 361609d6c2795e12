"""The passages of `benchmarks.mimic.text` under winnow's task `next_byte`: what is had without PyTorch.

The same trusted subset makes the reference and the same pool the checkpoints, with the task's own training and scores.
"""

from collections.abc import Iterable, Sequence
from typing import Final, cast

import pyarrow as pa

from benchmarks.mimic.passages import SEED, Texts, Trial
from benchmarks.mimic.scores import Floats, Scores
from winnow.pipelines.assets.cached import AssetFiles
from winnow.scoring.protocol import Encoded, Task, TrainingSettings, Weights
from winnow.scoring.tasks.next_byte import TASK

_ALL: Final = ("*",)
_RATE = 0.1  # as the task advises
_EPOCHS, _POOL_EPOCHS = 3, 2
_EARLY, _KEPT = (0, 1, 2), 10  # of the reference's checkpoints: at 10, 20 and 30 % of the steps
_LATE, _POOL_KEPT = (1, 2, 3), 4  # of the pool's: at 50, 75 and 100 %


def byte_scores(texts: Texts, trials: Sequence[Trial]) -> tuple[Floats, dict[str, list[Scores]]]:
    """The reference's loss of each trial, and scores by kind of checkpoints."""
    task = cast(Task, TASK.load(TASK.config(), AssetFiles()))  # no measure
    trusted = _trained(task, (text for held in texts.trusted.values() for text in held), _EPOCHS, _KEPT)
    pool = _trained(task, (text for held in texts.pool.values() for text in held), _POOL_EPOCHS, _POOL_KEPT)
    reference, tried = trusted[-1], _encoded(task, (trial.text for trial in trials))
    checkpoints = {"pool": [pool[place] for place in _LATE], "early": [trusted[place] for place in _EARLY]}
    return task.losses(reference, tried.examples), {
        family: [_scores(task, at, reference, tried) for at in many] for family, many in checkpoints.items()
    }


def _scores(task: Task, at: Weights, reference: Weights, tried: Encoded) -> Scores:
    plain = task.scorer(at, reference, _ALL)(tried.examples)
    cosine = task.scorer(at, reference, _ALL, cosine=True)(tried.examples)
    return Scores(plain.loss, {"all": plain.score}, {"all": cosine.score})


def _trained(task: Task, texts: Iterable[str], epochs: int, keep: int) -> list[Weights]:
    found = _encoded(task, texts)
    settings = TrainingSettings(epochs=epochs, learning_rate=_RATE, seed=SEED, keep=keep)
    return [made.weights for made in task.train(found.examples, found.count, settings, None, None)]


def _encoded(task: Task, texts: Iterable[str]) -> Encoded:
    return task.encode(pa.record_batch({"text": pa.array(list(texts), pa.large_string())}))

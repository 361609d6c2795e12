"""How much of the gap between plain training and the reference do temperatures close, by steps and initial head?

    python -m benchmarks.mimic.temperatures [--pixels] [--quick] [--json]

Linear probing with half of the labels wrong, as in `benchmarks.mimic` and on its four sets of images: at the paper's 5
epochs, at ten times its rate, and at ten times its steps; the run's head begins with a seed of its own, or with the
reference's as by the official command line. `x1` is `temperature: {relative: 1}`. Each set's last table multiplies the
features, first with the training as it is, then with steps that are as long for what the head says as before.
"""

import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import orjson

from benchmarks.measuring.reporting import benchmark_arguments, machine
from benchmarks.mimic.embeddings import Embedded, Embedding, embedded
from benchmarks.mimic.images import IMAGE_SETS
from benchmarks.mimic.runs import MIMIC_LAYER, REFERENCE_SEED, accuracy, noisy, run
from winnow.schemas.recipe.score import RelativeTemperature, Temperature
from winnow.scoring.linear.head import BIAS, WEIGHT, initial_head
from winnow.scoring.linear.training import train_head
from winnow.scoring.protocol import Checkpoint, TrainingSettings

NOISE: Final = 0.5
SEEDS: Final = (1, 2, 3)
TEMPERATURES: Final[tuple[Temperature, ...]] = (
    *(1.0, 0.5, 0.25, 0.15, 0.05),
    *(RelativeTemperature(one) for one in (2.0, 1.0, 0.5, 0.25)),
)
TRAININGS: Final = {
    "5 epochs at 1e-4": (5, 1e-4),
    "5 epochs at 1e-3": (5, 1e-3),
    "50 epochs at 1e-4": (50, 1e-4),
}
NORMS: Final = (0.4, 1.0, 2.0)
OF_SAME_STEPS: Final = 10
"""So many seeds where steps are as long as before: what is left of a change is then small."""
OF_NORMS: Final[tuple[Temperature, ...]] = (1.0, 0.25, RelativeTemperature(1.0), RelativeTemperature(0.5))
SGD, RHO, REFERENCE = "SGD", "Rho", "the reference itself"

Accuracies = dict[str, list[float]]


def named(temperature: Temperature) -> str:
    """A temperature as a row of the table."""
    shown = f"x{temperature.relative:g}" if isinstance(temperature, RelativeTemperature) else f"{temperature:g}"
    return f"Grad-Mimic, temperature {shown}"


@dataclass(frozen=True, slots=True)
class Norm:
    """What features are multiplied by.

    AdamW's steps have the length of the rate, whatever the gradient, so features of a larger norm train a head faster.
    `same_steps` divides the rate and the first head by the factor, and multiplies the decay: then the head says the
    same at every step, and only what reads scores can notice the norm (but for the bias, whose rate changes, too).
    """

    times: float = 1.0
    same_steps: bool = False

    def features(self, of: Embedded) -> Embedded:
        """A set with features of this norm."""
        return replace(of, train=np.float32(self.times) * of.train, test=np.float32(self.times) * of.test)

    def settings(self, plain: TrainingSettings) -> TrainingSettings:
        """Settings of a training on such features."""
        by = self.times if self.same_steps else 1.0
        return replace(plain, learning_rate=plain.learning_rate / by, weight_decay=plain.weight_decay * by)

    def start(self, of: Embedded, seed: int) -> Checkpoint:
        """The first head."""
        by = np.float32(self.times if self.same_steps else 1.0)
        head = initial_head(of.classes, of.train.shape[1], seed)
        return Checkpoint(0, {WEIGHT: head[WEIGHT] / by, BIAS: head[BIAS]}, {})


AS_IT_IS: Final = Norm()


def accuracies(
    of: Embedded,
    epochs: int,
    rate: float,
    temperatures: tuple[Temperature, ...],
    seeds: tuple[int, ...],
    same: bool,
    norm: Norm = AS_IT_IS,
) -> Accuracies:
    """The accuracy of every method, one per seed; `same` begins runs with the reference's head."""
    of = norm.features(of)
    plain = norm.settings(
        TrainingSettings(epochs=epochs, learning_rate=rate, seed=REFERENCE_SEED, parameters=MIMIC_LAYER)
    )
    *_, last = train_head(of.train, of.train_labels, of.classes, plain, start=norm.start(of, plain.seed))
    reference = last.weights
    found: Accuracies = defaultdict(list)
    for seed in seeds:
        # The same seed also sets the order of samples, as it does in the official code; noise differs by seed.
        own = REFERENCE_SEED if same else seed
        labels = noisy(of.train_labels, of.classes, NOISE, seed).labels
        found[REFERENCE].append(accuracy(reference, of.test, of.test_labels))
        settings, start = replace(plain, seed=own), norm.start(of, own)
        found[SGD].append(run(of, labels, settings, reference, start=start).accuracy)
        rho = replace(settings, method="rho", parameters=("*",))
        found[RHO].append(run(of, labels, rho, reference, start=start).accuracy)
        for temperature in temperatures:
            ours = replace(settings, method="mimic", temperature=temperature)
            found[named(temperature)].append(run(of, labels, ours, reference, start=start).accuracy)
    return found


def closed(found: Accuracies, row: str) -> float:
    """The part of the gap between plain training and the reference that a method closes, in percent."""
    plain, best = statistics.fmean(found[SGD]), statistics.fmean(found[REFERENCE])
    return 100 * (statistics.fmean(found[row]) - plain) / (best - plain)


def table(columns: dict[str, Accuracies]) -> str:
    """Accuracy and the part of the gap that is closed."""
    lines = [f"| | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
    for row in next(iter(columns.values())):
        cells = []
        for found in columns.values():
            mean, spread = statistics.fmean(found[row]), statistics.stdev(found[row]) if len(found[row]) > 1 else 0.0
            gap = "" if row in (SGD, REFERENCE) else f", {closed(found, row):.0f} %"
            cells.append(f"{mean:.1f} ± {spread:.1f}{gap}")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tables(of: Embedded, seeds: tuple[int, ...]) -> dict[str, dict[str, Accuracies]]:
    """Prints a set's two tables and returns their numbers."""
    columns: dict[str, Accuracies] = {}
    for training, (epochs, rate) in TRAININGS.items():
        for same in (False, True):
            print(f"{of.name}, {training} …", file=sys.stderr)
            name = f"{training}, {'same' if same else 'own'} head"
            columns[name] = accuracies(of, epochs, rate, TEMPERATURES, seeds, same)
    print(f"\n{of.name}, noise {NOISE}, {len(of.train):,} images\n\n{table(columns)}", flush=True)
    epochs, rate = TRAININGS["5 epochs at 1e-3"]
    scaled: dict[str, Accuracies] = {}
    for times, longer in ((1, ""), (10, ", 50 epochs")):
        for same_steps in (False, True):
            drawn = tuple(range(1, OF_SAME_STEPS + 1)) if same_steps and len(seeds) > 1 else seeds
            for norm in NORMS:
                name = f"features times {norm:g}{longer}{', same steps' if same_steps else ''}"
                print(f"{of.name}, {name} …", file=sys.stderr)
                given = Norm(norm, same_steps)
                scaled[name] = accuracies(of, times * epochs, rate, OF_NORMS, drawn, False, given)
    print(f"\n{of.name}, 5 epochs at 1e-3, own head\n\n{table(scaled)}", flush=True)
    return {"columns": columns, "norms": scaled}


def main() -> int:
    """The tables of every set; with `--json` an object with every number."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--pixels", action="store_true", help="the features are the pixels, which need no network")
    options = parser.parse_args()
    seeds = SEEDS[:1] if options.quick else SEEDS
    embedding: Embedding = "pixels" if options.pixels else "network"
    sets = {one.name: tables(embedded(one, embedding), seeds) for one in IMAGE_SETS[-1 if options.quick else 0 :]}
    if options.json:
        print(orjson.dumps({"name": "mimic.temperatures", "sets": sets, "machine": machine()}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

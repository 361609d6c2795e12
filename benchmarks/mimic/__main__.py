"""Are the findings on Grad-Mimic (arXiv 2501.06708, linear probing) had again on other images and another encoder?

    python -m benchmarks.mimic [--quick] [--json]

Heads on frozen embeddings of four sets of real images, some labels wrong, by the paper's settings: accuracy of plain
training, GraNd, Rho and Grad-Mimic; how well the mislabelled samples are found; estimated quality against noise. Five
seeds, means and standard deviations. Embedding the images needs PyTorch, once (`make trainers`); all else is numpy.
"""

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import orjson

from benchmarks.measuring.reporting import benchmark_arguments, machine
from benchmarks.mimic.embeddings import Embedded, Embedding, embedded
from benchmarks.mimic.images import IMAGE_SETS
from benchmarks.mimic.runs import (
    AGGREGATIONS,
    REFERENCE_SEED,
    RULES,
    accuracy,
    detections,
    f1,
    noisy,
    predicted,
    reference_of,
    run,
    settings_of,
)
from winnow.scoring.protocol import Method
from winnow.scoring.selection import pearson, retained

NOISE: Final = (0.4, 0.5, 0.6)
NOISE_OF_QUALITY: Final = (0.3, 0.4, 0.5, 0.6, 0.7)
PAPER_PEARSON: Final = -0.903
SEEDS: Final = (1, 2, 3, 4, 5)
METHODS: Final[dict[Method, str]] = {"uniform": "SGD", "grand": "GraNd", "rho": "Rho", "mimic": "Grad-Mimic"}
TEMPERATURES: Final = (0.5, 0.15, 0.05)  # beside the paper's 1
LONG_METHODS: Final[tuple[Method, ...]] = ("uniform", "rho", "mimic")
LONG_EPOCHS: Final = 50  # on 5,000 images: the steps that the paper's CIFAR-10 has in 5
TRUSTED: Final = 0.1
FILTER: Final = ("scores", "gmm", "label_model")
REFERENCE, TRUSTED_REFERENCE = "reference", f"reference, {TRUSTED:.0%} trusted"
KEPT, BY_TRUSTED = "SGD on what the filter keeps", f"Grad-Mimic, {TRUSTED:.0%} trusted"
BY_REFERENCE = "reference disagrees"


class Results:
    """Numbers by table, row and column (image set, noise), one a seed."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, str, float], list[float]] = defaultdict(list)

    def add(self, table: str, row: str, name: str, noise: float, value: float) -> None:
        """One more seed."""
        self._held[table, row, name, noise].append(value)

    def values(self, table: str, row: str) -> dict[tuple[str, float], tuple[float, float]]:
        """Means and standard deviations of a row."""
        return {
            (name, noise): (statistics.fmean(held), statistics.stdev(held) if len(held) > 1 else 0.0)
            for (of, line, name, noise), held in self._held.items()
            if (of, line) == (table, row)
        }

    def rows(self, table: str) -> list[str]:
        """The rows of a table, as they came."""
        return list(dict.fromkeys(row for of, row, _, _ in self._held if of == table))

    def markdown(self, table: str, decimals: int = 1) -> str:
        """A table: a column for each set, the noises in one cell."""
        names = list(dict.fromkeys(name for of, _, name, _ in self._held if of == table))
        lines = ["", table, "", f"| | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
        for row in self.rows(table):
            found = self.values(table, row)
            cells = [
                " / ".join(
                    f"{mean:.{decimals}f} ± {sd:.{decimals}f}" for (of, _), (mean, sd) in found.items() if of == name
                )
                for name in names
            ]
            lines.append(f"| {row} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def objects(self) -> list[dict[str, object]]:
        """All of it, for `--json`."""
        return [
            {"table": table, "row": row, "set": name, "noise": noise, "values": held}
            for (table, row, name, noise), held in self._held.items()
        ]


def probe(results: Results, embedding: Embedding, of: Embedded, seeds: Sequence[int]) -> None:
    """Every method on one set, noises from low to high; detection and quality out of the runs of Grad-Mimic."""
    reference = reference_of(of)
    plain = settings_of("uniform", REFERENCE_SEED)
    trusted = reference_of(of, round(plain.epochs / TRUSTED), int(TRUSTED * len(of.train)))  # about as many steps
    clean = accuracy(reference, of.test, of.test_labels)
    for noise in NOISE_OF_QUALITY:
        for seed in seeds:
            given = noisy(of.train_labels, of.classes, noise, seed)
            ours = run(of, given.labels, settings_of("mimic", seed), reference)
            found = detections(ours.trace, given.wrong)
            for (source, rule, how), one in found.items():
                results.add(f"quality, {embedding}, {source}", f"{rule}, {how}", of.name, noise, one.quality)
            if noise not in NOISE:
                continue
            for (source, rule, how), one in found.items():
                results.add(f"F1, {embedding}, {source}", f"{rule}, {how}", of.name, noise, one.f1)
            disagrees = predicted(reference, of.train) != given.labels
            results.add(f"F1, {embedding}, weights", BY_REFERENCE, of.name, noise, f1(disagrees, given.wrong))
            table = f"accuracy, {embedding}"
            for method, name in METHODS.items():
                other = ours if method == "mimic" else run(of, given.labels, settings_of(method, seed), reference)
                results.add(table, name, of.name, noise, other.accuracy)
            which = retained(found[FILTER].kept) != 0
            plain = settings_of("uniform", seed)
            longer = replace(plain, epochs=max(plain.epochs, round(plain.epochs / which.mean())))  # as many steps
            results.add(table, KEPT, of.name, noise, run(of, given.labels, longer, reference, which).accuracy)
            results.add(table, REFERENCE, of.name, noise, clean)
            by_trusted = run(of, given.labels, settings_of("mimic", seed), trusted)
            results.add(table, BY_TRUSTED, of.name, noise, by_trusted.accuracy)
            found_by_trusted = accuracy(trusted, of.test, of.test_labels)
            results.add(table, TRUSTED_REFERENCE, of.name, noise, found_by_trusted)


def vary(results: Results, of: Embedded, seeds: Sequence[int], noise: float = 0.5) -> None:
    """What other temperatures, and ten times the steps, change."""
    reference, longer = reference_of(of), reference_of(of, LONG_EPOCHS)
    for seed in seeds:
        labels = noisy(of.train_labels, of.classes, noise, seed).labels
        for temperature in (1.0, *TEMPERATURES):
            settings = replace(settings_of("mimic", seed), temperature=temperature)
            found = run(of, labels, settings, reference).accuracy
            results.add("temperature", f"{temperature:g}", of.name, noise, found)
        table = f"{LONG_EPOCHS} epochs"
        for method in LONG_METHODS:
            name, settings = METHODS[method], replace(settings_of(method, seed), epochs=LONG_EPOCHS)
            results.add(table, name, of.name, noise, run(of, labels, settings, longer).accuracy)
        settings = replace(settings_of("mimic", seed), epochs=LONG_EPOCHS, temperature=TEMPERATURES[-1])
        found = run(of, labels, settings, longer).accuracy
        results.add(table, f"Grad-Mimic, temperature {settings.temperature:g}", of.name, noise, found)
        results.add(table, REFERENCE, of.name, noise, accuracy(longer, of.test, of.test_labels))


def correlations(results: Results, embeddings: Iterable[Embedding]) -> list[tuple[str, str, float, float]]:
    """Of estimated quality with noise, a point a set and noise as the paper has them; and the mean error."""
    found = []
    for embedding in embeddings:
        for source in ("weights", "scores"):
            table = f"quality, {embedding}, {source}"
            for row in (f"{rule}, {how}" for rule in RULES for how in AGGREGATIONS):
                points = [(noise, mean) for (_, noise), (mean, _) in results.values(table, row).items()]
                of = pearson(*zip(*points, strict=True))
                error = float(np.mean([abs(mean - (1 - noise)) for noise, mean in points]))
                found.append((table, row, float("nan") if of is None else of, error))
    return found


def main() -> int:
    """The tables; with `--json` an object with every number."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    seeds = SEEDS[:2] if options.quick else SEEDS
    sets = IMAGE_SETS[-1:] if options.quick else IMAGE_SETS
    embeddings: tuple[Embedding, ...] = ("network", "pixels")
    results = Results()
    for embedding in embeddings:
        for of in sets:
            print(f"{of.name}, {embedding} …", file=sys.stderr)
            probe(results, embedding, embedded(of, embedding), seeds)
    for of in sets:
        print(f"{of.name}, temperatures and {LONG_EPOCHS} epochs …", file=sys.stderr)
        vary(results, embedded(of, "network"), seeds)
    tables = [f"{kind}, {embedding}" for embedding in embeddings for kind in ("accuracy", "F1", "quality")]
    for table in tables:
        kinds = [table] if table.startswith("accuracy") else [f"{table}, {source}" for source in ("weights", "scores")]
        for kind in kinds:
            print(results.markdown(kind, 3 if kind.startswith("quality") else 1))
    print(results.markdown("temperature"))
    print(results.markdown(f"{LONG_EPOCHS} epochs"))
    told = correlations(results, embeddings)
    print(f"\nestimated quality against noise: Pearson r (the paper's: {PAPER_PEARSON}), mean error\n")
    for table, row, of_noise, error in told:
        print(f"| {table} | {row} | {of_noise:.3f} | {error:.3f} |")
    if options.json:
        correlated = [{"table": table, "row": row, "r": r, "error": error} for table, row, r, error in told]
        said = {"name": "mimic", "results": results.objects(), "quality": correlated, "machine": machine()}
        print(orjson.dumps(said).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

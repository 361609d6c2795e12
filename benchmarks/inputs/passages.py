"""Short passages of real text in many languages, from which documents without number can be put together.

A passage is a few words in a row with what stands between them, as somebody wrote them. They come from the pages of
`benchmarks.inputs.documents`, and for Thai, Lao and Burmese, which have no such pages, from the messages that programs
show in these languages. Two texts of passages in random order share hardly a shingle of five words.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.inputs.pages import CACHE, unpacked_packages
from benchmarks.inputs.resemblance import span_hashes
from winnow.filters.language.words import segment

UNSPACED = ("ja", "km", "lo", "my", "th", "zh")  # languages whose words no spaces divide
CATALOGUES = {
    "libreoffice-l10n-th": ("th",),
    "libgtk-3-common": ("th", "my"),
    "mate-desktop-common": ("th", "lo"),
    "iso-codes": ("lo", "my"),
}
LEAST_PASSAGES = 100  # a language with fewer is left out
_DOCUMENTS = 50_000
_LONG, _UNSPACED_LONG = (3, 4, 5, 6, 7), (3, 4, 5)  # words a passage, in turn
_SHORT = (1, 2, 3)  # where there is so little text that longer passages would come again and again
_SHORT_BELOW_BYTES = 500_000
_MOST_BYTES_A_WORD = 40  # what is longer is a table's rule, a path or a key rather than words
_WORDS = 4_096  # words a language that edits choose from
_CATALOGUE_MAGIC = 0x950412DE
_SCRIPTS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0xA4CF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D))

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pool:
    """Strings by language: those of language i are `texts[starts[i] : starts[i + 1]]`."""

    starts: Indices
    texts: pa.LargeStringArray

    @property
    def sizes(self) -> Indices:
        """How many strings each language has."""
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True)
class Passages:
    """Distinct passages and distinct words of every language."""

    languages: tuple[str, ...]
    passages: Pool
    words: Pool

    @property
    def unspaced(self) -> npt.NDArray[np.bool_]:
        """Whether no spaces divide the words of each language."""
        return np.array([language.startswith(UNSPACED) for language in self.languages])

    @property
    def mean_bytes(self) -> Indices:
        """The size of each language's passages, at least 1."""
        ends = np.frombuffer(self.passages.texts.buffers()[1], np.int64)[self.passages.starts]
        return np.maximum(np.diff(ends) // self.passages.sizes, 1)


def real_passages(cache: Path = CACHE) -> Passages:
    """Passages of all the real text there is."""
    documents = pq.read_table(cached_documents(_DOCUMENTS), columns=["language", "text"])
    languages, texts = documents["language"].combine_chunks(), documents["text"].combine_chunks()
    found = list(_messages(cache))
    return passages_of(
        pa.concat_arrays([languages, pa.array([language for language, _ in found], pa.string())]),
        pa.concat_arrays([texts, pa.array([text for _, text in found], pa.large_string())]),
    )


def passages_of(languages: pa.StringArray, texts: pa.LargeStringArray) -> Passages:
    """Cut texts into passages; the same ones whatever the order of the texts."""
    kept: list[str] = []
    passages: list[pa.LargeStringArray] = []
    words: list[pa.LargeStringArray] = []
    for language in sorted(pc.unique(languages).to_pylist()):
        own = texts.filter(pc.equal(languages, language))
        found, single = _cut(pc.take(own, pc.array_sort_indices(own)), language.startswith(UNSPACED))
        if len(found) >= LEAST_PASSAGES:
            kept.append(language)
            passages.append(found)
            words.append(single)
    if not kept:
        raise SystemExit(f"benchmarks.inputs.passages: no language has {LEAST_PASSAGES} passages; give more text")
    return Passages(tuple(kept), _pool(passages), _pool(words))


def _pool(parts: list[pa.LargeStringArray]) -> Pool:
    return Pool(np.cumsum([0, *map(len, parts)]), pa.concat_arrays(parts))


def _cut(texts: pa.LargeStringArray, unspaced: bool) -> tuple[pa.LargeStringArray, pa.LargeStringArray]:
    """The distinct passages and words of texts in one language, ordered by their hashes."""
    words = segment(texts, "unicode")
    fits = _of_unspaced_script(words.buffer, words.starts) == unspaced
    lengths = _UNSPACED_LONG if unspaced else _LONG
    if pc.sum(pc.binary_length(texts)).as_py() < _SHORT_BELOW_BYTES:
        lengths = _SHORT
    firsts = np.cumsum(np.resize(lengths, len(words.starts) // min(lengths) + 2))
    firsts = firsts[firsts < len(words.starts)]
    begins, ends = firsts[:-1], firsts[1:]
    document = np.searchsorted(words.documents, begins, side="right")
    within = ends < words.documents[document]  # what follows is of the same text, and so is the space before it
    sizes = words.starts[ends] - words.starts[begins]
    of_script = np.diff(np.concatenate([[0], np.cumsum(fits)])[firsts])
    # A name in Latin letters may stand in a text of another script, but a text in Latin letters is not of its language.
    usual = of_script * 2 > ends - begins if unspaced else of_script == ends - begins
    held = within & usual & (sizes <= _MOST_BYTES_A_WORD * (ends - begins))
    passages = _distinct(words.buffer, words.starts[begins[held]], words.starts[ends[held]])
    single = _distinct(words.buffer, words.starts[fits], words.ends[fits])[:_WORDS]
    space = pa.scalar("" if unspaced else " ", pa.large_string())
    return passages, pc.binary_join_element_wise(single, space, pa.scalar("", pa.large_string()))


def _distinct(buffer: npt.NDArray[np.uint8], starts: Indices, ends: Indices) -> pa.LargeStringArray:
    _, kept = np.unique(span_hashes(buffer, starts, ends), return_index=True)
    lengths = ends[kept] - starts[kept]
    places = np.arange(int(lengths.sum())) + np.repeat(starts[kept] - (np.cumsum(lengths) - lengths), lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return strings_of(offsets, pa.py_buffer(buffer[places]))


def strings_of(offsets: Indices, values: pa.Buffer) -> pa.LargeStringArray:
    """The strings that lie between offsets of a buffer."""
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(np.ascontiguousarray(offsets)), values)


def _of_unspaced_script(buffer: npt.NDArray[np.uint8], starts: Indices) -> npt.NDArray[np.bool_]:
    """Whether the character at each place belongs to a script that divides no words; all of those have three bytes."""
    padded = np.concatenate([buffer, np.zeros(2, np.uint8)]).astype(np.int64)
    lead = padded[starts]
    points = ((lead & 15) << 12) | ((padded[starts + 1] & 63) << 6) | (padded[starts + 2] & 63)
    inside: npt.NDArray[np.bool_] = np.zeros(len(starts), np.bool_)
    for low, high in _SCRIPTS:
        inside |= (points >= low) & (points <= high) & (lead >> 4 == 14)
    return inside


def _messages(cache: Path) -> Iterator[tuple[str, str]]:
    """What the programs of some packages say in languages that have no pages: the language and the text."""
    unpacked_packages(list(CATALOGUES), "catalogues", "catalogues-packages", cache)
    for language in sorted({one for languages in CATALOGUES.values() for one in languages}):
        for path in sorted((cache / "catalogues").rglob(f"{language}/LC_MESSAGES/*.mo")):
            if path.is_file() and not path.is_symlink():
                yield language, "\n".join([*catalogue_messages(path.read_bytes()), ""])


def catalogue_messages(content: bytes) -> list[str]:
    """The translated messages of a compiled gettext catalogue (little-endian .mo), without its header."""
    if len(content) < 20 or struct.unpack_from("<I", content)[0] != _CATALOGUE_MAGIC:
        return []
    count, _, table = struct.unpack_from("<3I", content, 8)
    places = [struct.unpack_from("<2I", content, table + 8 * entry) for entry in range(count)]
    found = (content[at : at + size].decode("utf-8", "replace") for size, at in places)
    return [text.replace("\0", "\n") for text in found if "Content-Type:" not in text]

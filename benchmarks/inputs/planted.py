"""A corpus of any size with duplicates whose true resemblance is known, for judging what finds duplicates.

    python -m benchmarks.inputs.planted ROWS

Nine rows of ten stand alone: texts of about 2 kB put together from real passages in random order, in 39 languages, so
that two of them share hardly a shingle. A tenth is planted: groups of exact copies, of near duplicates (words replaced,
removed or put in at random places), of texts that differ in case, punctuation or white space only; and pages of a few
sites (the source `templates`) that share their boilerplate but are different pages, which no group may draw together.

Whatever is random is a hash of the seed, the number of a text and a place in it. So every row can be made again on its
own, a duplicate may lie anywhere in the corpus, and memory does not grow with it. The same seed and the same passages
make the same corpus on every machine.
"""

import argparse
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.passages import Passages, real_passages, strings_of
from benchmarks.inputs.resemblance import folded, jaccards, shingle_sets
from winnow.filters.language.words import segment

PLANTED = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("group", pa.int64(), nullable=False),  # -1 where the row stands alone
        pa.field("kind", pa.string(), nullable=False),  # of `KINDS`
        pa.field("jaccard", pa.float64(), nullable=False),  # with the group's original; 1 where the row stands alone
    ]
)
TRUTH = pa.schema(
    [
        pa.field("first", pa.string(), nullable=False),
        pa.field("second", pa.string(), nullable=False),  # the later row of the two
        pa.field("jaccard", pa.float64(), nullable=False),
        pa.field("script", pa.string(), nullable=False),  # spaced or unspaced
        pa.field("kind", pa.string(), nullable=False),  # of the two rows that which is further from the original
    ]
)
KINDS = ("alone", "original", "exact", "near", "case", "punctuation", "whitespace", "template")
ALONE, ORIGINAL, EXACT, NEAR, CASE, PUNCTUATION, WHITESPACE, TEMPLATE = range(len(KINDS))
TARGETS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # resemblance that near duplicates are made for; some is less or more
FILE_ROWS = 100_000
TEMPLATE_PAGES = 2_000  # pages a site
_GROUPED_SHARE, _TEMPLATE_SHARE = 0.09, 0.01
_BLOCK = 10_000  # rows a batch
_LEAST_BYTES, _SPREAD_BYTES = 300, 7_200  # the mean is the least and a quarter of the spread: 2.1 kB
_OWN_SHARE = (9, 32)  # of a template's boilerplate is a page's own text: two pages resemble each other by 32 / 50
_UNSPACED_SHARE = (3, 8)  # of all texts
_SOURCES = ("crawl-a", "crawl-b", "crawl-c", "templates")
_TEMPLATES_SOURCE = 3
_MARKER = "ready"
_VERSION = 1  # of this file's rules; another one makes cached corpora anew

Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Roles:
    """What some rows are, as arrays of one value a row."""

    slots: Numbers  # every row's own number, which is not its place
    kinds: Numbers  # indices of KINDS
    groups: Numbers  # -1: none
    origins: Numbers  # the number of the text that this one is made from: a group's original, a site's boilerplate
    targets: Numbers  # indices of TARGETS, of near duplicates


class Corpus:
    """The plan of a corpus: which row plays which part, and how its text is made.

    Rows are dealt numbers, their slots, in random order. The first slots are the groups, one after the other, each with
    its original first; then come the pages of the sites, then all that stands alone.
    """

    def __init__(self, rows: int, seed: int, passages: Passages) -> None:
        self.rows = rows
        self.row_of_slot: Numbers = np.argsort(_hashed(_key(seed, 0), np.arange(rows)), kind="stable")
        self._slot_of_row: Numbers = np.empty_like(self.row_of_slot)
        self._slot_of_row[self.row_of_slot] = np.arange(rows)
        self._text_key, self._choice_key, self._edit_key = (_key(seed, purpose) for purpose in (1, 2, 3))
        self._passages = passages
        self._mean_bytes = passages.mean_bytes
        self._language_bounds = _language_bounds(passages)
        members = int(rows * _GROUPED_SHARE)
        sizes = _group_sizes(np.arange(members // 2), self._choice_key)
        self.group_starts: Numbers = np.concatenate([[0], np.cumsum(sizes)])
        self.group_starts = self.group_starts[self.group_starts <= members]
        self.members = int(self.group_starts[-1])
        self.pages = -int(-rows * _TEMPLATE_SHARE // 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows (`PLANTED`) in order."""
        for start in range(0, self.rows, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, self.rows))
            yield self._batch(rows, self.roles(self._slot_of_row[rows]))

    def pairs(self) -> Iterator[pa.RecordBatch]:
        """All pairs within groups, and every page of a site with the next one, with what they truly are (`TRUTH`)."""
        groups = len(self.group_starts) - 1
        for start in range(0, groups, _BLOCK // 4):
            bounds = self.group_starts[start : min(start + _BLOCK // 4, groups) + 1]
            left, right = _pairs_within(bounds)
            yield self._truth(int(bounds[0]), int(bounds[-1]), left, right)
        for first in range(0, self.pages, TEMPLATE_PAGES):
            count = min(TEMPLATE_PAGES, self.pages - first)
            left = np.arange(count - 1) + self.members + first
            yield self._truth(self.members + first, self.members + first + count, left, left + 1)

    def roles(self, slots: Numbers) -> Roles:
        """What the rows of these slots are."""
        groups = np.searchsorted(self.group_starts, slots, side="right") - 1
        grouped = slots < self.members
        groups[~grouped] = -1
        origins = np.where(grouped, self.group_starts[groups], slots)
        kinds, targets = _member_kinds(groups, slots - origins)
        kinds[~grouped] = ALONE
        page = ~grouped & (slots < self.members + self.pages)
        kinds[page] = TEMPLATE
        origins[page] = self.rows + (slots[page] - self.members) // TEMPLATE_PAGES
        return Roles(slots, kinds, groups, origins, targets)

    def texts(self, roles: Roles) -> pa.LargeStringArray:
        """The texts of these rows."""
        texts = self._put_together(roles)
        parts, order = [], []
        for kind, change in _CHANGES.items():
            at = np.flatnonzero(roles.kinds == kind)
            parts.append(change(texts.take(at)))
            order.append(at)
        near = np.flatnonzero(roles.kinds == NEAR)
        same = np.flatnonzero(~np.isin(roles.kinds, (*_CHANGES, NEAR)))
        parts += [self._edited(texts.take(near), roles, near), texts.take(same)]
        return pa.concat_arrays(parts).take(np.argsort(np.concatenate([*order, near, same])))

    def languages(self, roles: Roles) -> Numbers:
        """The language of each row, as an index of the passages' languages."""
        places = _below(_hashed(self._choice_key, roles.origins), int(self._language_bounds[-1]))
        return np.searchsorted(self._language_bounds, places, side="right") - 1

    def _batch(self, rows: Numbers, roles: Roles) -> pa.RecordBatch:
        texts = self.texts(roles)
        jaccard = np.ones(len(rows))
        changed = np.flatnonzero(np.isin(roles.kinds, (NEAR, *_CHANGES)))
        slots, place = np.unique(roles.origins[changed], return_inverse=True)
        sets = shingle_sets(pa.concat_arrays([texts.take(changed), self.texts(self.roles(slots))]))
        jaccard[changed] = jaccards(sets, np.arange(len(changed)), len(changed) + place)
        source = _below(_hashed(self._choice_key + np.uint64(1), roles.slots), _TEMPLATES_SOURCE)
        source[roles.kinds == TEMPLATE] = _TEMPLATES_SOURCE
        columns = [
            _ids(rows),
            texts,
            pa.array(_SOURCES).take(source),
            pa.array(self._passages.languages).take(self.languages(roles)),
            pa.array(roles.groups),
            pa.array(KINDS).take(roles.kinds),
            pa.array(jaccard),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=PLANTED)

    def _truth(self, first: int, end: int, left: Numbers, right: Numbers) -> pa.RecordBatch:
        roles = self.roles(np.arange(first, end))
        left, right = left - first, right - first
        jaccard = jaccards(shingle_sets(self.texts(roles)), left, right)
        unspaced = self._passages.unspaced[self.languages(roles)[left]]
        places = self.row_of_slot[roles.slots]
        columns = [
            _ids(np.minimum(places[left], places[right])),
            _ids(np.maximum(places[left], places[right])),
            pa.array(jaccard),
            pa.array(["spaced", "unspaced"]).take(unspaced.astype(np.int64)),
            pa.array(KINDS).take(np.maximum(roles.kinds[left], roles.kinds[right])),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=TRUTH)

    def _put_together(self, roles: Roles) -> pa.LargeStringArray:
        """Texts of passages, before any edit: what comes of their origins, and a page's own text in the middle."""
        keys = _hashed(self._text_key, roles.origins)
        own_keys = _hashed(self._text_key, roles.slots)
        languages = self.languages(roles)
        spread = (_below(_mixed(keys + np.uint64(1)), 1 << 16) * _below(_mixed(keys + np.uint64(2)), 1 << 16)) >> 16
        wanted = _LEAST_BYTES + ((spread * _SPREAD_BYTES) >> 16)
        shared = np.maximum(wanted // self._mean_bytes[languages], 8)
        own = np.where(roles.kinds == TEMPLATE, np.maximum(shared * _OWN_SHARE[0] // _OWN_SHARE[1], 1), 0)
        ends = np.cumsum(shared + own)
        text = np.repeat(np.arange(len(ends)), shared + own)
        place = np.arange(len(text)) - (ends - shared - own)[text]
        middle = (shared // 2)[text]
        is_own = (place >= middle) & (place < middle + own[text])
        chosen = _hashed(np.where(is_own, own_keys[text], keys[text]), place)
        pool, language = self._passages.passages, languages[text]
        passages = pool.texts.take(pool.starts[language] + _below(chosen, pool.sizes[language]))
        bounds = np.frombuffer(passages.buffers()[1], np.int64)
        return strings_of(bounds[np.concatenate([[0], ends])], passages.buffers()[2])

    def _edited(self, texts: pa.LargeStringArray, roles: Roles, near: Numbers) -> pa.LargeStringArray:
        """Texts of which some words are replaced or removed, and between which others are put in."""
        words = segment(texts, "unicode")
        counts = np.diff(words.documents)
        text = np.repeat(np.arange(len(texts)), counts)
        keys = _hashed(self._edit_key, roles.slots[near])[text]
        chances = _hashed(keys, np.arange(len(text)) - words.documents[text])
        edited = _below(chances, 1 << 32) < _EDIT_RATES[roles.targets[near]][text]
        edit = np.where(edited, (_mixed(chances) % 3).astype(np.int64), _KEEP)
        pool, languages = self._passages.words, self.languages(roles)[near][text]
        new = pool.starts[languages] + _below(_mixed(chances + np.uint64(1)), pool.sizes[languages])
        # A piece is a word with what follows it; a text's first piece has what stands before the first word, too.
        bounds = np.append(words.starts, words.documents[-1])
        offsets = np.frombuffer(texts.buffers()[1], np.int64)
        bounds[words.documents[:-1]] = offsets[:-1]
        bounds[-1] = offsets[-1]
        pieces = pa.concat_arrays([strings_of(bounds, texts.buffers()[2]), pool.texts])
        sizes = np.array([1, 0, 2, 1])[edit]
        ends = np.cumsum(sizes)
        order = np.repeat(np.arange(len(text)), sizes)
        order[ends[edit == _REPLACE] - 1] = len(text) + new[edit == _REPLACE]
        order[ends[edit == _INSERT] - 1] = len(text) + new[edit == _INSERT]
        taken = pieces.take(order)
        places = np.frombuffer(taken.buffers()[1], np.int64)
        return strings_of(places[np.concatenate([[0], ends])[words.documents]], taken.buffers()[2])


_REPLACE, _REMOVE, _INSERT, _KEEP = range(4)
# An edited word spoils the five shingles that it is in. Where a share s of a text's shingles stays, the resemblance to
# the text as it was is s / (2 - s).
_EDIT_RATES = np.array([round((1 - (2 * target / (1 + target)) ** 0.2) * (1 << 32)) for target in TARGETS])


def planted_corpus(rows: int, seed: int = 7, passages: Passages | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a corpus (`PLANTED`), of all real passages if no others are given."""
    return Corpus(rows, seed, passages or real_passages()).batches()


def write_corpus(folder: Path, rows: int, seed: int = 7, passages: Passages | None = None) -> Path:
    """Write a corpus once, as `part-*.parquet` and `truth.parquet` in `folder/planted-ROWS`; returns that folder."""
    target = folder / f"planted-{rows}"
    made_for = f"{_VERSION} {seed}"
    marker = target / _MARKER
    if marker.exists() and marker.read_text() == made_for:
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    corpus = Corpus(rows, seed, passages or real_passages())
    batches = corpus.batches()
    for number in range(-(-rows // FILE_ROWS)):
        with _writer(target / f"part-{number:05d}.parquet", PLANTED, ["source", "language", "kind"]) as writer:
            for _ in range(-(-min(FILE_ROWS, rows - number * FILE_ROWS) // _BLOCK)):
                writer.write_batch(next(batches))
    with _writer(target / "truth.parquet", TRUTH, ["script", "kind"]) as writer:
        for batch in corpus.pairs():
            writer.write_batch(batch)
    marker.write_text(made_for)
    return target


def _writer(path: Path, schema: pa.Schema, repeated: list[str]) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, use_dictionary=repeated)


def _group_sizes(groups: Numbers, key: Hashes) -> Numbers:
    """How many rows each group has: two or three near duplicates, two to ten copies, four variants."""
    turn = groups % len(_TURNS)
    chance = _hashed(key + np.uint64(2), groups)
    sizes = np.where(turn < _COPIES_FROM, 2 + _below(chance, 2), 2 + _below(chance, 9))
    return np.where(turn >= _VARIANTS_FROM, 1 + len(_CHANGES), sizes)


def _member_kinds(groups: Numbers, members: Numbers) -> tuple[Numbers, Numbers]:
    """The kind of the members of groups, and the targets of near duplicates."""
    turn = groups % len(_TURNS)
    kinds = _TURNS[turn].copy()
    variant = turn >= _VARIANTS_FROM
    kinds[variant] = np.resize(list(_CHANGES), 10)[(members[variant] - 1) % len(_CHANGES)]
    kinds[members == 0] = ORIGINAL
    return kinds, turn % len(TARGETS)


def _pairs_within(bounds: Numbers) -> tuple[Numbers, Numbers]:
    """All pairs of slots of one group, the groups lying between bounds."""
    slots = np.arange(bounds[0], bounds[-1])
    later = bounds[np.searchsorted(bounds, slots, side="right")] - slots - 1
    left = np.repeat(slots, later)
    right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(later) - later, later)
    return left, right


def _language_bounds(passages: Passages) -> Numbers:
    """Parts of a whole for the languages: more for those with more text, and a fixed share for unspaced ones."""
    roots = np.array([math.isqrt(size) for size in passages.passages.sizes.tolist()])
    unspaced = passages.unspaced
    shares = np.where(unspaced, _UNSPACED_SHARE[0], _UNSPACED_SHARE[1] - _UNSPACED_SHARE[0])
    totals = np.where(unspaced, roots[unspaced].sum(), roots[~unspaced].sum())
    return np.concatenate([[0], np.cumsum(shares * roots * 1_000_000 // totals)])


def _ids(rows: Numbers) -> pa.StringArray:
    digits = pc.utf8_lpad(pc.cast(pa.array(rows), pa.string()), 9, "0")
    return pc.binary_join_element_wise("planted", digits, "-")


def _recased(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    capitals = pc.utf8_upper(texts)
    # Turkish has two letters whose capitals' small letters are others.
    return pc.if_else(pc.equal(folded(capitals), folded(texts)), capitals, pc.ascii_upper(texts))


def _repunctuated(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    for old, new in ((", ", "; "), (". ", " — "), ("。", "！"), ("、", "？"), ("(", "["), (")", "]")):
        texts = pc.replace_substring(texts, old, new)
    return _between("« ", texts, " »!")


def _respaced(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    return _between("\n ", pc.replace_substring(pc.replace_substring(texts, " ", "  "), "\n", "\r\n\t"), " \n\n")


def _between(before: str, texts: pa.LargeStringArray, behind: str) -> pa.LargeStringArray:
    ends = (pa.scalar(end, pa.large_string()) for end in (before, behind, ""))
    return pc.binary_join_element_wise(next(ends), texts, *ends)


_CHANGES = {CASE: _recased, PUNCTUATION: _repunctuated, WHITESPACE: _respaced}
_TURNS = np.array([NEAR] * 12 + [EXACT] * 2 + [CASE])  # of groups, over and over; the last stands for all changes
_COPIES_FROM, _VARIANTS_FROM = 12, 14


def _mixed(values: Hashes) -> Hashes:
    """A hash of every value (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _hashed(keys: Hashes, numbers: Numbers) -> Hashes:
    """A hash of every number under its key."""
    return _mixed(keys + numbers.astype(np.uint64) * np.uint64(0xD1342543DE82EF95))


def _key(seed: int, purpose: int) -> Hashes:
    return _mixed(_mixed(np.array([seed], np.uint64)) + np.uint64(purpose))


def _below(hashes: Hashes, limits: Numbers | int) -> Numbers:
    """A number from 0 up to each limit, which is at most 2**32 and is not reached."""
    limited = (hashes >> np.uint64(32)) * np.asarray(limits).astype(np.uint64)
    return (limited >> np.uint64(32)).astype(np.int64)


def main() -> None:
    """Make the corpus and say where it is."""
    parser = argparse.ArgumentParser(description="Write a corpus with duplicates that are known.")
    parser.add_argument("rows", type=int)
    rows = parser.parse_args().rows
    if rows < 1:
        parser.error(f"ROWS is {rows}: give 1 or more")
    target = write_corpus(CACHE, rows)
    size = sum(path.stat().st_size for path in target.iterdir())
    print(f"{target}  {size:,} bytes")


if __name__ == "__main__":
    main()

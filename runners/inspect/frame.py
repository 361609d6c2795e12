"""The row frame: what rules decide on every row of a generation, as a few numbers a row in the order of its shards.

The page's charts, its simulator and its lists of samples are answered from these arrays, without reading the store
again. They are filled by the same functions as `winnow plan` uses, several shards at a time, and are about 20 bytes a
row for up to 63 rules. Forgotten rows have a place in them, so that rows are found in their shards, and count nowhere.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.rules import MEASURED_LANGUAGES, RuleProgram
from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.deciding import (
    UNKNOWN,
    choose_representatives,
    decide_blocks,
    decide_shard,
    decision_columns,
    languages_of,
    size_columns,
    sizes_of,
)
from winnow.pipelines.rules.decisions import WORD, ShardDecisions, has_rule, word_mask
from winnow.pipelines.rules.evaluation import Evaluator, UndecidedError
from winnow.pipelines.rules.map_shards import map_with_evaluators
from winnow.pipelines.rules.pinning import PinnedProgram, PinnedShards, ShardObjects, pin_no_rules
from winnow.pipelines.rules.representatives.replaced import NO_DUPLICATES, Duplicates
from winnow.pipelines.store import layout
from winnow.runners.inspect.counting import Codes, Words
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Packs, Part, PartReader, joined, parts_of
from winnow.schemas.errors import RecipeError, StoreError
from winnow.schemas.rows.extraction import EXTRACTED

Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]

_MOST_LANGUAGES: Final = 65_000  # more are no languages; the rest count as `unknown`


@dataclass(frozen=True)
class Frame:
    """The rows of a generation as rules decide them."""

    pinned: PinnedProgram
    starts: Rows  # of each shard, and the number of all rows
    fired: Words  # masks of rules, as in decisions, of as few bytes as hold them
    first: NDArray[np.int16]  # the first rule that fires; -1: kept; the number of rules: forgotten
    source: Codes
    sources: tuple[str, ...]
    language: Codes
    languages: tuple[str, ...]
    size: NDArray[np.int64] | NDArray[np.uint32]  # bytes
    duplicates: Duplicates = NO_DUPLICATES
    items: NDArray[np.int32] | None = None  # media of each row that no rule of `items` drops, and those that one drops
    why_no_rules: str | None = None  # why the recipe's rules decide nothing here

    @property
    def rules(self) -> RuleProgram:
        """The rules that have decided."""
        return self.pinned.program

    @property
    def rows(self) -> int:
        """The number of rows, forgotten ones among them."""
        return len(self.first)

    @property
    def shards(self) -> PinnedShards:
        """The shards, in order."""
        assert isinstance(self.pinned.shards, PinnedShards)  # all of them
        return self.pinned.shards

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The shards that are read together."""
        return parts_of(self.starts, self.shards.layers[layout.SAMPLES].texts("source"))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each shard."""
        return {name: number for number, name in enumerate(self.shards.layers[layout.SAMPLES].texts("shard"))}

    @cached_property
    def seen(self) -> Marks:
        """Which rows are not forgotten."""
        seen: Marks = self.first != len(self.rules.rules)
        return seen

    @cached_property
    def kept(self) -> Marks:
        """Which rows no rule drops."""
        kept: Marks = self.first < 0
        return kept

    @cached_property
    def by_language(self) -> dict[str, tuple[int, int]]:
        """The rows of each language that has some, and how many of them are kept."""
        of = (np.bincount(self.language[marks], minlength=len(self.languages)) for marks in (self.seen, self.kept))
        counts = zip(*(numbers.tolist() for numbers in of), strict=True)
        return {code: (rows, kept) for code, (rows, kept) in zip(self.languages, counts, strict=True) if rows}

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        of_rows = self.fired.nbytes + self.first.nbytes + self.source.nbytes + self.language.nbytes + self.size.nbytes
        replaced = sum(24 * len(lost) for lost in self.duplicates.lost.values())
        marks = self.seen.nbytes + self.kept.nbytes
        return of_rows + marks + replaced + (0 if self.items is None else self.items.nbytes)

    def fires(self, numbers: Iterable[int]) -> Marks:
        """The rows, forgotten ones aside, for which one of these rules fires."""
        mask = word_mask(sum({1 << number for number in numbers}), self.fired.shape[1]).astype(self.fired.dtype)
        found: Marks = np.zeros(self.rows, np.bool_)
        for word in range(self.fired.shape[1]):
            found |= (self.fired[:, word] & mask[word]) != 0
        return found

    def numbered(self, reason: str) -> list[int]:
        """The rules with a reason."""
        return [number for number, name in enumerate(self.rules.reasons) if name == reason]

    def place(self, row: int) -> tuple[ShardObjects, int]:
        """The shard of a row, and its number there."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.shards[number], row - int(self.starts[number])

    def row(self, shard: str, row: int) -> int:
        """The inverse of `place`."""
        return int(self.starts[self.numbers[shard]]) + row

    def firing(self, row: int) -> tuple[int, ...]:
        """The numbers of the rules that fire for a row, in order."""
        fired = self.fired[row : row + 1].astype(np.uint64)
        return tuple(number for number in range(len(self.rules.rules)) if has_rule(fired, number)[0])

    def reasons(self, row: int) -> tuple[str, ...]:
        """Their reasons, each once."""
        return tuple(dict.fromkeys(self.rules.reasons[number] for number in self.firing(row)))


@dataclass
class Progress:
    """How many of a frame's shards are decided."""

    done: int = 0
    of: int = 0
    failed: str | None = None  # why they cannot be decided
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def nbytes(self) -> int:
        """Nearly nothing."""
        return 0

    def begin(self, shards: int) -> None:
        """Count from nothing."""
        with self.lock:
            self.done, self.of, self.failed = 0, shards, None

    def add(self, shards: int) -> None:
        """So many more shards are decided."""
        with self.lock:
            self.done += shards


def frame_of(opened: Opened) -> Frame:
    """The frame of what is shown, made when it is first asked for; what the recipe's rules decide, if they can."""
    return opened.kept.get("frame", lambda: _tried(opened, progress_of(opened)), stays=True)


def progress_of(opened: Opened) -> Progress:
    """How far the frame is."""
    return opened.kept.get("progress", Progress, stays=True)


def _tried(opened: Opened, progress: Progress) -> Frame:
    progress.failed = None
    try:
        return _frame(opened, progress)
    except Exception as error:
        progress.failed = " ".join(str(error).split())[:300] or type(error).__name__
        raise


def _frame(opened: Opened, progress: Progress) -> Frame:
    why = "there is no recipe: open the page with one (winnow inspect RECIPE)"
    if opened.recipe is not None:
        try:
            pinned = pinned_rules(opened.recipe, opened.store, opened.generation, (layout.SAMPLES,))
            assert pinned is not None  # as the samples are asked for
            return fill_frame(pinned, progress, packs_of(opened))
        except RecipeError as error:
            why = str(error).splitlines()[0]
    return replace(fill_frame(_without_rules(opened), progress, packs_of(opened)), why_no_rules=why)


def reading(opened: Opened, before: int) -> str | None:
    """That shards are being decided, or read for the first time since `read_so_far` gave `before`, in a line; None if
    they are not."""
    progress: Progress | None = opened.kept.find("progress")
    if progress is not None and progress.of and not progress.failed and opened.kept.find("frame") is None:
        return f"{progress.done:,} of {progress.of:,} shards are counted so far; what is asked is shown when all are"
    if read_so_far(opened) > before:
        return "the many shards of this store are being read for the first time; this goes on by itself"
    return None


def read_so_far(opened: Opened) -> int:
    """A number that grows while many small shards are read."""
    packs: Packs | None = opened.kept.find("packs")
    return 0 if packs is None else packs.batches


def packs_of(opened: Opened) -> Packs:
    """What was read of many small shards."""
    return opened.kept.get("packs", Packs, stays=True)


def _without_rules(opened: Opened) -> PinnedProgram:
    """All rows, decided by no rule, with their languages where these are measured."""
    pinned = pin_no_rules(opened.store, opened.generation)
    whole = [layer for layer in opened.generation.layers if layer not in opened.generation.partial]
    names = [*MEASURED_LANGUAGES, *(f"{layer}.language" for layer in sorted(whole) if layer.startswith(EXTRACTED))]
    columns = [Column(*name.rsplit(".", 1)) for name in names]
    languages = tuple(column for column in columns if column.layer in whole)
    languages = tuple(column for column in languages if column.name in MEASURED_LANGUAGES) or languages
    pinned = pinned.with_layers(opened.generation, {column.layer for column in languages})
    return replace(pinned, languages=languages)


def fill_frame(
    pinned: PinnedProgram, progress: Progress | None = None, packs: Packs | None = None, threads: int | None = None
) -> Frame:
    """Decide every row; UndecidedError if a rule cannot be decided for one, CancelledError if nobody waits."""
    assert isinstance(pinned.shards, PinnedShards)
    samples = pinned.shards.layers[layout.SAMPLES]
    of_shards = samples.texts("source")
    told = progress or Progress()
    told.begin(len(samples))
    duplicates = choose_representatives(pinned, threads)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(samples.numbers("rows"))])
    rows, rules = int(starts[-1]), len(pinned.program.rules)
    words = max(1, -(-(rules + 1) // WORD))
    narrow = next(
        kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64) if min(rules + 1, WORD) <= kind(0).nbytes * 8
    )
    sources = sorted(set(of_shards))
    codes = {name: number for number, name in enumerate(sources)}
    fired, first = np.zeros((rows, words), narrow), np.zeros(rows, np.int16)
    source, size = np.zeros(rows, np.uint16), np.zeros(rows, np.int64)
    items = np.zeros((rows, 2), np.int32) if pinned.program.judges_items else None
    languages = _Languages(np.zeros(rows, np.uint16))
    reader = PartReader(pinned.store.objects, pinned.shards, Packs() if packs is None else packs)
    described = list(dict.fromkeys((*pinned.languages, *size_columns(pinned.size))))

    def decide_one(part: Part, evaluator: Evaluator) -> None:
        at = part.start
        for decided in _decide_part(pinned, part, evaluator, reader, duplicates):
            count = len(decided.fired)
            own = slice(at, at + count)
            fired[own], first[own] = decided.fired, decided.first
            if items is not None and decided.items is not None:
                left = decided.items.left(rules)
                of_row = np.repeat(np.arange(count), decided.items.numbers)
                for side, marks in enumerate((left, ~left)):
                    items[own, side] = np.bincount(of_row[marks], minlength=count)
            at += count
        source[part.start : at] = codes[of_shards[part.first]]
        at = part.start
        for block in reader.blocks(part, described):
            count = len(next(iter(block.values())))
            size[at : at + count] = sizes_of(block, pinned.size)
            languages.add(at, languages_of(block, pinned.languages, count))
            at += count
        told.add(part.end - part.first)

    for _ in map_with_evaluators(pinned, decide_one, parts_of(starts, of_shards), threads):
        pass
    codes_of_languages, names = languages.sorted()
    small = size.astype(np.uint32) if rows and size.min() >= 0 and size.max() < 1 << 32 else size
    frame = Frame(
        pinned,
        starts,
        fired,
        first,
        narrowed(source, len(sources)),
        tuple(sources),
        codes_of_languages,
        names,
        small,
        duplicates,
        items,
    )
    _ = frame.seen, frame.kept
    pa.default_memory_pool().release_unused()
    return frame


def _decide_part(
    pinned: PinnedProgram, part: Part, evaluator: Evaluator, reader: PartReader, duplicates: Duplicates
) -> Iterator[ShardDecisions]:
    """What rules decide on the rows of a part, in order: at once, or shard by shard where they read long texts or judge
    media, and where one cannot be decided, so that the error names its place."""
    members = tuple(reader.shards[part.first : part.end])
    if part.is_joined and not pinned.wide and not pinned.program.judges_items:
        marks = [duplicates.of(shard.shard, shard.rows) for shard in members] if duplicates.lost else [{}]
        replaced = {name: np.concatenate([of[name] for of in marks]) for name in marks[0]}
        blocks = reader.blocks(part, decision_columns(pinned))
        with suppress(UndecidedError, StoreError):
            decided = decide_blocks(pinned, joined(members), evaluator, blocks, replaced, {})
            yield decided
            return
    for shard in members:
        check_cancelled()
        yield decide_shard(pinned, shard, evaluator, duplicates)


class _Languages:
    """Codes of languages, numbered as they are met by several threads."""

    def __init__(self, codes: NDArray[np.uint16]) -> None:
        self._codes = codes
        self._numbers: dict[str, int] = {UNKNOWN: 0}
        self._lock = threading.Lock()

    def add(self, at: int, found: pa.DictionaryArray) -> None:
        names = found.dictionary.to_pylist()
        with self._lock:
            for name in names:
                if name not in self._numbers and len(self._numbers) < _MOST_LANGUAGES:
                    self._numbers[name] = len(self._numbers)
            numbers = np.array([self._numbers.get(name, 0) for name in names], np.uint16)
        self._codes[at : at + len(found)] = numbers[found.indices.to_numpy(zero_copy_only=False)]

    def sorted(self) -> tuple[Codes, tuple[str, ...]]:
        """The codes in the order of names, whatever order shards were read in."""
        names = sorted(self._numbers)
        order = np.zeros(len(names), np.uint16)
        order[[self._numbers[name] for name in names]] = np.arange(len(names), dtype=np.uint16)
        return narrowed(order[self._codes], len(names)), tuple(names)


def narrowed(codes: NDArray[np.uint16], number: int) -> Codes:
    """The same codes, all below `number`, in a byte each where that is enough."""
    return codes.astype(np.uint8) if number <= 1 << 8 else codes

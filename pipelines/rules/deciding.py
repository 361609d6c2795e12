"""Applies a recipe's rules to a pinned generation: decides which rows are kept, and why, several shards at a time.

It reads only the columns that rules name, so no text unless a rule names one (law 1). Nothing is written, as rules may
change at any time. Dropped samples can be listed for reviewing, sampling or tuning a threshold.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.preferences import Choice
from winnow.pipelines.binding.rules import CAPTION_LANGUAGE, MEASURED_LANGUAGES, GuardedEdit
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.reading.item_lists import ItemLists, media_of, represented_lists
from winnow.pipelines.rules.decisions import (
    WORD,
    Cuts,
    DecisionCounts,
    ItemDecisions,
    Masks,
    ShardDecisions,
    count_block,
    has_rule,
)
from winnow.pipelines.rules.evaluation import (
    Decided,
    DecidedItems,
    Evaluator,
    NullConditionError,
    Undecided,
    UndecidedError,
)
from winnow.pipelines.rules.map_shards import map_shards
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.rules.representatives.candidates import Candidates, ItemMarks, find_candidates
from winnow.pipelines.rules.representatives.choosing import RepresentativeChooser
from winnow.pipelines.rules.representatives.replaced import NO_DUPLICATES, Duplicates
from winnow.pipelines.rules.sites import SiteCounts
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.redaction import hidden_in
from winnow.pipelines.store.tables import ROW_GROUP_ROWS, read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.rows.extraction import WITHOUT_TEXT
from winnow.schemas.rows.measured import NO_TEXT

NARROW_BLOCK_ROWS = 65_536  # for columns of numbers and short strings: a few MiB
UNKNOWN = "unknown"

_LENGTH, _UNIT = Column(layout.SAMPLES, "source.length"), Column(layout.SAMPLES, "source.unit")
_MODALITY, _DOMAIN = Column(layout.SAMPLES, "modality"), Column(layout.SAMPLES, "domain")
_DECLARED = r"^(?P<code>[a-z]{2,3})(?:[-_].*)?$"


def decide(
    pinned: PinnedProgram, threads: int | None = None, duplicates: Duplicates = NO_DUPLICATES
) -> Iterator[ShardDecisions]:
    """Decide every shard, in the order of their names for any number of threads.

    `threads`: None for a number that suits the store's location; `duplicates`: the rows that representatives replace.
    UndecidedError if a rule cannot be decided for a row, the first such row in the order of shards; StoreError if a
    layer has other rows than the generation says.
    """

    def decide_one(shard: ShardObjects, evaluator: Evaluator) -> ShardDecisions:
        return decide_shard(pinned, shard, evaluator, duplicates)

    return map_shards(pinned, decide_one, threads)


def choose_representatives(pinned: PinnedProgram, threads: int | None = None) -> Duplicates:
    """Choose the representative of each cluster of duplicates, in a pass over the store before the one that decides.

    Raises as `decide` does, for rules of `eligible`.
    """
    choice = pinned.program.choice
    if choice is None:
        return NO_DUPLICATES
    first = pinned.only_eligible
    numbers = {shard.shard: number for number, shard in enumerate(pinned.shards)}

    def find_in_shard(shard: ShardObjects, evaluator: Evaluator) -> Candidates:
        return candidates_of_shard(first, choice, numbers[shard.shard], shard, evaluator)

    with RepresentativeChooser(choice) as chooser:
        for found in map_shards(first, find_in_shard, threads):
            chooser.add(found)
        return chooser.chosen(tuple(numbers))


def candidates_of_shard(
    first: PinnedProgram, choice: Choice, number: int, shard: ShardObjects, evaluator: Evaluator
) -> Candidates:
    """Return the rows of one shard that may be representatives; `first` are the rules that say which are eligible."""
    decided = decide_shard(first, shard, evaluator)
    left = None
    if decided.items is not None:
        left = ItemMarks(decided.items.numbers, decided.items.left(decided.rules))
    blocks = read_aligned(first.store.objects, shard.objects, choice.columns, NARROW_BLOCK_ROWS, shard.hidden)
    return find_candidates(choice, number, shard.source, blocks, decided.kept, left)


def decide_shard(
    pinned: PinnedProgram, shard: ShardObjects, evaluator: Evaluator, duplicates: Duplicates = NO_DUPLICATES
) -> ShardDecisions:
    """Decide the rows of one shard."""
    columns, rows = decision_columns(pinned), _block_rows(pinned)
    blocks = read_aligned(pinned.store.objects, shard.objects, columns, rows, shard.hidden)
    marks, represented = duplicates.of(shard.shard, shard.rows), duplicates.items_of(shard.shard)
    return decide_blocks(pinned, shard, evaluator, blocks, marks, represented)


def decide_blocks(
    pinned: PinnedProgram,
    shard: ShardObjects,
    evaluator: Evaluator,
    blocks: Iterable[dict[str, pa.Array]],
    marks: Mapping[str, NDArray[np.bool_]],
    represented: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> ShardDecisions:
    """Decide the rows of one shard, or of several that are read as one.

    `blocks`: the `decision_columns` of its rows; `marks` and `represented`: what `Duplicates` says of it.
    """
    replaced = {name: pa.array(of_kind) for name, of_kind in marks.items()}
    items = _ItemBlocks()
    fired: list[Masks] = []
    null: list[Masks | None] = []
    counts: list[DecisionCounts] = []
    domains = [pa.array([], pa.string())]
    at = 0
    words = max(1, -(-(len(pinned.program.rules) + 1) // WORD))
    for block in blocks:
        rows = len(next(iter(block.values())))
        block |= {name: of_kind.slice(at, rows) for name, of_kind in replaced.items()}
        block |= represented_lists(block, represented, pinned.program.duplicate_lists, at)
        seen = ~hidden_in(shard.hidden, at, rows)
        try:
            decided = _decide_rows(evaluator, block, seen)
        except NullConditionError as error:
            raise _null_error(pinned, shard, error, at + int(np.flatnonzero(seen)[error.row])) from None
        block_fired = _pad_words(decided.fired, words)
        block_null = None if decided.null is None else _pad_words(decided.null, words)
        _set_bit(block_fired, ~seen, len(pinned.program.rules))
        languages = languages_of(block, pinned.languages, rows)
        sizes, textless = sizes_of(block, pinned.size), _textless(block, pinned.text_statuses, pinned.size)
        cuts = _cuts(block, pinned.guarded_edits)
        counts.append(count_block(shard.source, languages, sizes, block_fired, block_null, textless, cuts))
        domains.append(block[_DOMAIN.name])
        if decided.items is not None:
            items.add(shard.source, decided.items, block, languages, block_fired, len(pinned.program.rules))
        fired.append(block_fired)
        null.append(block_null)
        at += rows
    merged = DecisionCounts.merged(counts)
    # Law 3: the manifest has the rows that were written, the tallies the rows that were decided.
    if not at == merged.total.rows == shard.rows:
        raise StoreError(
            f"{pinned.store.root}: shard {shard.shard} has {shard.rows} rows, {at} were read and {merged.total.rows} "
            "decided; run 'winnow audit'"
        )
    program = pinned.program
    if not fired:
        fired, null = [np.zeros((0, words), np.uint64)], [None]
    all_fired = np.concatenate(fired)
    return ShardDecisions(
        shard=shard.shard,
        source=shard.source,
        rules=len(program.rules),
        eligible_rules=program.eligible,
        fired=all_fired,
        null=_join_nulls(fired, null),
        counts=merged,
        sites=SiteCounts.of(shard.source, pa.chunked_array(domains), all_fired, len(program.rules)),
        items=items.joined(words) if program.judges_items else None,
    )


@dataclass
class _ItemBlocks:
    """The decisions on the media of a shard's blocks so far."""

    numbers: list[NDArray[np.int64]] = field(default_factory=list)
    fired: list[Masks] = field(default_factory=list)
    counts: list[DecisionCounts] = field(default_factory=list)

    def add(
        self,
        source: str,
        decided: DecidedItems,
        block: Mapping[str, pa.Array],
        languages: pa.DictionaryArray,
        of_rows: Masks,
        rules: int,
    ) -> None:
        """Add a block; the media of a dropped row get the bit after the last rule."""
        words, rows = of_rows.shape[1], decided.lists.rows
        fired = _pad_words(decided.fired, words)
        _set_bit(fired, (np.bitwise_or.reduce(of_rows, axis=1) != 0)[rows], rules)
        sizes = pc.fill_null(pc.struct_field(media_of(block).flatten(), "bytes"), 0)
        null = None if decided.null is None else _pad_words(decided.null, words)
        measured = sizes.to_numpy(zero_copy_only=False).astype(np.int64)
        self.counts.append(count_block(source, languages.take(pa.array(rows)), measured, fired, null))
        self.numbers.append(decided.lists.numbers)
        self.fired.append(fired)

    def joined(self, words: int) -> ItemDecisions:
        """Return those of the whole shard."""
        return ItemDecisions(
            np.concatenate([np.zeros(0, np.int64), *self.numbers]),
            np.concatenate([np.zeros((0, words), np.uint64), *self.fired]),
            DecisionCounts.merged(self.counts),
        )


def _decide_rows(evaluator: Evaluator, block: Mapping[str, pa.Array], seen: NDArray[np.bool_]) -> Decided:
    """Return the decisions on the visible rows; hidden rows, which have no media, get no decision."""
    if seen.all():
        return evaluator.decide(len(seen), block)
    mask = pa.array(seen)
    decided = evaluator.decide(int(seen.sum()), {name: array.filter(mask) for name, array in block.items()})
    null = None if decided.null is None else _scatter(decided.null, seen)
    items = decided.items
    if items is not None:
        numbers = np.zeros(len(seen), np.int64)
        numbers[seen] = items.lists.numbers
        items = replace(items, lists=ItemLists(numbers, np.flatnonzero(seen)[items.lists.rows], items.lists.items))
    return Decided(_scatter(decided.fired, seen), null, items)


def _scatter(masks: Masks, seen: NDArray[np.bool_]) -> Masks:
    scattered = np.zeros((len(seen), masks.shape[1]), np.uint64)
    scattered[seen] = masks
    return scattered


def _pad_words(masks: Masks, words: int) -> Masks:
    """Return the masks with room for the bit after the last rule's bit."""
    return masks if masks.shape[1] == words else np.pad(masks, ((0, 0), (0, words - masks.shape[1])))


def _set_bit(fired: Masks, rows: NDArray[np.bool_], bit: int) -> None:
    if rows.any():
        fired[rows, bit // WORD] |= np.uint64(1 << bit % WORD)


def _join_nulls(fired: list[Masks], null: list[Masks | None]) -> Masks | None:
    if all(part is None for part in null):
        return None
    return np.concatenate([np.zeros_like(one) if part is None else part for one, part in zip(fired, null, strict=True)])


def decision_columns(pinned: PinnedProgram) -> list[Column]:
    """Return every column that deciding reads."""
    described = (*pinned.described, *size_columns(pinned.size), _MODALITY, _DOMAIN)
    return list(dict.fromkeys((*pinned.program.columns, *described)))


def _block_rows(pinned: PinnedProgram) -> int:
    return ROW_GROUP_ROWS if pinned.wide else NARROW_BLOCK_ROWS


def languages_of(block: Mapping[str, pa.Array], columns: tuple[Column, ...], rows: int) -> pa.DictionaryArray:
    """Return the language of each row, from the first of the columns that has one; without nulls."""
    if not columns:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([UNKNOWN]))
    arrays = [
        _first_codes(block[column.name]) if column.name == CAPTION_LANGUAGE else block[column.name]
        for column in columns
    ]
    if columns[0].name not in MEASURED_LANGUAGES:
        arrays = [_declared_codes(array) for array in arrays]
    return pc.dictionary_encode(pc.coalesce(*arrays, pa.scalar(UNKNOWN, arrays[0].type)))


def _first_codes(lists: pa.ListArray) -> pa.Array:
    """Return the language of each row's first caption that has one."""
    values = lists.flatten()
    held = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    rows, first = np.unique(pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)[held], return_index=True)
    places = np.full(len(lists), -1, np.int64)
    places[rows] = held[first]
    return values.take(pa.array(places, mask=places < 0))


def _declared_codes(values: pa.Array) -> pa.Array:
    """Return the language codes that pages declare: `de-AT` becomes `de`, and what is not a code becomes null."""
    coded = pc.dictionary_encode(values)
    named = pc.struct_field(pc.extract_regex(pc.utf8_lower(coded.dictionary), _DECLARED), "code")
    return named.take(coded.indices)


def _textless(
    block: Mapping[str, pa.Array], statuses: Sequence[Column], size: Column | None
) -> NDArray[np.bool_] | None:
    """Return which samples of text have none, or an empty one.

    `statuses`: of an operator that reads the text, or of the extractors that might have given it.
    """
    if not statuses:
        return None
    measured = [block[column.name] for column in statuses]
    empty = reduce(pc.or_, (pc.is_in(one, pa.array([NO_TEXT, *WITHOUT_TEXT])) for one in measured))
    empty = reduce(pc.and_, (pc.invert(pc.is_in(one, pa.array(["ok"]))) for one in measured), empty)
    if size is not None:
        empty = pc.or_(empty, pc.fill_null(pc.equal(block[size.name], 0), False))
    found = pc.and_(empty, pc.is_in(block[_MODALITY.name], pa.array(["text", "other"])))
    textless: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return textless


def _cuts(block: Mapping[str, pa.Array], edits: Sequence[GuardedEdit]) -> Cuts | None:
    """Return the words of each row, and how many of them edits cut; no spans that several cut count beyond a text."""
    if not edits:
        return None
    words, *_ = (pc.fill_null(block[edit.words.name], 0).to_numpy(zero_copy_only=False) for edit in edits)
    shares = [pc.fill_null(block[edit.share.name], 0).to_numpy(zero_copy_only=False) for edit in edits]
    return words, np.rint(words * np.minimum(np.sum(shares, 0), 1)).astype(np.int64)


def size_columns(size: Column | None) -> list[Column]:
    """Return the columns that tell the bytes of each row; `size` is the measured one, if there is one."""
    return [_LENGTH, _UNIT] if size is None else [size]


def sizes_of(block: Mapping[str, pa.Array], size: Column | None) -> NDArray[np.int64]:
    """Return the bytes of each row, from these columns."""
    if size is not None:
        measured = block[size.name]
    else:
        # The length of a table's record is in rows, not in bytes.
        unit = block[_UNIT.name]
        measured = pc.if_else(pc.equal(unit, "rows"), 0, block[_LENGTH.name])
    found: NDArray[np.int64] = pc.fill_null(measured, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _null_error(pinned: PinnedProgram, shard: ShardObjects, error: NullConditionError, row: int) -> UndecidedError:
    seen = 0
    identity = ""
    for batch in read_batches(pinned.store.objects, shard.objects[layout.SAMPLES], ["id"]):
        if row < seen + batch.num_rows:
            identity = batch["id"][row - seen].as_py().hex()
            break
        seen += batch.num_rows
    message = (
        f"is null for the sample {identity} (shard {shard.shard}, row {row}), and 'when_null' is error; measure what "
        "it reads, or set when_null: keep or drop"
    )
    return Undecided(error.number, message).error(pinned.program)


DROPPED_SAMPLES = pa.schema(
    [
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("reason", pa.string(), nullable=False),  # of the first rule that fired
        pa.field(
            "reasons", pa.list_(pa.field("item", pa.string(), nullable=False)), nullable=False
        ),  # of all, in order
        pa.field("duplicate_of", pa.binary(16)),  # the representative of its cluster, if it was dropped as a duplicate
    ]
)


def dropped_samples(
    pinned: PinnedProgram, shard: ShardObjects, decisions: ShardDecisions, duplicates: Duplicates = NO_DUPLICATES
) -> pa.Table:
    """Return the dropped rows of one shard, in order; forgotten ones by id only."""
    batches = list(read_batches(pinned.store.objects, shard.objects[layout.SAMPLES], ["id", "url"]))
    first = decisions.first
    at = np.flatnonzero(first >= 0)
    if not len(at):
        return DROPPED_SAMPLES.empty_table()
    samples = pa.Table.from_batches(batches).take(pa.array(at)).combine_chunks()
    names = pa.array(pinned.program.all_reasons)
    forgotten = pa.array(first[at] == decisions.rules)
    return pa.table(
        [
            samples["id"].cast(pa.binary(16)),
            pa.array([shard.source]).take(pa.array(np.zeros(len(at), np.int64))),
            pc.if_else(forgotten, pa.scalar(None, pa.string()), samples["url"]),
            names.take(pa.array(first[at])),
            _reasons(decisions, at, names),
            duplicates.replacement_ids(shard.shard, shard.rows).take(pa.array(at)),
        ],
        schema=DROPPED_SAMPLES,
    )


def _reasons(decisions: ShardDecisions, at: np.ndarray[tuple[int], np.dtype[np.int64]], names: pa.Array) -> pa.Array:
    fired = decisions.fired[at]
    rows, rules = [], []
    for number in range(decisions.rules + 1):
        found = np.flatnonzero(has_rule(fired, number))
        rows.append(found)
        rules.append(np.full(len(found), number, np.int64))
    every, which = np.concatenate(rows), np.concatenate(rules)
    order = np.argsort(every, kind="stable")  # a stable sort, so each row's rules stay in order
    offsets = np.concatenate([[0], np.cumsum(np.bincount(every, minlength=len(at)))])
    values = names.take(pa.array(which[order]))
    kind = DROPPED_SAMPLES.field("reasons").type
    return pc.cast(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values), kind)

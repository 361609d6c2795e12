"""Who stays and why: the rules of a recipe over a pinned generation, shard by shard, several at a time.

Only the columns that rules name are read, and no text unless one names it (law 1). Nothing is written: what a rule
says today it may unsay tomorrow. The dropped samples are listed for reviewing, sampling or tuning a threshold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.rules import MEASURED_LANGUAGE
from winnow.pipelines.query.columns import Column, read_aligned
from winnow.pipelines.rules.decisions import WORD, DecisionCounts, Masks, ShardDecisions, count_block
from winnow.pipelines.rules.evaluation import Evaluator, NullConditionError
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.rules.representatives import NO_DUPLICATES, Candidates, Chooser, Duplicates, candidates
from winnow.pipelines.rules.running import over_shards
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import ROW_GROUP_ROWS, read_batches
from winnow.schemas.errors import RecipeError, StoreError

NARROW_BLOCK_ROWS = 65_536  # of numbers and short strings: a few MiB
UNKNOWN = "unknown"

_LENGTH, _UNIT = Column(layout.SAMPLES, "source.length"), Column(layout.SAMPLES, "source.unit")
_DECLARED = r"^(?P<code>[a-z]{2,3})(?:[-_].*)?$"


def decide(
    pinned: PinnedProgram, threads: int | None = None, duplicates: Duplicates = NO_DUPLICATES
) -> Iterator[ShardDecisions]:
    """Decide every shard, in the order of their names whatever the number of threads.

    Args:
        pinned: The rules and what they read.
        threads: How many shards are decided at once; None: as many as suits the place of the store.
        duplicates: The rows in whose place others stay, where the recipe has duplicates looked for.

    Raises:
        RecipeError: A rule cannot be decided for a row; the first such row in the order of shards.
        StoreError: A layer does not have the rows that the generation says.
    """

    def decided(shard: ShardObjects, evaluator: Evaluator) -> ShardDecisions:
        return decide_shard(pinned, shard, evaluator, duplicates)

    return over_shards(pinned, decided, threads)


def represent(pinned: PinnedProgram, threads: int | None = None) -> Duplicates:
    """Choose who stays of each cluster: a pass over the store before the one that decides.

    Raises:
        RecipeError: A rule of `eligible` cannot be decided for a row.
        StoreError: A layer does not have the rows that the generation says.
    """
    choice = pinned.program.choice
    if choice is None:
        return NO_DUPLICATES
    first = replace(pinned, program=pinned.program.only_eligible(), languages=())  # nothing is counted in this pass
    numbers = {shard.shard: number for number, shard in enumerate(pinned.shards)}

    def brought(shard: ShardObjects, evaluator: Evaluator) -> Candidates:
        eligible = decide_shard(first, shard, evaluator).eligible
        blocks = read_aligned(pinned.store.objects, shard.objects, choice.columns, NARROW_BLOCK_ROWS, shard.hidden)
        return candidates(choice, numbers[shard.shard], shard.source, blocks, eligible)

    with Chooser(choice) as chooser:
        for found in over_shards(first, brought, threads):
            chooser.add(found)
        return chooser.chosen(tuple(numbers))


def decide_shard(
    pinned: PinnedProgram, shard: ShardObjects, evaluator: Evaluator, duplicates: Duplicates = NO_DUPLICATES
) -> ShardDecisions:
    """Decide the rows of one shard."""
    lost = {name: pa.array(marks) for name, marks in duplicates.of(shard.shard, shard.rows).items()}
    fired: list[Masks] = []
    null: list[Masks | None] = []
    counts: list[DecisionCounts] = []
    at = 0
    words = max(1, -(-(len(pinned.program.rules) + 1) // WORD))
    for block in read_aligned(pinned.store.objects, shard.objects, _columns(pinned), _block_rows(pinned), shard.hidden):
        rows = len(next(iter(block.values())))
        block |= {name: marks.slice(at, rows) for name, marks in lost.items()}
        first, last = np.searchsorted(shard.hidden, (at, at + rows))
        seen = np.ones(rows, np.bool_)
        seen[shard.hidden[first:last] - at] = False
        try:
            block_fired, block_null = _decided(evaluator, block, seen)
        except NullConditionError as error:
            raise _null_error(pinned, shard, error, at + int(np.flatnonzero(seen)[error.row])) from None
        block_fired, block_null = _wide(block_fired, words), None if block_null is None else _wide(block_null, words)
        _mark(block_fired, ~seen, len(pinned.program.rules))
        sizes = _sizes(block, pinned.size)
        counts.append(
            count_block(shard.source, languages_of(block, pinned.languages, rows), sizes, block_fired, block_null)
        )
        fired.append(block_fired)
        null.append(block_null)
        at += rows
    merged = DecisionCounts.merged(counts)
    # Law 3: the manifest counted the rows when they were written, the tallies count what was decided.
    if not at == merged.total.rows == shard.rows:
        raise StoreError(
            f"{pinned.store.root}: shard {shard.shard} has {shard.rows} rows, {at} were read and {merged.total.rows} "
            "decided; run 'winnow audit'"
        )
    program = pinned.program
    if not fired:
        fired, null = [np.zeros((0, words), np.uint64)], [None]
    together = np.concatenate(fired)
    return ShardDecisions(
        shard=shard.shard,
        source=shard.source,
        rules=len(program.rules),
        eligible_rules=program.eligible,
        fired=together,
        null=_joined(fired, null),
        counts=merged,
    )


def _decided(
    evaluator: Evaluator, block: Mapping[str, pa.Array], seen: NDArray[np.bool_]
) -> tuple[Masks, Masks | None]:
    """What the rules decide about the rows that they see; the others are left undecided."""
    if seen.all():
        return evaluator.decide(len(seen), block)
    mask = pa.array(seen)
    fired, null = evaluator.decide(int(seen.sum()), {name: array.filter(mask) for name, array in block.items()})
    return _spread(fired, seen), None if null is None else _spread(null, seen)


def _spread(masks: Masks, seen: NDArray[np.bool_]) -> Masks:
    spread = np.zeros((len(seen), masks.shape[1]), np.uint64)
    spread[seen] = masks
    return spread


def _wide(masks: Masks, words: int) -> Masks:
    """With room for the bit after the last rule's."""
    return masks if masks.shape[1] == words else np.pad(masks, ((0, 0), (0, words - masks.shape[1])))


def _mark(fired: Masks, rows: NDArray[np.bool_], bit: int) -> None:
    if rows.any():
        fired[rows, bit // WORD] |= np.uint64(1 << bit % WORD)


def _joined(fired: list[Masks], null: list[Masks | None]) -> Masks | None:
    if all(part is None for part in null):
        return None
    return np.concatenate([np.zeros_like(one) if part is None else part for one, part in zip(fired, null, strict=True)])


def _columns(pinned: PinnedProgram) -> list[Column]:
    sizes = (_LENGTH, _UNIT) if pinned.size is None else (pinned.size,)
    return list(dict.fromkeys((*pinned.program.columns, *pinned.languages, *sizes)))


def _block_rows(pinned: PinnedProgram) -> int:
    return ROW_GROUP_ROWS if pinned.wide else NARROW_BLOCK_ROWS


def languages_of(block: Mapping[str, pa.Array], columns: tuple[Column, ...], rows: int) -> pa.DictionaryArray:
    """The language of each row, from the first of the columns that says one; without nulls."""
    if not columns:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([UNKNOWN]))
    arrays = [block[column.name] for column in columns]
    if columns[0].name != MEASURED_LANGUAGE:
        arrays = [_declared(array) for array in arrays]
    return pc.dictionary_encode(pc.coalesce(*arrays, pa.scalar(UNKNOWN, arrays[0].type)))


def _declared(values: pa.Array) -> pa.Array:
    """What a page says of its language, as far as it is one: `de-AT` is `de`, and a poem is null."""
    coded = pc.dictionary_encode(values)
    named = pc.struct_field(pc.extract_regex(pc.utf8_lower(coded.dictionary), _DECLARED), "code")
    return named.take(coded.indices)


def _sizes(block: dict[str, pa.Array], size: Column | None) -> NDArray[np.int64]:
    if size is not None:
        measured = block[size.name]
    else:
        # Records of tables are counted in rows, not in bytes.
        unit = block[_UNIT.name]
        measured = pc.if_else(pc.equal(unit, "rows"), 0, block[_LENGTH.name])
    found: NDArray[np.int64] = pc.fill_null(measured, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _null_error(pinned: PinnedProgram, shard: ShardObjects, error: NullConditionError, row: int) -> RecipeError:
    seen = 0
    identity = ""
    for batch in read_batches(pinned.store.objects, shard.objects[layout.SAMPLES], ["id"]):
        if row < seen + batch.num_rows:
            identity = batch["id"][row - seen].as_py().hex()
            break
        seen += batch.num_rows
    rule = error.rule.rule
    return RecipeError(
        f"{rule.place}: {error.rule.path}: the condition of {rule.reason!r} is null for the sample {identity} (shard "
        f"{shard.shard}, row {row}), and 'when_null' says error; measure what it reads, or say keep or drop"
    )


DROPPED_SAMPLES = pa.schema(
    [
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("reason", pa.string(), nullable=False),  # of the first rule that fired
        pa.field(
            "reasons", pa.list_(pa.field("item", pa.string(), nullable=False)), nullable=False
        ),  # of all, in order
        pa.field("duplicate_of", pa.binary(16)),  # the row that stayed in its place when it was chosen among duplicates
    ]
)


def dropped_samples(
    pinned: PinnedProgram, shard: ShardObjects, decisions: ShardDecisions, duplicates: Duplicates = NO_DUPLICATES
) -> pa.Table:
    """The dropped rows of one shard, in order; forgotten ones by id only."""
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
            duplicates.gone_for(shard.shard, shard.rows).take(pa.array(at)),
        ],
        schema=DROPPED_SAMPLES,
    )


def _reasons(decisions: ShardDecisions, at: np.ndarray[tuple[int], np.dtype[np.int64]], names: pa.Array) -> pa.Array:
    fired = decisions.fired[at]
    rows, rules = [], []
    for number in range(decisions.rules + 1):
        found = np.flatnonzero(fired[:, number // WORD] >> np.uint64(number % WORD) & np.uint64(1))
        rows.append(found)
        rules.append(np.full(len(found), number, np.int64))
    every, which = np.concatenate(rows), np.concatenate(rules)
    order = np.argsort(every, kind="stable")  # rules were gone through in order, and stay so in each row
    offsets = np.concatenate([[0], np.cumsum(np.bincount(every, minlength=len(at)))])
    values = names.take(pa.array(which[order]))
    kind = DROPPED_SAMPLES.field("reasons").type
    return pc.cast(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values), kind)

"""How well a search for near duplicates did on a planted corpus, beside what its bands and its threshold promise.

Recall: of the planted pairs of each true resemblance, the share whose rows came to be one cluster. Precision: of a
sample of the rows that share a cluster with others, the share that truly resembles another row of it by the threshold
or more. Rows that are told to be one have one number, all others numbers of their own.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs.resemblance import jaccards, shingle_sets
from winnow.filters.duplicates.curves import probabilities
from winnow.filters.duplicates.verification import ABOVE, UNCLEAR, judge

BANDS, ROWS, THRESHOLD = 14, 8, 0.75
EDGES = (0.0, *(round(0.5 + 0.05 * step, 2) for step in range(10)), 1.0)  # of true resemblance
HIGH = 0.9  # from where on nothing should be missed, up to texts that differ in nothing
SAMPLE = 2_000  # joined rows that are looked at
_MOST_OTHERS = 200  # of a row's cluster that it is compared with
_GRID = 2_001
_SEED = 7

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Truth:
    """The planted pairs of a corpus, and its pages of templates."""

    folder: Path
    rows: int
    first: Numbers
    second: Numbers
    jaccard: Floats
    unspaced: Flags
    template: Flags  # pages of one site beside each other, which are different pages
    groups: Numbers  # of each pair; -1 for pages
    pages: Numbers  # the rows of all such pages

    @classmethod
    def of(cls, folder: Path) -> "Truth":
        """Read from a corpus of `benchmarks.inputs.planted`."""
        table = pq.read_table(folder / "truth.parquet")
        rows = pa.concat_tables(pq.read_table(path, columns=["kind", "group"]) for path in corpus_files(folder))
        first = row_numbers(table["first"])
        return cls(
            folder,
            rows.num_rows,
            first,
            row_numbers(table["second"]),
            table["jaccard"].to_numpy(),
            pc.equal(table["script"], "unspaced").to_numpy(),
            pc.equal(table["kind"], "template").to_numpy(),
            rows["group"].to_numpy()[first],
            np.flatnonzero(pc.equal(rows["kind"], "template").to_numpy()),
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Planted pairs of about one resemblance in one kind of script."""

    similarity: str
    script: str
    pairs: int
    candidates: float  # the share that the S-curve promises to be compared
    promised: float  # and the share that is then told to be alike, or is joined by a third row of its group
    found: dict[str, float]  # by who searched


@dataclass(frozen=True, slots=True)
class Precision:
    """What one search joined that it should not have."""

    joined_rows: int  # rows that share a cluster with others
    sampled: int
    precise: float  # the share of the sample that resembles another row of its cluster by the threshold or more
    strangers: float  # the share whose nearest row of the cluster resembles it by less than a third
    pages_joined: int  # pages of templates that share a cluster with others
    pages: int
    pairs_below: float  # the share of planted pairs under the threshold, pages left out, that came to be one cluster
    high: dict[str, float]  # the share found of pairs from `HIGH` on that are not the same, by script


@dataclass(frozen=True, slots=True)
class Quality:
    """All of it for one corpus."""

    bins: list[Bin]
    precision: dict[str, Precision]

    def lines(self) -> Iterator[str]:
        """As tables for reading."""
        names = list(self.precision)
        yield "planted pairs that came to be one cluster"
        yield _line("similarity", "script", "pairs", "S-curve", "promised", *names)
        for one in self.bins:
            shares = (f"{share:.3f}" for share in (one.candidates, one.promised, *one.found.values()))
            yield _line(one.similarity, one.script, f"{one.pairs:,}", *shares)
        yield ""
        yield "rows that share a cluster with others; pages of one template; planted pairs, found of each similarity"
        yield _line("", "rows", "precise", "strangers", "pages", "of", "J < .75", ".9-1 spac.", ".9-1 unsp.")
        for name, found in self.precision.items():
            shares = (f"{share:.4f}" for share in (found.precise, found.strangers))
            last = (f"{share:.4f}" for share in (found.pairs_below, *found.high.values()))
            yield _line(name, f"{found.joined_rows:,}", *shares, f"{found.pages_joined:,}", f"{found.pages:,}", *last)

    def to_json(self) -> dict[str, object]:
        """For the benchmark's last line."""
        return asdict(self)


def judged(truth: Truth, clusters: Mapping[str, Numbers]) -> Quality:
    """How well each search did, by the number that it gave to every row of the corpus."""
    for name, numbers in clusters.items():
        if len(numbers) != truth.rows:
            raise SystemExit(f"benchmarks.dedupe: {name} tells of {len(numbers):,} rows, expected {truth.rows:,}")
    promised = promised_shares(truth)
    joined = {name: numbers[truth.first] == numbers[truth.second] for name, numbers in clusters.items()}
    bins = []
    for script, unspaced in (("spaced", False), ("unspaced", True)):
        planted = ~truth.template & (truth.unspaced == unspaced)
        bins += [
            _bin(truth, promised, joined, label, script, chosen & planted) for label, chosen in _ranges(truth.jaccard)
        ]
    if truth.template.any():
        bins.append(_bin(truth, promised, joined, "one template", "any", truth.template))
    precision = {name: _precision(truth, numbers, joined[name]) for name, numbers in clusters.items()}
    return Quality([one for one in bins if one.pairs], precision)


def promised_shares(truth: Truth) -> Floats:
    """How likely each planted pair is to come to be one cluster, by what the scheme promises.

    Of a group of three texts two may be joined by the third, whatever they are to each other.
    """
    shares = verified_shares(truth.jaccard)
    order = np.argsort(truth.groups, kind="stable")
    groups, starts, counts = np.unique(truth.groups[order], return_index=True, return_counts=True)
    three = starts[(counts == 3) & (groups >= 0)]
    one, two, other = (order[three + place] for place in range(3))
    alone = shares.copy()
    for pair, way, back in ((one, two, other), (two, one, other), (other, one, two)):
        shares[pair] += (1.0 - alone[pair]) * alone[way] * alone[back]
    return shares


def verified_shares(similarities: Floats) -> Floats:
    """How likely pairs of these resemblances are to share a band and to be told to be alike.

    The signatures that decide are those that made the pair a candidate, so both are counted together: of all ways in
    which some hashes agree, those that fill a band, and of them those that `judge` calls above the threshold, or those
    that it calls unclear where the true resemblance then decides.
    """
    grid = np.linspace(0.0, 1.0, _GRID)
    verdict = judge(np.arange(BANDS * ROWS + 1), BANDS * ROWS, THRESHOLD)
    clear, unclear = np.empty(_GRID), np.empty(_GRID)
    for at, similarity in enumerate(grid):
        band = _binomial(ROWS, similarity)
        every, none_full = np.ones(1), np.ones(1)
        for _ in range(BANDS):
            every, none_full = np.convolve(every, band), np.convolve(none_full, band[:-1])
        every[: len(none_full)] -= none_full
        clear[at], unclear[at] = every[verdict == ABOVE].sum(), every[verdict == UNCLEAR].sum()
    shares: Floats = np.interp(similarities, grid, clear)
    shares += np.where(similarities >= THRESHOLD, np.interp(similarities, grid, unclear), 0.0)
    return shares


def corpus_files(folder: Path) -> list[Path]:
    """The files of a planted corpus in order of their rows."""
    return sorted(folder.glob("part-*.parquet"))


def row_numbers(ids: pa.ChunkedArray) -> Numbers:
    """Which row of its corpus each id names."""
    digits = pc.replace_substring(ids, "planted-", "")
    return pc.cast(digits, pa.int64()).to_numpy()  # type: ignore[no-any-return]


def _bin(truth: Truth, promised: Floats, joined: Mapping[str, Flags], label: str, script: str, chosen: Flags) -> Bin:
    similarities = truth.jaccard[chosen]
    curve = probabilities(similarities, BANDS, ROWS)
    found = {name: _mean(flags[chosen]) for name, flags in joined.items()}
    return Bin(label, script, len(similarities), _mean(curve), _mean(promised[chosen]), found)


def _ranges(similarities: Floats) -> Iterator[tuple[str, Flags]]:
    """The ranges of resemblance, the same texts apart."""
    for low, high in itertools.pairwise(EDGES):
        yield f"{low:.2f}-{high:.2f}", (similarities >= low) & (similarities < high)
    yield "1", similarities == 1.0


def _precision(truth: Truth, numbers: Numbers, joined: Flags) -> Precision:
    _, member_of, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    shared = sizes[member_of] > 1
    rows = np.flatnonzero(shared)
    drawn = np.random.default_rng(_SEED)
    sample = np.sort(drawn.choice(rows, min(SAMPLE, len(rows)), replace=False))
    nearest = _nearest(truth.folder, member_of, sample, drawn)
    below = ~truth.template & (truth.jaccard < THRESHOLD)
    high = ~truth.template & (truth.jaccard >= HIGH) & (truth.jaccard < 1.0)
    return Precision(
        joined_rows=len(rows),
        sampled=len(sample),
        precise=_mean(nearest >= THRESHOLD),
        strangers=_mean(nearest < 1 / 3),
        pages_joined=int(shared[truth.pages].sum()),
        pages=len(truth.pages),
        pairs_below=_mean(joined[below]),
        high={
            script: _mean(joined[high & (truth.unspaced == unspaced)])
            for script, unspaced in (("spaced", False), ("unspaced", True))
        },
    )


def _nearest(folder: Path, member_of: Numbers, sample: Numbers, drawn: np.random.Generator) -> Floats:
    """The true resemblance of each row to that which it resembles most among the others of its cluster."""
    order = np.argsort(member_of, kind="stable")
    bounds = np.searchsorted(member_of[order], np.arange(member_of.max() + 2 if len(member_of) else 1))
    left, right = [], []
    for row in sample.tolist():
        cluster = order[bounds[member_of[row]] : bounds[member_of[row] + 1]]
        others = cluster[cluster != row]
        if len(others) > _MOST_OTHERS:
            others = drawn.choice(others, _MOST_OTHERS, replace=False)
        left.append(np.full(len(others), row))
        right.append(others)
    if not left:
        return np.zeros(0)
    one, other = np.concatenate(left), np.concatenate(right)
    wanted = np.unique(np.concatenate([one, other]))
    sets = shingle_sets(_texts(folder, wanted))
    similarities = jaccards(sets, np.searchsorted(wanted, one), np.searchsorted(wanted, other))
    starts = np.cumsum([0, *(len(others) for others in right[:-1])])
    nearest: Floats = np.maximum.reduceat(similarities, starts)
    return nearest


def _texts(folder: Path, rows: Numbers) -> pa.LargeStringArray:
    """The texts of some rows, which are sorted."""
    found, begin = [], 0
    for path in corpus_files(folder):
        with pq.ParquetFile(path) as parquet:
            for batch in parquet.iter_batches(8_192, columns=["text"]):
                first, last = np.searchsorted(rows, (begin, begin + batch.num_rows))
                found.append(batch["text"].take(pa.array(rows[first:last] - begin)))
                begin += batch.num_rows
    return pa.concat_arrays(found)


def _binomial(trials: int, chance: float) -> Floats:
    """How likely each number of successes is."""
    found = np.ones(1)
    for _ in range(trials):
        found = np.convolve(found, (1.0 - chance, chance))
    return found


def _mean(values: Flags | Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _line(first: str, *cells: str) -> str:
    return f"{first:<14}" + "".join(f"{cell:>12}" for cell in cells)

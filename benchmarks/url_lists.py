"""Lists of addresses: what five million entries take, and what a look-up among them costs.

    python -m benchmarks.url_lists [N] [--quick] [--json]

Processor time on one core, the best of three runs. The promise is 1 µs an address. All of it takes ten seconds, so
`--quick` changes nothing.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.measuring.reporting import Limit, Report, benchmark_arguments, show
from winnow.filters.language.kernels.hashes import mixed
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.url.blocklist import URL, Matcher
from winnow.filters.web.url_lists.hashing import hash_backwards
from winnow.filters.web.url_lists.index import UrlIndex
from winnow.filters.web.url_lists.reading import read_list
from winnow.filters.web.url_lists.table import holds
from winnow.schemas.kernels import kernel

ENTRIES = 5_000_000
ROUNDS = 3
ADDRESS_MICROSECONDS = 1.0
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz012345", np.uint8)


@dataclass(frozen=True, slots=True)
class ListCost:
    """Processor time on one core, the best of several runs."""

    entries: int
    bytes_an_entry: float
    build_seconds: float
    lookup_ns: float  # a name in a table: the kernel alone, names of 16 bytes, half of them listed
    url_ns: float  # an address of three labels: three names, and everything that the operator does for a row


def domains(count: int, first: int = 0) -> list[str]:
    """Names that are all different, in no order: the same ones each time."""
    numbers = np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    columns = [_LETTERS[(numbers >> np.uint64(5 * place)) & np.uint64(31)] for place in range(12)]
    ends = np.frombuffer(b".com.net.org.dev", np.uint8).reshape(4, 4)[(numbers >> np.uint64(62)).astype(np.int64)]
    names = np.hstack([np.stack(columns, 1), ends]).view("S16").ravel()
    return [name.decode() for name in names.tolist()]


def listed(entries: int = ENTRIES) -> tuple[UrlIndex, float]:
    """A list of so many domains, and the seconds that it took to make ready."""
    text = "\n".join(domains(entries)).encode()
    read_list(BytesIO(b"a.com\n"), "warm-up")
    started = time.process_time()
    index = read_list(BytesIO(text), "benchmark")
    return index, time.process_time() - started


@kernel
def _look_up(starts, prints, text, offsets):  # type: ignore[no-untyped-def]
    """Which of these names are in a set."""
    found = np.empty(len(offsets) - 1, np.bool_)
    for at in range(len(found)):
        place, print_ = hash_backwards(text, offsets[at], offsets[at + 1])
        found[at] = holds(starts, prints, mixed(place), mixed(print_))
    return found


def list_cost(entries: int = ENTRIES, lookups: int = 1_000_000) -> ListCost:
    """Measure a list of so many entries."""
    index, build = listed(entries)
    names = [*domains(lookups // 2), *domains(lookups // 2, 2 * entries)]
    names = [names[place] for place in np.random.default_rng(0).permutation(len(names)).tolist()]
    texts = texts_of(pa.array(names, pa.large_string()))
    table = index.tables["domain"]
    matcher = Matcher(index, "benchmark", ("domain", "host", "path", "word"))
    # Pages of crawls are seldom on a list: one address in a hundred is.
    pages = domains(lookups, 2 * entries)
    pages[::100] = domains(lookups)[::100]
    urls = [f"https://www.{name}/articles/2024/{number}/a-title.html" for number, name in enumerate(pages)]
    batches = pa.RecordBatch.from_pydict({URL: pa.array(urls)})

    def names_once() -> None:
        found: npt.NDArray[np.bool_] = _look_up(table.starts, table.prints, texts.buffer, texts.offsets)
        assert int(found.sum()) == lookups // 2

    def addresses_once() -> None:
        for at in range(0, lookups, 16_384):
            matcher.measure(batches.slice(at, 16_384))

    return ListCost(
        entries=index.summary.total,
        bytes_an_entry=index.bytes / index.summary.total,
        build_seconds=build,
        lookup_ns=_best(names_once) / lookups * 1e9,
        url_ns=_best(addresses_once) / lookups * 1e9,
    )


def _best(run: Callable[[], None]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        run()
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> int:
    """Print what a list of N domains costs."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("entries", type=int, nargs="?", default=ENTRIES)
    options = parser.parse_args()
    cost = list_cost(options.entries)
    print(f"{cost.entries:,} entries, {cost.bytes_an_entry:.2f} bytes each, made ready in {cost.build_seconds:.1f} s")
    print(f"{cost.lookup_ns:.0f} ns a look-up in the kernel, {cost.url_ns:.0f} ns an address")
    limit = Limit("time of an address", cost.url_ns / 1000, ADDRESS_MICROSECONDS, "µs")
    return show(Report("url_lists", "addresses/s", 1e9 / cost.url_ns, limit=limit, quick=options.quick), options.json)


if __name__ == "__main__":
    sys.exit(main())

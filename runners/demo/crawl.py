"""Writes the demo crawl into a folder: archives, books, a table, notes, lists and the truth about them.

Every run with the same zlib, zstd, Brotli and pyarrow writes the same bytes; the contents of the archives and the table
are the same with any version.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from winnow.runners.demo import hostile, other_sources, planted
from winnow.runners.demo.archives import Damage, Wrapping, arc, warc, wet
from winnow.runners.demo.captures import Capture, Truth
from winnow.runners.demo.choice import number, shuffled
from winnow.runners.demo.pages import articles, ordinary_pages
from winnow.runners.demo.traffic import traffic
from winnow.runners.demo.writing import write_files
from winnow.schemas.identity import canonical_json

ARCHIVES: dict[str, Wrapping] = {
    "part-00000.warc.gz": "gzip",
    "part-00001.warc.gz": "gzip",
    hostile.CORRUPT: "gzip",
    hostile.TRUNCATED: "gzip",
    hostile.PLAIN: "plain",
    hostile.PACKED: "zstd",
}
_FULL = ("part-00000.warc.gz", hostile.PLAIN)  # these also hold request and metadata records
_SHARES = (30, 30, 15, 10, 3, 12)  # percent of the captures, in the order of ARCHIVES
_IN_WET, _IN_ARC = 14, 8

Planned = tuple[int, Capture, Damage | None]


def make_crawl(folder: Path) -> None:
    """Write the crawl into the folder. An interrupted run is completed; files that are not the demo's are left unchanged."""
    write_files(folder, crawl_files())


def crawl_files() -> dict[str, bytes]:
    """Every file of the crawl: its path in the folder and its bytes."""
    plan = planned()
    files = {
        f"crawl/{name}": warc(name, plan[name], wrapping, full=name in _FULL) for name, wrapping in ARCHIVES.items()
    }
    converted, legacy = _older_captures()
    files["wet/part-00000.warc.wet.gz"] = wet("part-00000.warc.wet.gz", converted)
    files["legacy/part-1998.arc.gz"] = arc("part-1998.arc.gz", legacy)
    files |= {f"books/{name}": raw for name, raw in other_sources.books().items()}
    files |= {f"reference/{name}": raw for name, raw in other_sources.reference().items()}
    files |= {f"notes/{name}": raw for name, raw in other_sources.notes().items()}
    files["lists/adult-domains.txt"] = planted.adult_list().encode()
    files["truth.jsonl"] = _truth_lines(plan)
    return files


def planned() -> dict[str, list[Planned]]:
    """The captures of each archive in order, with their ordinals in the crawl and their damage."""
    captures: list[tuple[Capture, Damage | None]] = [
        (capture, None)
        for capture in [*ordinary_pages(), *planted.planted_pages(), *hostile.hostile_pages(), *traffic()]
    ]
    captures += hostile.damaged()
    plan: dict[str, list[Planned]] = {name: [] for name in ARCHIVES}
    fetched = sorted(shuffled(captures, "order"), key=lambda pair: pair[0].revisit_of is not None)  # revisits come last
    for ordinal, (capture, damage) in enumerate(fetched):
        plan[capture.pinned or _archive_of(capture.url)].append((ordinal, capture, damage))
    return {name: _with_damage_spread(records) for name, records in plan.items()}


def _with_damage_spread(records: list[Planned]) -> list[Planned]:
    """The records with the damaged ones spread between the others; one that truncates the file comes last."""
    arranged = [record for record in records if record[2] is None]
    inside = [record for record in records if record[2] not in (None, "truncated_end")]
    for at, record in enumerate(inside):
        arranged.insert(len(arranged) * (at + 1) // (len(inside) + 1), record)
    return [*arranged, *(record for record in records if record[2] == "truncated_end")]


def _archive_of(url: str) -> str:
    left = number("archive", url) % 100
    for name, share in zip(ARCHIVES, _SHARES, strict=True):
        left -= share
        if left < 0:
            return name
    raise AssertionError("the shares add up to 100")


def _older_captures() -> tuple[Sequence[tuple[int, Capture]], Sequence[tuple[int, Capture]]]:
    """The articles that the WET file repeats, and those that the ARC file repeats."""
    chosen = shuffled(articles(), "older")
    return list(enumerate(chosen[:_IN_WET])), list(enumerate(chosen[_IN_WET : _IN_WET + _IN_ARC]))


def _truth_lines(plan: dict[str, list[Planned]]) -> bytes:
    lines = []
    for name, records in plan.items():
        for _, capture, damage in records:
            lines.append(_truth_line(f"crawl/{name}", capture, damage))
    return "".join(lines).encode()


def _truth_line(path: str, capture: Capture, damage: Damage | None) -> str:
    truth: Truth = capture.truth
    return (
        canonical_json(
            {"file": path, "record": capture.record_id, "url": capture.url, "damage": damage, **asdict(truth)}
        )
        + "\n"
    )

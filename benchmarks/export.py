"""Exports of a mixture that is drawn already, against bare loops and peers that write the same samples.

    python -m benchmarks.export [--quick] [--json] [--samples N]

A million texts of about 2 kB (`benchmarks.export_stores`), each given once. Ours is `winnow export` of one format with
one worker, start-up included: it reads the store, checks each sample against the draw, brings all into one random order
through disk, writes, hashes and syncs the files, and the card. What peers do is in `benchmarks.export_peers`; that both
sides wrote the same number of samples, and the same bytes of texts or tokens, is checked, or nothing is printed.

- `bare_pyarrow`: our Parquet against a read and write loop. Promised: 0.5 of it.
- `bare_tarwriter`: our WebDataset against a loop over webdataset's writer. Promised: 0.8 of it.
- `datatrove`: our Megatron against its tokeniser and merger, the same tokenizer. Promised: 3 times it.
- `datasets`, `datasets_to_disk`: our Parquet against interleave_datasets with the plan's weights.

One core each (pinned), median of three. Rates are samples per CPU-second. Planning and drawing is a row of its own, as
is the export with edits of personal data.
"""

import argparse
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.export_peers import Content, content_of, run_peer, split_by_source
from benchmarks.export_stores import Prepared, prepared_store, winnow
from benchmarks.reporting import GIB, Limit, Measured, Report, Row, benchmark_arguments, median_of, show

MANY, QUICK = 1_000_000, 50_000
FLOORS = {"bare_pyarrow": 0.5, "bare_tarwriter": 0.8, "datatrove": 3.0}
RIVALS = {
    "parquet": ("bare_pyarrow", "datasets", "datasets_to_disk"),
    "webdataset": ("bare_tarwriter",),
    "megatron": ("datatrove",),
}
PEAK_GIB = 1.0
EXPORT = "  - {{{name}: {{path: {out}{options}}}}}"


@dataclass(frozen=True, slots=True)
class Results:
    """The lines of the table."""

    samples: int
    rows: list[Row] = field(default_factory=list)

    def add(self, case: str, took: Measured) -> float:
        """One more; returns its rate."""
        rate = self.samples / took.cpu_seconds
        print(f"{case}: {rate:,.0f} samples/CPU-s", file=sys.stderr, flush=True)
        self.rows.append(Row(case, f"{self.samples:,} samples", took, rate))
        return rate


def main() -> int:
    """Measure, compare what was written, and print."""
    options = _options()
    prepared = prepared_store(options.samples)
    results = Results(prepared.samples)
    rounds = 1 if options.quick else 3
    ours: dict[str, float] = {}
    peers: dict[str, float] = {}
    ours_for: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=".cache", prefix="export-") as name:
        scratch = Path(name).absolute()
        results.add("winnow mix", _planned(prepared, scratch))
        rows, held = _rows(prepared, scratch)
        for export, rivals in RIVALS.items():
            if export != "parquet" and not set(rivals) & set(options.peers):
                continue
            out = scratch / export
            ours[export] = results.add(
                f"winnow, {export}", median_of(rounds, partial(_exported, prepared, export, out))
            )
            written = content_of(export, out)
            if written.samples != prepared.samples or (export != "megatron" and written != held):
                sys.exit(f"benchmarks.export: {export} holds {written}; the store gives {held}")
            shutil.rmtree(out)
            for rival in (one for one in rivals if one in options.peers):
                took = median_of(rounds, partial(_peer, rival, rows, scratch / rival, prepared.tokenizer, written))
                peers[rival], ours_for[rival] = results.add(rival, took), ours[export]
        edited = partial(_exported, prepared, "parquet", scratch / "edited", edited=True)
        results.add("winnow, parquet, edited", median_of(rounds, edited))
    full = options.samples >= MANY
    peak = max(row.measured.peak_bytes for row in results.rows if row.case.startswith("winnow, ")) / GIB
    report = Report(
        "export",
        "samples/CPU-s",
        ours["parquet"],
        peers,
        ours_for=ours_for,
        limit=Limit("peak memory of all processes of an export", peak, PEAK_GIB, "GiB"),
        floors={peer: floor for peer, floor in FLOORS.items() if full and peer in peers},
        rows=results.rows,
    )
    return show(report, options.json)


def _planned(prepared: Prepared, scratch: Path) -> Measured:
    """A plan and a draw that the store does not have yet, in a copy of it: a store never changes an object."""
    store = scratch / "store"
    shutil.copytree(prepared.store, store, copy_function=os.link)
    try:
        recipe = prepared.recipe(
            scratch / "mix.yaml", EXPORT.format(name="parquet", options="", out="out"), store=store
        )
        return winnow("mix", recipe, "--sample", "99%")
    finally:
        shutil.rmtree(store)


def _rows(prepared: Prepared, scratch: Path) -> tuple[Path, Content]:
    """The samples as peers read them, and what they are."""
    out, rows = scratch / "first", scratch / "rows"
    _exported(prepared, "parquet", out)
    split_by_source(out, rows)
    return rows, content_of("parquet", out)


def _exported(prepared: Prepared, name: str, out: Path, *, edited: bool = False) -> Measured:
    shutil.rmtree(out, ignore_errors=True)
    options = f", tokenizer: {prepared.tokenizer}" if name == "megatron" else ""
    exports = EXPORT.format(name=name, options=options, out=out)
    return winnow("export", prepared.recipe(out.with_suffix(".yaml"), exports, edited=edited))


def _peer(name: str, rows: Path, out: Path, tokenizer: Path, expected: Content) -> Measured:
    """One run of a peer, whose files are looked at and deleted."""
    out.mkdir()
    try:
        took = run_peer(name, rows, out, tokenizer)
        if (found := content_of(name, out)) != expected:
            sys.exit(f"benchmarks.export: {name} wrote {found}, ours {expected}")
        return took
    finally:
        shutil.rmtree(out)


def _options() -> argparse.Namespace:
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--samples", type=int, help=f"how many ({MANY}; {QUICK} if quick)")
    every = [rival for rivals in RIVALS.values() for rival in rivals]
    parser.add_argument("--peers", help=f"which, with commas between ({','.join(every)}); '' for Parquet without any")
    options = parser.parse_args()
    options.samples = options.samples or (QUICK if options.quick else MANY)
    options.peers = every if options.peers is None else [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in every:
            parser.error(f"--peers: {name} is none of {', '.join(every)}")
    return options


if __name__ == "__main__":
    sys.exit(main())

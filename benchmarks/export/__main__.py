"""Exports of a mixture that is drawn already, against bare loops and peers that write the same samples.

    python -m benchmarks.export [--quick] [--json] [--samples N]

A million texts of about 2 kB (`benchmarks.export.stores`), each given once. Ours is `winnow export` of one format with
one worker, start-up included: it reads the store, checks each sample against the draw, brings all into one random order
through disk, writes, hashes and syncs the files, and the card. What peers do is in `benchmarks.export.peers`; that both
sides wrote the same number of samples, and the same bytes of texts or tokens, is checked, or nothing is printed.

- `bare_pyarrow`: our Parquet against a read and write loop. Promised: 0.5 of it.
- `bare_tarwriter`: our WebDataset against a loop over webdataset's writer. Promised: 0.8 of it.
- `datatrove`: our Megatron against its tokeniser and merger, the same tokenizer. Promised: 3 times it.
- `datasets`, `datasets_to_disk`: our Parquet against interleave_datasets with the plan's weights.

One core each (pinned), median of three. Rates are samples per CPU-second; `--quick` says those of the full run
(`benchmarks.measuring.reporting`). Planning and drawing is a row of its own, as is the export with edits of
personal data.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.export.peers import Content, content_of, run_peer, split_by_source
from benchmarks.export.stores import Prepared, prepared_store, winnow
from benchmarks.measuring.reporting import (
    GIB,
    Amounts,
    Limit,
    Measured,
    Row,
    benchmark_arguments,
    compared,
    show,
    timed,
)

MANY, QUICK, QUICK_TOKENS = 1_000_000, 100_000, 20_000  # samples: fewer are quick where they are tokenised
SMALL = 2_000  # samples: hardly more than start-up
FLOORS = {"bare_pyarrow": 0.5, "bare_tarwriter": 0.8, "datatrove": 3.0}
RIVALS = {
    "parquet": ("bare_pyarrow", "datasets", "datasets_to_disk"),
    "webdataset": ("bare_tarwriter",),
    "megatron": ("datatrove",),
}
PEAK_GIB = 1.0
EXPORT = "  - {{{name}: {{path: {out}{options}}}}}"


@dataclass(frozen=True, slots=True)
class Exports:
    """Every case at any number of samples. The first Parquet of a number is what its peers read."""

    scratch: Path
    _prepared: dict[int, Prepared] = field(default_factory=dict)
    _held: dict[int, Content] = field(default_factory=dict)  # what the store gives
    _tokens: dict[int, Content] = field(default_factory=dict)

    def prepared(self, samples: int) -> Prepared:
        """The store of so many samples."""
        if samples not in self._prepared:
            self._prepared[samples] = prepared_store(samples)
        return self._prepared[samples]

    def planned(self, samples: int) -> Measured:
        """A plan and a draw that the store does not have yet, in a copy of it: a store never changes an object."""
        prepared, store = self.prepared(samples), self.scratch / "store"
        shutil.copytree(prepared.store, store, copy_function=os.link)
        try:
            exports = EXPORT.format(name="parquet", options="", out="out")
            return winnow("mix", prepared.recipe(self.scratch / "mix.yaml", exports, store=store), "--sample", "99%")
        finally:
            shutil.rmtree(store)

    def ours(self, name: str, *, edited: bool = False) -> Callable[[int], Measured]:
        """`winnow export` of one format."""

        def run(samples: int) -> Measured:
            prepared, out = self.prepared(samples), self.scratch / name
            options = f", tokenizer: {prepared.tokenizer}" if name == "megatron" else ""
            exports = EXPORT.format(name=name, options=options, out=out)
            took = winnow("export", prepared.recipe(out.with_suffix(".yaml"), exports, edited=edited))
            if not edited:
                self._note(name, samples, out)
            shutil.rmtree(out)
            return took

        return run

    def peer(self, name: str, export: str) -> Callable[[int], Measured]:
        """A peer that writes what an export of ours held; its files are looked at and deleted."""

        def run(samples: int) -> Measured:
            if samples not in self._held:
                self.ours("parquet")(samples)
            out = self.scratch / name
            out.mkdir()
            try:
                took = run_peer(name, self._rows(samples), out, self.prepared(samples).tokenizer)
                expected = (self._tokens if export == "megatron" else self._held)[samples]
                if (found := content_of(name, out)) != expected:
                    sys.exit(f"benchmarks.export: {name} wrote {found}, ours {expected}")
                return took
            finally:
                shutil.rmtree(out)

        return run

    def _note(self, name: str, samples: int, out: Path) -> None:
        """What an export holds: all samples, and the bytes of text that the first one held."""
        written = content_of(name, out)
        held = self._tokens if name == "megatron" else self._held
        if name == "parquet" and samples not in held:
            split_by_source(out, self._rows(samples))
        if written.samples != samples or held.setdefault(samples, written) != written:
            sys.exit(f"benchmarks.export: {name} holds {written}; the store gives {samples} samples, {held[samples]}")

    def _rows(self, samples: int) -> Path:
        return self.scratch / f"rows-{samples}"


def main() -> int:
    """Measure, compare what was written, and print."""
    options = _options()
    rounds = 1 if options.quick else 3
    small = min(SMALL, options.samples // 10)
    many = Amounts(options.samples, MANY if options.quick else options.samples, small)
    few = Amounts(min(QUICK_TOKENS, many.now), MANY, small) if options.quick else many
    rows: dict[str, Row] = {}

    def measured(case: str, amounts: Amounts, run: Callable[[int], Measured]) -> Row:
        rows[case] = row = timed(case, "samples", amounts, run, rounds)
        print(f"{case}: {row.rate:,.0f} samples/CPU-s", file=sys.stderr, flush=True)
        return row

    with tempfile.TemporaryDirectory(dir=".cache", prefix="export-") as name:
        exports = Exports(Path(name).absolute())
        measured("winnow mix", many, exports.planned)
        peers: dict[str, Row] = {}
        ours_for: dict[str, Row] = {}
        for export, rivals in RIVALS.items():
            asked = [rival for rival in rivals if rival in options.peers]
            if export != "parquet" and not asked:
                continue
            amounts = few if export == "megatron" else many
            ours = measured(f"winnow, {export}", amounts, exports.ours(export))
            for rival in asked:
                peers[rival] = measured(rival, amounts, exports.peer(rival, export))
                ours_for[rival] = ours
        measured("winnow, parquet, edited", many, exports.ours("parquet", edited=True))
    full = many.full >= MANY
    peak = max(row.measured.peak_bytes for row in rows.values() if row.case.startswith("winnow, ")) / GIB
    report = compared(
        "export",
        "samples/CPU-s",
        rows["winnow, parquet"],
        peers,
        ours_for,
        limit=Limit("peak memory of all processes of an export", peak, PEAK_GIB, "GiB"),
        floors={peer: floor for peer, floor in FLOORS.items() if full and peer in peers},
        rows=list(rows.values()),
        quick=options.quick,
    )
    return show(report, options.json)


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

"""The table of a probe's finished runs, in the format of `runs_from_csv`."""

import csv
import io
from collections.abc import Iterable, Mapping

from winnow.scoring.probe.training import Measured
from winnow.scoring.scaling_law.runs import COLUMNS, RUN

UNITS = {
    "N": "parameters without embeddings",
    "D": "bytes of the whole mixture",
    "loss": "nats a byte",
}
"""The units for models over bytes."""


def runs_csv(measured: Iterable[Measured], units: Mapping[str, str] = UNITS) -> str:
    """One row per run and family, in the order of runs, without diverged runs."""
    written = io.StringIO(newline="")
    for name, unit in units.items():
        written.write(f"# unit.{name}: {unit}\n")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([*COLUMNS, RUN])
    for run in measured:
        if not run.diverged:
            writer.writerows(
                [family, run.n, run.d, repr(share), repr(run.losses[family]), run.seed, run.run]
                for family, share in sorted(run.shares.items())
            )
    return written.getvalue()

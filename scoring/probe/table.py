"""The table of a probe's finished runs, as `runs_from_csv` reads it."""

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
"""Of models that read bytes."""


def runs_csv(measured: Iterable[Measured], units: Mapping[str, str] = UNITS) -> str:
    """A row a run and family, in the order of runs; runs that diverged have none."""
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

"""`winnow law show`: prints a law file."""

import argparse
import json
import sys

from rich.console import Console

from winnow.pipelines.mix.laws import read_law
from winnow.runners.stages.law.views import parameters, print_units, print_warnings, quality, ranges, without_draws
from winnow.runners.tables.quantities import grouped
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.law import ScalingLaw


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the content of the file, except the draws."""
    law = read_law(options.law)
    if options.json:
        sys.stdout.write(json.dumps(without_draws(law), ensure_ascii=False) + "\n")
        return 0
    count = len(law.families)
    families = f"{count} {'family' if count == 1 else 'families'}"
    form = "L = (E + A N^-alpha + B D^-beta) p^-gamma"
    if law.mode == "gamma":
        form = "L = L(N, D) p^-gamma, with gamma alone fitted across N and D"
    print_line(console, f"{options.law}: the law of {families}", "bold")
    print_line(console, f"  {form}")
    print_units(law, console)
    print_line(console, "")
    print_tables(console, parameters(law), ranges(law), quality(law))
    _provenance(law, console)
    print_warnings(
        console,
        [
            f"{family.family}: {edge}; the data do not determine it"
            for family in law.families
            for edge in family.at_bounds
        ],
    )
    return 0


def _provenance(law: ScalingLaw, console: Console) -> None:
    of = law.provenance
    print_line(console, "Provenance", "bold")
    for name, text in (
        ("runs", f"{of.source}, {grouped(of.rows)} losses, digest {of.digest}"),
        ("fit", f"{of.method.replace('_', '-')}, Huber on log losses beyond {of.huber_delta:g}"),
        ("intervals", f"{100 * of.confidence:g} % of {grouped(of.resamples)} resamples, seed {of.seed}"),
        ("draws", f"{grouped(len(law.families[0].draws))} kept"),
        ("made by", of.fingerprint),
        ("note", of.note),
    ):
        if text:
            print_line(console, f"  {name:<10} {text}")
    print_line(console, "")

"""`winnow audit`: what was proved, what is wrong, for a person or as JSON."""

import sys

from rich.console import Console

from winnow.pipelines.audit import Findings, audit_generation
from winnow.pipelines.ingest.binding import ingest_context
from winnow.pipelines.store.generations import Store
from winnow.runners.visible import visible
from winnow.schemas.recipe import Recipe
from winnow.schemas.records import to_json

SHOWN = 50


def audit_store(store: Store, recipe: Recipe | None, *, exports: bool = True) -> Findings:
    """Audit the latest generation and, where wanted, its exports; with the recipe, its sources too."""
    context = ingest_context(recipe, store) if recipe else None
    return audit_generation(store, store.require_latest(), context, exports=exports)


def print_findings(findings: Findings, console: Console, *, as_json: bool) -> int:
    """Print; the exit status says whether all is well."""
    if as_json:
        sys.stdout.write(to_json(findings).decode() + "\n")
        return 1 if findings.problems else 0
    for line in findings.proved:
        console.print(f"ok      {visible(line)}", soft_wrap=True, markup=False)
    for line in findings.notes:
        console.print(f"note    {visible(line)}", soft_wrap=True, markup=False)
    for line in findings.problems[:SHOWN]:
        console.print(f"WRONG   {visible(line)}", soft_wrap=True, markup=False)
    if len(findings.problems) > SHOWN:
        console.print(f"WRONG   … and {len(findings.problems) - SHOWN:,} more")
    console.print(f"audit   {'clean' if not findings.problems else f'{len(findings.problems)} problems'}")
    return 1 if findings.problems else 0

"""The whole audit of one generation, in the order in which a person would ask."""

from winnow.pipelines.audit.draws import check_draws
from winnow.pipelines.audit.exports import check_exports
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.forgotten import check_forgotten
from winnow.pipelines.audit.objects import (
    check_alignment,
    check_balance,
    check_environments,
    check_identities,
    check_objects,
)
from winnow.pipelines.audit.sources import check_sources
from winnow.pipelines.audit.weights import check_weights
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.store.generations import Store
from winnow.schemas.records import Generation


def audit_generation(
    store: Store, generation: Generation, context: IngestContext | None, *, exports: bool = True
) -> Findings:
    """Audit the store's objects and draws, what was exported of it, and its sources.

    Args:
        store: What is audited.
        generation: Of the store; the latest one.
        context: From the recipe: where the sources are. None: they are not read again.
        exports: Whether exports that are registered are read again.
    """
    findings = Findings()
    tasks = store.tasks(generation)
    check_objects(store, generation, findings)
    check_alignment(store, generation, findings)
    check_balance(tasks, store, findings)
    check_identities(store, generation, findings)
    check_forgotten(store, generation, findings)
    stale = check_draws(store, generation, findings)
    check_environments(generation, findings)
    check_weights(store, generation, findings)
    if exports:
        check_exports(store, stale, findings)
    if context is None:
        findings.notes.append("the sources were not read again; give the recipe to prove that nothing of them is lost")
    else:
        check_sources(context, tasks, findings)
    return findings

"""The whole audit of one generation, in the order in which a person would ask."""

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
from winnow.pipelines.ingest.context import IngestContext
from winnow.pipelines.store.generations import Store
from winnow.schemas.records import Generation


def audit_generation(store: Store, generation: Generation, context: IngestContext | None) -> Findings:
    """Audit the store's objects, and with a context (from the recipe) the sources that they were made of."""
    findings = Findings()
    tasks = store.tasks(generation)
    check_objects(store, generation, findings)
    check_alignment(store, generation, findings)
    check_balance(tasks, store, findings)
    check_identities(store, generation, findings)
    check_forgotten(store, generation, findings)
    check_environments(generation, findings)
    if context is None:
        findings.notes.append("the sources were not read again; give the recipe to prove that nothing of them is lost")
    else:
        check_sources(context, tasks, findings)
    return findings

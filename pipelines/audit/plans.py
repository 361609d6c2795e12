"""The mixtures' plans that a store holds, read from their records alone."""

from collections.abc import Iterator

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.mix.plans import PlanRecord
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StoreError
from winnow.schemas.records import from_json


def plan_records(objects: ObjectStore, findings: Findings) -> Iterator[PlanRecord]:
    """Every plan whose draw was finished, in the order of their requests; one that cannot be read is a problem."""
    for info in objects.list(layout.PLANS):
        request = info.path.split("/")[1]
        if info.path != layout.plan_record(request):
            continue
        try:
            record = from_json(PlanRecord, objects.read(info.path), info.path)
        except (StoreError, OSError) as error:
            findings.problems.append(str(error).splitlines()[0])
            continue
        if record.plan.request != request:
            findings.problems.append(f"{info.path}: is the plan of the request {record.plan.request}")
        yield record

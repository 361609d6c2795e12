"""Checks every file of a store by itself, whatever its kind and whether or not a record names it."""

from collections import Counter
from collections.abc import Set

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.running.ledger.intake import read_intake
from winnow.pipelines.store import layout
from winnow.pipelines.store.content import check_content
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.sealed import check_record
from winnow.pipelines.store.tables import check_table
from winnow.schemas.errors import StoreError

SHOWN = 3  # files that are none of the store's


def check_files(store: Store, checked: Set[str], findings: Findings) -> None:
    """Checks each file on its own, in bounded memory.

    Args:
        store: The store.
        checked: Files whose bytes were checked already.
        findings: Gets what is wrong, unless it has it.
    """
    count: Counter[str] = Counter()
    foreign: list[str] = []
    wrong = 0
    for info in store.objects.list():
        path = info.path
        match layout.proof_of(path):
            case None:
                foreign.append(path)
                continue
            case layout.Proof.NONE:
                continue
        count[path.partition("/")[0]] += 1
        try:
            if path not in checked:
                check_file(store, path)
        except StoreError as error:
            wrong += 1
            if str(error) not in findings.problems:
                findings.problems.append(str(error))
    if not wrong:
        findings.proved.append(f"{count.total():,} files have their checksums ({_told(count)})")
    if foreign:
        more = f" and {len(foreign) - SHOWN:,} more" if len(foreign) > SHOWN else ""
        findings.notes.append(f"not files of the store, not checked: {', '.join(foreign[:SHOWN])}{more}")


def check_file(store: Store, path: str) -> None:
    """Reads a file whole, if it has anything that proves it.

    Raises:
        DamagedError: It is not what was put under this path.
        MissingError: It does not exist.
    """
    match layout.proof_of(path):
        case layout.Proof.TABLE:
            check_table(store.objects, path)
        case layout.Proof.CONTENT:
            check_content(store.objects, path)
        case layout.Proof.INTAKE:
            read_intake(store.objects, store.record, path)
        case layout.Proof.RECORD if path.startswith(layout.GENERATIONS):
            store.generation(layout.generation_number(path))
        case layout.Proof.RECORD:
            check_record(store.objects, path)


def _told(count: Counter[str]) -> str:
    return ", ".join(f"{number:,} in {name}" for name, number in sorted(count.items()))

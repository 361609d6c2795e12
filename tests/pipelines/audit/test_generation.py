"""Weights that were made in another environment than their traces, and scores without their decision, are told of."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tests.messages import assert_told_each
from tests.runners.scores.stores import make_store, scored, write
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.generation import check_score_decisions, check_weights
from winnow.pipelines.store.integrity.sealed import put_record, read_record
from winnow.runners.stages.publishing import Outcome
from winnow.schemas.environment.fingerprint import current_fingerprint
from winnow.schemas.records import StoredWeights


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("weights")
    make_store(folder)
    return scored(write(folder))


def notes(outcome: Outcome) -> list[str]:
    findings = Findings()
    check_weights(outcome.store, outcome.generation, findings)
    assert not findings.problems
    return findings.notes


def test_weights_say_where_they_were_made_and_others_are_a_note(outcome: Outcome) -> None:
    here = current_fingerprint().name
    records = sorted(
        file for file in Path(outcome.store.root, "weights/mimic").glob("*.json") if not file.name.startswith("of.")
    )
    assert len(records) == 2
    assert {orjson.loads(file.read_bytes())["fingerprint"] for file in records} == {here}
    assert notes(outcome) == []
    objects, path = outcome.store.objects, f"weights/mimic/{records[0].name}"
    said = read_record(objects, StoredWeights, path)
    put_record(objects, path, replace(said, fingerprint="0" * 32))
    assert_told_each(notes(outcome), ("trace.mimic", "2", str(", ".join(sorted(["0" * 32, here])))))
    records[0].write_bytes(b"{")
    assert notes(outcome) == []


def test_a_lost_record_of_what_a_score_decided_is_a_note_with_the_remedy(outcome: Outcome) -> None:
    findings = Findings()
    check_score_decisions(outcome.store, outcome.generation, findings)
    assert findings.notes == []
    (record,) = Path(outcome.store.root, "decisions/score.mimic").glob("*.json")
    kept = record.read_bytes()
    record.unlink()
    check_score_decisions(outcome.store, outcome.generation, findings)
    record.write_bytes(kept)
    assert not findings.problems
    assert_told_each(
        findings.notes, (f"decisions/score.mimic/{record.name}", "--purge", "score.mimic", "'winnow score RECIPE'")
    )

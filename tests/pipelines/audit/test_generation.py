"""Weights that were made in another environment than the traces that are made with them are told of."""

from pathlib import Path

import orjson
import pytest

from tests.runners.scores.stores import make_store, scored, write
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.generation import check_weights
from winnow.pipelines.score.weights import find_weights
from winnow.runners.stages.store_stages import Outcome
from winnow.schemas.fingerprint import current_fingerprint


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
    said = orjson.loads(records[0].read_bytes())
    records[0].write_bytes(orjson.dumps({**said, "fingerprint": "0" * 32}))
    assert notes(outcome) == [
        f"trace.mimic and its weights were made in 2 different environments ({', '.join(sorted(['0' * 32, here]))})"
    ]
    del said["fingerprint"]  # as before records said so
    records[0].write_bytes(orjson.dumps(said))
    assert notes(outcome) == []
    found = find_weights(outcome.store, "mimic", said["key"], len(said["objects"]))
    assert found is not None
    assert found.fingerprint == ""
    records[0].write_bytes(b"{")
    assert notes(outcome) == []

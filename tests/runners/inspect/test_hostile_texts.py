"""Crawled texts go through every view as they are, as values of JSON that no browser takes for anything else."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.made_once import made_once
from tests.runners.inspect.asking import Asker, opened, served
from tests.runners.inspect.hostile import FILE, make_hostile
from tests.runners.inspect.payloads import payloads
from winnow.runners.inspect.serving.guards import CONTENT_SECURITY_POLICY


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = made_once(tmp_path_factory, "inspected_hostile", make_hostile)
    with served(opened(folder / "recipe.yaml")) as page:
        yield page


def test_there_are_enough_payloads() -> None:
    assert len(payloads()) >= 300


def rows_of(page: Asker, query: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    while True:
        answer = page.view("sql", query=query, page=len(found) // 100)["answer"]
        found += answer["rows"]
        if len(found) >= answer["total"]:
            return found


def test_every_text_arrives_as_it_is(hostile: Asker) -> None:
    rows = rows_of(hostile, "SELECT text, url, metadata FROM samples WHERE source.name = 'crawl'")
    found = {text.removesuffix("…") for text, _, _ in rows}
    assert found == {payload[:2_000] for payload in payloads()}


@pytest.mark.parametrize(
    ("view", "asked"),
    [
        ("store", {}),
        ("words", {}),
        ("quarantine", {}),
        ("shards", {}),
        ("labels", {}),
        ("samples", {"page": 0}),
        ("sql", {"query": "SELECT * FROM rows"}),
        ("sql", {"query": 'SELECT "<img src=x onerror=pwned()>" FROM samples'}),
        ("<script>pwned()</script>", {}),
        ("quarantine", {"reason": "<img src=x onerror=pwned()>"}),
        ("samples", {"filter": {"text": "<img src=x onerror=pwned()>"}}),
    ],
)
def test_every_answer_is_json_that_runs_nowhere(hostile: Asker, view: str, asked: dict[str, Any]) -> None:
    said = hostile.ask("POST", f"/api/{quote(view)}", json.dumps(asked).encode(), {"Content-Type": "application/json"})
    assert said.headers["content-type"] in ("application/json", "text/plain; charset=utf-8")  # of no view's path
    assert said.headers["x-content-type-options"] == "nosniff"
    assert said.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


def test_names_of_files_are_values_too(hostile: Asker) -> None:
    quarantined = hostile.view("quarantine")["answer"]["rows"]
    assert {row["file"] for row in quarantined} == {"rows.jsonl", FILE}
    paths = rows_of(hostile, "SELECT DISTINCT source.path FROM samples ORDER BY 1")
    assert paths == [[FILE], ["rows.jsonl"]]


@pytest.mark.parametrize("payload", payloads()[::40])
def test_a_sample_is_found_by_no_text_but_its_id(hostile: Asker, payload: str) -> None:
    said = hostile.view("sample", id=payload)
    assert not said["ok"]
    assert "\n" not in said["why"]

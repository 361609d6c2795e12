"""A store in a bucket is shown as one on a disk."""

from pathlib import Path

import pytest

from benchmarks.inputs.loopback_s3 import BUCKET, serving
from tests.runners.inspect.asking import opened_at, served
from winnow.runners.inspect import opened as opened_module
from winnow.runners.inspect.opened import Showing


def test_a_store_in_a_bucket_is_shown(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(books) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with served(opened_at(f"s3://{BUCKET}/store")) as page:
            assert page.view("store")["answer"]["rows"] == 20
            assert page.view("sql", query="SELECT count(*) FROM samples")["answer"]["rows"] == [[20]]
            assert page.view("shards")["answer"]["rows"]
            assert page.view("quarantine")["answer"]["reasons"] == [{"reason": "bad_json", "rows": 1}]
            assert page.view("samples")["answer"]["total"] == 20


def test_what_is_forgotten_is_looked_for_once_in_two_seconds_for_all_requests(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(books) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        showing = Showing(opened_at(f"s3://{BUCKET}/store"))
        before = showing.now()
        assert showing.now() is before
        (books / "store" / "tombstones").mkdir(exist_ok=True)
        tombstone = books / "store" / "tombstones" / "x.json"
        try:
            tombstone.write_text("{}")
            assert showing.now() is before
            monkeypatch.setattr(opened_module, "LOOKED_SECONDS", 0.0)
            assert showing.now() is not before
        finally:
            tombstone.unlink()

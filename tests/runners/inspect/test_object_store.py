"""A store in a bucket is shown as one on a disk."""

from pathlib import Path

import pytest

from benchmarks.inputs.loopback_s3 import BUCKET, serving
from tests.runners.inspect.asking import opened_at, served


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

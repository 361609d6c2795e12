"""The index, the archive and the fetched folder on S3."""

from collections import Counter
from pathlib import Path

import pytest

from tests.pipelines.fetch.archives.loopback import NAME, Crawl, pages
from tests.pipelines.fetch.archives.test_archives import ICELANDIC, ingested
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.servers import BUCKET, started
from winnow.pipelines.fetch.archives.references import RangedObjects
from winnow.pipelines.fetch.archives.stage import ArchiveAsk, fetch_archive, plan_archive
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe.fetch import ArchiveQuery


@pytest.mark.processes
def test_a_crawl_on_s3_becomes_files_there_or_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(tmp_path / "crawl", pages(90))
    with started("moto", tmp_path / "moto") as server:
        point_to(monkeypatch, server.environment)
        bucket = open_location(f"s3://{BUCKET}")
        for file in crawl.folder.rglob("*"):
            if file.is_file():
                bucket.put(str(file.relative_to(crawl.folder)), file)
        stores = []
        for how in ("copy", "by_reference"):
            query = ArchiveQuery(crawl=NAME, where=ICELANDIC, data=f"s3://{BUCKET}", robots=False, fetch=how)
            asked = ArchiveAsk(query, open_location(f"s3://{BUCKET}/out/{how}"), "icelandic", 7)
            plan = plan_archive(asked)
            assert plan.records == 30
            assert plan.index_requests > 1
            fetch_archive(plan, asked)
            assert Counter(read_log(asked.objects)["reason"].to_pylist()) == {"ok": 30}
            (tmp_path / how).mkdir()
            stores.append(ingested(tmp_path / how, RangedObjects(asked.objects)))
    assert stores[0] == stores[1]
    assert len(stores[0]) == 30

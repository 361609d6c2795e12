"""From an index to WARC files: what is chosen, how it is asked for, and what is written."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.pipelines.fetch.archives.loopback import NAME, Crawl, Server, pages
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.fetch.archives.references import RangedObjects
from winnow.pipelines.fetch.archives.stage import ArchiveAsk, fetch_archive, plan_archive
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.ingest.planning.stage import freeze_plans, plan_sources
from winnow.pipelines.ingest.task import run_task
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.recipe import recipe_from_text
from winnow.schemas.recipe.fetch import ArchiveQuery, FetchConfig

CONFIG = FetchConfig()
ICELANDIC = "content_languages = 'isl' and fetch_status = 200"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    return Crawl(tmp_path_factory.mktemp("crawl"), pages(300))


def ask(folder: Path, query: ArchiveQuery, config: FetchConfig = CONFIG) -> ArchiveAsk:
    return ArchiveAsk(query, LocalStore(folder), "icelandic", 7, config)


def test_a_query_becomes_warc_files_with_the_records_byte_for_byte(tmp_path: Path, crawl: Crawl) -> None:
    with Server(crawl.folder) as server:
        asked = ask(tmp_path, ArchiveQuery(crawl=NAME, where=ICELANDIC, index=crawl.index, data=server.address))
        plan = plan_archive(asked)
        tally = fetch_archive(plan, asked)
    rows = [row for row in crawl.index_rows() if row["content_languages"] == "isl"]
    assert (plan.records, tally.addresses, tally.by_reason) == (100, 100, {"ok": 100})
    log = read_log(asked.objects).to_pylist()
    assert {row["url"] for row in log} == {row["url"] for row in rows}
    for row in log:
        told = next(one for one in rows if one["url"] == row["url"])
        written = asked.objects.read(row["warc"], row["offset"], row["length"])
        assert written == crawl.member(told)
        assert (row["origin"], row["origin_offset"]) == (told["warc_filename"], told["warc_record_offset"])


def test_ingest_reads_what_was_fetched_and_the_same_without_a_copy(
    tmp_path: Path, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stores = []
    with Server(crawl.folder) as server:
        for how in ("copy", "by_reference"):
            query = ArchiveQuery(crawl=NAME, where=ICELANDIC, index=crawl.index, data=server.address, fetch=how)
            asked = ask(tmp_path / how, query)
            fetch_archive(plan_archive(asked), asked)
            assert asked.objects.exists("warc/cc-main-2026-40-000000.warc.gz") == (how == "copy")
            stores.append(ingested(tmp_path / how, RangedObjects(asked.objects)))
            assert_same_objects(RangedObjects(asked.objects), tmp_path / "copy")
    copied, referred = stores
    assert len(copied) == 100
    assert copied == referred


def assert_same_objects(objects: RangedObjects, copied: Path) -> None:
    """Every file of a copy has the same bytes, whole and in pieces."""
    listed = [(info.path, info.size) for info in objects.list("warc/")]
    assert listed == [(info.path, info.size) for info in LocalStore(copied).list("warc/")]
    for path, size in listed:
        raw = (copied / path).read_bytes()
        assert (objects.size(path), objects.read(path)) == (size, raw)
        random = Random(7)
        with objects.open(path) as stream:
            for _ in range(50):
                start = random.randrange(size)
                length = random.randrange(1, 9_000)
                assert objects.read(path, start, length) == raw[start : start + length]
                stream.seek(start)
                assert stream.read(length) == raw[start : start + length]


def ingested(
    root: Path, objects: ObjectStore, quarantined: list[dict[str, object]] | None = None
) -> list[dict[str, object]]:
    """The rows of a store of these objects; what is quarantined is added to a list, or there is none."""
    source = f"{{root: {root}, files: ['warc/*.warc.gz'], class: web}}"
    recipe = f"version: 1\nstore: {{path: {root}-store}}\nsources: {{c: {source}}}\n"
    bound = bind(recipe_from_text(recipe))
    store = create_or_open(open_location(bound.store_address), store_record(bound.config))
    context = bound.ingest(store)
    flaw_of = objects.flaw_of if isinstance(objects, RangedObjects) else None
    context = replace(context, sources={"c": replace(context.sources["c"], objects=objects, flaw_of=flaw_of)})
    plans = plan_sources(context, {"c": ["warc/*.warc.gz"]})
    freeze_plans(context, plans)
    rows = []
    for task in plans[0].intake.tasks:
        commit = run_task(context, task, lambda *_: None)
        if quarantined is None or commit.quarantine is None:
            assert commit.quarantined_by_reason == {}
        else:
            for batch in read_batches(store.objects, commit.quarantine.path):
                quarantined += batch.to_pylist()
        for shard in commit.shards:
            for batch in read_batches(store.objects, shard.object.path):
                rows += batch.to_pylist()
    return rows

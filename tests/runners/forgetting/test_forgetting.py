"""Forget and purge, end to end: what is forgotten is hidden at once, and a purge leaves it in no file of the store."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.messages import assert_told, assert_told_each
from tests.runners.forgetting.crawl import HOST, PAGE, SECRET, write_crawl, write_recipe
from tests.runners.forgetting.files import contents, holders
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.query.training_texts import Losses, texts_of_store
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.leases.lease import Lease
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

ONE = Engine("local", 1)
SELECTORS = ("--domain", HOST, "--url", "http://5.example")


def run(folder: Path, recipe: str = "recipe.yaml", *, replace: bool = False) -> str:
    """The tree hash after an in-process run."""
    with open(os.devnull, "w") as silent:
        return stages.run_all(
            bind(load_recipe(folder / recipe)), ONE, Console(file=silent), replace=replace
        ).generation.tree_hash


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_crawl(folder)
    write_recipe(folder)
    run(folder)
    assert main(["report", str(folder / "recipe.yaml")]) == 0
    return folder


@pytest.fixture
def crawl(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    monkeypatch.chdir(folder)
    return folder


def forget(*selections: str) -> int:
    return main(["forget", "recipe.yaml", *selections])


def store() -> Store:
    return open_store_at("store")


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    capsys.readouterr()
    assert main(list(command)) == 0
    return capsys.readouterr().out


def test_the_word_is_everywhere_before(crawl: Path) -> None:
    places = {name.split("/")[0] for name in holders(crawl / "store")}
    assert places == {"samples", "layers", "stats", "quarantine", "report.html"}


def test_what_is_forgotten_is_hidden_from_every_reader_at_once(
    crawl: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = contents(crawl / "store")
    plan = json.loads(printed(capsys, "plan", "recipe.yaml", "--json"))["rules"]
    assert plan["forgotten"] == {"rows": 0, "bytes": 0}
    assert forget(*SELECTORS) == 0
    rules = json.loads(printed(capsys, "plan", "recipe.yaml", "--json", "--decisions", str(tmp_path / "d")))["rules"]
    assert rules["rows"]["rows"] == plan["rows"]["rows"] == 63
    assert rules["forgotten"]["rows"] == 3
    dropped = sum(rule["dropped"]["rows"] for rule in rules["rules"])
    assert rules["rows"]["rows"] == rules["kept"]["rows"] + dropped + rules["forgotten"]["rows"]
    assert {row["reason"]: row["url"] for row in pq.read_table(tmp_path / "d").to_pylist()} == {"forgotten": None}
    for command in (
        ["stats", "recipe.yaml"],
        ["stats", "recipe.yaml", "--json"],
        ["stats", "recipe.yaml", "--near", "short"],
        ["plan", "recipe.yaml"],
    ):
        assert SECRET not in printed(capsys, *command), command
    assert main(["report", "recipe.yaml", "--output", str(tmp_path / "r.html")]) == 0
    assert SECRET not in (tmp_path / "r.html").read_text()
    opened = store()
    generation = opened.require_latest()
    for layer in generation.layers:
        read = [batch for row in opened.manifest(generation, layer) for batch in opened.batches(row)]
        assert SECRET not in str(pa.Table.from_batches(read).to_pydict())
        assert sum(batch.num_rows for batch in read) == 63
    assert not any(
        SECRET in text
        for text, _ in texts_of_store(
            opened, ["extract.main.text", "samples.text"], "samples.source.offset >= 0", Losses()
        )
    )
    after = contents(crawl / "store")
    assert {name: after[name] for name in before} == before, "nothing is rewritten"
    added = {name.split("/")[0] for name in after.keys() - before.keys()}
    assert added == {"tombstones", "hidden", "outputs", "copies", "decisions"}
    audited = printed(capsys, "audit", "recipe.yaml")
    assert_told(audited.replace("\n", " "), "3", "forgotten rows")


def test_a_tombstone_does_not_spell_what_it_means(crawl: Path) -> None:
    assert forget(*SELECTORS, "--reason", "asked for by letter") == 0
    written = contents(crawl / "store")
    records = b"".join(raw for name, raw in written.items() if name.startswith(("tombstones", "hidden")))
    assert SECRET.encode() not in records
    assert b"asked for by letter" in records


def test_after_a_purge_no_file_of_the_store_holds_it(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = {row["id"] for row in samples()}
    assert forget(*SELECTORS) == 0
    said = printed(capsys, "gc", "recipe.yaml", "--purge")
    assert_told(said, "3 rows", "forgotten content")
    assert holders(crawl / "store") == []
    assert {row["id"] for row in samples()} == ids
    gone = [row for row in samples() if row["modality"] == "forgotten"]
    assert len(gone) == 3
    assert {row["source"]["record"] for row in gone} == {""}
    assert all(row["source"]["length"] > 0 and row["url"] is None and row["metadata"] == "{}" for row in gone)
    audited = printed(capsys, "audit", "recipe.yaml")
    assert_told(audited, "3", "forgotten rows")
    rules = json.loads(printed(capsys, "plan", "recipe.yaml", "--json"))["rules"]
    assert (rules["forgotten"]["rows"], rules["kept"]["rows"]) == (3, 60)
    assert [group["language"] for group in rules["groups"] if "forgotten" in group["dropped"]] == ["unknown"] * 2
    purged = contents(crawl / "store")
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert contents(crawl / "store") == purged, "a second purge changes nothing"
    tree = store().require_latest().tree_hash
    assert run(crawl) == tree, "a second run changes nothing"
    assert contents(crawl / "store") == purged


def samples() -> list[dict[str, Any]]:
    opened = store()
    rows = opened.manifest(opened.require_latest(), "samples")
    return [row for one in rows for batch in opened.batches(one) for row in batch.to_pylist()]


def test_what_comes_after_a_purge_brings_nothing_back(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new operator, files that changed, and a crawl that holds the same address once more."""
    assert forget(*SELECTORS) == 0
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    write_recipe(crawl, annotate="text.gopher, text.length, text.c4")
    run(crawl)
    opened = store()
    c4 = [
        row["status"]
        for one in opened.manifest(opened.require_latest(), "text.c4")
        for batch in opened.batches(one)
        for row in batch.to_pylist()
    ]
    assert c4.count("forgotten") == 3
    assert holders(crawl / "store") == []
    shutil.copy(crawl / "crawl" / "0.warc.gz", crawl / "crawl" / "again.warc.gz")
    lines = crawl / "lines" / "a.jsonl"
    lines.write_text(lines.read_text() + json.dumps({"mail": "new@mail.example", "text": "one more line"}) + "\n")
    run(crawl, replace=True)
    # What is older is what a purge left; what came since was written without a word of it.
    assert holders(crawl / "store") == []
    assert sum(row["modality"] == "forgotten" for row in samples()) == 5
    assert "WRONG" not in printed(capsys, "audit", "recipe.yaml")


def test_one_tree_whatever_was_first(crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget and purge, in either order of what is named, or tombstones that are there before the crawl is."""
    trees: list[str] = []
    for selections in ([SELECTORS[:2], SELECTORS[2:]], [SELECTORS[2:], SELECTORS[:2]]):
        folder = tmp_path / f"order-{len(trees)}"
        shutil.copytree(crawl, folder)
        monkeypatch.chdir(folder)
        for one in selections:
            assert forget(*one) == 0
        assert main(["gc", "recipe.yaml", "--purge"]) == 0
        trees.append(store().require_latest().tree_hash)
    early = tmp_path / "early"
    for part in ("crawl", "lines"):
        shutil.copytree(crawl / part, early / part)
    shutil.copytree(folder / "store" / "tombstones", early / "store" / "tombstones")
    write_recipe(early)
    trees.append(run(early))
    assert len(set(trees)) == 1
    assert holders(early / "store") == []


def test_a_new_extractor_does_not_read_a_forgotten_record_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_crawl(tmp_path)
    write_recipe(tmp_path, extract=("main",), annotate="", rules="")
    run(tmp_path)
    assert forget("--url", f"{PAGE}-3") == 0
    rules = json.loads(printed(capsys, "plan", "recipe.yaml", "--json"))["rules"]
    assert (rules["forgotten"]["rows"], rules["kept"]["rows"]) == (1, 62), "without any rule"
    write_recipe(tmp_path, annotate="", rules="")
    run(tmp_path)
    opened = store()
    statuses = [
        row["status"]
        for one in opened.manifest(opened.require_latest(), "extract.trafilatura")
        for batch in opened.batches(one)
        for row in batch.to_pylist()
    ]
    assert statuses.count("forgotten") == 1
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert holders(tmp_path / "store", f"{SECRET}-page-3") == []


def test_texts_and_ids_can_be_named(crawl: Path) -> None:
    text = next(row["text"] for row in samples() if isinstance(row["text"], str) and SECRET in row["text"])
    pages = [row["id"] for row in samples() if SECRET in str(row["url"])]
    named = [part for one in pages for part in ("--id", one.hex())]
    assert forget("--sha256", hashlib.sha256(text.encode()).hexdigest(), *named) == 0
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert holders(crawl / "store") == []


def extracted_texts() -> list[str]:
    """Options that name the extracted texts with the word by their hashes."""
    opened = store()
    texts = (
        row["text"]
        for one in opened.manifest(opened.require_latest(), "extract.trafilatura")
        for batch in opened.batches(one, ["text"])
        for row in batch.to_pylist()
        if SECRET in (row["text"] or "")
    )
    return [part for text in texts for part in ("--sha256", hashlib.sha256(text.encode()).hexdigest())]


def test_an_extracted_text_can_be_named_before_and_after_it_is_made(crawl: Path) -> None:
    assert forget(*extracted_texts()) == 0
    assert sum(row["modality"] == "forgotten" for row in samples()) == 2
    shutil.copy(crawl / "crawl" / "0.warc.gz", crawl / "crawl" / "again.warc.gz")
    run(crawl)
    assert sum(row["modality"] == "forgotten" for row in samples()) == 4


def test_a_text_that_only_a_new_extractor_makes_is_hidden_and_waits_for_the_purge(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sample was written before anybody could tell; from the run on it is hidden whole, in every layer."""
    selections = extracted_texts()
    folder = tmp_path / "later"
    for part in ("crawl", "lines"):
        shutil.copytree(crawl / part, folder / part)
    monkeypatch.chdir(folder)
    write_recipe(folder, extract=(), annotate="", rules="")
    run(folder)
    assert forget(*selections) == 3
    write_recipe(folder)
    run(folder)
    opened = store()
    for layer in opened.require_latest().layers:
        rows = opened.manifest(opened.require_latest(), layer)
        read = [row for one in rows for batch in opened.batches(one) for row in batch.to_pylist()]
        assert [row.get("status", row.get("modality")) for row in read].count("forgotten") == 2, layer
    assert main(["audit", "recipe.yaml"]) == 0
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert holders(folder / "store", f"{SECRET}-page") == []
    assert main(["audit", "recipe.yaml"]) == 0


def test_rows_whose_address_is_none_are_forgotten_with_their_host(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [f"a.{HOST}/2", f"//a.{HOST}/3", f"ftp://{HOST}/4", f"https:/{HOST}/5", f"https://{HOST}:99999/6"]
    urls += [f"https://{'x' * 64}.{HOST}/7", f"https://{HOST}/{'x' * 70_000}"]
    lines = [{"mail": f"odd {url[:80]}", "url": url, "text": f"oddity {SECRET}"} for url in urls]
    (crawl / "lines" / "odd.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run(crawl)
    assert json.loads(printed(capsys, "forget", "recipe.yaml", "--url", f"https://a.{HOST}/2", "--json"))["rows"] == 1
    found = json.loads(printed(capsys, "forget", "recipe.yaml", *SELECTORS, "--json"))
    assert found["rows"] == 3 + len(urls)
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert holders(crawl / "store", "oddity") == []
    assert holders(crawl / "store") == []


def test_a_run_that_died_before_a_request_leaves_no_layer_of_what_was_read(crawl: Path) -> None:
    """Its layers were committed and its task was not: the next run reads the task anew, and makes its layers anew."""
    gone = [*(crawl / "store" / "commits" / "samples").rglob("*.json"), *(crawl / "store" / "generations").glob("*")]
    for path in gone:
        path.unlink()
    assert forget(*SELECTORS) == 3, "no generation names a row"
    run(crawl)
    opened = store()
    for layer in opened.require_latest().layers:
        rows = opened.manifest(opened.require_latest(), layer)
        assert SECRET not in str([batch.to_pylist() for row in rows for batch in opened.batches(row)])
    assert main(["audit", "recipe.yaml"]) == 0
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert holders(crawl / "store") == []
    assert main(["plan", "recipe.yaml"]) == 0


def test_forgetting_does_not_wait_for_a_writer(crawl: Path) -> None:
    with Lease(store().objects):
        assert forget(*SELECTORS) == 0
    assert sum(row["modality"] == "forgotten" for row in samples()) == 3


def test_what_was_written_elsewhere_is_listed(crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recipe(crawl, rules=RULE_OF_ALL)
    assert main(["plan", "recipe.yaml", "--decisions", str(tmp_path / "dropped.parquet")]) == 0
    assert main(["report", "recipe.yaml", "--output", str(tmp_path / "page.html")]) == 0
    assert main(["report", "recipe.yaml", "--output", "store/mine.html"]) == 0
    found = json.loads(printed(capsys, "forget", "recipe.yaml", *SELECTORS, "--json"))
    assert found["rows"] == 3
    assert found["generations"] == [1, 2]
    outputs = {Path(one["path"]).name: (one["inside_store"], one["rows"]) for one in found["outputs"]}
    assert outputs == {
        "report.html": (True, None),
        "dropped.parquet": (False, 3),
        "page.html": (False, None),
        "mine.html": (True, None),
    }
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert holders(crawl / "store") == []
    again = json.loads(printed(capsys, "forget", "recipe.yaml", "--list", "--json"))
    assert (again["rows"], again["purged"]) == (3, 3)


def test_kept_files_that_were_written_elsewhere_are_listed(
    crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"mail": "robots", "url": f"https://{HOST}/robots.txt", "text": f"User-agent: {SECRET}"}
    (crawl / "lines" / "robots.jsonl").write_text(json.dumps(line) + "\n")
    run(crawl)
    for target in (str(tmp_path / "robots.jsonl"), "store/robots.jsonl"):
        assert main(["robots", "recipe.yaml", "--output", target]) == 0
        assert SECRET in Path(target).read_text()
    killed = tmp_path / ".robots.jsonl.winnow-unfinished-1"  # as a killed command leaves it
    killed.write_text(SECRET)
    found = json.loads(printed(capsys, "forget", "recipe.yaml", "--domain", HOST, "--json"))
    outputs = {(one["kind"], one["path"], one["inside_store"]) for one in found["outputs"] if one["kind"] == "robots"}
    assert outputs == {
        ("robots", str(tmp_path / "robots.jsonl"), False),
        ("robots", str(killed), False),
        ("robots", str(crawl / "store" / "robots.jsonl"), True),
    }
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    assert not (crawl / "store" / "robots.jsonl").exists()
    assert main(["robots", "recipe.yaml", "--output", str(tmp_path / "robots.jsonl")]) == 3
    assert not killed.exists()


RULE_OF_ALL = """
eligible:
- {drop: samples.source.offset >= 0, reason: all}
"""


def test_what_no_row_has_is_recorded_all_the_same(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert forget("--domain", "later.example") == 3
    assert_told(capsys.readouterr().out, "domain later.example")
    line = json.dumps({"mail": "later", "text": f"{SECRET} of later", "url": "https://www.later.example/x"})
    (crawl / "lines" / "b.jsonl").write_text(line + "\n")
    run(crawl)
    assert sum(row["modality"] == "forgotten" for row in samples()) == 1
    assert "of later" not in str(samples())


def test_a_dry_run_records_nothing(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(crawl / "store")
    assert forget(*SELECTORS, "--dry-run") == 0
    assert_told(capsys.readouterr().out, "3 rows", "generation 2")
    assert forget("--domain", HOST, "--dry-run") == 0
    assert main(["gc", "recipe.yaml", "--purge", "--dry-run"]) == 0
    assert contents(crawl / "store") == before


def test_a_list_with_bad_lines(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (crawl / "list.txt").write_bytes(
        b"\xef\xbb\xbf# asked for in May\r\n\r\ndomain\t%s\r\nurl https://5.example/\r\nurll x\r\ndomain co.uk\r\n"
        b"url \xff\r\nid 12\n" % HOST.encode()
    )
    assert forget("--file", "list.txt", "--domain", "a b") == 1
    assert_told_each(
        capsys.readouterr().err.splitlines(),
        ("--domain", "'a b'", "example.com"),
        ("list.txt:5", "'urll'", "'url'"),
        ("list.txt:6", "'co.uk'"),
        "winnow: list.txt:7: not UTF-8",
        ("list.txt:8", "'12'", "expected 32"),
    )
    assert sum(row["modality"] == "forgotten" for row in samples()) == 3
    assert forget("--file", "no-such-list.txt") == 1
    assert main(["forget", "recipe.yaml"]) == 1

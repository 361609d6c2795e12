"""What the card of an export says of its files and to hubs, where outputs are empty or joined, or names are odd."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard
from rich.console import Console

from tests.messages import assert_told
from tests.runners.mixtures.tiny import Tiny
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.export.formats.mds import Mds
from winnow.pipelines.export.formats.protocol import FileRecord, ShardName, WrittenShard
from winnow.pipelines.export.stage import Written, bind_exports
from winnow.pipelines.forgetting.outputs import EXPORT, Output, affected, registered
from winnow.pipelines.forgetting.scanning import NO_IDS
from winnow.runners.engines.engine import Engine
from winnow.runners.facts.card_parts import pretty_name, size_category
from winnow.runners.stages.mixing import mix
from winnow.runners.stages.reports.mixture_card import card_of, gather_facts
from winnow.schemas.errors import ExportError
from winnow.schemas.recipe import load_recipe


def front_of(card: str) -> dict[str, Any]:
    """What hubs read of a card."""
    _, front, _ = card.split("---\n", 2)
    found = yaml.safe_load(front)
    assert isinstance(found, dict)
    return found


def test_outputs_are_told_apart_where_nothing_is_left_of_one(tiny: Tiny) -> None:
    tiny.write("{stages: {core: {budget: 9}, pictures: {budget: 9}, late: {budget: 9}}}", "{parquet: {path: out}}")
    recipe = load_recipe(tiny.recipe)
    mixed = mix(bind(recipe), Engine("local", 1), Console(quiet=True))
    shards = [
        WrittenShard(ShardName(name, 0, 1), 9, (FileRecord(f"data/{name}-00000-of-00001.parquet", 1, ""),), {})
        for name in ("core", "late")
    ]
    (bound,) = bind_exports(recipe)
    written = Written(bound, mixed.record.plan, tuple(shards), (), ())
    files = card_of(gather_facts(bind(recipe), mixed.store, mixed.generation))(written)
    assert front_of(files["README.md"].decode())["configs"] == [
        {
            "config_name": "default",
            "data_files": [
                {"split": "core", "path": "data/core-*.parquet"},
                {"split": "late", "path": "data/late-*.parquet"},
            ],
        }
    ]


def test_what_a_reader_should_know_is_on_both_cards(tiny: Tiny) -> None:
    tiny.write("{budget: 9}", "{webdataset: {path: out, caption: first}}")
    recipe = load_recipe(tiny.recipe)
    mixed = mix(bind(recipe), Engine("local", 1), Console(quiet=True))
    (bound,) = bind_exports(recipe)
    facts = gather_facts(bind(recipe), mixed.store, mixed.generation)
    without, noted = (
        card_of(facts)(Written(bound, mixed.record.plan, (), (), (), notes)) for notes in ((), ("2 of 9 are empty",))
    )
    assert b"## Notes" not in without["README.md"]
    assert "## Notes" in noted["README.md"].decode()
    assert "- 2 of 9 are empty" in noted["README.md"].decode()
    assert json.loads(noted["card.json"])["notes"] == ["2 of 9 are empty"]


def test_the_files_of_a_joined_export_are_those_that_it_was_joined_to(tiny: Tiny) -> None:
    tiny.write(
        "{unit: tokens, tokenizer: bytes}", "{megatron: {path: out, shard_bytes: 16 KiB, end_token: 256, merge: true}}"
    )
    tiny.run("export")
    manifest, card = (json.loads((tiny.folder / "out" / name).read_bytes()) for name in ("winnow.json", "card.json"))
    assert [file["path"] for file in card["files"]] == ["train_text_document.bin", "train_text_document.idx"]
    assert all(file in manifest["files"] for file in card["files"])
    assert "| format | megatron, 2 files, " in (tiny.folder / "out/README.md").read_text()


def test_the_card_says_the_types_that_lines_of_json_do_not(tiny: Tiny) -> None:
    tiny.write("{budget: 5}", "{jsonl: {path: out}}")
    tiny.run("export")
    (file,) = (tiny.folder / "out").glob("*.zst")
    declared = front_of((tiny.folder / "out/README.md").read_text())["dataset_info"]
    features = {one["name"]: one["dtype"] for one in declared["features"]}
    assert features["metadata"] == "json"
    assert features["copy"] == "int32"
    assert {dtype for name, dtype in features.items() if name not in ("metadata", "copy")} == {"string"}
    line = zstandard.ZstdDecompressor().stream_reader(file.read_bytes()).read().splitlines()[0]
    assert list(json.loads(line)) == list(features)


def test_an_export_is_known_to_forgetting_though_the_next_one_fails(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ExportError("out/mds: something is wrong with it")

    monkeypatch.setattr(Mds, "finish", fail)
    tiny.write("{budget: 5}", "{jsonl: {path: out/lines}}, {mds: {path: out/mds}}")
    assert "something is wrong" in tiny.complaint("export")
    assert (tiny.folder / "out/lines/winnow.json").exists()
    number = tiny.store.require_latest().number
    found = [one for one in registered(tiny.store.objects) if one.kind == EXPORT]
    assert found == [Output(EXPORT, str(tiny.folder / "out" / name), number) for name in ("lines", "mds")]
    # What is left of the other one has rows too.
    named = [one.output.path for one in affected(tiny.store.objects, NO_IDS)]
    assert named[1:] == [str(tiny.folder / "out/lines"), str(tiny.folder / "out/.mds.winnow-unfinished")]


def test_outputs_that_were_deleted_are_named_until_their_records_are_dropped(tiny: Tiny) -> None:
    tiny.write("{budget: 5}", "{jsonl: {path: out/a}}, {jsonl: {path: out/b}}")
    tiny.run("export")
    shutil.rmtree(tiny.folder / "out/a")
    assert_told(tiny.run("audit"), f"{tiny.folder}/out/a", "longer exists")
    said = f"the record of export {tiny.folder}/out/a"
    assert said not in tiny.run("gc")
    assert f"would drop {said}" in tiny.run("gc", "--gone", "--dry-run")
    shown = tiny.run("gc", "--gone")
    assert f"dropped {said}" in shown
    assert "out/b" not in shown
    assert "out/a" not in tiny.run("audit")
    assert f"export {tiny.folder}/out/b" in tiny.run("audit")


def test_a_list_of_ids_can_be_told_of_in_json(tiny: Tiny) -> None:
    tiny.write("{budget: 5}")
    beside = tiny.folder / "ids.npy.tmp"  # somebody else's
    beside.write_text("theirs")
    said = json.loads(tiny.run("export", "--id-list", tiny.folder / "ids.npy", "--json"))
    assert said == {"plan": tiny.record().plan.name, "file": str(tiny.folder / "ids.npy"), "samples": 5}
    assert beside.read_text() == "theirs"


def test_the_card_says_that_texts_alone_are_edited(tiny: Tiny) -> None:
    tiny.write("{budget: 5}", "{jsonl: {path: out}}")
    tiny.run("export")
    said = (tiny.folder / "out/README.md").read_text()
    assert_told(said, "metadata and media")


def test_a_source_without_a_row_is_of_the_class_and_licence_that_the_recipe_says(
    tmp_path: Path,
) -> None:
    for source, text in (("web", "a text"), ("void", "")):
        (tmp_path / source).mkdir()
        (tmp_path / source / "rows.jsonl").write_text(json.dumps({"text": text}) + "\n")
    tiny = Tiny(tmp_path)
    listed = ", ".join(
        f"{name}: {{root: {name}, files: ['*.jsonl'], class: crawled, licence: CC0-1.0}}" for name in ("web", "void")
    )
    tiny.write("{}", "{jsonl: {path: out}}", base=f"version: 1\nstore: {{path: store}}\nsources: {{{listed}}}\n")
    tiny.run("run")
    expected = [("void", "crawled", "CC0-1.0", 1, 0), ("web", "crawled", "CC0-1.0", 1, 1)]
    card = json.loads((tmp_path / "out/card.json").read_bytes())["sources"]
    stats = json.loads(tiny.run("stats", "--json"))["sources"]
    assert [(one["name"], one["class"], one["licence"], one["records"]) for one in card] == [
        one[:4] for one in expected
    ]
    assert [
        (one["name"], one["source_class"], one["licence"], one["records"], one["samples"]) for one in stats
    ] == expected
    assert "| void | crawled | CC0-1.0 | 1 |" in (tmp_path / "out/README.md").read_text()


@pytest.mark.parametrize("name", ["plain", 'a "b": c', "a\x85b\u2028c", "\ufffe", "# - [x]", "🦔"])
def test_a_stores_name_is_text_in_yaml(name: str) -> None:
    found = yaml.safe_load(pretty_name(name))
    assert list(found) == ["pretty_name"]
    assert isinstance(found["pretty_name"], str)


@pytest.mark.parametrize(
    ("rows", "called"), [(999, "n<1K"), (10**11, "100B<n<1T"), (10**12 - 1, "100B<n<1T"), (10**12, "n>1T")]
)
def test_sizes_are_called_as_hubs_call_them(rows: int, called: str) -> None:
    assert size_category(rows) == called

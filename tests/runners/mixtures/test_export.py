"""`winnow export`: six formats of one draw, sample for sample, edited, in one random order, each with its card."""

import fnmatch
import itertools
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import orjson
import pytest
import yaml

from tests.messages import assert_told
from tests.runners.mixtures.readers import READERS, Sample, Shards, megatron
from tests.runners.mixtures.tiny import ADDRESS, CLASSES, RECIPE, Tiny, tree, winnow
from winnow.schemas.mixture import plan_name
from winnow.scoring.mixture.orders import export_order, key_of

pytest.importorskip("array_record", reason="winnow[arrayrecord] is not installed")

CAP = 16 << 10
MIX = (
    "{unit: tokens, tokenizer: bytes, split: {validation: 0.1, max_share: 0.5}, "
    "stages: {core: {budget: 90_000, languages: {unimax: 3}}, late: {budget: 20_000, sources: {books: 1}}}}"
)
EXPORT = ", ".join(
    f"{{{name}: {{path: out/{name}, shard_bytes: 16 KiB{more}}}}}"
    for name, more in (
        ("parquet", ""),
        ("jsonl", ""),
        ("webdataset", ", energon: true"),
        ("mds", ""),
        ("arrayrecord", ""),
        ("megatron", ", end_token: 256"),
    )
)
ONE = "{jsonl: {path: out/jsonl, shard_bytes: 16 KiB}}"


@pytest.fixture(scope="module")
def exported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with its mixture in all six formats: two stages, the second of samples that the first gave too."""
    folder = tmp_path_factory.mktemp("exported") / "tiny"
    shutil.copytree(made, folder)
    (folder / "recipe.yaml").write_text(f"{RECIPE}mix: {MIX}\nexport: [{EXPORT}]\n")
    winnow("export", folder / "recipe.yaml")
    return folder


@pytest.fixture
def whole(exported: Path) -> Tiny:
    """The same, to be looked at and not changed."""
    return Tiny(exported)


@pytest.fixture(scope="module")
def shards(exported: Path) -> dict[str, Shards]:
    """What each format holds."""
    return {name: read(exported / "out" / name) for name, read in READERS.items()}


def flat(shards: list[list[Sample]]) -> list[Sample]:
    return [sample for shard in shards for sample in shard]


@pytest.mark.parametrize("name", READERS)
def test_every_format_holds_the_draw_with_edited_texts(whole: Tiny, shards: dict[str, Shards], name: str) -> None:
    drawn, rows = whole.drawn(whole.record()), whole.rows
    for output, samples in drawn.items():
        found = flat(shards[name][output])
        assert Counter((identity, copy) for identity, copy, _ in found) == samples
        assert [text for _, _, text in found] == [rows[identity].edited for identity, _, _ in found]
    assert shards[name].keys() == drawn.keys() == {"core", "late", "validation"}
    assert max(copy for _, copy in drawn["core"] + drawn["late"]) > 1


def test_all_formats_hold_the_same_samples_in_the_same_order_in_the_same_shards(
    whole: Tiny, shards: dict[str, Shards]
) -> None:
    assert all(one == shards["jsonl"] for one in shards.values())
    texts = {name: [[text for _, _, text in shard] for shard in output] for name, output in shards["jsonl"].items()}
    assert megatron(whole.folder / "out/megatron") == texts


def test_the_order_is_that_of_a_hash(whole: Tiny, shards: dict[str, Shards]) -> None:
    key = key_of(whole.record().plan.seed, "export")
    for output in shards["jsonl"].values():
        samples = flat(output)
        halves = [[int(identity[at : at + 16], 16) for identity, _, _ in samples] for at in (0, 16)]
        words = np.array(halves[0], np.uint64), np.array(halves[1], np.uint64)
        order = export_order(words, key, np.array([copy for _, copy, _ in samples], np.uint16))
        assert (np.diff(order.astype(object)) > 0).all()


def test_no_stratum_bunches(whole: Tiny, shards: dict[str, Shards]) -> None:
    """In random order the longest run of one source and language is far below the number of its samples."""
    rows = whole.rows
    strata = [(rows[i].source, rows[i].language) for i, _, _ in flat(shards["jsonl"]["core"])]
    for stratum, count in Counter(strata).items():
        longest = max(len(list(run)) for one, run in itertools.groupby(strata) if one == stratum)
        assert longest <= max(4, count / 3)


def test_shards_are_equal_within_one_and_keep_their_cap(whole: Tiny, shards: dict[str, Shards]) -> None:
    for output in shards["jsonl"].values():
        sizes = [len(shard) for shard in output]
        assert max(sizes) - min(sizes) <= 1
        for shard in output:
            assert sum(len(text.encode()) for _, _, text in shard) <= CAP


def test_no_address_of_the_sources_is_in_any_file(whole: Tiny, shards: dict[str, Shards]) -> None:
    for path, raw in tree(whole.folder / "out").items():
        assert ADDRESS.encode() not in raw, path
    for samples in shards.values():  # nor where it is packed
        assert all(ADDRESS not in text for output in samples.values() for _, _, text in flat(output))


def test_winnow_json_names_each_file_and_the_plan(whole: Tiny) -> None:
    plan = whole.record().plan
    for folder in (whole.folder / "out").iterdir():
        files = tree(folder)
        manifest = orjson.loads(files.pop("winnow.json"))
        assert {file["path"]: file["bytes"] for file in manifest["files"]} == {
            path: len(raw) for path, raw in files.items()
        }
        assert manifest["plan"] == plan.name
        assert {name: output["samples"] for name, output in manifest["outputs"].items()} == {
            output.name: output.given.samples for output in plan.outputs
        }
    assert not [path for path in (whole.folder / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["parquet", "jsonl", "webdataset"])
def test_the_card_tells_a_hub_which_files_are_which_split(whole: Tiny, shards: dict[str, Shards], name: str) -> None:
    folder = whole.folder / "out" / name
    _, front, _ = (folder / "README.md").read_text().split("---\n", 2)
    (config,) = yaml.safe_load(front)["configs"]
    files = [path for path in tree(folder) if path not in ("winnow.json", "README.md", "card.json")]
    named: list[str] = []
    for one in config["data_files"]:
        found = [path for path in files if fnmatch.fnmatch(path, one["path"])]
        assert len(found) == len(shards[name][one["split"]])
        named += found
    assert sorted(named) == sorted(path for path in files if not path.endswith(".idx") and ".nv-meta" not in path)


@pytest.mark.parametrize("name", [*READERS, "megatron"])
def test_the_card_is_of_the_plan(whole: Tiny, name: str) -> None:
    plan = whole.record().plan
    folder = whole.folder / "out" / name
    card = json.loads((folder / "card.json").read_bytes())
    assert card["plan"] == plan.name
    assert plan_name(plan.to_json()) == plan.name
    assert [(one["name"], one["given"]["samples"], one["given"]["units"]) for one in card["outputs"]] == [
        (one.name, one.given.samples, one.given.units) for one in plan.outputs
    ]
    assert {one["name"]: (one["class"], one["licence"]) for one in card["sources"]} == {
        "web": (CLASSES["web"], "unknown"),
        "books": (CLASSES["books"], "CC0-1.0"),
    }
    readme = (folder / "README.md").read_text()
    for said in (plan.name, card["tree_hash"], "## Exposure ledger", "## Sources", "## Safety", "CC0-1.0", "German"):
        assert said in readme


def test_a_second_export_finds_what_stands(whole: Tiny) -> None:
    before = tree(whole.folder)
    shown = whole.run("export")
    assert shown.count("already finished") == 6
    verified = whole.run("export", "--verify")
    assert sum(" ok " in line for line in verified.splitlines()) == 6
    assert "verified  6 exports: " in verified
    assert "note" not in verified
    assert tree(whole.folder) == before
    found = json.loads(whole.run("export", "--json"))
    assert [one["new"] for one in found["exports"]] == [False] * 6
    assert found["plan"] == whole.record().plan.name


def test_another_mixture_takes_a_folder_only_where_that_is_asked_for(tiny: Tiny) -> None:
    tiny.write("{tokenizer: bytes, budget: 50}", ONE)
    tiny.run("export")
    before = tree(tiny.folder / "out")
    old = json.loads((tiny.folder / "out/jsonl/winnow.json").read_bytes())["plan"]
    tiny.write("{tokenizer: bytes, budget: 60}", ONE)
    shown = tiny.run("export", "--verify")
    assert (
        f"note      {tiny.folder}/out/jsonl: belongs to plan {old}; the recipe or its store has changed since" in shown
    )
    new, _ = tiny.mix()
    told = f"contains an export of plan {old}, but the recipe's plan is {new.plan.name}"
    assert f"{told}; write to another folder" in tiny.complaint("export")
    shown = tiny.run("export", "--verify")
    assert f"note      {tiny.folder}/out/jsonl: {told}" in shown
    assert "verified  1 export: " in shown
    assert tree(tiny.folder / "out") == before
    tiny.run("export", "--replace")
    assert len(flat(READERS["jsonl"](tiny.folder / "out/jsonl")["train"])) == 60
    assert [path.name for path in (tiny.folder / "out").iterdir()] == ["jsonl"]


def test_an_export_can_be_tried_on_a_share_of_the_plan(tiny: Tiny) -> None:
    tiny.write("{unit: tokens, tokenizer: bytes, split: {validation: 0.1}}", ONE)
    tiny.run("export", "--sample", "10%")
    some = READERS["jsonl"](tiny.folder / "out/jsonl")
    shutil.rmtree(tiny.folder / "out")
    tiny.run("export", "--sample", "100%")
    all_ = READERS["jsonl"](tiny.folder / "out/jsonl")
    few, many = (flat(one["train"]) for one in (some, all_))
    assert set(few) < set(many)
    assert few == [sample for sample in many if sample in set(few)]  # and in the same order
    assert set(flat(some["validation"])) <= set(flat(all_["validation"]))


def test_an_export_is_of_the_share_that_is_drawn(tiny: Tiny) -> None:
    note = "note    1/10 of the plan is drawn, and nothing else is taken; --sample 100% takes all of it\n"
    tiny.write("{unit: tokens, tokenizer: bytes, budget: 40_000}", ONE)
    tiny.run("mix", "--sample", "1/5")  # of another recipe
    tiny.write("{unit: tokens, tokenizer: bytes, split: {validation: 0.1}}", ONE)
    part, drawn = tiny.mix("--sample", "10%")
    said = tiny.run("export")
    assert note in said
    (row,) = (line for line in said.splitlines() if f"{tiny.folder}/out/jsonl " in line)
    assert row.endswith(part.plan.name)
    few = tree(tiny.folder / "out")
    assert len(flat(READERS["jsonl"](tiny.folder / "out/jsonl")["train"])) == drawn["train"].total()
    assert "note" not in tiny.run("export", "--check")
    tiny.run("export", "--id-list", tiny.folder / "ids.npy")
    assert len(np.load(tiny.folder / "ids.npy")) == len({identity for identity, _ in drawn["train"]})
    tiny.run("mix", "--sample", "1/3")
    asked = "the shares 1/10 and 1/3 of the plan are drawn; say which with --sample"
    assert asked in tiny.complaint("export")
    tiny.run("export", "--sample", "0.1")
    assert tree(tiny.folder / "out") == few
    whole = tiny.run("export", "--sample", "100%", "--replace")
    assert part.plan.name not in whole
    all_ = tree(tiny.folder / "out")
    assert "is drawn" not in tiny.run("export")  # all of it is
    assert tree(tiny.folder / "out") == all_ != few


@pytest.mark.processes
def test_a_run_draws_and_exports_a_share_with_any_number_of_workers(tiny: Tiny, tmp_path: Path) -> None:
    tiny.write(MIX, ONE)
    other = tiny.moved(tmp_path / "other")
    for one, workers in ((tiny, "1"), (other, "2")):
        said = one.run("run", "--sample", "10%", "--workers", workers)
        assert "(1/10 of it is drawn): " in said
        assert "is drawn, and nothing else" not in said  # it was asked for
    assert tree(tiny.folder / "out") == tree(other.folder / "out")
    few = tree(tiny.folder / "out")
    page = (tiny.folder / "store/report.html").read_text()
    assert "(1/10 of the plan)" in page
    assert "1/10 of the plan is drawn" in tiny.run("export")
    assert tree(tiny.folder / "out") == few
    assert "1/10" not in tiny.run("run", "--replace")
    assert tree(tiny.folder / "out") != few


def test_the_list_of_ids_is_of_the_stages_alone(tiny: Tiny) -> None:
    tiny.write(MIX, ONE)
    shown = tiny.run("export", "--id-list", tiny.folder / "ids.npy")
    drawn = tiny.drawn(tiny.record())
    given = sorted({identity for name in ("core", "late") for identity, _ in drawn[name]})
    ids = np.load(tiny.folder / "ids.npy")
    assert [f"{first:016x}{second:016x}" for first, second in ids.tolist()] == given
    assert f"{len(given)} samples" in shown
    assert not (tiny.folder / "out").exists()


def test_a_list_of_ids_needs_no_export(tiny: Tiny) -> None:
    tiny.write("{tokenizer: bytes, budget: 5}")
    tiny.run("export", "--id-list", tiny.folder / "ids.npy")
    assert len(np.load(tiny.folder / "ids.npy")) == 5
    assert "has no export" in tiny.complaint("export")


def test_all_exports_in_the_way_are_named_with_what_they_differ_in(tiny: Tiny) -> None:
    mixture = "{tokenizer: bytes, budget: 5}"
    tiny.write(mixture, "{jsonl: {path: out/a}}, {jsonl: {path: out/b}}, {jsonl: {path: out/c}}")
    tiny.run("export")
    plan = json.loads((tiny.folder / "out/a/winnow.json").read_bytes())["plan"]
    before = tree(tiny.folder / "out")
    tiny.write(
        mixture,
        "{jsonl: {path: out/a}}, {jsonl: {path: out/b, compression: gzip, shard_bytes: 1 MiB}}, "
        "{parquet: {path: out/c}}",
    )
    said = tiny.run("export", status=1).splitlines()
    there = f"contains an export of plan {plan}, but with other options"
    assert_told(said[0], f"{tiny.folder}/out/b", str(there), "shard_bytes", "268435456")
    assert_told(said[0], "'zstd'", "'gzip'")
    assert_told(said[1], f"{tiny.folder}/out/c", str(there), "'jsonl'", "'parquet'")
    assert len(said) == 2
    assert tree(tiny.folder / "out") == before


def test_a_list_of_ids_is_no_text(tiny: Tiny) -> None:
    tiny.write("{tokenizer: bytes, budget: 5}")
    for name in ("ids.txt", "ids.CSV", "ids.json"):
        said = tiny.complaint("export", "--id-list", tiny.folder / name)
        assert_told(said, "numpy.load")
        assert not (tiny.folder / name).exists()

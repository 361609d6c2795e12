"""Exports to an object store: byte for byte what a folder gets, verified and audited from there."""

from collections.abc import Iterator

import pytest

from tests.faults.winnow import run_here
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.servers import BUCKET, Server, started
from tests.runners.mixtures.tiny import Tiny, tree
from winnow.pipelines.store.location import open_location

MIX = "{unit: tokens, tokenizer: bytes, split: {validation: 0.1}, budget: 20_000}"
FORMATS = {
    "parquet": "shard_bytes: 16 KiB",
    "webdataset": "shard_bytes: 16 KiB, energon: true",
    "mds": "shard_bytes: 16 KiB",
    "megatron": "shard_bytes: 16 KiB, end_token: 256, merge: true",
}


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("moto", tmp_path_factory.mktemp("moto")) as server:
        yield server


def exports(root: str) -> str:
    return ", ".join(f"{{{name}: {{path: '{root}/{name}', {options}}}}}" for name, options in FORMATS.items())


@pytest.mark.large
def test_an_address_gets_what_a_folder_gets(tiny: Tiny, moto: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, moto.environment)
    address = f"s3://{BUCKET}/mixture"
    tiny.write(MIX, exports("out"))
    tiny.run("export", "--workers", "1")
    tiny.write(MIX, exports(address))
    assert "parquet     s3://crawl/mixture/parquet: train " in tiny.run("export", "--workers", "1")
    objects = open_location(address)
    there = {one.path: objects.read(one.path) for one in objects.list()}
    here = tree(tiny.folder / "out")
    assert there.keys() == here.keys(), "and nothing is left of the work"
    for path in here:
        if not path.endswith(("README.md", "card.json", "winnow.json")):  # which hold the recipe, with its paths
            assert there[path] == here[path], path
    assert tiny.run("export").count("already finished") == len(FORMATS)
    assert "verified  4 exports" in tiny.run("export", "--verify")

    said = tiny.run("audit")
    assert f"export {address}/megatron: " in said
    assert "bytes are unchanged" in said

    (first, *_) = objects.list("parquet/data/")
    objects.put(first.path, objects.read(first.path)[:-1] + b"x")
    for command in (("export", "recipe.yaml", "--verify"), ("audit", "recipe.yaml")):
        found = run_here(tiny.folder, *command)
        assert found.status == 1
        assert f"{first.path.removeprefix('parquet/')} has changed since it was written" in found.out
    tiny.run("export", "--replace")
    assert "verified  4 exports" in tiny.run("export", "--verify")

"""Two recipes and a request to forget on one store, in every order: none disturbs another."""

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.schemas.identity import sample_id
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import Generation

RECIPE = """\
version: 1
store: {{path: store, shard_rows: 8}}
sources: {{texts: {{root: texts, files: ["*.jsonl"], class: web, licence: unknown, key: id}}}}
annotate: [text.length, {{text.pii: {{kinds: [{kind}]}}}}]
dedupe: {{exact: {{}}}}
edits: [text.pii]
mix: {{unit: tokens, tokenizer: bytes}}
export: [{{parquet: {{path: {name}}}}}]
"""
FORGOTTEN = sample_id("texts", "rows.jsonl", "3").hex()
STEPS = ("mail", "banks", "forget")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    rows = [
        {"id": str(row), "text": f"text {row % 12}, ask a{row}@b.example DE89 3704 0044 0532 0130 00"}
        for row in range(20)
    ]
    (tmp_path / "texts" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, kind in (("mail", "email"), ("banks", "iban")):
        (tmp_path / f"{name}.yaml").write_text(RECIPE.format(name=name, kind=kind))
    return tmp_path


def step(name: str) -> None:
    if name != "forget":
        shutil.rmtree(name, ignore_errors=True)  # an export of another plan is not replaced
        assert main(["run", f"{name}.yaml", "--workers", "1"]) == 0
        return
    assert main(["forget", "store", "--id", FORGOTTEN]) in (0, 3)  # 3: nothing of it is there yet


def read(name: str) -> Generation:
    return require_latest_for(bind(load_recipe(f"{name}.yaml")), open_store_at("store"))


def exported(name: str) -> dict[str, str]:
    step(name)
    tables = [pq.read_table(file, columns=["id", "text"]) for file in sorted(Path(name).rglob("*.parquet"))]
    return {row["id"]: row["text"] for table in tables for row in table.to_pylist()}


ORDERS = [("mail", "forget", "banks"), ("banks", "mail", "forget")]


@pytest.mark.processes
@pytest.mark.parametrize(
    "orders", [ORDERS, pytest.param([*itertools.permutations(STEPS)], marks=pytest.mark.large)], ids=["two", "all"]
)
def test_every_order_ends_in_the_same_exports(folder: Path, orders: Sequence[Sequence[str]]) -> None:
    found = []
    for order in orders:
        shutil.rmtree("store", ignore_errors=True)
        if order[0] == "forget":
            main(["ingest", "mail.yaml", "--workers", "1"])
        for number, name in enumerate(order):
            before = {one: read(one).tree_hash for one in order[:number] if one != "forget"}
            step(name)
            assert {one: read(one).tree_hash for one in before} == before, (order, name)
        found.append({name: exported(name) for name in ("mail", "banks")})
    assert all(one == found[0] for one in found)
    assert len(found[0]["mail"]) == len(found[0]["banks"]) == 19
    assert found[0]["mail"] != found[0]["banks"]

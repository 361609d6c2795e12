"""Rules of media on the page: a row counts as a plan counts it, whatever becomes of its pictures."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runners.inspect.opened_stores import ask, opened, plan
from winnow.runners.commands.main import main

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """\
version: 1
store: {path: store, shard_rows: 4}
sources:
  documents: {root: in, files: ["*.parquet"], class: public, key: id, columns: {media: images, text: text}}
annotate: [image.geometry]
items:
  - {drop: image.geometry.shorter < 100, reason: small, when_null: drop}
keep:
  - {drop: items.kept = 1 and items.dropped > 0, reason: one_left}
"""
SIDES = {"a": [300, 50], "b": [50, 90], "c": [150, 240], "d": [], "e": [120, 130, 40], "f": [99], "g": [101]}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "a threshold of media": [{"reason": "small", "cut": 0, "value": 125}],
    "a rule of media is gone": [
        {"reason": "small", "remove": True},
        {"reason": "one_left", "drop": "array_length(samples.media) = 0"},
    ],
    "one more rule of media": [
        {"reason": "wide", "list": "items", "drop": "image.geometry.width > 200", "when_null": "keep"}
    ],
    "a rule that counts media": [{"reason": "two", "drop": "items.kept > 1"}],
    "another count": [{"reason": "one_left", "drop": "items.dropped > 0"}],
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("items") / "made"
    (folder / "in").mkdir(parents=True)
    images = [[{"bytes": picture(side), "path": None} for side in sides] for sides in SIDES.values()]
    columns = {"id": list(SIDES), "text": [f"document {name}" for name in SIDES], "images": images}
    pq.write_table(pa.table(columns), folder / "in" / "documents.parquet")
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0
    return folder / "recipe.yaml"


def picture(side: int) -> bytes:
    noise = np.random.default_rng(side).integers(0, 255, (8, 8, 3), dtype=np.uint8)
    made = io.BytesIO()
    Image.fromarray(noise).resize((side, side)).save(made, "PNG")
    return made.getvalue()


@pytest.mark.parametrize("what", CHANGES)
def test_rows_count_as_a_plan_counts_them(file: Path, what: str) -> None:
    shown, name = opened(file), f"{what.replace(' ', '-')}.yaml"
    found = ask(shown, "simulate", changes=CHANGES[what], samples=0)
    ask(shown, "patch", changes=CHANGES[what], save=name)
    assert found["exact"]
    assert found["kept"]["after"]["rows"] == plan(file.with_name(name)).kept.rows


def test_a_rule_of_media_is_shown_with_its_rows_and_its_edge(file: Path) -> None:
    shown = opened(file)
    rules = {one["reason"]: one for one in ask(shown, "rules")["rules"]}
    assert {reason: (one["list"], one["fires"]) for reason, one in rules.items()} == {
        "small": ("items", 2),
        "one_left": ("keep", 1),
    }
    near = ask(shown, "samples", filter={"reason": "small"}, order="edge")["rows"]
    assert [(one["preview"], one["value"]) for one in near] == [("document f", 99), ("document b", 90)]
    sample = ask(shown, "sample", id=near[0]["id"])
    assert sample["decision"]["items"] == [["small"]]
    assert [(one["item"], one["mime"], one["width"]) for one in sample["media"]] == [(0, "image/png", 99)]


def test_pixels_are_an_amount(file: Path) -> None:
    found = ask(opened(file), "simulate", changes=[], samples=0, unit="pixels")
    kept = [side for name in ("c", "d", "e", "g") for side in SIDES[name]]
    assert found["kept"]["after"] == {"rows": 4, "pixels": sum(side * side for side in kept)}

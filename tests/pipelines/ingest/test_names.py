"""Files whose names are not UTF-8 are ingested, audited and shown like others."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.messages import assert_told
from tests.pipelines.export.test_media import png
from tests.pipelines.ingest.made_archives import Capture, pieces
from winnow.pipelines.audit.generation import audit_generation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.media.references import MediaFinder, media_sources
from winnow.pipelines.store.names import file_name
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe

RECIPE = """
version: 1
store: {path: store}
sources:
  all: {root: data, files: ["**/*.txt", "**/*.html", "**/*.png", "**/*.warc.gz", "lines/*"], class: web}
  named: {root: data, files: ["named.*"], class: web, columns: {media: image}}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
"""

FILES = {
    b"caf\xe9.txt": b"A text.",
    "caf\ufffdE9.txt".encode(): b"Another text.",
    b"d\xff\xfe/page\xe9.html": b"<p>Some words of a page.</p>",
    b"pic\xe9.png": png(1),
    b"w\xe9.warc.gz": b"".join(pieces([Capture("https://e.org/a")], "warc.gz")),
    b"cut\xe9.warc.gz": b"".join(pieces([Capture("https://e.org/a")], "warc.gz"))[:-9],
    b"lines/l\xe9.jsonl": b'{"text": "A line."}\n',
    b"new\nline \x1b[31m.txt": b"A third text.",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        path = os.path.join(os.fsencode(tmp_path), b"data", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(content)
    table = pa.table({"image": pa.array([b"pic\xe9.png"], pa.binary())})
    pq.write_table(table, tmp_path / "data/named.parquet")
    (tmp_path / "data/named.jsonl").write_text(json.dumps({"image": "pic\ufffdE9.png"}) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_each_file_becomes_rows_that_lead_back_to_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = load_recipe(folder / "recipe.yaml")
    outcome = ingest(bind(recipe), Engine("local", 1), Console(quiet=True))
    rows = [
        row
        for one in outcome.store.manifest(outcome.generation, "samples")
        for row in pq.read_table(folder / "store" / one.object).to_pylist()
    ]
    paths = [file_name(row["source"]["path"]) for row in rows if row["source"]["name"] == "all"]
    assert sorted(paths) == sorted(name for name in FILES if not name.startswith(b"cut"))
    (named,) = (row for row in rows if row["source"]["name"] == "named")
    assert file_name(named["media"][0]["ref"]["path"]) == b"pic\xe9.png"
    found = MediaFinder(media_sources(recipe), "named").find(named["media"][0])
    assert isinstance(found, dict)
    assert found["bytes"] == png(1)
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []
    capsys.readouterr()
    for command in ("plan", "stats"):
        assert main([command, "recipe.yaml"]) == 0
    assert main(["show", "recipe.yaml", named["id"].hex()]) == 0


def test_a_folder_to_work_in_needs_a_name_that_records_can_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / os.fsdecode(b"d\xff")
    odd.mkdir()
    assert main(["plan", str(odd / "recipe.yaml")]) == 1
    assert "d\\xff/recipe.yaml': not UTF-8" in capsys.readouterr().err
    monkeypatch.chdir(odd)
    assert main(["plan", "recipe.yaml"]) == 1
    assert_told(capsys.readouterr().err, "d\\xff'", "UTF-8")

"""What the pages show works as shown."""

import argparse
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.filters.image.test_quality import batch
from winnow.filters.duplicates.kind import DuplicateKind
from winnow.filters.extractors import Extractor
from winnow.filters.operators import PictureOperator, TextOperator
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.ingest.formats import formats
from winnow.pipelines.ingest.formats.source_format import HowRead, OpenFile, SourceFormat
from winnow.pipelines.ingest.records import DROP_REASONS, QUARANTINE_REASONS, Covered, ReadLimits, Record
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.pipelines.preflight.check import Check
from winnow.runners.commands.command import Command, commands_by_group
from winnow.schemas.recipe import recipe_from_text
from winnow.schemas.records import FilePart
from winnow.schemas.rows.extraction import EXTRACTION, PAGES

ROOT = Path(__file__).resolve().parents[2]


def example(name: str, of: str = "") -> object:
    """What one of the page's Python blocks defines under a name; if several do, the one that has the text `of`."""
    for source in re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL):
        if f"\n{name} = " in source and of in source:
            names: dict[str, object] = {}
            exec(compile(source, "CONTRIBUTING.md", "exec"), names)  # noqa: S102  the page's own example
            return names[name]
    raise AssertionError(f"no example defines {name}")


def test_the_operator_in_one_file_is_an_operator() -> None:
    operator = example("OPERATOR")
    assert isinstance(operator, TextOperator)
    kernel = operator.load(operator.config(), AssetFiles())
    given = pa.RecordBatch.from_arrays([pa.array(["Ein HAUS", ""], pa.large_string())], names=["text"])
    assert kernel(given).to_pylist() == [{"letters": 7, "capitals": 5}, {"letters": 0, "capitals": 0}]


def test_the_operator_on_pictures_in_one_file_is_one() -> None:
    operator = example("OPERATOR", of="image.redness")
    assert isinstance(operator, PictureOperator)
    pictures = [np.full((2, 3, 3), (30, 10, 0), np.uint8), np.zeros((1, 1, 3), np.uint8)]
    found = operator.load(operator.config(), AssetFiles())(batch(*pictures))
    assert found.to_pylist() == [{"share": 0.75}, {"share": None}]


def test_the_extractor_in_one_file_is_an_extractor() -> None:
    extractor = example("EXTRACTOR")
    assert isinstance(extractor, Extractor)
    pages = pa.RecordBatch.from_pylist([{"html": "<title>Two rows</title>", "url": None}, {}], schema=PAGES)
    made = extractor.kernel(pages, extractor.config())
    assert made.schema == EXTRACTION
    assert made["text"].to_pylist() == ["Two rows", None]


def test_the_source_format_in_one_file_is_a_source_format() -> None:
    found = example("FORMAT")
    assert isinstance(found, SourceFormat)
    raw = b"One,\nand on.\n\n\nTwo.\n\n\xff"
    read = found.reader(HowRead("a.paragraphs", ColumnMapping(), checked=True, with_referrers=False))
    events = list(read(io.BytesIO(raw), FilePart("a.paragraphs", len(raw), 0, len(raw)), ReadLimits()))
    assert [getattr(one, "text", None) for one in events if not isinstance(one, Covered)] == [
        "One,\nand on.",
        "Two.",
        None,
    ]
    claims = [Claim(one.span, isinstance(one, Record)) for one in events if not isinstance(one, Covered)]
    file = OpenFile(io.BytesIO(raw), "a.paragraphs", len(raw), ReadLimits())
    assert found.check_claims(file, claims) == []
    assert found.check_claims(file, claims[1:]) != []


@pytest.mark.parametrize("name", formats())
def test_every_source_format_is_described(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "reference" / "ingest.md").read_text()


def test_the_kind_of_duplicates_in_one_file_is_one() -> None:
    kind = example("KIND")
    assert isinstance(kind, DuplicateKind)
    assert kind.schema.names == ["status", "share", "items", "cluster", "size", "matched"]
    leaves = [pa.array([b"1", b"2", None]), pa.array([60, 40, None], pa.int16())]
    statuses, values = kind.signature.values(kind.settings(), leaves)
    assert statuses.to_pylist() == ["ok", "low_quality", "not_measured"]
    assert values.to_pylist() == [b"1", b"2", None]


def test_the_command_in_one_file_is_one_with_a_place_of_its_own() -> None:
    command = example("COMMAND")
    assert isinstance(command, Command)
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    assert parser.parse_args(["recipe.yaml", "--json"]).json
    assert command.place not in [one.place for one in commands_by_group()["inspect"].values()]


def test_the_check_in_one_file_is_one() -> None:
    checks = example("CHECKS")
    assert isinstance(checks, tuple)
    assert [(type(one), one.name) for one in checks] == [(Check, "credits")]


def test_the_recipe_of_the_readme_is_a_recipe() -> None:
    block = re.search(r"    # recipe\.yaml\n((?:    .*\n)+)", (ROOT / "README.md").read_text())
    assert block is not None
    recipe = recipe_from_text(re.sub(r"^    ", "", block[1], flags=re.MULTILINE))
    assert [source.name for source in recipe.sources] == ["crawl", "books"]


@pytest.mark.processes
def test_the_mistake_of_the_readme_is_answered_as_shown(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(
        "# recipe.yaml\nversion: 1\nstore: {path: store}\nsources:\n"
        '  crawl: {root: crawl, files: ["*.gz"], clas: web, class: web}\n'
    )
    command = [sys.executable, "-m", "winnow", "plan", "recipe.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.strip() in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("reason", [*DROP_REASONS, *QUARANTINE_REASONS])
def test_every_reason_is_explained(reason: str) -> None:
    assert f"`{reason}`" in (ROOT / "docs" / "reference" / "ingest.md").read_text()


def test_make_help_lists_every_target() -> None:
    targets = re.search(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    command = ["make", "--no-print-directory", "help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[1] for line in shown.splitlines()) == sorted(targets[1].split())

"""What a store keeps of an extractor that winnow no longer has: its layer, which everything but ingest still reads."""

from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import winnow
from tests.faults.crawl import write_crawl
from tests.faults.winnow import ended, run_here
from tests.messages import assert_told
from winnow.filters import extractors
from winnow.filters.extraction.extract_resiliparse import EXTRACTOR

pytestmark = pytest.mark.processes

FAST = replace(EXTRACTOR, name="fast")
RECIPE = """\
version: 1
store: {path: store}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
extract: {NAME: {}}
text: extract.NAME.text
annotate: [text.length]
keep: [{drop: text.length.characters < 40, reason: short, when_null: drop}]
mix: {unit: samples}
"""


def test_its_layer_stays_readable_and_a_recipe_that_names_it_says_what_to_write(tmp_path: Path) -> None:
    write_crawl(tmp_path, archives=1, pages=9, lines=0)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.replace("NAME", "fast"))
    with pytest.MonkeyPatch.context() as patch:  # the registry of a winnow that has it
        point = EntryPoint("fast", f"{__name__}:FAST", extractors.ENTRY_POINTS)
        patch.setattr(extractors, "entry_points", lambda group: (point,) if group == extractors.ENTRY_POINTS else ())
        ended(run_here(tmp_path, "run", "recipe.yaml"))
    refused = run_here(tmp_path, "run", "recipe.yaml")
    assert refused.status == 1
    assert_told(refused.err, "recipe.yaml:5", "'fast'", "'main'")
    texts = winnow.open_store(tmp_path / "store").table(["extract.fast.text"]).to_arrow()["extract.fast.text"]
    assert sum(map(bool, texts.to_pylist())) == 9
    assert "extract.fast" in ended(run_here(tmp_path, "stats", "store"))
    recipe.write_text(RECIPE.replace("NAME", "main"))
    ended(run_here(tmp_path, "run", "recipe.yaml"))
    ended(run_here(tmp_path, "audit", "recipe.yaml"))

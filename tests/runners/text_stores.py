"""Small stores of texts whose values depend on all rows: written, read back, and made again by workers."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here, tree_hash
from tests.runners.test_annotate import table
from winnow.runners.stages import meetings
from winnow.runners.stages.running.engine_jobs import EngineJobs


def write_texts(folder: Path, name: str, texts: list[str], recipe: str) -> None:
    """A file of the source `pages`, and the recipe."""
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"id": f"{name}-{number}", "text": text}) for number, text in enumerate(texts)]
    (folder / "pages" / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "recipe.yaml").write_text(recipe)


def rows_of_layer(folder: Path, layer: str) -> dict[bytes, tuple[str, dict[str, object]]]:
    """Of each sample, its text and its row of the layer."""
    samples, rows = table(folder, "samples"), table(folder, layer).to_pylist()
    pairs = zip(samples["text"].to_pylist(), rows, strict=True)
    return dict(zip(samples["id"].to_pylist(), pairs, strict=True))


def exported(folder: Path) -> list[str]:
    """The texts that are exported."""
    return [json.loads(line)["text"] for file in sorted((folder / "out").rglob("*.jsonl")) for line in file.open()]


def run_again(folder: Path, again: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run changes nothing, and neither does another store's run on two workers, however small it is."""
    before = tree_hash(folder)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert tree_hash(folder) == before
    monkeypatch.setattr(meetings, "EngineJobs", partial(EngineJobs, here_bytes=-1))
    ended(run_here(again, "run", "recipe.yaml", "--workers", "2"))
    assert (exported(again), tree_hash(again)) == (exported(folder), before)

"""A whole recipe that is small: texts of which some are the same, through every stage to an export."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from winnow.runners.engines.engine import Engine

RECIPE = """
version: 1
store: {{path: {name}/store, seed: 7, task_bytes: 64 KiB}}
sources:
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: id}}
text: samples.text
annotate: [text.length]
dedupe: {{exact: {{}}, near: {{preset: fineweb, min_similarity: 0.75}}}}
mix: {{unit: tokens, tokenizer: bytes, budget: 100_000}}
export: [{{parquet: {{path: {name}/export}}}}]
"""


def write_lines(folder: Path, rows: int = 240, files: int = 3) -> None:
    """Each tenth text again as it is, and each twentieth with another end."""
    (folder / "lines").mkdir(parents=True)
    for file in range(files):
        with open(folder / "lines" / f"{file}.jsonl", "w") as stream:
            for row in range(file, rows, files):
                text = (
                    words(row - 1, 140) + " another end"
                    if row % 20 == 3
                    else words(row // 10 * 10 if row % 10 == 9 else row, 140)
                )
                stream.write(json.dumps({"id": str(row), "text": text}) + "\n")


def write_recipe(folder: Path, name: str) -> Path:
    """What it makes lies in a folder of this name."""
    recipe = folder / f"{name}.yaml"
    recipe.write_text(RECIPE.format(name=name))
    return recipe


def words(number: int, count: int) -> str:
    """Always the same for a number."""
    hashed = "".join(blake2b(b"%d/%d" % (number, part)).hexdigest() for part in range(count // 16 + 1))
    return " ".join(hashed[at : at + 7] for at in range(0, 8 * count, 8))


def exported(folder: Path, name: str) -> dict[str, bytes]:
    """The samples' files of an export, by their paths."""
    root = folder / name / "export"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.parquet"))}


def noted_pipelines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages of the pipelines that are run from now on."""
    pipelines: list[str] = []
    run = Engine.run

    def noted(engine: Engine, *others: Any, stage: str = "", **more: Any) -> None:
        pipelines.append(stage)
        run(engine, *others, stage=stage, **more)

    monkeypatch.setattr(Engine, "run", noted)
    return pipelines

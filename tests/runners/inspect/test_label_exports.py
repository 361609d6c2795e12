"""Labelled texts that are written beside the recipe: as an export has them, and known to `winnow forget`."""

import json
from pathlib import Path

import pytest

from tests.runners.inspect.opened_stores import ask, opened, write_store
from winnow.pipelines.forgetting.outputs import LABELS, registered
from winnow.runners.commands.main import main
from winnow.runners.inspect.view import UnavailableError

ADDRESS = "ann@lists.org"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_store(tmp_path / "made", rows=40)


def test_texts_have_the_edits_of_the_recipe_and_are_known_to_forget(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = opened(file)
    rows = [row for batch in shown.tables.read_columns(["id", "text"]) for row in batch.to_pylist()]
    with_address = [row["id"] for row in rows if ADDRESS in row["text"]][:3]
    for sample in with_address:
        ask(shown, "labels", set={"id": sample, "label": "good"})
    written = Path(ask(shown, "labels", export="good.jsonl", **{"as": "reference"})["exported"])
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert {line["id"] for line in lines} == set(with_address)
    assert all(line["text"] and ADDRESS not in line["text"] for line in lines)
    assert [(one.kind, one.path) for one in registered(shown.store.objects)] == [(LABELS, str(written))]
    capsys.readouterr()
    assert main(["forget", str(file), "--id", with_address[0]]) == 0
    assert str(written) in "".join(capsys.readouterr())


def test_texts_whose_edits_are_not_measured_are_not_written(file: Path) -> None:
    later = file.with_name("later.yaml")
    later.write_text(file.read_text().replace("kinds: [email]", "kinds: [email, ip]"))
    shown = opened(later)
    (sample,) = next(iter(shown.tables.read_columns(["id"])))["id"][:1].to_pylist()
    ask(shown, "labels", set={"id": sample, "label": "good"})
    with pytest.raises(UnavailableError, match=r"text\.pii.*run: winnow annotate"):
        ask(shown, "labels", export="good.jsonl", **{"as": "reference"})
    assert not later.with_name("good.jsonl").exists()
    assert ask(shown, "labels", export="train.jsonl", **{"as": "train-quality"})["exported"]

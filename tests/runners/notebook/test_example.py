"""The notebook in `examples/` runs from its first cell to its last."""

import ast
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from winnow.runners.commands.main import main

NOTEBOOK = Path("examples/a-store-in-python.ipynb").resolve()
UDHR: dict[str, Any] = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
RECIPE = """\
version: 1
store: {path: store}
sources: {books: {root: books, files: ["*.jsonl"], class: public, key: id}}
annotate: [text.language, text.length]
keep: [{drop: text.length.characters < 100, reason: short, when_null: drop}]
"""


def run_cell(source: str, names: dict[str, object]) -> object:
    """Runs a cell as notebooks do; returns the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def test_every_cell_of_the_notebook_runs(
    lid_model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo-output"
    (folder / "books").mkdir(parents=True)
    rows = [
        {"id": f"{code}{at}", "text": "\n".join(article)}
        for code in ("eng", "deu", "jpn")
        for at, article in enumerate(UDHR[code]["articles"])
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "books" / "a.jsonl").write_text(f"{lines}no JSON\n")
    (folder / "demo.yaml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "demo-output/demo.yaml", "--workers", "1"]) == 0
    (tmp_path / "examples").mkdir()
    monkeypatch.chdir(tmp_path / "examples")  # as Jupyter does
    names: dict[str, object] = {}
    cells = [
        "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"
    ]
    shown = [run_cell(cell, names) for cell in cells]
    assert len(shown) == 6
    for value in shown:
        assert value is None or value._repr_html_().startswith(("<", "\n<"))  # type: ignore[attr-defined]
    counted = {row["code"]: row["samples"] for row in shown[1].to_arrow().to_pylist()}  # type: ignore[attr-defined]
    assert counted == {
        "eng_Latn": len(UDHR["eng"]["articles"]),
        "deu_Latn": len(UDHR["deu"]["articles"]),
        "jpn_Jpan": len(UDHR["jpn"]["articles"]),
    }

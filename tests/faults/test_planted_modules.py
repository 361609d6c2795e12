"""Code that lies beside a recipe is not run, unless the recipe names it."""

import ast
import io
import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest

from tests.faults.winnow import Done, ended
from winnow.schemas.environment.modules import find_users_module, import_users_module

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
STARTED_BY = ("sitecustomize", "usercustomize", "coverage", "pandas", "IPython", "kenlm", "scipy", "faiss")
LAW = "run,steps,share_web,share_code,loss_web,loss_code\n" + "".join(
    f"{run},{100 * (1 + run % 4)},{0.2 + 0.1 * run},{0.8 - 0.1 * run},{3 - 0.1 * run},{2 + 0.05 * run}\n"
    for run in range(6)
)
RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
  pictures: {root: pictures, files: ["*.png"], class: web}
annotate: [text.length, text.gopher, image.pdq]
dedupe: {exact: {}, near: {}}
mix: {unit: tokens, tokenizer: bytes, budget: 100}
export: [{jsonl: {path: out}}]
"""
NAMES = "from beside import KINDS\n\n\nclass Model:\n    languages = None\n    kinds = KINDS\n\n"
MODEL = NAMES + "    def __call__(self, texts, language):\n        return [[(0, 3, 'name')] for _ in texts]\n"
NAMING = """
version: 1
store: {path: store, seed: 7}
sources: {lines: {root: lines, files: ["*.jsonl"], class: public, key: id}}
annotate: [text.language, {text.names: {model: "my_names:Model"}}]
"""


def write_lines(folder: Path) -> None:
    (folder / "lines").mkdir()
    rows = [{"id": str(row), "text": f"Ann went to town and came home again on day {row}. " * 3} for row in range(9)]
    (folder / "lines" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def plant(folder: Path, names: set[str]) -> Path:
    """A module of each name that says that it was run."""
    said = folder / "said"
    for name in filter(str.isidentifier, names):
        (folder / f"{name}.py").write_text(f"with open({str(said)!r}, 'a') as said:\n    said.write({name!r} + ' ')\n")
    return said


def command(folder: Path, *words: str) -> Done:
    """The command as it is installed. No other variable may make Python safe."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=400)
    return Done(done.returncode, done.stdout, done.stderr)


def winnow(folder: Path, *words: str) -> Done:
    return command(folder, str(Path(sys.executable).with_name("winnow")), *words)


def test_no_module_of_the_working_directory_is_run(tmp_path: Path) -> None:
    from PIL import Image

    write_lines(tmp_path)
    (tmp_path / "pictures").mkdir()
    for number in range(3):
        pixels = np.random.default_rng(number).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(content := io.BytesIO(), "PNG")
        (tmp_path / "pictures" / f"{number}.png").write_bytes(content.getvalue())
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    said = plant(tmp_path, {*sys.stdlib_module_names, *packages_distributions(), *STARTED_BY} - {"this", "antigravity"})
    ended(winnow(tmp_path, "run", "recipe.yaml", "--workers", "2"))
    ended(winnow(tmp_path, "audit", "recipe.yaml"))
    assert not said.exists(), said.read_text()


def test_a_fit_in_several_processes_runs_none_either(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(LAW)
    said = plant(tmp_path, {*sys.stdlib_module_names, *STARTED_BY} - {"this", "antigravity"})
    winnow(tmp_path, "law", "fit", "runs.csv", "--output", "law.json", "--workers", "2")
    assert not said.exists(), said.read_text()


def test_as_a_module_of_python_winnow_leaves_the_working_directory_at_once(tmp_path: Path) -> None:
    """What `python -m` itself imports before it finds winnow is Python's affair: `python -P -m winnow`."""
    first = {"importlib", "warnings", "contextlib", "types", "functools", "collections", "keyword", "operator"}
    first |= {"reprlib", "pkgutil", "runpy", "this", "antigravity", "winnow"}
    said = plant(tmp_path, {*sys.stdlib_module_names, *packages_distributions(), *STARTED_BY} - first)
    assert "winnow 0." in ended(command(tmp_path, sys.executable, "-m", "winnow", "--version"))
    ended(command(tmp_path, sys.executable, "-m", "winnow", "operators"))
    assert not said.exists(), said.read_text()


def test_a_module_that_the_recipe_names_is_found_beside_it_with_the_modules_that_it_imports(
    lid_model: None, tmp_path: Path
) -> None:
    write_lines(tmp_path)
    (tmp_path / "my_names.py").write_text(MODEL)
    (tmp_path / "beside.py").write_text("KINDS = frozenset({'name'})\n")
    (tmp_path / "recipe.yaml").write_text(NAMING)
    said = plant(tmp_path, {"coverage", "sitecustomize", "json", "numpy"})
    ended(winnow(tmp_path, "run", "recipe.yaml", "--workers", "2"))
    printed = ended(winnow(tmp_path, "stats", "recipe.yaml", "--json"))
    assert "text.names" in printed
    assert not said.exists(), said.read_text()


def test_only_a_module_found_there_finds_others_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named_by_a_recipe.py").write_text("import beside_the_named\nVALUE = beside_the_named.VALUE\n")
    (tmp_path / "beside_the_named.py").write_text("VALUE = 7\n")
    (tmp_path / "beside_nobody.py").write_text("")
    (tmp_path / "json.py").write_text("raise SystemExit\n")
    assert find_users_module("no_such_module_anywhere") is None
    assert import_users_module("named_by_a_recipe").VALUE == 7
    assert import_users_module("json") is json
    with pytest.raises(ModuleNotFoundError):
        import beside_nobody  # type: ignore[import-not-found] # noqa: F401


def test_every_python_that_winnow_starts_looks_for_no_modules_in_its_working_directory() -> None:
    """A process is started by `python_module`, or says `-I` itself."""
    unsafe = []
    for room in ("schemas", "filters", "scoring", "pipelines", "runners"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.List) and ast.unparse(node).startswith("[sys.executable,"):
                    words = [one.value for one in node.elts if isinstance(one, ast.Constant)]
                    unsafe += [f"{path}:{node.lineno}"] if not {"-P", "-I"} & {*words} else []
    assert unsafe == []

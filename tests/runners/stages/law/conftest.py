"""A law's file, a table of runs, and the command."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scoring.laws import law
from winnow.runners.commands.main import main
from winnow.schemas.law import law_to_json

Law = Callable[..., str]

EXAMPLE = Path(__file__).resolve().parents[4] / "recipes" / "law-example.csv"
"""540 synthetic losses of three families; its first lines say from which parameters."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Law:
    """`winnow law …` in an empty folder: what it prints, or what it complains of."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, status: int = 0) -> str:
        assert main(["law", *arguments]) == status
        streams = capsys.readouterr()
        return streams.err if status else streams.out

    return command


@pytest.fixture
def law_file(tmp_path: Path) -> str:
    """Germanic, Indic and Slavic, with a bracket."""
    (tmp_path / "law.json").write_bytes(law_to_json(law()))
    return "law.json"


@pytest.fixture
def gamma_file(tmp_path: Path) -> str:
    """The same families, with gamma alone, fitted at N 1e8 and D 1e9."""
    (tmp_path / "gamma.json").write_bytes(law_to_json(law("gamma")))
    return "gamma.json"


@pytest.fixture
def small_csv(tmp_path: Path) -> str:
    """The runs of the example at one N and D: enough for gamma alone."""
    lines = EXAMPLE.read_text().splitlines()
    kept = [line for line in lines if line.startswith(("#", "family")) or ",4e7,2e9," in line]
    (tmp_path / "small.csv").write_text("\n".join(kept) + "\n")
    return "small.csv"

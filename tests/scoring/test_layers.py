"""`winnow.scoring` stands on `winnow.schemas` alone, and brings no Beam."""

import re
import subprocess
import sys
from pathlib import Path

import winnow
from winnow.scoring import scaling_law

SOURCES = sorted((Path(winnow.__file__).parent / "scoring").rglob("*.py"))


def test_scoring_imports_only_schemas_and_itself() -> None:
    assert len(SOURCES) > 10
    for source in SOURCES:
        imported = re.findall(r"^\s*(?:from|import) winnow\.(\w+)", source.read_text(), re.MULTILINE)
        assert set(imported) <= {"schemas", "scoring"}, source.name


def test_scoring_loads_no_beam() -> None:
    code = "import sys, winnow.scoring.sampling, winnow.scoring.scaling_law.making; print('apache_beam' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_names_of_the_law_are_there_and_ratios_load_no_scipy() -> None:
    assert all(getattr(scaling_law, name) is not None for name in scaling_law.__all__)
    code = (
        "import sys; from winnow.scoring.scaling_law import family_ratios, runs_from_csv; print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

"""Filters are refitted where there is neither Beam, nor torch, nor SciPy."""

import subprocess
import sys

from winnow.scoring import selection


def test_selection_needs_numpy_alone() -> None:
    code = "import sys, winnow.scoring.selection; print({'apache_beam', 'torch', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_public_name_is_there() -> None:
    assert all(getattr(selection, name) is not None for name in selection.__all__)

"""The image's definition agrees with what drivers are made of. It is not built here: that takes Beam's image."""

import re
from pathlib import Path

import apache_beam

from winnow.pipelines.processes.identity import THREAD_LIMITS

ROOT = Path(__file__).resolve().parents[4]
DOCKERFILE = (ROOT / "runners/engines/dataflow/Dockerfile").read_text()
KEPT = (ROOT / "runners/engines/dataflow/Dockerfile.dockerignore").read_text()


def test_it_is_made_of_the_beam_that_drivers_have() -> None:
    assert re.findall(r"^ARG BEAM=(.*)$", DOCKERFILE, re.MULTILINE) == [apache_beam.__version__]
    assert "FROM apache/beam_python${PYTHON}_sdk:${BEAM}\n" in DOCKERFILE


def test_workers_have_one_thread_a_library() -> None:
    assert all(f"{variable}=1" in DOCKERFILE for variable in THREAD_LIMITS)


def test_a_build_is_given_every_folder_of_the_package() -> None:
    folders = {path.name for path in (ROOT / "winnow").iterdir() if path.is_symlink()}
    assert folders | {"winnow", "pyproject.toml", "constraints.txt"} <= set(re.findall(r"^!(.*)$", KEPT, re.MULTILINE))

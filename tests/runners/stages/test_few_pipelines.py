"""How many Beam pipelines a run is, which each cost an engine seconds however little there is to do."""

from pathlib import Path

import pytest
from rich.console import Console

from tests.runners.engines.recipes import noted_pipelines, write_lines, write_recipe
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deduplication import HERE_VARIABLE
from winnow.runners.stages.recipe_run import run_recipe
from winnow.schemas.errors import WinnowError
from winnow.schemas.recipe import load_recipe


def test_a_small_run_without_scores_is_four_pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipelines = noted_pipelines(monkeypatch)
    write_lines(tmp_path)
    run_recipe(bind(load_recipe(write_recipe(tmp_path, "whole"))), Engine("local", 1), Console(quiet=True))
    assert pipelines == ["ingest", "annotate.cpu", "mix.tokens", "export"]


def test_a_wrong_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HERE_VARIABLE, "16 MiB")
    write_lines(tmp_path)
    with pytest.raises(WinnowError, match="WINNOW_DEDUPE_HERE_BYTES=16 MiB: expected a number of bytes, such as"):
        run_recipe(bind(load_recipe(write_recipe(tmp_path, "whole"))), Engine("local", 1), Console(quiet=True))

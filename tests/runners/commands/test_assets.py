"""`winnow assets`: what there is, whether it is here, and names that are not known."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.messages import assert_refused
from winnow.pipelines.assets import AssetError, all_assets
from winnow.runners.commands.manage.assets import COMMAND
from winnow.schemas.assets import BuiltAsset


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    COMMAND.arguments(parser)
    return COMMAND.run(parser.parse_args(arguments))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path))


def test_a_line_an_asset_and_where_they_lie(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("lid.176")
    assert "missing" in lines[0]
    assert "CC-BY-SA-3.0" in lines[0]
    assert lines[-1] == f"folder  {tmp_path}"


def test_an_unknown_name_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with assert_refused(AssetError, "'lid.177'", "'lid.176'"):
        run("fetch", "lid.176", "lid.177")
    assert list(tmp_path.iterdir()) == []


def test_an_optional_one_is_fetched_by_its_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    optional = tuple(asset for asset in all_assets() if asset.optional)
    assert [asset.name for asset in optional[:1]] == ["efficientnet-lite0.features"]
    monkeypatch.setattr("winnow.pipelines.assets.all_assets", lambda: optional)
    assert run("fetch") == 0
    assert list(tmp_path.iterdir()) == []
    capsys.readouterr()
    assert run() == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("optional")


def _ready(_sources: Mapping[str, Path], target: Path) -> None:
    target.write_text("made")


def _wanting(_sources: Mapping[str, Path], _target: Path) -> None:
    raise ModuleNotFoundError("No module named 'h6py'", name="h6py")


def test_an_asset_that_cannot_be_made_here_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        BuiltAsset(name, name, of=(), make=make, version=1, file=f"{name}.txt", licence="MIT", extra=extra)
        for name, make, extra in (("one", _ready, None), ("two", _wanting, "toxicity"), ("three", _ready, None))
    ]
    monkeypatch.setattr("winnow.pipelines.assets.all_assets", lambda: made)
    assert run("fetch") == 0
    words = [line.split()[:2] for line in capsys.readouterr().out.splitlines()][:3]  # before kernels
    assert words == [["one", "fetched"], ["two", "skipped"], ["three", "fetched"]]
    assert run("fetch") == 0
    words = [line.split()[:2] for line in capsys.readouterr().out.splitlines()][:3]
    assert words == [["one", "already"], ["two", "skipped"], ["three", "already"]]

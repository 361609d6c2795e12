"""What every operator keeps to."""

import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import cast

import pytest

from tests.messages import assert_refused
from winnow.filters.operators import STATUS, PictureOperator, TextOperator, find_operator, operator_names
from winnow.filters.video.decode.operator import VideoOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.build import settings

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", operator_names())
def test_it_is_pinned_by_a_golden_file_of_its_version(name: str) -> None:
    folder, _, short = name.partition(".")
    golden = json.loads((FOLDER / folder / "golden" / f"{short}.json").read_text(encoding="utf-8"))
    assert golden["version"] == find_operator(name).version


@pytest.mark.parametrize("name", operator_names())
def test_its_settings_have_defaults_and_its_columns_are_measures(name: str) -> None:
    operator = find_operator(name)
    assert operator.name == name
    assert is_dataclass(operator.config)
    assert not [setting.key for setting in settings(cast(type, operator.config)) if setting.required]
    names = operator.writes(operator.config()).names
    assert len(names) == len(set(names))
    assert STATUS.name not in names[1:]


@pytest.mark.parametrize("name", operator_names())
def test_it_is_of_one_class_which_says_what_it_reads(name: str) -> None:
    operator = find_operator(name)
    looks = {PictureOperator: {"media.image", "media.file"}, VideoOperator: {"media.video"}}
    (kind,) = [one for one in (TextOperator, *looks) if isinstance(operator, one)]
    reads = set(operator.inputs(operator.config()))
    assert reads <= looks[kind] if kind in looks else reads.isdisjoint(set[str]().union(*looks.values()))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("text.gofer", "'text.gofer' … 'text.gopher'"),
        ("os.path", "unknown operator 'os.path'"),
        ("../text.gopher", "unknown operator"),
    ],
)
def test_an_unknown_name_is_answered(name: str, hint: str) -> None:
    with assert_refused(RecipeError, hint):
        find_operator(name)


def test_a_package_whose_operator_is_of_no_class_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = "Operator(name='text.older', version=1, summary='', config=int, writes=None, load=None)"
    (tmp_path / "older_winnow.py").write_text(f"from winnow.filters.operators import Operator\nOPERATOR = {made}\n")
    (tmp_path / "older_winnow-1.dist-info").mkdir()
    (tmp_path / "older_winnow-1.dist-info" / "METADATA").write_text("Name: older_winnow\nVersion: 1\n")
    points = "[winnow.operators]\ntext.older = older_winnow:OPERATOR\n"
    (tmp_path / "older_winnow-1.dist-info" / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    with assert_refused(RecipeError, "'text.older'", "abstract class"):
        find_operator("text.older")

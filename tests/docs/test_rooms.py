"""The page on the architecture names every room of the package, and no other."""

import re
from pathlib import Path

import pytest

from tests.test_layers import RUNNERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
NAMED = re.findall(r"^\| `([\w/]+)` \| \S", PAGE, re.MULTILINE)


@pytest.mark.parametrize("floor", ["schemas", "filters", "scoring", "pipelines", "runners"])
def test_the_architecture_names_every_room_of_a_floor_once(floor: str) -> None:
    rooms = sorted(f"{floor}/{package.parent.name}" for package in (ROOT / floor).glob("*/__init__.py"))
    assert sorted(name for name in NAMED if name.startswith(f"{floor}/")) == rooms


def test_the_architecture_names_the_rooms_of_runners_in_the_order_of_their_imports() -> None:
    assert [name for name in NAMED if name.startswith("runners/")] == [f"runners/{room}" for room in RUNNERS]


def test_the_folders_within_rooms_that_the_architecture_names_exist() -> None:
    for row in re.findall(r"^\| `([\w/]+)` \| (.*)", PAGE, re.MULTILINE):
        for inner in re.findall(r"`(\w+)/`", row[1]):
            assert (ROOT / row[0] / inner).is_dir(), f"{row[0]}/{inner}"

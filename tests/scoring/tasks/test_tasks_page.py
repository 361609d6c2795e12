"""`docs/reference/score-tasks.md` says what the tasks take: its tables match their configurations, key by key."""

import re
from pathlib import Path

from tests.schemas.recipe.test_reference_page import default_shown
from winnow.schemas.recipe.build import Setting, expected, settings
from winnow.scoring.tasks import find_task, task_names
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.layouts import Layout
from winnow.scoring.torch_models.runtime import TorchRuntime

PAGE = (Path(__file__).parents[3] / "docs/reference/score-tasks.md").read_text(encoding="utf-8")


def shown(setting: Setting) -> str:
    return "`''`" if setting.default == "" else default_shown(setting).replace("|", r"\|")


def test_every_task_has_a_table_of_its_keys_with_what_they_take_and_their_defaults() -> None:
    parts = dict(re.findall(r"^## `(\w+)`\n((?:(?!^## ).*\n)*)", PAGE, re.MULTILINE))
    kinds = {**{name: find_task(name).config for name in task_names()}, "layout": Layout, "network": Size}
    kinds["running"] = TorchRuntime
    assert set(parts) == set(kinds)
    for name, kind in kinds.items():
        rows = [row.split(" | ") for row in parts[name].splitlines() if row.startswith("| `")]
        assert [tuple(row[:3]) for row in rows] == [
            (f"| `{setting.key}`", expected(setting), shown(setting)) for setting in settings(kind)
        ]
        assert all(len(row) == 4 for row in rows)

"""`winnow card`: what the rules keep, in Markdown that no name can break out of."""

from pathlib import Path

import pytest
import yaml

from tests.runners.stages.test_planning import written
from winnow.runners.commands.main import main
from winnow.runners.report.markdown import text


def test_a_card_says_what_is_kept_and_that_nothing_is_covered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["card", written(tmp_path)]) == 0
    printed = capsys.readouterr().out
    _, front, body = printed.split("---\n", 2)
    assert yaml.safe_load(front) == {"pretty_name": "s", "size_categories": ["n<1K"], "tags": ["winnow"]}
    assert "| samples | 2 |" in body
    assert "| dropped by rules | 4 of 6 (66.7 %) |" in body
    assert "| books | " in body
    assert "| short | text.fineweb.words \\< 3 | 3 | 50.0 % |" in body
    assert "No coverage: " in body


def test_it_is_written_where_it_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = written(tmp_path)
    assert main(["card", recipe, "--output", str(tmp_path / "README.md")]) == 0
    assert (tmp_path / "README.md").read_text().startswith("---\n")
    assert main(["card", recipe, "--output", str(tmp_path / "no" / "README.md")]) == 1
    assert "its folder does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "\\<script\\>"),
        ("two\nlines", "two lines"),
        ("`code`", "\\`code\\`"),
        ("\u202eevil", "\\\\u202eevil"),
    ],
)
def test_names_are_text(name: str, shown: str) -> None:
    assert text(name) == shown

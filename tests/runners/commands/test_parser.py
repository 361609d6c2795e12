"""What is typed wrongly: one line, exit status 2, nothing guessed."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.runners.commands.main import command_parser as parser_for
from winnow.runners.commands.main import main
from winnow.runners.commands.parser import describe_commands, group_commands


@pytest.mark.parametrize("typed", ["run r.yaml --workers 0", "plan r.yaml --workers 00", "mix r.yaml --workers 2000"])
def test_a_number_of_workers_is_at_least_one(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = "version: 1\nstore: {path: store}\nsources: {s: {root: ., files: ['*.jsonl'], class: web}}\nmix: {}\n"
    (tmp_path / "r.yaml").write_text(recipe)
    assert main(typed.split()) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    number = typed.split()[-1]
    assert_told(said, "--workers", str(number), "1", "1024", whole=True)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "annotate r.yaml --tsks 1/2",
            "winnow annotate … --tsks … '--tasks'",
        ),
        (
            "run r.yaml --runner spark --spark_master_url=spark://m:7077",
            "winnow run … --spark_master_url … --help",
        ),
        ("run r.yaml --tasks 1/2", "winnow run … --tasks"),
        ("export --tasks 1/2 r.yaml", "winnow export … --tasks"),
        ("annotate r.yaml --work 2", "winnow annotate … --work … '--workers'"),
        ("plan r.yaml --rate f", "winnow plan … --rate … '--rates'"),
        ("annotate r.yaml s.yaml", "winnow annotate: unexpected argument 's.yaml'"),
        ("annotate r.yaml --tasks", "--tasks … 'winnow annotate --help'"),
        ("annotate", "RECIPE … 'winnow annotate --help'"),
        ("engines build sparc", "ENGINE … 'sparc' … 'spark'"),
        ("engines build spark --engine 3", "winnow engines … --engine"),
        ("run r.yaml --wait 30m s.yaml", "winnow run: unexpected argument 's.yaml'"),
        ("run --wait", "RECIPE … 'winnow run --help'"),
        ("stats r.yaml --wait", "winnow stats … --wait"),
        ("anotate r.yaml", "'anotate' … 'annotate'"),
    ],
)
def test_what_is_typed_wrongly_is_one_line(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(typed.split())
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert_told(line, said)
    assert line.endswith(" --help'")


@pytest.mark.parametrize(
    ("typed", "wait"),
    [
        ("run r.yaml", None),
        ("run r.yaml --wait", ""),
        ("run --wait r.yaml", ""),
        ("run --wait 30m r.yaml", "30m"),
        ("run --wait=2h r.yaml", "2h"),
        ("gc r.yaml --wait --dry-run", ""),
    ],
)
def test_a_recipe_after_wait_is_no_time(typed: str, wait: str | None) -> None:
    found, rest = parser_for(typed.split()).parse_known_args(typed.split())
    assert rest == []
    assert found.wait == wait


@pytest.mark.parametrize(("cells", "lines"), [(63, 1), (64, 1), (65, 2)])
def test_what_the_help_says_of_a_command_ends_within_80_cells(cells: int, lines: int) -> None:
    parser = argparse.ArgumentParser(prog="winnow", description="Does it.")
    commands = parser.add_subparsers()
    summary = f"{'x' * 30} {'y' * 20} {'z' * (cells - 52)}"
    commands.add_parser("one-command", help=summary)
    commands.add_parser("other", help="the other")
    group_commands(parser, commands, {"Second": ["other"], "First": ["one-command"]})
    shown = parser.format_help().splitlines()
    second = shown.index("Second:")
    assert shown[second - 2 : second] == ["Does it.", ""]
    assert shown[second : second + 4] == ["Second:", "  other         the other", "", "First:"]
    listed = shown[second + 4 : shown.index("", second + 4)]
    assert len(listed) == lines
    assert [line[:16] for line in listed] == ["  one-command   ", " " * 16][:lines]
    assert " ".join(line[16:] for line in listed) == summary
    assert max(map(len, listed)) == {1: 16 + cells, 2: 16 + 51}[lines] <= 80


def test_every_line_of_the_help_fits_80_cells() -> None:
    assert max(map(len, parser_for().format_help().splitlines())) <= 80


def test_every_command_and_every_argument_says_what_it_is() -> None:
    assert list(_unexplained(parser_for())) == []


def test_the_help_of_a_command_begins_with_what_the_list_says_unless_it_has_words_of_its_own() -> None:
    parser = argparse.ArgumentParser(prog="winnow")
    commands = parser.add_subparsers()
    made = [
        commands.add_parser("one", help="make one thing"),
        commands.add_parser("own", help="listed", description="Its own."),
        commands.add_parser("silent", help=""),
    ]
    parts = made[0].add_subparsers()
    made.append(parts.add_parser("part", help="make a part"))
    describe_commands(commands)
    assert [one.description for one in made] == ["Make one thing.", "Its own.", "", "Make a part."]


def _unexplained(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # argparse has no other list of them
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                if not one.description:
                    yield one.prog
                yield from _unexplained(one)
        elif not action.help:
            yield f"{parser.prog} {action.option_strings or action.dest}"

"""`winnow operators`: list the operators, the columns they read and write, and their settings."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.filters.operators import Operator
    from winnow.filters.presets import Preset


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="show these operators or presets in full")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """List operators, or describe some."""
    return print_operators(options.names, open_console(), as_json=options.json)


def print_operators(names: Sequence[str], console: "Console", *, as_json: bool) -> int:
    """Print one line per operator, or the named ones in full."""
    from winnow.filters.operators import find_operator, operator_names
    from winnow.filters.presets import find_preset, preset_names

    presets = [find_preset(name) for name in names if name in preset_names()]
    found = [find_operator(name) for name in (names or operator_names()) if name not in preset_names()]
    if as_json:
        described = [*map(_described, found), *map(_described_preset, presets)]
        sys.stdout.write(json.dumps(described, indent=1) + "\n")
        return 0
    if names:
        for operator in found:
            _print_whole(operator, console)
        for preset in presets:
            _print_preset(preset, console)
        return 0
    width = max(len(operator.name) for operator in found)
    for operator in found:
        console.print(f"{operator.name:<{width}}  {operator.resource:<5}  {operator.summary}")
    english = [name for name in preset_names() if find_preset(name).languages is not None]
    rest = [name for name in preset_names() if name not in english]
    console.print(f"\npresets  {', '.join(rest)}")
    console.print(f"made for English  {', '.join(english)}")
    console.print("winnow operators NAME shows columns and settings, or the rules of a preset")
    return 0


def _print_whole(operator: "Operator", console: "Console") -> None:
    from winnow.filters.operators import STATUS
    from winnow.filters.presets import find_preset, preset_names
    from winnow.schemas.recipe.build import expected, settings

    def line(text: str) -> None:
        console.print(text)

    default = operator.config()
    line(f"{operator.name}  version {operator.version}, {operator.resource}")
    line(f"  {operator.summary}")
    line(f"  reads    {', '.join(operator.configured(default).inputs(default))}")
    line("  columns")
    schema = operator.writes(default)
    width = max(len(name) for name in schema.names)
    line(f"    {STATUS.name:<{width}}  {STATUS.type}  ok, or why the row was not measured")
    for field in schema:
        if field.name != STATUS.name:
            line(f"    {field.name:<{width}}  {field.type}")
    detects = operator.detects(default)
    if detects:
        languages = operator.languages(default)
        line(f"  looks for  {', '.join(f'{found} ({column})' for column, found in detects.items())}")
        line(f"  languages  {'any' if languages is None else f'{len(languages)}: ' + ', '.join(sorted(languages))}")
    known = settings(cast(type, operator.config))
    line("  settings" if known else "  no settings")
    for setting in known:
        line(f"    {setting.key}: {setting.default!r}  ({expected(setting)})")
    presets = [name for name in preset_names() if operator.name in find_preset(name).operators]
    if presets:
        line(f"  presets  {', '.join(presets)}")


def _print_preset(preset: "Preset", console: "Console") -> None:
    from winnow.schemas.languages import language_name

    def line(text: str) -> None:
        console.print(text)

    line(f"{preset.name}  preset")
    line(f"  {preset.summary}")
    if preset.languages is not None:
        names = ", ".join(map(language_name, preset.languages))
        line(f"  made for {names}; other languages are judged as if they were that: see the preset multilingual")
    for name, given in preset.operators.items():
        line(f"  measures {name}{f' {json.dumps(dict(given))}' if given else ''}")
    for rule in preset.rules:
        line(f"  {rule.reason}: {rule.drop}  (when_null: {rule.when_null})")
    for rule in preset.items:
        line(f"  under items: {rule.reason}: {rule.drop}  (when_null: {rule.when_null})")
    for note in preset.notes:
        line(f"  note     {note}")


def _described_preset(preset: "Preset") -> dict[str, object]:
    return {
        "name": preset.name,
        "summary": preset.summary,
        "operators": {name: dict(given) for name, given in preset.operators.items()},
        "rules": [{"reason": rule.reason, "drop": rule.drop, "when_null": rule.when_null} for rule in preset.rules],
        "items": [{"reason": item.reason, "drop": item.drop, "when_null": item.when_null} for item in preset.items],
        "notes": list(preset.notes),
        "languages": None if preset.languages is None else list(preset.languages),
    }


def _described(operator: "Operator") -> dict[str, object]:
    default = operator.config()
    return {
        "name": operator.name,
        "version": operator.version,
        "resource": operator.resource,
        "summary": operator.summary,
        "reads": list(operator.configured(default).inputs(default)),
        "columns": {field.name: str(field.type) for field in operator.writes(default)},
        "defaults": asdict(default),
        "detects": dict(operator.detects(default)),
        "languages": None if (languages := operator.languages(default)) is None else sorted(languages),
    }


COMMAND = Command("list the operators, their columns and settings", arguments, run, place=6)

"""`winnow completion`: a script with which a shell completes commands, flags and their values.

The script is made from the parsers themselves and holds all it needs, so that pressing the tab key starts no Python.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from winnow.runners.commands.command import Command


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of a command."""

    names: tuple[str, ...]
    help: str
    takes: bool  # a value follows
    values: tuple[str, ...]  # those that are possible, if they are few


@dataclass(frozen=True, slots=True)
class Place:
    """What may follow a command's words."""

    words: str  # ` law fit`, and nothing for winnow itself
    commands: tuple[tuple[str, str], ...]  # names and summaries
    flags: tuple[Flag, ...]
    values: tuple[str, ...]  # of its arguments; files if there are none


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", choices=tuple(_SHELLS), metavar="SHELL", help=f"{', '.join(_SHELLS)}")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from winnow.runners.commands.main import command_parser

    sys.stdout.write(_SHELLS[options.shell](list(places(command_parser()))))
    return 0


def places(parser: argparse.ArgumentParser, words: str = "") -> Iterator[Place]:
    """What a parser and its subcommands accept."""
    from winnow.runners.engines.names import RUNNERS

    flags: list[Flag] = []
    values: list[str] = []
    nested: argparse._SubParsersAction[argparse.ArgumentParser] | None = None
    for action in parser._actions:  # argparse has no public way to read them
        choices = () if action.choices is None else tuple(map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            nested = action
        elif action.option_strings:
            of_runner = RUNNERS if "--runner" in action.option_strings else ()
            summary = (action.help or "") % {"default": action.default, "choices": ", ".join(choices)}
            flags.append(
                Flag(tuple(action.option_strings), summary, action.nargs not in (0, "?"), choices or of_runner)
            )
        else:
            values += choices
    commands = () if nested is None else tuple((action.dest, action.help or "") for action in nested._choices_actions)
    yield Place(words, commands, tuple(flags), tuple(values))
    if nested is not None:
        for name, _ in commands:
            yield from places(nested.choices[name], f"{words} {name}")


def bash(found: list[Place]) -> str:
    """For bash 3.2 and later; what no list names is completed as a file."""
    known = _either(place.words for place in found if place.words)
    lines = [
        "# bash completion of winnow; in ~/.bashrc: source <(winnow completion bash)",
        "_winnow() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words="" rest="" at',
        "    COMPREPLY=()",
        '    [ "$word" = "=" ] && word=""',
        '    [ "$before" = "=" ] && before="${COMP_WORDS[COMP_CWORD-2]}"',
        "    for ((at = 1; at < COMP_CWORD; at++)); do",
        f'        case "$words ${{COMP_WORDS[at]}}" in {known}) words="$words ${{COMP_WORDS[at]}}" ;; esac',
        "    done",
        '    case "$words $before" in',
    ]
    for place in found:
        for flag in place.flags:
            if flag.values:
                of = f'COMPREPLY=($(compgen -W "{" ".join(flag.values)}" -- "$word"))'
                lines.append(f"        {_either(f'{place.words} {name}' for name in flag.names)}) {of}; return ;;")
            elif flag.takes:
                lines.append(f"        {_either(f'{place.words} {name}' for name in flag.names)}) return ;;")
    lines += ["    esac", '    case "$words" in']
    for place in found:
        names = " ".join(name for flag in place.flags for name in flag.names)
        rest = " ".join((*(name for name, _ in place.commands), *place.values))
        lines.append(f'        "{place.words}") [[ "$word" == -* ]] && rest="{names}" || rest="{rest}" ;;')
    return _text(
        [
            *lines,
            "    esac",
            '    COMPREPLY=($(compgen -W "$rest" -- "$word"))',
            "}",
            "complete -o bashdefault -o default -F _winnow winnow",
        ]
    )


def zsh(found: list[Place]) -> str:
    """For zsh; commands and flags are shown with their summaries."""
    known = _either(place.words for place in found if place.words)
    lines = [
        "#compdef winnow",
        "# zsh completion of winnow; in ~/.zshrc, after compinit: source <(winnow completion zsh)",
        "_winnow() {",
        '    local path_="" at; local -a offered',
        "    for ((at = 2; at < CURRENT; at++)); do",
        f'        case "$path_ ${{words[at]}}" in ({known}) path_="$path_ ${{words[at]}}" ;; esac',
        "    done",
        '    case "$path_ ${words[CURRENT-1]}" in',
    ]
    for place in found:
        for flag in place.flags:
            if flag.takes or flag.values:
                then = f"compadd -- {' '.join(flag.values)}" if flag.values else "_files"
                lines.append(f"        ({_either(f'{place.words} {name}' for name in flag.names)}) {then}; return ;;")
    lines += ["    esac", '    case "$path_" in']
    for place in found:
        flags = " ".join(_shown(name, flag.help) for flag in place.flags for name in flag.names)
        rest = " ".join((*(_shown(name, text) for name, text in place.commands), *place.values))
        lines.append(f'        ("{place.words}")')
        lines.append(f'            if [[ "${{words[CURRENT]}}" == -* ]]; then offered=({flags})')
        lines.append(f"            else offered=({rest}); fi ;;")
    return _text(
        [
            *lines,
            "    esac",
            "    if (( $#offered )); then _describe winnow offered; else _files; fi",
            "}",
            'if [ "$funcstack[1]" = "_winnow" ]; then _winnow "$@"; else compdef _winnow winnow; fi',
        ]
    )


def fish(found: list[Place]) -> str:
    """For fish; commands and flags are shown with their summaries."""
    known = " ".join(_quoted(place.words) for place in found if place.words)
    lines = [
        "# fish completion of winnow; winnow completion fish > ~/.config/fish/completions/winnow.fish",
        "function __winnow_at",
        "    set -l path_ ''",
        "    for one in (commandline -opc)[2..-1]",
        f'        contains -- "$path_ $one" {known}; and set path_ "$path_ $one"',
        "    end",
        '    test "$path_" = "$argv[1]"',
        "end",
    ]
    for place in found:
        at = f'complete -c winnow -n "__winnow_at {_quoted(place.words)}"'
        if place.commands or place.values:
            lines += [f"{at} -f"]
        lines += [f"{at} -a {_quoted(name)} -d {_quoted(summary)}" for name, summary in place.commands]
        lines += [f"{at} -a {_quoted(' '.join(place.values))}"] if place.values else []
        for flag in place.flags:
            named = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            takes = f" -x -a {_quoted(' '.join(flag.values))}" if flag.values else " -r" if flag.takes else ""
            lines.append(f"{at} {named}{takes} -d {_quoted(flag.help)}")
    return _text(lines)


_SHELLS: dict[str, Callable[[list[Place]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _either(words: Iterator[str]) -> str:
    return "|".join(f'"{word}"' for word in words)


def _shown(name: str, summary: str) -> str:
    return _quoted(f"{name.replace(':', chr(92) + ':')}:{summary}")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


COMMAND = Command("print a script that completes winnow's commands in a shell", arguments, run, place=9)

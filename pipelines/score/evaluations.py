"""What subsets of samples are worth, as a program of the user's finds by training or by a zero-shot evaluation.

The program gets the path of a list of uids, and the last line that it prints is a JSON object of numbers by name. They
are kept beside the list, with the list's hash, so that they are shown again and nothing is trained twice.
"""

import hashlib
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from winnow.schemas.errors import StageError
from winnow.schemas.identity import canonical_json
from winnow.schemas.problems import shown
from winnow.schemas.typed_json import read_json

ENDING: Final = ".evaluation.json"
LIST: Final = "{list}"
_MOST_LINE: Final = 1 << 20  # characters of a line that are read
_MOST_NUMBERS: Final = 200
_EXPECTED: Final = 'expected a JSON object of numbers as the last line that it prints, such as {"imagenet": 0.31}'


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`<list>.evaluation.json`: what a program found of a list."""

    sha256: str  # of the list's file
    command: str
    numbers: Mapping[str, float]


def known_evaluation(file: Path) -> Evaluation | None:
    """What was found of a list as it is now; None if nothing was, or another list was there then."""
    try:
        found = read_json(Evaluation, _beside(file).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StageError(f"{_beside(file)}: not an evaluation that winnow wrote ({error}); remove it") from None
    return found if found.sha256 == _digest(file) else None


def evaluated(file: Path, command: str) -> Evaluation:
    """What a command finds of a list: what it found before of the same list, or else by running it.

    Raises:
        StageError: It cannot be run, fails, or does not end with an object of finite numbers.
    """
    known = known_evaluation(file)
    if known is not None and known.command == command:
        return known
    digest = _digest(file)
    numbers = _numbers(_last_line(_arguments(command, file), file), command, file)
    found = Evaluation(digest, command, numbers)
    unfinished = _beside(file).with_name(f".{file.name}.winnow-unfinished")
    try:
        unfinished.write_text(canonical_json(asdict(found)) + "\n", "utf-8")
        unfinished.replace(_beside(file))
    finally:
        unfinished.unlink(missing_ok=True)
    return found


def _beside(file: Path) -> Path:
    return file.with_name(file.name + ENDING)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _arguments(command: str, file: Path) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise StageError(f"--evaluate {shown(command)}: {error}; expected a command as in a shell") from None
    if not words:
        raise StageError("--evaluate: expected a command, such as 'python evaluate.py'")
    named = [word.replace(LIST, str(file)) for word in words]
    return named if named != words else [*words, str(file)]


def _last_line(arguments: Sequence[str], file: Path) -> str:
    """The last line that a program prints; all of them are passed on to the standard error."""
    last = ""
    try:
        with subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
        ) as running:
            assert running.stdout is not None
            for line in iter(lambda: running.stdout.readline(_MOST_LINE), ""):  # type: ignore[union-attr]
                sys.stderr.write(line)
                last = line if line.strip() else last
    except OSError as error:
        raise StageError(f"--evaluate: {arguments[0]}: {error.strerror or error}; expected a program") from None
    if running.returncode:
        raise StageError(f"the evaluation of {file} failed: {arguments[0]} ended with {running.returncode}; see above")
    return last


def _numbers(line: str, command: str, file: Path) -> dict[str, float]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not 0 < len(found) <= _MOST_NUMBERS or not all(map(_is_number, found.values())):
        raise StageError(f"the evaluation of {file} by {shown(command)} gave {shown(line.strip())}; {_EXPECTED}")
    return {name: float(one) for name, one in sorted(found.items())}


def _is_number(one: object) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one)


def names_of(evaluations: Iterable[Evaluation]) -> list[str]:
    """The names of all numbers."""
    return sorted({name for one in evaluations for name in one.numbers})

"""What winnow says, kept in one golden file a command, so that tests name the thing and not the sentence.

A test says what a message must name: the key, the file, the count, the command to run. That is checked wherever the
test runs. The sentence itself is checked against `tests/golden/messages/<command>.txt`, under the test's name, with
folders and hashes taken out of it. So a change of wording is one difference to review: `UPDATE_GOLDEN=1 pytest
TESTS` writes the sentences of these tests anew.
"""

import os
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pytest

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden" / "messages"
UPDATES = os.environ.get("UPDATE_GOLDEN") == "1"

# Which command shows what the tests of a folder bring to light; the longest start counts.
COMMANDS = {
    "benchmarks": "benchmarks",
    "faults": "run",
    "filters": "annotate",
    "filters/duplicates": "dedupe",
    "filters/models/training": "train-quality",
    "pipelines": "run",
    "pipelines/assets": "assets",
    "pipelines/annotate": "annotate",
    "pipelines/audit": "audit",
    "pipelines/binding": "plan",
    "pipelines/dedupe": "dedupe",
    "pipelines/export": "export",
    "pipelines/forgetting": "forget",
    "pipelines/ingest": "ingest",
    "pipelines/media": "annotate",
    "pipelines/mix": "mix",
    "pipelines/preflight": "plan",
    "pipelines/query": "show",
    "pipelines/rules": "plan",
    "pipelines/score": "score",
    "runners": "run",
    "runners/engines": "engines",
    "runners/estimating": "plan",
    "runners/facts": "report",
    "runners/first_look": "look",
    "runners/forgetting": "forget",
    "runners/mixtures": "mix",
    "runners/pictures": "annotate",
    "runners/report": "report",
    "runners/scores": "score",
    "runners/stages/duplicates": "duplicates",
    "runners/stages/law": "law",
    "runners/stages/samples": "show",
    "runners/videos": "annotate",
    "schemas": "plan",
    "scoring": "score",
    "scoring/mixture": "mix",
    "scoring/scaling_law": "law",
    "tools": "tools",
}

Names: TypeAlias = str | tuple[str, ...]


def assert_told(text: str | Iterable[str], *named: str, whole: bool = False) -> None:
    """A line of `text` names all of these things in this order, and says what it always has said.

    With `whole`, all lines together do. In a name, `…` stands for whatever is between: `r.yaml:4 … 'stor'`.
    """
    told = [text if isinstance(text, str) else "\n".join(text)] if whole else _lines(text)
    found = next((line for line in told if _names(line, named)), None)
    assert found is not None, f"nothing names {', '.join(named)} in\n{text}"
    _compare(found)


def assert_told_each(texts: Iterable[str], *named: Names) -> None:
    """There are as many texts as names, and each text names the things at its place."""
    told = list(texts)
    assert len(told) == len(named), f"{len(told)} texts, expected {len(named)}: {told}"
    for text, names in zip(told, named, strict=True):
        assert_told(text, *([names] if isinstance(names, str) else names), whole=True)


@contextmanager
def assert_refused(
    error: type[BaseException] | tuple[type[BaseException], ...], *named: str
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """What is done inside ends in this error, whose message names all of these things."""
    with pytest.raises(error) as caught:
        yield caught
    assert_told(str(caught.value), *named, whole=True)


def _names(line: str, named: Iterable[str]) -> bool:
    at = 0
    for name in [part for each in named for part in each.split(" … ")]:
        at = line.find(name, at)
        if at < 0:
            return False
        at += len(name)
    return True


def _lines(text: str | Iterable[str]) -> list[str]:
    """Lines of text; of a page its tags and what stands between them."""
    if not isinstance(text, str):
        return [line for each in text for line in _lines(each)]
    return re.split(r"[\n<>]", text) if text.lstrip().startswith("<") else text.splitlines()


# What differs from run to run, or from machine to machine, and what stands for it in a golden file.
_DIFFERS = (
    (re.compile(r"[^\s'\"=]*/pytest-of-[^/\s]+/pytest-\d+/(popen-gw\d+/)?[^/\s'\":;,)]+"), "TMP"),
    (re.compile(re.escape(str(TESTS.parent))), "REPOSITORY"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{10,}\b"), "HASH"),
    (re.compile(r"(?<=://crawl/)(store-)?\d+"), "N"),
    (re.compile(r"\S+/failed-[\w-]+\.log"), "LOG"),
    (re.compile(r"(?<=\.tmp/)[\w-]+"), "NAME"),
    (re.compile(r"(?<= objects, )[\d,]+(?= bytes)"), "SIZE"),
    (re.compile(r"(?<=invalid offset for tensor )`[^`]*`"), "NAME"),  # any of several
    (re.compile(r"(?<=expected one of auto, )[\w, ]+(?=, found)"), "FORMATS"),  # each its own file
    (re.compile(r"\bprocess \d+"), "process PID"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=localhost:)\d+|(?<=\bport )\d+"), "PORT"),
    (re.compile(r"(?<=\bwinnow )\d[\w.+]*"), "VERSION"),
    (re.compile(rf"\bon {re.escape(socket.gethostname())}\b"), "on HOST"),
)


def _plain(text: str) -> str:
    """The message as a golden file holds it."""
    for pattern, word in _DIFFERS:
        text = pattern.sub(word, text)
    shown = (each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in text)
    return "\n".join(line.rstrip(" ") for line in "".join(shown).strip().split("\n"))


# What the tests of this process have been told: below file and function, the case and the sentence.
Case: TypeAlias = tuple[int, ...]
Said: TypeAlias = dict[tuple[str, str], list[tuple[Case, str]]]
TOLD: Said = {}
_RUNNING: list[pytest.Item] = []


def _compare(told: str) -> None:
    item = _RUNNING[-1]
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return  # its cases are drawn anew each time
    place, case = _place_of(item), _case_of(item)
    if UPDATES:
        TOLD.setdefault(place, []).append((case, _plain(told)))
        return
    known = [text for which, text in known_sentences(_golden_of(place[0])).get(place, ()) if which == case]
    assert _plain(told) in known, (
        f"{_plain(told)!r} is new; if it is right: UPDATE_GOLDEN=1 pytest {place[0]}; known are:\n" + "\n".join(known)
    )


def _place_of(item: pytest.Item) -> tuple[str, str]:
    return item.nodeid.partition("::")[0], getattr(item, "originalname", item.name)


def _case_of(item: pytest.Item) -> Case:
    """Which row of the function's tables this is; the columns of a table have one number."""
    callspec = getattr(item, "callspec", None)
    return () if callspec is None else tuple(row for row, _ in groupby(callspec.indices.values()))


def _golden_of(file: str) -> Path:
    room = file.removeprefix("tests/")
    command = room.removeprefix("runners/commands/test_").removesuffix(".py")
    if "/" not in command and list((TESTS.parent / "runners" / "commands").glob(f"*/{command}.py")):
        return GOLDEN / f"{command.replace('_', '-')}.txt"
    starts = [start for start in COMMANDS if room.startswith(start + "/")]
    return GOLDEN / f"{COMMANDS[max(starts, key=len)] if starts else 'run'}.txt"


@cache
def known_sentences(golden: Path) -> Said:
    """The sentences of a golden file: below each test's file its functions, below each of these what it was told.

    The number before a sentence is the case's, where the function has several; deeper lines continue a sentence.
    """
    known: Said = {}
    file = function = ""
    for line in golden.read_text("utf-8").split("\n") if golden.exists() else ():
        text = line.strip()
        if line.startswith(_CONTINUED):
            case, before = known[file, function][-1]
            known[file, function][-1] = case, f"{before}\n{line.removeprefix(_CONTINUED)}"
        elif line.startswith(_SENTENCE):
            numbered = re.match(r"\[([\d,]+)\] ", text)
            case = tuple(map(int, numbered[1].split(","))) if numbered else ()
            known.setdefault((file, function), []).append((case, text[numbered.end() :] if numbered else text))
        elif line.startswith(" "):
            function = text
        elif line:
            file = text
    return known


_SENTENCE = " " * 8
_CONTINUED = " " * 12


def shown_sentences(known: Said) -> str:
    """A golden file of these sentences."""
    lines: list[str] = []
    for file in sorted({file for file, _ in known}):
        lines.append(file)
        for function in [function for each, function in known if each == file]:
            lines.append(f"    {function}")
            for case, text in dict.fromkeys(sorted(known[file, function], key=lambda each: each[0])):
                number = f"[{','.join(map(str, case))}] " if case else ""
                lines.append(_SENTENCE + number + text.replace("\n", "\n" + _CONTINUED))
    return "\n".join(lines) + "\n"


def _write(told: Said) -> None:
    """Replace the sentences of the tests that ran."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for golden in {_golden_of(file) for file, _ in told}:
        known = known_sentences(golden) | {
            place: said for place, said in told.items() if _golden_of(place[0]) == golden
        }
        golden.write_text(shown_sentences(known), "utf-8")
    known_sentences.cache_clear()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Whose messages these are."""
    _RUNNING[:] = [item]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the sentences, or hand them to the process that does."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["told"] = [[list(place), said] for place, said in TOLD.items()]
    elif UPDATES:
        _write(TOLD)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What the tests of a worker were told."""
    for (file, function), said in node.workeroutput.get("told", ()):
        TOLD.setdefault((file, function), []).extend((tuple(case), text) for case, text in said)

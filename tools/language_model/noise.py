"""Texts in no language: code, numbers, encoded bytes, repeats, names, addresses, and texts decoded wrongly."""

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

Chance = random.Random

MISREAD = (
    # Pairs of encodings: what a text is written in, and what it is read as by mistake.
    ("utf-8", "latin-1"), ("utf-8", "cp1252"), ("utf-8", "cp1251"), ("utf-8", "koi8-r"), ("utf-8", "cp1250"),
    ("utf-8", "gbk"), ("utf-8", "shift_jis"), ("utf-8", "cp437"), ("utf-8", "iso8859-7"), ("utf-8", "cp1256"),
    ("cp1251", "latin-1"), ("cp1251", "koi8-r"), ("cp1251", "cp866"), ("cp1251", "iso8859-5"), ("koi8-r", "cp1251"),
    ("koi8-r", "latin-1"), ("cp866", "cp1251"), ("iso8859-5", "cp1251"), ("iso8859-7", "latin-1"),
    ("cp1255", "latin-1"),
    ("cp1256", "latin-1"), ("cp874", "latin-1"), ("gbk", "latin-1"), ("gbk", "big5"), ("big5", "gbk"),
    ("gbk", "shift_jis"),
    ("shift_jis", "latin-1"), ("shift_jis", "gbk"), ("euc-jp", "latin-1"), ("euc-jp", "gbk"), ("euc-kr", "latin-1"),
    ("euc-kr", "gbk"), ("big5", "latin-1"), ("cp1250", "latin-1"),
)  # fmt: skip
_COPYRIGHT = re.compile(r"(?:Copyright|\([Cc]\)|©)[ :0-9,\-–(C)©]*([A-Z][\w.'-]+(?: [A-Z][\w.'-]+)+(?: <\S+>)?)")
_AUTHOR = re.compile(r"^[*\- ]*([A-Z][\w.'-]+(?: [A-Z][\w.'-]+){1,3})", re.MULTILINE)
_AUTHOR = re.compile(r"^[*\- ]*([A-Z][\w.'-]+(?: [A-Z][\w.'-]+){1,3})", re.MULTILINE)
_SIGNS = "(){}[]=;.:_<>"
_CODE_SUFFIXES = frozenset(
    (
        ".py",
        ".js",
        ".php",
        ".lua",
        ".sql",
        ".erl",
        ".cmake",
        ".tcl",
        ".h",
        ".m",
        ".rb",
        ".rs",
        ".R",
        ".less",
        ".el",
        ".go",
    )
)
_LEAST_SIGNS = 0.06
_SIZES = (20, 30, 60, 120, 240)


def noise(texts: list[list[str]], folders: list[Path], count: int, seed: int) -> list[str]:
    """So many texts in no language.

    Args:
        texts: Texts in languages, by script: some are made of them, of each script as many.
        folders: Where code and names of people are found.
        count: How many.
        seed: Decides all choices.
    """
    chance = random.Random(seed)
    code = list(_code(folders, chance))
    names = sorted(set(_names(folders)))
    makers: tuple[tuple[int, Callable[[], str]], ...] = (
        (30, lambda: _beginning(chance.choice(code), chance)),
        (25, lambda: misread(_any(texts, chance), chance)),
        (4, lambda: _numbers(chance)),
        (4, lambda: _amounts(chance)),
        (5, lambda: base64.b64encode(chance.randbytes(chance.randint(15, 120))).decode()),
        (
            4,
            lambda: " ".join(
                chance.randbytes(chance.choice((4, 8, 16, 20))).hex() for _ in range(chance.randint(1, 6))
            ),
        ),
        (7, lambda: _repeats(chance, texts)),
        (6, lambda: " ".join(_word(chance) for _ in range(chance.randint(2, 14)))),
        (12, lambda: chance.choice((", ", "; ", " ", " | ")).join(chance.sample(names, chance.randint(2, 7)))),
        (6, lambda: " ".join(_address(chance) for _ in range(chance.randint(1, 6)))),
    )
    drawn = chance.choices([make for _, make in makers], [share for share, _ in makers], k=count)
    return [text for make in drawn if len(text := " ".join(make()[:240].split())) >= 8]


def misread(text: str, chance: Chance) -> str:
    """A text that was decoded wrongly; empty if it would look the same."""
    for _ in range(12):
        written, read = chance.choice(MISREAD)
        data = text.encode(written, "ignore")
        if len(data) < 0.6 * len(text):
            continue
        found = data.decode(read, chance.choice(("replace", "ignore")))
        if found != text and sum(a != b for a, b in zip(found, text, strict=False)) > 0.12 * len(text):
            return found
    return text.encode("ascii", "replace").decode() if sum(ord(letter) > 127 for letter in text) > len(text) / 4 else ""


def _any(texts: list[list[str]], chance: Chance) -> str:
    return chance.choice(chance.choice(texts))


def _code(folders: list[Path], chance: Chance) -> Iterator[str]:
    paths = sorted(path for folder in folders for path in folder.rglob("*.*") if path.suffix in _CODE_SUFFIXES)
    for path in chance.sample(paths, min(len(paths), 4_000)):
        if not path.is_file():
            continue  # a link to another package
        lines = path.read_text("utf-8", "replace")[:40_000].split("\n")
        for at in range(0, len(lines) - 3, 3):
            text = " ".join(line.strip() for line in lines[at : at + 3])
            signs = sum(letter in _SIGNS for letter in text)
            if len(text) >= 20 and signs > _LEAST_SIGNS * len(text) and not text.startswith(("#", "*", '"""', "//")):
                yield text


def _names(folders: list[Path]) -> Iterator[str]:
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        kind = path.name.upper().split(".")[0]
        if kind in ("COPYRIGHT", "AUTHORS", "CREDITS", "LICENSE") and path.is_file():
            text = path.read_text("utf-8", "replace")[:200_000]
            yield from _COPYRIGHT.findall(text)
            if kind in ("AUTHORS", "CREDITS"):
                yield from _AUTHOR.findall(text)


def _beginning(text: str, chance: Chance) -> str:
    return text[: chance.choice(_SIZES)]


def _word(chance: Chance) -> str:
    return "".join(chance.choice(string.ascii_lowercase) for _ in range(chance.randint(2, 12)))


def _numbers(chance: Chance) -> str:
    ends = (",", " |", ",", "\t", " %")
    return " ".join(
        f"{chance.uniform(-1, 1) * 10 ** chance.randint(0, 5):.{chance.randint(0, 4)}f}{chance.choice(ends)}"
        for _ in range(chance.randint(4, 25))
    )


def _amounts(chance: Chance) -> str:
    return " ".join(
        f"{chance.choice(('$', '€', '', '#', '-', '+'))}{chance.randint(0, 10 ** chance.randint(1, 7))}"
        f"{chance.choice(('', ' kg', ' mm', 'px', ' x', ':', ' MB', ' cm', '°C'))}"
        for _ in range(chance.randint(4, 20))
    )


def _repeats(chance: Chance, texts: list[list[str]]) -> str:
    if chance.random() < 0.5:
        return chance.choice("abcdehlopqxzаыояع한の人ம-=*_.#~!?") * chance.randint(8, 80)
    piece = chance.choice(("ha", "lol", "asdf", "xx ", "- ", "=-", "10", "qwerty", "na"))
    if chance.random() < 0.6:
        piece = (_any(texts, chance).split() or ["la"])[0][: chance.randint(1, 5)] + chance.choice(("", " "))
    return piece * chance.randint(8, 40)


def _address(chance: Chance) -> str:
    return (
        chance.choice(("http://", "https://www.", "/usr/lib/", "../", "C:\\"))
        + _word(chance) + chance.choice("./-_") + _word(chance)
        + chance.choice((".com", ".html", "/", ".php?id=", ".jpg", "@")) + _word(chance)
    )  # fmt: skip

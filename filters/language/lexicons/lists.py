"""Read and write word list files, which hold lists for many languages.

    # a comment
    [deu]
    Dummkopf
    alter Esel
    [zh]
    傻瓜

UTF-8, one word or phrase per line, below its language: a code of ISO 639-3 or of two letters. Case, width and invisible
characters do not matter, as words are folded like texts.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import three_letters

Lists = Mapping[str, tuple[str, ...]]
"""From a language's ISO 639-3 code to its words."""

MAX_BYTES = 64 << 20
MAX_WORD_BYTES = 400


def read_lists(path: str) -> Lists:
    """The lists of a file.

    Raises:
        RecipeError: A line is invalid; the message has its number.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        raw = file.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise RecipeError(f"word list {path}: {error.strerror or error}") from error
    if size > MAX_BYTES:
        raise RecipeError(f"word list {path}: {size:,} bytes; expected at most {MAX_BYTES:,}")
    found: dict[str, dict[str, None]] = {}
    words: dict[str, None] | None = None
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        try:
            entry = line.decode().strip()
        except UnicodeDecodeError as error:
            raise RecipeError(f"word list {path}:{number}: not UTF-8") from error
        if not entry or entry.startswith("#"):
            continue
        if entry.startswith("[") and entry.endswith("]"):
            code = three_letters(entry[1:-1].strip())
            if code is None:
                raise RecipeError(f"word list {path}:{number}: {entry[:40]} is not an ISO 639 code of a language")
            words = found.setdefault(code, {})
        elif words is None:
            raise RecipeError(f"word list {path}:{number}: a word before any language; expected a line such as [eng]")
        elif len(line) > MAX_WORD_BYTES:
            raise RecipeError(f"word list {path}:{number}: {len(line):,} bytes; expected at most {MAX_WORD_BYTES}")
        else:
            words[entry] = None
    return {code: tuple(found[code]) for code in sorted(found)}


def write_lists(lists: Lists, target: Path, origin: str) -> None:
    """Write a file of lists, with sorted languages and words, so that equal lists give equal bytes."""
    lines = [f"# {origin}"]
    for code in sorted(lists):
        lines += [f"[{code}]", *sorted(set(lists[code]))]
    target.write_bytes("".join(f"{line}\n" for line in lines).encode())


def joined(several: Iterable[Lists]) -> Lists:
    """Merge lists: all words of each language."""
    found: dict[str, dict[str, None]] = {}
    for lists in several:
        for code, words in lists.items():
            found.setdefault(code, {}).update(dict.fromkeys(words))
    return {code: tuple(found[code]) for code in sorted(found)}

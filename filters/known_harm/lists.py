"""Reads lists of hashes of known harmful media.

A line is a hash in hexadecimal digits, perhaps with its type before it as in the files of python-threatexchange
(`pdq f8f8…`) or in a column of its own; `#` begins a comment. MD5 has 32 digits. SHA-256 and PDQ have 64 both, so a
line without a type is of the kind that the list is said to be of. Types that are not compared here are counted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import nearest, shown

HashKind: TypeAlias = Literal["sha256", "md5", "pdq"]
BYTES: Final[Mapping[HashKind, int]] = {"sha256": 32, "md5": 16, "pdq": 32}

_TYPES: Final[Mapping[str, HashKind]] = {  # of winnow, of python-threatexchange and of ThreatExchange
    "pdq": "pdq",
    "hash_pdq": "pdq",
    "sha-256": "sha256",
    **{
        f"{prefix}{medium}{one}": one
        for prefix in ("", "hash_")
        for medium in ("", "photo_", "image_", "video_", "file_")
        for one in ("md5", "sha256")
    },
}
_HEX: Final = re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{64})", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z][a-z0-9_-]{1,40}", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class HarmList:
    """The hashes of one list, each once and in order.

    Attributes:
        name: As the recipe calls it.
        hashes: Rows of bytes, by kind.
        skipped: How many lines have a type that is not compared, by type.
    """

    name: str
    hashes: Mapping[HashKind, NDArray[np.uint8]]
    skipped: Mapping[str, int]

    def __len__(self) -> int:
        return sum(map(len, self.hashes.values()))


def read_hashes(name: str, lines: Iterable[str], file: str, kind: HashKind | None) -> HarmList:
    """The hashes of a list.

    Args:
        name: As the recipe calls it.
        lines: Of the file.
        file: For messages.
        kind: Of hashes without a type; None if each has one.

    Raises:
        RecipeError: A line is no hash, or nobody says of which type it is.
    """
    found: dict[HashKind, set[bytes]] = {}
    skipped: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        fields = [field.strip("\"'") for field in _BETWEEN.split(line.partition("#")[0].strip())]
        if fields == [""]:
            continue
        value = next((field for field in fields if _HEX.fullmatch(field)), None)
        named = next((field.lower() for field in fields if field is not value and _WORD.fullmatch(field)), None)
        if value is None:
            if number == 1 and len(fields) > 1:  # the names of columns
                continue
            if named is not None and named not in _TYPES and len(fields) > 1:
                skipped[named] += 1
                continue
            raise RecipeError(f"{file}:{number}: {shown(line.strip()[:80])} is no hash of 32 or 64 hexadecimal digits")
        if named is not None and named not in _TYPES and kind is None:
            skipped[named] += 1
            continue
        own = _TYPES.get(named or "") or kind or ("md5" if len(value) == 2 * BYTES["md5"] else None)
        if own is None:
            near = nearest(named or "", list(_TYPES))
            raise RecipeError(
                f"{file}:{number}: a hash of 64 digits may be sha256 or pdq; say which with 'kind' in the recipe"
                + (f" (did you mean {near!r}?)" if near else "")
            )
        if len(value) != 2 * BYTES[own]:
            raise RecipeError(f"{file}:{number}: {own} has {2 * BYTES[own]} hexadecimal digits, here are {len(value)}")
        found.setdefault(own, set()).add(bytes.fromhex(value))
    if not found:
        raise RecipeError(f"{file}: holds no hash of sha256, md5 or pdq")
    arrays = {
        one: np.frombuffer(b"".join(sorted(held)), np.uint8).reshape(-1, BYTES[one]) for one, held in found.items()
    }
    return HarmList(name, arrays, dict(sorted(skipped.items())))

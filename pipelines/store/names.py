"""The names of objects as text, also of files whose names are not UTF-8: reversible, the same on a disk and in buckets.

Names go into rows, ids, plans and records, all of which are UTF-8. A byte that is not is written as U+FFFD and two
hexadecimal digits: the file `caf\\xe9.txt` is the object `caf\\ufffdE9.txt`. No two files share a name, since a U+FFFD
of the file's own is written so too, as its three bytes. A bucket also has keys that are no paths: in `a//b` and
`a/../b` the second slash and the dots are written so. All other names are as they are.
"""

import re
from typing import Final

_ESCAPE: Final = "\ufffd"
_ODD: Final = re.compile("[\udc80-\udcff\ufffd]")
_ESCAPED: Final = re.compile(rb"\xef\xbf\xbd([0-9A-F]{2})")
_NO_STEP: Final = re.compile(r"(?:(?<=/)|^)(?:/|\.{1,2}(?=/|\Z))")  # an empty part of a path, `.` and `..`


def object_name(raw: bytes) -> str:
    """The name of the object that a file with this path is."""
    text = raw.decode("utf-8", "surrogateescape")
    return text if text.isascii() else _ODD.sub(_escaped, text)


def file_name(name: str) -> bytes:
    """The path of the file that an object with this name is; ValueError if there is none."""
    raw = _unescaped(name)
    if _ESCAPE in name and object_name(raw) != name:
        raise ValueError(f"{name!r} is the name of no object")
    return raw


def name_of_key(key: str) -> str:
    """The name of the object that a bucket keeps under this key."""
    name = object_name(key.encode("utf-8"))
    rooted = f"/{name}"
    if "//" in rooted or "/." in rooted:  # a twentieth of the time for all other keys, of which listings have many
        name = _NO_STEP.sub(_escaped, name)
    return name


def key_of_name(name: str) -> str:
    """The key under which a bucket keeps the object with this name.

    UnicodeDecodeError if it names a file that no bucket can hold; ValueError if no object has this name.
    """
    key = _unescaped(name).decode("utf-8")
    if name_of_key(key) != name:
        raise ValueError(f"{name!r} is the name of no object")
    return key


def _unescaped(name: str) -> bytes:
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode("ascii")), name.encode("utf-8"))


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"{_ESCAPE}{byte:02X}" for byte in found.group().encode("utf-8", "surrogateescape"))

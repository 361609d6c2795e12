"""The language of a code listing, from the class names that syntax highlighters use."""

import re
from typing import Final

import numpy as np

from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import Page

_CODE: Final = NUMBER["code"]
_AROUND: Final = 3  # elements from the listing outwards
_MOST_CODES: Final = 4  # elements in a listing that may name it
_NAMED = re.compile(
    r"(?:^|\s)(?:(?:language|lang|brush|highlight-source|highlight-text|highlight)[-:]\s?|sourceCode\s+)"
    r"(?P<name>[A-Za-z][\w+#.-]{0,19})",
    re.IGNORECASE,
)
_NO_LANGUAGES: Final = frozenset(
    ("none", "plain", "plaintext", "text", "txt", "nohighlight", "default", "block", "highlighter-rouge", "rouge")
)
_SHORT: Final = {
    "py": "python", "python3": "python", "js": "javascript", "ts": "typescript", "rb": "ruby", "sh": "shell",
    "bash": "shell", "zsh": "shell", "shell-session": "shell", "console": "shell", "c++": "cpp", "golang": "go",
    "rs": "rust", "yml": "yaml", "cs": "csharp", "c#": "csharp", "kt": "kotlin", "md": "markdown", "htm": "html",
}  # fmt: skip


def code_language(page: Page, source: bytes, listing: int) -> str | None:
    """The language named by a <pre>, a <code> in it or an element around it; None if none names one."""
    element, around = listing, [listing]
    while len(around) < _AROUND and page.parent[element] >= 0:
        element = int(page.parent[element])
        around.append(element)
    inside = _elements_inside(page, listing)
    codes = np.flatnonzero(page.tag[inside] == _CODE)[:_MOST_CODES] + inside.start
    for element in [*codes.tolist(), *around]:
        begin, end = page.classes[:, element].tolist()
        if begin >= 0 and (name := _name(source[begin:end].decode("utf-8", "replace"))):
            return name
    return None


def _elements_inside(page: Page, element: int) -> slice:
    """The elements inside a listing."""
    end = int(np.searchsorted(page.begins[element:], page.ends[element], "left")) + element
    return slice(element, min(end, element + 64))


def _name(classes: str) -> str | None:
    for found in _NAMED.finditer(classes):
        name = found["name"].lower().rstrip(".-")
        if name not in _NO_LANGUAGES:
            return _SHORT.get(name, name)
    return None

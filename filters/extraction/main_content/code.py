"""The language of a code listing, from the class names and attributes that syntax highlighters use."""

import re
from typing import Final

import numpy as np

from winnow.filters.extraction.main_content.attribute_values import attribute_names, attribute_values
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import Page

_CODE, _PRE, _FIGURE = NUMBER["code"], NUMBER["pre"], NUMBER["figure"]
_AROUND: Final = 3  # elements from the listing outwards, and more that hold little else: the numbers of its lines
_MOST_AROUND: Final = 10
_MOST_CODES: Final = 4  # elements in a listing that may name it
_NAMED = re.compile(
    r"(?:^|\s)(?:(?:language|lang|brush|highlight-source|highlight-text|highlight)[-:]\s?|sourceCode\s+)"
    r"(?P<name>[A-Za-z][\w+#.-]{0,19})",
    re.IGNORECASE,
)
_BARE_NAMES: Final = """
    ada awk bash c cmake clojure cpp csharp css dart diff dockerfile elixir elm erlang fortran fsharp go golang
    graphql groovy haskell html http ini java javascript js json jsx julia kotlin latex less lisp lua makefile
    markdown matlab nginx nix objectivec ocaml perl php powershell prolog protobuf py python python3 r rb ruby
    rust scala scheme scss sh shell sql swift tcl toml ts tsx typescript vb vim xml yaml yml zig
"""  # that stand alone: `hljs python`, `highlight yaml` of Hexo, `rust`
_BARE: Final = frozenset(_BARE_NAMES.split())
_STATED: Final = attribute_names(["data-lang", "data-language", "data-enlighter-language"])
_IS_NAME = re.compile(r"[A-Za-z][\w+#.-]{0,19}")
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
    room = 2 * int(page.ends[listing] - page.begins[listing])
    while len(around) < _MOST_AROUND and page.parent[element] >= 0:
        element = int(page.parent[element])
        if len(around) >= _AROUND and page.ends[element] - page.begins[element] > room:
            break
        around.append(element)
    inside = _elements_inside(page, listing)
    codes = np.flatnonzero(page.tag[inside] == _CODE)[:_MOST_CODES] + inside.start
    elements = np.array([*codes.tolist(), *around], np.int64)
    stated = attribute_values(page, source, elements, _STATED)
    for element, named in zip(elements.tolist(), stated, strict=True):
        begin, end = page.classes[:, element].tolist()
        classes = source[begin:end].decode("utf-8", "replace") if begin >= 0 else ""
        is_own = page.tag[element] in (_CODE, _PRE, _FIGURE)
        if name := _name(classes) or _stated(named) or (_bare(classes) if is_own else None):
            return name
    return None


def _elements_inside(page: Page, element: int) -> slice:
    """The elements inside a listing."""
    end = int(np.searchsorted(page.begins[element:], page.ends[element], "left")) + element
    return slice(element, min(end, element + 64))


def _name(classes: str) -> str | None:
    for found in _NAMED.finditer(classes):
        if name := _known(found["name"]):
            return name
    return None


def _stated(attributes: dict[str, str]) -> str | None:
    return next((_known(one) for one in attributes.values() if _IS_NAME.fullmatch(one) and _known(one)), None)


def _bare(classes: str) -> str | None:
    return next((_known(one) for one in classes.lower().split() if one in _BARE), None)


def _known(name: str) -> str | None:
    name = name.lower().rstrip(".-")
    return None if name in _NO_LANGUAGES else _SHORT.get(name, name)

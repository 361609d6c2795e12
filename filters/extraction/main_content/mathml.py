"""MathML as TeX, where its characters alone would say something else: ½ of x is not 12x.

Fractions, roots, indices, limits, matrices and fenced terms; what else there is (style, space, phantoms) leaves its
characters. A formula without any of these, or one that is broken or too deep, is no TeX.
"""

import re
from collections.abc import Callable
from typing import Final
from xml.etree import ElementTree

_MOST_DEEP: Final = 64
_PREFIX = re.compile(rb"(</?)[A-Za-z][\w.-]{0,30}:")
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][\dA-Fa-f]{1,6});)")
_ATTRIBUTES = re.compile(rb"<([A-Za-z]\w{0,30})\s[^<>]*?(/?)>")
_SCRIPTS: Final[dict[str, Callable[[list[str]], str]]] = {
    "mfrac": lambda of: f"\\frac{{{of[0]}}}{{{of[1]}}}",
    "mroot": lambda of: f"\\sqrt[{of[1]}]{{{of[0]}}}",
    "msup": lambda of: f"{_term(of[0])}^{{{of[1]}}}",
    "mover": lambda of: f"{_term(of[0])}^{{{of[1]}}}",
    "msub": lambda of: f"{_term(of[0])}_{{{of[1]}}}",
    "munder": lambda of: f"{_term(of[0])}_{{{of[1]}}}",
    "msubsup": lambda of: f"{_term(of[0])}_{{{of[1]}}}^{{{of[2]}}}",
    "munderover": lambda of: f"{_term(of[0])}_{{{of[1]}}}^{{{of[2]}}}",
}
_CHILDREN: Final = {"mroot": 2, "mfrac": 2, "msubsup": 3, "munderover": 3}
_LAYOUT: Final = (*_SCRIPTS, "msqrt", "mtable")


def as_tex(math: bytes) -> bytes | None:
    """The TeX of a `<math>` element between dollars; None if its characters say the same."""
    source = _ATTRIBUTES.sub(rb"<\1\2>", _PREFIX.sub(rb"\1", math))
    if not any(b"<" + name.encode() in source for name in _LAYOUT):
        return None
    try:
        root = ElementTree.fromstring(_ENTITY.sub(b"&amp;", source))
    except ElementTree.ParseError:
        return None
    tex = _written(root, 0)
    if not tex:
        return None
    escaped = tex.replace("&", "&amp;").replace("<", "&lt;").encode()
    mark = b"$$" if re.match(rb"<[\w:]*math\b[^<>]*\sdisplay\s*=\s*[\"']?block", math) else b"$"
    return mark + escaped + mark


def _written(element: ElementTree.Element, depth: int) -> str | None:
    """The TeX of an element; None if it is broken or too deep."""
    if depth > _MOST_DEEP:
        return None
    of = []
    for child in element:
        one = _written(child, depth + 1)
        if one is None:
            return None
        of.append(one)
    tag = element.tag
    if tag in _SCRIPTS:
        return _SCRIPTS[tag](of) if len(of) == _CHILDREN.get(tag, 2) else None
    if tag == "msqrt":
        return f"\\sqrt{{{''.join(of)}}}"
    if tag == "mtr":
        return " & ".join(of)
    if tag == "mtable":
        rows = " \\\\ ".join(of)
        return f"\\begin{{matrix}}{rows}\\end{{matrix}}"
    if tag == "mfenced":
        return f"({','.join(of)})"
    return " ".join((element.text or "").split()) + "".join(of)


def _term(base: str) -> str:
    return base if len(base) == 1 else f"{{{base}}}"

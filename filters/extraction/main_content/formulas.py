"""Write a page's formulas as TeX between dollars if the page has their TeX or their markup is plain MathML.

MathML has TeX in an annotation or in `alttext`, else its fractions, roots and indices are written as TeX
(`mathml.py`); MathJax has it in a script. KaTeX and MathJax repeat each formula as spans for display only, wikis as a
picture, which are removed.
"""

import re
from typing import Final

from winnow.filters.extraction.main_content.mathml import as_tex
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import Page

_MATH_TAG, _SCRIPT_TAG = NUMBER["math"], NUMBER["script"]
_MATH, _MATH_END = b"<math", b"</math>"
_DRAWN = re.compile(rb'<span class="(?:katex-html|MathJax(?:_Display)?)"')
_PICTURE = re.compile(rb"(</math>(?:\s*</span>)?)\s*<img\b[^<>]*\bmwe-math-fallback[^<>]*>")
_MOST_BYTES: Final = 1 << 14  # a longer formula is left unchanged
_ANNOTATION = re.compile(
    rb"<annotation\b[^<>]{0,99}\bencoding\s*=\s*[\"']?(?:application/x-tex|(?:La)?TeX)\b[^<>]{0,99}>([^<]*)<",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(rb"<math\b[^<>]*\salttext\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_IS_BLOCK = re.compile(rb"<math\b[^<>]*\sdisplay\s*=\s*[\"']?block")
_SCRIPT = re.compile(
    rb"<script\b[^<>]{0,99}\btype\s*=\s*[\"']?math/tex([^\"'<>]{0,40})[\"']?[^<>]{0,99}>", re.IGNORECASE
)
_OTHER_ANNOTATION = re.compile(rb"<(annotation(?:-xml)?)\b.*?(?:</\1>|\Z)", re.DOTALL)
_TAG = re.compile(rb"<[^<>]*>")
_DISPLAYED = re.compile(rb"\A\{\\(?:display|text)style\s+(.*)\}\Z", re.DOTALL)
_SPAN = re.compile(rb"<(/?)span\b", re.IGNORECASE)


def has_formulas(page: Page, source: bytes) -> bool:
    """Whether a scanned page has formulas that are not yet text."""
    if (page.tag == _MATH_TAG).any():
        return True
    scripts = page.attributes[:, page.tag == _SCRIPT_TAG].T.tolist()
    return any(source.find(b"math/tex", begin, end) >= 0 for begin, end in scripts)


def with_formulas(source: bytes) -> bytes:
    """The page with its formulas as text."""
    if b"katex-html" in source or (b"math/tex" in source and b'"MathJax' in source):
        source = _without_drawings(source)
    if b"mwe-math-fallback" in source:
        source = _PICTURE.sub(rb"\1", source)
    if b"math/tex" in source:
        source = _with_scripts(source)
    return _with_mathml(source) if _MATH in source else source


def _with_scripts(source: bytes) -> bytes:
    parts: list[bytes] = []
    done = 0
    while (found := _SCRIPT.search(source, done)) and (close := source.find(b"</script>", found.end())) >= 0:
        tex = source[found.end() : close].replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        parts += [source[done : found.start()], _dollars(tex, block=b"display" in found[1])]
        done = close + len(b"</script>")
    return b"".join([*parts, source[done:]])


def _with_mathml(source: bytes) -> bytes:
    parts: list[bytes] = []
    done, at = 0, source.find(_MATH)
    while at >= 0:
        close = source.find(_MATH_END, at)
        if close < 0:
            break
        end = close + len(_MATH_END)
        if close - at <= _MOST_BYTES and source[at + len(_MATH) : at + len(_MATH) + 1] in b" \t\r\n>/":
            parts += [source[done:at], _formula(source[at:end])]
            done = end
        at = source.find(_MATH, end)
    return b"".join([*parts, source[done:]])


def _formula(math: bytes) -> bytes:
    found = _ANNOTATION.search(math) or _ALTERNATIVE.search(math)
    tex = next((group for group in found.groups() if group), b"").strip() if found else b""
    if not tex:
        plain = _OTHER_ANNOTATION.sub(b"", math)
        return as_tex(plain) or b"".join(_TAG.sub(b"", plain).split())
    wrapped = _DISPLAYED.match(tex)
    return _dollars(wrapped[1].strip() if wrapped else tex, block=_IS_BLOCK.match(math) is not None)


def _dollars(tex: bytes, *, block: bool) -> bytes:
    mark = b"$$" if block else b"$"
    return tex if tex.startswith(b"$") else mark + tex.strip() + mark


def _without_drawings(source: bytes) -> bytes:
    """The page without the spans that KaTeX draws with."""
    parts: list[bytes] = []
    done, drawn = 0, _DRAWN.search(source)
    while drawn:
        at, depth, end = drawn.start(), 0, -1
        for tag in _SPAN.finditer(source, at):
            depth += -1 if tag[1] else 1
            if depth == 0:
                end = source.find(b">", tag.end()) + 1
                break
        if end <= 0:
            break
        parts.append(source[done:at])
        done = end
        drawn = _DRAWN.search(source, end)
    return b"".join([*parts, source[done:]])

"""Decoding a page: the charset is measured from the bytes; declarations are only hints.

The order: byte order mark; strictly valid UTF-8 (or UTF-16 that shows by its NULs); UTF-8 with a few broken
bytes; the charset of the HTTP header, then of the page's own `<meta>`, each only if the bytes agree; a
statistical detector; windows-1252. Labels have the meaning of the WHATWG Encoding Standard.
"""

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from resiliparse.parse.encoding import detect_encoding

How: TypeAlias = Literal["bom", "utf8", "http", "meta", "detected", "fallback"]

PRESCAN_BYTES = 4096  # the standard's 1024 misses pages that put scripts before their <meta>
DETECT_BYTES = 16384
UTF16_PROBE_BYTES = 4096
BROKEN_UTF8 = 0.001  # share of broken sequences among the multi-byte ones of a page that is still UTF-8 ...
BROKEN_DECLARED_UTF8 = 0.1  # ... and of one that declares UTF-8: text of another charset is almost never so valid
BROKEN_DECLARED = 0.01  # legacy multi-byte pages often hold a few vendor characters that codecs do not know
BROKEN_DETECTED = 0.1

# The standard's name: (Python's codec, labels beside the name and the codec). Python's codec is the superset.
_CHARSETS: dict[str, tuple[str, str]] = {
    "utf-8": ("utf-8", "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 utf-8-sig"),
    "utf-16le": ("utf-16-le", "utf-16 utf16 unicode ucs-2 iso-10646-ucs-2 csunicode unicodefeff"),
    "utf-16be": ("utf-16-be", "unicodefffe"),
    "windows-1250": ("cp1250", "x-cp1250"),
    "windows-1251": ("cp1251", "x-cp1251"),
    "windows-1252": (
        "cp1252",
        "x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 latin1 latin-1 l1 ascii us-ascii "
        "ansi_x3.4-1968 cp819 ibm819 csisolatin1 iso-ir-100",
    ),
    "windows-1253": ("cp1253", "x-cp1253"),
    "windows-1254": (
        "cp1254",
        "x-cp1254 iso-8859-9 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 latin5 l5 csisolatin5 iso-ir-148",
    ),
    "windows-1255": ("cp1255", "x-cp1255"),
    "windows-1256": ("cp1256", "x-cp1256"),
    "windows-1257": ("cp1257", "x-cp1257"),
    "windows-1258": ("cp1258", "x-cp1258"),
    "windows-874": ("cp874", "tis-620 tis620 iso-8859-11 iso8859-11 iso885911 dos-874 x-windows-874"),
    "iso-8859-2": ("iso8859-2", "iso88592 iso_8859-2 iso_8859-2:1987 latin2 l2 csisolatin2 iso-ir-101"),
    "iso-8859-3": ("iso8859-3", "iso88593 iso_8859-3 iso_8859-3:1988 latin3 l3 csisolatin3"),
    "iso-8859-4": ("iso8859-4", "iso88594 iso_8859-4 iso_8859-4:1988 latin4 l4 csisolatin4"),
    "iso-8859-5": ("iso8859-5", "iso88595 iso_8859-5 iso_8859-5:1988 cyrillic csisolatincyrillic"),
    "iso-8859-6": ("iso8859-6", "iso88596 iso_8859-6 iso_8859-6:1987 arabic csisolatinarabic asmo-708 ecma-114"),
    "iso-8859-7": ("iso8859-7", "iso88597 iso_8859-7 iso_8859-7:1987 greek greek8 csisolatingreek elot_928"),
    "iso-8859-8": ("iso8859-8", "iso88598 iso_8859-8 iso_8859-8:1988 iso-8859-8-i hebrew visual logical"),
    "iso-8859-10": ("iso8859-10", "iso885910 latin6 l6"),
    "iso-8859-13": ("iso8859-13", "iso885913"),
    "iso-8859-14": ("iso8859-14", "iso885914"),
    "iso-8859-15": ("iso8859-15", "iso885915 iso_8859-15 latin9 latin-9 l9 csisolatin9"),
    "iso-8859-16": ("iso8859-16", "iso885916"),
    "koi8-r": ("koi8-r", "koi8_r koi8 koi cskoi8r"),
    "koi8-u": ("koi8-u", "koi8_u koi8-ru"),
    "ibm866": ("cp866", "866 csibm866"),
    "macintosh": ("mac-roman", "mac x-mac-roman csmacintosh"),
    "x-mac-cyrillic": ("mac-cyrillic", "x-mac-ukrainian"),
    "gb18030": (
        "gb18030",
        "gbk gb2312 gb_2312 gb_2312-80 x-gbk cp936 ms936 windows-936 euc-cn euccn x-euc-cn chinese csgb2312 iso-ir-58",
    ),
    "big5": ("big5hkscs", "big5-hkscs big5_hkscs big-5 cn-big5 csbig5 x-x-big5 cp950 windows-950"),
    "euc-jp": ("euc_jp", "eucjp x-euc-jp x-euc cseucpkdfmtjapanese"),
    "shift_jis": ("cp932", "shift-jis shiftjis sjis s_jis x-sjis ms_kanji ms932 windows-31j csshiftjis"),
    "iso-2022-jp": ("iso2022_jp_ext", "iso2022_jp iso2022-jp csiso2022jp"),
    "hz-gb-2312": ("hz", "hz-gb"),
    "iso-2022-kr": ("iso2022_kr", "iso2022-kr csiso2022kr"),
    "euc-kr": (
        "cp949",
        "euc_kr euckr uhc ks_c_5601 ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949 ms949 cseuckr",
    ),
}
_LABELS = {label: name for name, (codec, more) in _CHARSETS.items() for label in (name, codec, *more.split())}
_SEVEN_BIT = frozenset({"iso-2022-jp", "hz-gb-2312", "iso-2022-kr"})
_UTF16 = frozenset({"utf-16le", "utf-16be"})
_LATIN = frozenset(
    {"windows-1250", "windows-1252", "windows-1254", "windows-1257", "windows-1258", "macintosh"}
    | {f"iso-8859-{part}" for part in (2, 3, 4, 10, 13, 14, 15, 16)}
)
_SINGLE_BYTE = frozenset(
    name for name in _CHARSETS if name.startswith(("windows-", "iso-8859-", "koi8-", "ibm", "mac", "x-mac"))
)

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^<>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\s[^<>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})")
_C1 = re.compile("[\x80-\x9f]")
_LONG_RUNS = re.compile(rb"[\x80-\xff]{3,}")


@dataclass(frozen=True, slots=True)
class DecodedPage:
    """A decoded page: free of U+0000 and of lone surrogates."""

    text: str
    charset: str  # the WHATWG name
    how: How
    replaced: int  # how many U+FFFD stand for bytes that could not be decoded, or for U+0000


def decode_page(body: bytes, declared: str | None) -> DecodedPage:
    """The page's text; `declared` is the charset of the HTTP header, which is a hint. Never raises."""
    marked = _by_mark(body)
    if marked is not None:
        return marked
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _legacy(body, declared)
    if text.isascii() and ("\x1b" in text or "~{" in text):
        shifted = _seven_bit(body, declared)
        if shifted is not None:
            return shifted
    if "\0" not in text:  # nearly every page of today's web ends here
        return DecodedPage(text, "utf-8", "utf8", 0)
    wide = _utf16_by_nuls(body, 0.05)
    return _decoded(body, wide, "detected") if wide is not None else _finish(text, "utf-8", "utf8", 0)


def charset_of_label(label: str | None) -> str | None:
    """The WHATWG name of the charset that a label stands for; None for an unknown label."""
    return _LABELS.get(label.strip(" \t\r\n\f\"';").lower()) if label else None


def _by_mark(body: bytes) -> DecodedPage | None:
    if body.startswith(codecs.BOM_UTF8):
        return _decoded(body[3:], "utf-8", "bom")
    if body.startswith(codecs.BOM_UTF16_LE):
        return _decoded(body[2:], "utf-16le", "bom")
    if body.startswith(codecs.BOM_UTF16_BE):
        return _decoded(body[2:], "utf-16be", "bom")
    return None


def _legacy(body: bytes, declared: str | None) -> DecodedPage:
    """Bytes that are not strictly valid UTF-8."""
    wide = _utf16_by_nuls(body, 0.05)
    if wide is not None:
        return _decoded(body, wide, "detected")
    http, meta = charset_of_label(declared), _prescanned(body)
    claims: list[tuple[str, Literal["http", "meta"]]] = []
    if http is not None:
        claims.append((http, "http"))
    if meta is not None and meta != http:
        claims.append((meta, "meta"))
    says_utf8 = "utf-8" in (http, meta)
    mended = _nearly_utf8(body, BROKEN_DECLARED_UTF8 if says_utf8 else BROKEN_UTF8)
    if mended is not None:
        return mended
    borne_out = [
        (text, name, how)
        for name, how in claims
        if name != "utf-8" and (text := _strictly(body, name)) is not None and _plausible(body, text, name)
    ]
    if len(borne_out) == 2 and _detected(body) == borne_out[1][1]:
        borne_out.reverse()  # header and page disagree, and both are plausible: the detector decides
    for text, name, how in borne_out:
        return _finish(text, name, how, 0)
    for name, how in claims:
        if name in _SINGLE_BYTE or name in _UTF16 or name == "utf-8":
            continue
        text, broken = _leniently(body, name)
        if broken <= BROKEN_DECLARED * _beyond_ascii(text):
            return _finish(text, name, how, broken)
    found = _detected(body)
    if found is not None and found not in _UTF16:
        text, broken = _leniently(body, found)
        if broken <= BROKEN_DETECTED * _beyond_ascii(text):
            return _finish(text, found, "detected", broken)
    return _decoded(body, "windows-1252", "fallback")


def _seven_bit(body: bytes, declared: str | None) -> DecodedPage | None:
    """Decode a 7-bit charset, which counts only if declared: an escape sequence alone may be anything."""
    meta = _prescanned(body)
    for name, how in ((charset_of_label(declared), "http"), (meta, "meta")):
        if name in _SEVEN_BIT:
            text, broken = _leniently(body, name)
            if broken <= BROKEN_DETECTED * max(1, _beyond_ascii(text)):
                return _finish(text, name, "http" if how == "http" else "meta", broken)
    return None


def _nearly_utf8(body: bytes, tolerated: float) -> DecodedPage | None:
    text, broken = _leniently(body, "utf-8")
    multibyte = _beyond_ascii(text)
    cut = 1 if broken and _is_cut(body) else 0  # a body cut within its last character has no other fault
    if multibyte > broken and broken - cut <= tolerated * multibyte:
        return _finish(text, "utf-8", "utf8", broken)
    return None


def _is_cut(body: bytes) -> bool:
    for back in range(1, min(3, len(body)) + 1):
        lead = body[-back]
        if lead >= 0xC2:
            return lead < 0xF5 and back < (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)
        if lead < 0x80:
            return False
    return False


def _utf16_by_nuls(body: bytes, least: float) -> str | None:
    """Detect UTF-16 without a byte order mark by NULs on only one side of its pairs."""
    probe = body[:UTF16_PROBE_BYTES]
    if b"\0" not in probe or len(probe) < 4:
        return None
    first, second = probe[::2].count(0), probe[1::2].count(0)
    pairs = len(probe) // 2
    if second > least * pairs and first * 20 <= second:
        name = "utf-16le"
    elif first > least * pairs and second * 20 <= first:
        name = "utf-16be"
    else:
        return None
    return name if _strictly(probe[: pairs * 2], name, final=False) is not None else None


def _plausible(body: bytes, text: str, name: str) -> bool:
    """Whether text that decodes without errors looks like text in this charset."""
    if name in _UTF16:
        return _utf16_by_nuls(body, 0.0) == name
    beyond = _beyond_ascii(text)
    if not beyond:
        return True
    if len(_C1.findall(text)) > 0.02 * beyond:
        return False
    if name not in _LATIN:
        return True
    # Latin letters beyond ASCII stand alone or in pairs among ASCII ones; any other script makes long runs.
    return sum(map(len, _LONG_RUNS.findall(body))) * 2 <= beyond


def _prescanned(body: bytes) -> str | None:
    """The charset that the page's own `<meta>` or XML declaration names."""
    head = body[:PRESCAN_BYTES]
    if b"<!--" in head:
        head = _COMMENT.sub(b"", head)
    declaration = _XML.match(head)
    for match in ([declaration] if declaration else []) + list(_META.finditer(head)):
        name = charset_of_label(match[1].decode("ascii"))
        if name is not None:
            return "utf-8" if name in _UTF16 else name  # it could be read as ASCII, so it is not UTF-16
    return None


def _detected(body: bytes) -> str | None:
    return charset_of_label(detect_encoding(body, max_len=DETECT_BYTES, html5_compatible=False))


def _strictly(body: bytes, name: str, final: bool = True) -> str | None:
    try:
        if name in _SINGLE_BYTE:
            return codecs.charmap_decode(body, "strict", _table(name))[0]
        return codecs.getincrementaldecoder(_CHARSETS[name][0])("strict").decode(body, final)
    except UnicodeError:
        return None


def _leniently(body: bytes, name: str) -> tuple[str, int]:
    """The text with U+FFFD for broken bytes, and how many of these were not in the page itself."""
    if name in _SINGLE_BYTE:
        text = codecs.charmap_decode(body, "replace", _table(name))[0]
        return text, text.count("\ufffd")
    text = body.decode(_CHARSETS[name][0], "replace")
    own = "\ufffd".encode(_CHARSETS[name][0]) if name == "utf-8" or name in _UTF16 else b""
    return text, max(0, text.count("\ufffd") - (body.count(own) if own else 0))


@lru_cache(maxsize=64)
def _table(name: str) -> str:
    """256 characters; a byte of 80..9F missing from Python's table is the C1 control, as in browsers."""
    cells = [bytes([byte]).decode(_CHARSETS[name][0], "replace") for byte in range(256)]
    # charmap_decode takes U+FFFE as "no character".
    return "".join(
        (chr(byte) if 0x80 <= byte < 0xA0 else "\ufffe") if cell == "\ufffd" else cell
        for byte, cell in enumerate(cells)
    )


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _decoded(body: bytes, name: str, how: Literal["bom", "detected", "fallback"]) -> DecodedPage:
    text, broken = _leniently(body, name)
    return _finish(text, name, how, broken)


def _finish(text: str, name: str, how: How, broken: int) -> DecodedPage:
    nuls = text.count("\0")
    return DecodedPage(text.replace("\0", "\ufffd") if nuls else text, name, how, broken + nuls)

"""Pages planted to break something: charsets, content types, codings, markup, cut payloads, damaged records."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from winnow.runners.demo import media
from winnow.runners.demo.archives import Damage
from winnow.runners.demo.captures import Capture, Truth, gzip_member
from winnow.runners.demo.grammar import entry
from winnow.runners.demo.pages import page, truth_of
from winnow.runners.demo.sites import PLANTED
from winnow.runners.demo.texts import Text, language, spare_text

BOMB_BYTES = 3_000_000
CORRUPT, TRUNCATED, PLAIN, PACKED = "part-00002.warc.gz", "part-00003.warc.gz", "part-00004.warc", "part-00005.warc.zst"


@dataclass(frozen=True, slots=True)
class _Charset:
    """One page whose bytes are in an encoding, and the encoding that it declares; None declares nothing."""

    case: str
    text: Text
    encoding: str
    header: str | None
    meta: str | None
    corrupt: Callable[[bytes], bytes] | None = None


def hostile_pages() -> list[Capture]:
    """All of them, in a fixed order."""
    return [*charsets(), *lying_types(), *codings(), *markup(), *empties(), *cut_payloads(), *bombs()]


def charsets() -> list[Capture]:
    """Encodings that are wrong, undeclared, declared only once, unusual or damaged."""
    cases = (
        _Charset("windows-1251 as utf-8", spare_text("rus", 0, 1), "cp1251", "utf-8", "utf-8"),
        _Charset("koi8-r, honest", spare_text("rus", 2, 3), "koi8_r", "koi8-r", "koi8-r"),
        _Charset("windows-1251, meta only", spare_text("ukr", 0, 1), "cp1251", None, "windows-1251"),
        _Charset("shift_jis as latin-1", spare_text("jpn", 1), "cp932", "iso-8859-1", None),
        _Charset("euc-jp, meta only", spare_text("jpn", 2), "euc_jp", None, "euc-jp"),
        _Charset("iso-2022-jp, header only", spare_text("jpn", 3), "iso2022_jp", "iso-2022-jp", None),
        _Charset("gb18030, undeclared", spare_text("cmn-Hans"), "gb18030", None, None),
        _Charset("big5, undeclared", spare_text("cmn-Hant"), "big5", None, None),
        _Charset("iso-8859-7 as windows-1252", spare_text("ell", 0, 1), "iso8859_7", "windows-1252", "windows-1252"),
        _Charset("euc-kr as utf-8", spare_text("kor"), "euc_kr", "utf-8", "utf-8"),
        _Charset("windows-1255 as latin-1", spare_text("heb"), "cp1255", "iso-8859-1", None),
        _Charset("windows-1256, undeclared", spare_text("arb"), "cp1256", None, None),
        _Charset("tis-620 as utf-8", spare_text("tha"), "tis_620", "utf-8", None),
        _Charset("iso-8859-2, undeclared", spare_text("pol"), "iso8859_2", None, None),
        _Charset("windows-1254 as iso-8859-9", spare_text("tur"), "cp1254", "iso-8859-9", "iso-8859-9"),
        _Charset("windows-1252 as iso-8859-1", spare_text("dan"), "cp1252", "iso-8859-1", "iso-8859-1"),
        _Charset("utf-8 as iso-8859-1", spare_text("fin"), "utf-8", "iso-8859-1", "iso-8859-1"),
        _Charset("utf-16 with a mark, as utf-8", spare_text("srp"), "utf-16", "utf-8", "utf-8"),
        _Charset("utf-16be without a mark, header only", spare_text("hin"), "utf-16-be", "utf-16be", None),
        _Charset("utf-8 with a mark, undeclared", spare_text("ben"), "utf-8-sig", None, None),
        _Charset("utf-8 with broken bytes", spare_text("ita"), "utf-8", "utf-8", "utf-8", _break_bytes),
        _Charset("utf-8 encoded twice", spare_text("ell", 2, 3), "utf-8", "utf-8", "utf-8", _encode_twice),
        _Charset("a charset that does not exist", spare_text("amh"), "utf-8", "utf-9", "x-unknown"),
    )
    captures = []
    for at, case in enumerate(cases):
        one = page(
            PLANTED,
            case.text,
            path=f"/charset/{at}",
            truth=truth_of(case.text, "charset", case.case),
            charset=case.meta or "",
        )
        body = one.body.decode().encode(case.encoding, "xmlcharrefreplace")
        header = f"text/html; charset={case.header}" if case.header else "text/html"
        captures.append(replace(one, body=case.corrupt(body) if case.corrupt else body, content_type=header))
    return captures


def lying_types() -> list[Capture]:
    """Content that its Content-Type does not describe."""
    picture = media.png(media.scene("lying", 64, 48))
    as_image = page(
        PLANTED,
        spare_text("tam", 0),
        path="/mime/photo.png",
        truth=truth_of(spare_text("tam", 0), "lying_mime", "html as png"),
    )
    plain = page(
        PLANTED,
        spare_text("tam", 1),
        path="/mime/plain",
        truth=truth_of(spare_text("tam", 1), "lying_mime", "html as text"),
    )
    silent = page(
        PLANTED,
        spare_text("tam", 2),
        path="/mime/silent",
        truth=truth_of(spare_text("tam", 2), "lying_mime", "html, no type"),
    )
    return [
        Capture(PLANTED.url("/mime/page.html"), picture, Truth("lying_mime", "png as html")),
        Capture(PLANTED.url("/mime/a.jpg"), picture, Truth("lying_mime", "png as jpeg"), content_type="image/jpeg"),
        replace(as_image, content_type="image/png"),
        replace(plain, content_type="text/plain"),
        replace(silent, content_type=None),
        Capture(
            PLANTED.url("/mime/huge.png"),
            media.lying_png(),
            Truth("lying_mime", "huge dimensions"),
            content_type="image/png",
        ),
        Capture(
            PLANTED.url("/mime/page.pdf"),
            b"<html><body>404",
            Truth("lying_mime", "html as pdf"),
            content_type="application/pdf",
        ),
    ]


def codings() -> list[Capture]:
    """Content and transfer codings: correct ones, one that is only declared, and one whose payload is incomplete."""
    pages = [
        page(PLANTED, entry(at, "coding"), path=f"/coding/{at}", truth=truth_of(entry(at, "coding"), "encoded", case))
        for at, case in enumerate(("gzip", "br", "deflate", "chunked", "gzip, chunked", "br, chunked"))
    ]
    uncoded = page(
        PLANTED,
        entry(8, "coding"),
        path="/coding/8",
        truth=truth_of(entry(8, "coding"), "encoded", "gzip declared, plain sent"),
    )
    incomplete = page(
        PLANTED,
        entry(9, "coding"),
        path="/coding/9",
        truth=truth_of(entry(9, "coding"), "broken", "gzip payload without its end"),
    )
    return [
        replace(pages[0], coding="gzip"),
        replace(pages[1], coding="br"),
        replace(pages[2], coding="deflate"),
        replace(pages[3], chunked=True),
        replace(pages[4], coding="gzip", chunked=True),
        replace(pages[5], coding="br", chunked=True),
        replace(uncoded, coding="gzip", raw_payload=uncoded.body),
        replace(incomplete, coding="gzip", raw_payload=gzip_member(incomplete.body)[:-200]),
    ]


def markup() -> list[Capture]:
    """Text that looks like markup, characters that are not text, and very deep nesting."""
    script = Text(
        language("eng"),
        "markup",
        "<script>alert(1)</script> & other headlines",
        (
            "The headline above must be shown and never run: <script>alert(1)</script>.",
            'So must <img src=x onerror=alert(2)> and "><svg onload=alert(3)>.',
        ),
    )
    control = entry(1, "markup")
    dirty = "\x00NUL\x00, \x08backspace, \x0bvertical tab, \x1b[31mescape, \x7fdelete and \ufffe a noncharacter."
    bidi = Text(
        language("heb"),
        "markup",
        "\u202eטקסט הפוך\u202c",
        (
            "\u2067" + spare_text("heb", 0).paragraphs[0] + "\u2069",
            "access\u202eLEVEL \u2066// admin\u2069 \u200f(1)\u200e",
            spare_text("arb", 0).paragraphs[0],
        ),
    )
    emoji = Text(language("eng"), "markup", "🙂", ("🙂🙃😀🌊⛵️🏴‍☠️👩‍👩‍👧‍👦🇸🇪🧑🏽‍🔬 " * 12,))
    deep = entry(2, "markup")
    nested = "<div>" * 2_000 + f"<p>{deep.body}</p>" + "</div>" * 2_000
    unclosed = entry(3, "markup")
    wide = entry(4, "markup")
    attributes = "".join(f' data-a{at}="{at}"' for at in range(1_500))

    def markup_page(path: str, text: Text, case: str, body: str | None = None, code: str | None = None) -> Capture:
        truth = replace(truth_of(text, "markup", case), language=code or text.language.iso)
        return page(PLANTED, text, path=f"/markup/{path}", truth=truth, body=body)

    entities = Text(language("fra"), "markup", spare_text("fra", 1).title, spare_text("fra", 1).paragraphs)
    referenced = "".join(f"<p>{''.join(f'&#x{ord(c):x};' for c in part)}</p>" for part in entities.paragraphs)
    return [
        markup_page("script", script, "script in text"),
        markup_page("control", control, "control characters", f"<p>{control.body}</p><p>{dirty}</p>"),
        markup_page("bidi", bidi, "bidi controls"),
        markup_page("emoji", emoji, "only emoji", code="zxx"),
        markup_page("deep", deep, "2000 nested divs", nested),
        markup_page("unclosed", unclosed, "unclosed tags", f"<b><i><table><tr><td><p>{unclosed.body}<td><!-- "),
        markup_page("wide", wide, "1500 attributes", f"<p{attributes}>{wide.body}</p>"),
        markup_page("entities", entities, "all characters as references", referenced),
    ]


def empties() -> list[Capture]:
    """No payload, white space only, tags only, and a page whose script writes it."""
    shell = b'<!DOCTYPE html><html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>'
    cases = (
        ("no payload", b""),
        ("white space", b" \r\n\t \n" * 20),
        ("tags only", b"<html><body></body></html>"),
        ("script shell", shell),
    )
    return [Capture(PLANTED.url(f"/empty/{at}"), body, Truth("empty", case)) for at, (case, body) in enumerate(cases)]


def cut_payloads() -> list[Capture]:
    """Payloads that the crawler cut and marked as cut."""
    captures = []
    for at, (key, reason) in enumerate((("tel", "length"), ("mya", "time"), ("swh", "disconnect"))):
        text = spare_text(key)
        whole = page(PLANTED, text, path=f"/cut/{at}", truth=truth_of(text, "truncated", reason))
        captures.append(replace(whole, body=whole.body[: len(whole.body) * 3 // 5], cut=reason))
    jpeg = media.stored("harbour.jpg")
    image = Capture(
        PLANTED.url("/cut/photo.jpg"),
        jpeg[: len(jpeg) // 2],
        Truth("truncated", "half a jpeg"),
        content_type="image/jpeg",
        cut="length",
    )
    return [*captures, image]


def bombs() -> list[Capture]:
    """Zeros that compress to almost nothing: as a coded payload, and as a payload in a compressed record."""
    zeros = bytes(BOMB_BYTES)
    return [
        Capture(
            PLANTED.url("/bomb/coded"),
            zeros,
            Truth("broken", "bomb in a coded payload"),
            coding="gzip",
            pinned=TRUNCATED,
        ),
        Capture(
            PLANTED.url("/bomb/twice"),
            gzip_member(zeros),
            Truth("broken", "bomb coded twice"),
            coding="gzip",
            pinned=TRUNCATED,
        ),
        Capture(
            PLANTED.url("/bomb/member"),
            zeros,
            Truth("broken", "bomb in the record"),
            content_type="text/plain",
            pinned=TRUNCATED,
        ),
    ]


def damaged() -> list[tuple[Capture, Damage]]:
    """Unreadable records, each with its damage; each is pinned to an archive."""
    places: tuple[tuple[str, Damage], ...] = (
        (CORRUPT, "corrupt_member"),
        (CORRUPT, "bad_header"),
        (CORRUPT, "long_length"),
        (TRUNCATED, "truncated_end"),
        (PLAIN, "short_length"),
        (PACKED, "corrupt_member"),
    )
    records = []
    for at, (archive, damage) in enumerate(places):
        text = entry(at, "damaged")
        case = f"{damage} in {archive}"
        one = page(PLANTED, text, path=f"/damaged/{at}", truth=truth_of(text, "broken", case))
        records.append((replace(one, pinned=archive), damage))
    return records


def _break_bytes(body: bytes) -> bytes:
    """Puts bytes that are never valid UTF-8 into the middle of the article."""
    middle = body.index(b"<p>", body.index(b"<h1>")) + 40
    return body[:middle] + b"\xff\xfe\xc3\x28\xed\xa0\x80" + body[middle:]


def _encode_twice(body: bytes) -> bytes:
    """Reads UTF-8 as Latin-1 and encodes it again, as careless imports do."""
    return body.decode("latin-1").encode()

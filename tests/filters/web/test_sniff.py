"""What bytes are, whatever they were declared to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.web.sniff import PAGE, DetectedType, is_page, sniff

MP3_FRAME = b"\xff\xfb\x90\x00" + bytes(413)  # MPEG 1, layer III, 128 kbit/s, 44.1 kHz: 417 bytes
TS_PACKET = b"G" + bytes(187)


def ftyp(major: bytes, *compatible: bytes) -> bytes:
    return (16 + 4 * len(compatible)).to_bytes(4, "big") + b"ftyp" + major + bytes(4) + b"".join(compatible)


STARTS = (b"<", b"<!--", b"<?xml ", b"[", b"{", b"\xff\xe3", b"\xff\xf1")
SIGNATURES = [
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
    (b"GIF89a\1\0\1\0", "image/gif"),
    (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
    (ftyp(b"avif"), "image/avif"),
    (ftyp(b"mif1", b"mif1", b"avif"), "image/avif"),
    (ftyp(b"heic"), "image/heic"),
    (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "image/bmp"),
    (b"\0\0\1\0\1\0\x10\x10", "image/vnd.microsoft.icon"),
    (b"II*\0\x08\0\0\0", "image/tiff"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'>", "image/svg+xml"),
    (b"<?xml version='1.0'?><!-- x --><!DOCTYPE svg PUBLIC 'a' 'b'><svg>", "image/svg+xml"),
    (ftyp(b"isom", b"mp41"), "video/mp4"),
    (ftyp(b"qt  "), "video/quicktime"),
    (ftyp(b"3gp4"), "video/3gpp"),
    (ftyp(b"M4A "), "audio/mp4"),
    (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\x82\x84webm", "video/webm"),
    (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\x82\x88matroska", "video/matroska"),
    (b"RIFF\x24\0\0\0AVI LIST", "video/x-msvideo"),
    (TS_PACKET * 3, "video/mp2t"),
    (b"OggS\0\2" + bytes(22) + b"\1vorbis", "audio/ogg"),
    (b"OggS\0\2" + bytes(22) + b"\x80theora", "video/ogg"),
    (b"ID3\3\0\0\0\0\0\0", "audio/mpeg"),
    (MP3_FRAME * 3, "audio/mpeg"),
    (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
    (b"fLaC\0\0\0\x22", "audio/flac"),
    (b"MThd\0\0\0\6\0\1", "audio/midi"),
    (b"%PDF-1.7\n", "application/pdf"),
    (b"PK\3\4\x14\0", "application/zip"),
    (b"\x1f\x8b\x08\0", "application/gzip"),
    (b"wOF2\0\1\0\0", "font/woff2"),
    (b"\0asm\1\0\0\0", "application/wasm"),
    (b"\0\7\1binary", "application/octet-stream"),
]


@pytest.mark.parametrize(("head", "mime"), SIGNATURES)
@pytest.mark.parametrize("declared", [None, "text/html; charset=utf-8", "image/png"])
def test_a_signature_wins_over_every_declaration(head: bytes, mime: str, declared: str | None) -> None:
    family = mime.partition("/")[0]
    modality = family if family in ("image", "audio", "video") else "other"
    found = sniff(head, declared, "http://site.example/page.html")
    assert (found.mime, found.modality) == (mime, modality)


@pytest.mark.parametrize(
    "head",
    [
        b"<!DOCTYPE html><p>",
        b" \r\n\t<HTML lang=en>",
        b"\xef\xbb\xbf<html>",
        b"<!-- saved from --><!-- twice --><html>",
        b"\n<br/>text",
        b"<h1>Hello</h1>",
        b"<meta charset=utf-8><p>x",
        b"<!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>\n<HTML>",
        b"some words before <html><body>the page",
        "\ufeff<html><p>x".encode("utf-16-le"),
        "<html><p>x".encode("utf-16-be"),
        b"Warning: mysql_connect()\0 <html><body>" + b"words " * 50,
    ],
)
def test_html_is_known_by_its_tags(head: bytes) -> None:
    assert sniff(head, None, None) == DetectedType("text/html", "text")
    assert sniff(head, "image/jpeg", "http://site.example/a.jpg") == DetectedType("text/html", "text")


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"<?xml version='1.0'?><rss version='2.0'>", "application/rss+xml"),
        (b"<rss version='2.0'>", "application/rss+xml"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", "application/atom+xml"),
        (b"<?xml version='1.0'?><rdf:RDF xmlns='http://purl.org/rss/1.0/'>", "application/rss+xml"),
        (b"<?xml version='1.0'?>\n<note>", "application/xml"),
        (b'{"a": 1}', "application/json"),
        (b'[{"a": 1}, ' + b" " * 3000, "application/json"),
        (b"[1, 2, 3]", "application/json"),
        (b"#EXTM3U\n", "application/vnd.apple.mpegurl"),
    ],
)
def test_formats_written_in_text_are_not_text_to_read(head: bytes, mime: str) -> None:
    assert sniff(head, "text/html", None) == DetectedType(mime, "other")


ROOT = '<html xmlns="http://www.w3.org/1999/xhtml">'
STRICT = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
XML = '<?xml version="1.0" encoding="UTF-8" standalone="no"?>'
LICENCE = f"<!-- {'A licence that fills what is sniffed > than anything. ' * 90}-->"
SUBSET = '<!DOCTYPE html [ <!ENTITY nbsp "&#160;"> <!ENTITY % more SYSTEM "x"> ]>'


@pytest.mark.parametrize(
    "page",
    [
        f"{XML}\n{STRICT}\n{ROOT}",
        f"{XML}{ROOT}",
        f"\n {XML}\n<?xml-stylesheet href='a.css'?>\n<!-- a comment -->\n{STRICT}<!-- another -->{ROOT}",
        f"{XML}{SUBSET}{ROOT}",
        f"{XML}{LICENCE}{ROOT}",
        f"{LICENCE}{STRICT}{ROOT}",
        f"{XML}<h:html xmlns:h='http://www.w3.org/1999/xhtml'>",
        f"{XML}<HTML>",
        f"{XML}<body><p>a page without a root</p></body>",
    ],
    ids=["strict", "bare", "comments", "subset", "long", "long HTML", "prefix", "capitals", "no root"],
)
@pytest.mark.parametrize(
    "declared", [None, "text/html", "text/plain", "application/octet-stream", "text/xml", "image/png"]
)
def test_what_parses_as_html_is_a_page_whatever_its_header_and_its_prologue_say(
    page: str, declared: str | None
) -> None:
    for body in (page.encode(), b"\xef\xbb\xbf" + page.encode()):
        assert sniff(body, declared, "http://site.example/a.txt") == DetectedType(PAGE, "text")
    if LICENCE not in page:  # of UTF-16, the first bytes are read
        for body in (page.encode("utf-16-be"), b"\xff\xfe" + page.encode("utf-16-le")):
            assert sniff(body, declared, None) == DetectedType(PAGE, "text")


@pytest.mark.parametrize(
    ("root", "mime"),
    [
        ("<rss version='2.0'>", "application/rss+xml"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'>", "application/atom+xml"),
        ("<svg xmlns='http://www.w3.org/2000/svg'>", "image/svg+xml"),
        ("<urlset><url><loc>http://a.example</loc></url></urlset>", "application/xml"),
        ("<book xmlns='http://docbook.org/ns/docbook'><para>html</para></book>", "application/xml"),
    ],
)
def test_other_xml_is_no_page_however_it_is_declared(root: str, mime: str) -> None:
    for body in (f"{XML}{root}", f"{XML}{LICENCE}{root}"):
        for declared in (None, "text/html", "application/xhtml+xml"):
            found = sniff(body.encode(), declared, "http://site.example/a.html")
            assert (found.mime, is_page(found.mime)) == (mime, False)


def test_only_a_declaration_or_an_address_tells_kinds_of_text_apart() -> None:
    words = b"a { color: red }"
    assert sniff(words, "text/css", None) == DetectedType("text/css", "other")
    assert sniff(words, "application/javascript; charset=x", None) == DetectedType("text/javascript", "other")
    assert sniff(words, None, "http://a.example/x.css?v=1") == DetectedType("text/css", "other")
    assert sniff(words, "text/markdown", None) == DetectedType("text/markdown", "text")
    assert sniff(words, "image/png", None) == DetectedType("text/plain", "text")
    assert sniff(words, "text/html", None) == DetectedType("text/plain", "text")
    assert sniff(b"<html>", "text/css", None) == DetectedType("text/html", "text")


def test_text_that_speaks_of_tags_stays_the_text_it_is_declared_to_be() -> None:
    assert sniff(b"how to write <html> and <body>", "text/plain", None) == DetectedType("text/plain", "text")
    assert sniff(b"s = '<html>'", "text/javascript", None) == DetectedType("text/javascript", "other")
    assert sniff(b"[a link](http://a.example)", None, None) == DetectedType("text/plain", "text")


def test_a_formatted_manual_page_is_text_and_other_backspaces_are_not() -> None:
    struck = "".join(f"{letter}\b{letter}" for letter in "NAME é 日本")
    assert sniff(f"{struck}\n  ls - _\bl_\bi\x1b[1mst\x1b[0m".encode(), None, None) == DetectedType(
        "text/plain", "text"
    )
    assert sniff(b"abc\n\b\b\b", None, None).modality == "other"


def test_plain_text_in_any_script_is_text() -> None:
    for codec in ("utf-8", "cp1251", "koi8-r", "utf-16"):
        assert sniff("Привет, мир! Hello world.".encode(codec), None, None) == DetectedType("text/plain", "text")


@given(
    st.one_of(
        st.binary(max_size=600),
        st.builds(
            lambda start, rest: start + rest,
            st.sampled_from([*(head[:cut] for head, _ in SIGNATURES for cut in (2, 4, 9, 40)), *STARTS]),
            st.binary(max_size=60),
        ),
    ),
    st.one_of(st.none(), st.text(max_size=20)),
    st.one_of(st.none(), st.text(max_size=20)),
)
def test_any_bytes_have_a_type(head: bytes, declared: str | None, url: str | None) -> None:
    found = sniff(head, declared, url)
    assert "/" in found.mime
    assert sniff(head, declared, url) == found


@pytest.mark.parametrize(
    "piece", [b"[", b"[ ", b'{"', b"<!--", b"<a ", b"<?", b"<!doctype ", b"[" + b" " * 2046, b"<?xml ?><!doctype a"]
)
def test_repetition_takes_no_time(piece: bytes) -> None:
    assert sniff(piece * 40_000, "text/html", None).mime.startswith(("text/", "application/"))

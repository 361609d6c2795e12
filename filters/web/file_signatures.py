"""Signatures of binary formats: images, audio, video, archives, fonts, programs.

A prefix decides if it is long enough to rule out chance; the rest (audio and video containers, MP3 frames,
two-letter magics) are examined more closely.
"""

from collections.abc import Callable

_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"II+\0", "image/tiff"),
    (b"MM\0+", "image/tiff"),
    (b"\0\0\1\0", "image/vnd.microsoft.icon"),
    (b"\0\0\2\0", "image/vnd.microsoft.icon"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl"),
    (b"\xff\x0a", "image/jxl"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"8BPS\0\1", "image/vnd.adobe.photoshop"),
    (b"AT&TFORM", "image/vnd.djvu"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"MThd\0\0\0\6", "audio/midi"),
    (b"#!AMR", "audio/amr"),
    (b".snd\0\0\0", "audio/basic"),
    (b"FLV\1", "video/x-flv"),
    (b"\0\0\1\xba", "video/mpeg"),
    (b"\0\0\1\xb3", "video/mpeg"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"MSCF\0\0\0\0", "application/vnd.ms-cab-compressed"),
    (b"\x04\x22\x4d\x18", "application/x-lz4"),
    (b"\0asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO\0", "font/otf"),
    (b"\0\1\0\0\0", "font/ttf"),
    (b"true\0", "font/ttf"),
    (b"ttcf\0", "font/collection"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"PAR1\x15", "application/vnd.apache.parquet"),
    (b"ARROW1\0\0", "application/vnd.apache.arrow.file"),
)

# ISO base media files by brand; any other brand is MP4.
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"hevc": "image/heic",
    b"hevx": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"M4P ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"M4V ": "video/x-m4v",
}
_OFFICE = ((b"word/", "wordprocessingml.document"), (b"xl/", "spreadsheetml.sheet"))
_BMP_HEADERS = frozenset({12, 16, 40, 52, 56, 64, 108, 124})
# kbit/s by bitrate index: layer III of MPEG 1, and of MPEG 2 and 2.5.
_MP3_RATES = (
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
_MP3_HERTZ = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


def binary_type(head: bytes) -> str | None:
    """The media type of a binary signature; None for text and unknown signatures."""
    if len(head) < 2:
        return None
    for prefix, mime in _BY_FIRST[head[0]]:
        if head.startswith(prefix):
            return mime
    look = _CLOSER.get(head[:1])
    found = look(head) if look is not None else None
    if found is not None:
        return found
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip") and head[0] == 0:
        return _iso_media(head)
    if head[4:5] == b"G" and head[196:197] == b"G" and head[388:389] == b"G":
        return "video/mp2t"  # as discs and cameras write it, four bytes before each packet
    if head[257:262] == b"ustar":
        return "application/x-tar"
    if head[:2] == b"\x1f\x07" and head[80:82] == b"\x3f\x07":  # blocks of 80 bytes: a header, then subcodes
        return "video/x-dv"
    if head[34:36] == b"LP" and head[8:12] in (b"\1\0\2\0", b"\2\0\2\0", b"\0\0\1\0"):
        return "application/vnd.ms-fontobject"
    return None


def _iso_media(head: bytes) -> str:
    if head[4:8] != b"ftyp":
        return "video/quicktime"  # older files without a brand
    brands = [head[8:12]]
    size = min(int.from_bytes(head[:4], "big"), len(head))
    brands += [head[at : at + 4] for at in range(16, size - 3, 4)]
    major = brands[0]
    if major in (b"mif1", b"msf1"):  # a general brand: the compatible brands give the coding
        return next((_BRANDS[brand] for brand in brands[1:] if brand in (b"avif", b"avis", b"heic")), _BRANDS[major])
    if major.startswith((b"3gp", b"3gr", b"3gs")):
        return "video/3gpp"
    if major.startswith(b"3g2"):
        return "video/3gpp2"
    return _BRANDS.get(major, "video/mp4")


def _riff(head: bytes) -> str | None:
    if head[:4] not in (b"RIFF", b"RF64"):
        return None
    kinds = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo", b"RMID": "audio/midi"}
    return kinds.get(head[8:12])


def _form(head: bytes) -> str | None:
    if head.startswith((b"FWS", b"FORM")):
        if head.startswith(b"FORM"):
            return "audio/aiff" if head[8:12] in (b"AIFF", b"AIFC") else None
        return _flash(head)
    return None


def _flash(head: bytes) -> str | None:
    known = head[:3] in (b"FWS", b"CWS", b"ZWS") and 0 < head[3] < 0x32 if len(head) > 3 else False
    return "application/vnd.adobe.flash.movie" if known else None


def _ogg(head: bytes) -> str | None:
    if not head.startswith(b"OggS\0"):
        return None
    first = head[28:128]
    return "video/ogg" if b"theora" in first or b"fishead" in first else "audio/ogg"


def _matroska(head: bytes) -> str | None:
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return None
    start = head[:256]
    if b"webm" in start:
        return "video/webm"
    return "video/matroska" if b"matroska" in start else "application/octet-stream"


def _zip(head: bytes) -> str | None:
    if not head.startswith((b"PK\3\4", b"PK\5\6", b"PK\7\x08")):
        return None
    if head[30:38] == b"mimetype":
        kind = head[38:128]
        for mime in ("application/epub+zip", "application/vnd.oasis.opendocument.text"):
            if kind.startswith(mime.encode()):
                return mime
    if b"[Content_Types].xml" in head:
        for folder, kind_of in _OFFICE:
            if folder in head:
                return f"application/vnd.openxmlformats-officedocument.{kind_of}"
    return "application/zip"


def _bitmap(head: bytes) -> str | None:
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "application/x-bzip2"
    sized = head.startswith(b"BM") and len(head) >= 18 and head[6:10] == b"\0\0\0\0"
    return "image/bmp" if sized and int.from_bytes(head[14:18], "little") in _BMP_HEADERS else None


def _program(head: bytes) -> str | None:
    return "application/vnd.microsoft.portable-executable" if head[:2] == b"MZ" and b"\0\0" in head[:64] else None


def _transport(head: bytes) -> str | None:
    return "video/mp2t" if len(head) > 376 and head[188] == head[376] == 0x47 else None


def _compressed(head: bytes) -> str | None:
    return "application/x-compress" if head[:2] in (b"\x1f\x9d", b"\x1f\xa0") else None


def _mpeg_audio(head: bytes) -> str | None:
    """MP3 or AAC without a tag: a frame followed by another where its header says."""
    if len(head) < 4 or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    if layer == 0:
        size = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5 if len(head) > 5 and version & 2 else 0
        # If a frame is longer than the head, its first header must suffice.
        good = size > 7 and (size + 1 >= len(head) or (head[size] == 0xFF and head[size + 1] & 0xF6 == 0xF0))
        return "audio/aac" if good else None
    rate, hertz = head[2] >> 4, head[2] >> 2 & 3
    if layer != 1 or version not in _MP3_HERTZ or rate in (0, 15) or hertz == 3:
        return None
    slot = 144 if version == 3 else 72
    kilobits = _MP3_RATES[0 if version == 3 else 1][rate]
    size = slot * 1000 * kilobits // _MP3_HERTZ[version][hertz] + (head[2] >> 1 & 1)
    follows = size + 1 >= len(head) or (head[size] == 0xFF and head[size + 1] & 0xFE == head[1] & 0xFE)
    return "audio/mpeg" if follows else None


_CLOSER: dict[bytes, Callable[[bytes], str | None]] = {
    b"R": _riff,
    b"F": _form,
    b"C": _flash,
    b"Z": _flash,
    b"O": _ogg,
    b"\x1a": _matroska,
    b"P": _zip,
    b"B": _bitmap,
    b"M": _program,
    b"G": _transport,
    b"\x1f": _compressed,
    b"\xff": _mpeg_audio,
}
_BY_FIRST = tuple(tuple((prefix, mime) for prefix, mime in _PREFIXES if prefix[0] == first) for first in range(256))

"""Small files of every format that ingest reads, and seeded damage to them: bytes cut, changed, moved, made to lie."""

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zlib
from collections.abc import Callable
from functools import cache
from random import Random

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import zstandard

from tests.filters.video.films import Film
from tests.pipelines.ingest.made_archives import Capture, pieces

TEXTS = ["The harbour was quiet that morning.", "Ein zweiter Text, größer als der erste.", "三番目の文章です。"]
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF)

Change = Callable[[Random, bytes], bytes]


def zstd(raw: bytes) -> bytes:
    """A frame."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(raw)


def lines() -> bytes:
    """JSON lines."""
    rows = ({"id": number, "text": text, "url": f"https://a.example/{number}"} for number, text in enumerate(TEXTS))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def table() -> pa.Table:
    """A table with columns of many kinds."""
    words = pa.array(["red", "blue", "red"]).dictionary_encode()
    return pa.table(
        {
            "text": TEXTS,
            "colour": words,
            "tags": pa.array([["a", "b"], [], None]),
            "nested": pa.array([{"x": 1, "y": [b"\x00"]}, None, {"x": None, "y": []}]),
            "when": pa.array([0, 1 << 40, None], pa.timestamp("us", tz="UTC")),
            "amount": pa.array([1, None, 3], pa.decimal128(20, 4)),
            "pairs": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "score": [0.5, float("nan"), 1.0],
        }
    )


def parquet(**options: object) -> bytes:
    """The table as Parquet."""
    out = io.BytesIO()
    pq.write_table(table(), out, row_group_size=2, **options)
    return out.getvalue()


def arrow(*, in_file: bool) -> bytes:
    """The table as an Arrow stream or file."""
    out = io.BytesIO()
    with (pa.ipc.new_file if in_file else pa.ipc.new_stream)(out, table().schema) as writer:
        for batch in table().to_batches(max_chunksize=2):
            writer.write_batch(batch)
    return out.getvalue()


def feather_of(compression: str) -> bytes:
    """The table as Feather."""
    out = io.BytesIO()
    feather.write_feather(table(), out, compression=compression)
    return out.getvalue()


def csv(delimiter: str) -> bytes:
    """Rows with quotes and line ends in them."""
    rows = ["id", "text"], *([str(number), f'"{text} ""so""\nhe said"'] for number, text in enumerate(TEXTS))
    return "".join(delimiter.join(row) + "\n" for row in rows).encode()


def tar(kind: int) -> bytes:
    """Samples of several members, with long names."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for number, text in enumerate(TEXTS):
            stem = f"{'long/' * 30 if number == 1 else ''}{number:04d}"
            for suffix, raw in {"png": picture("PNG"), "txt": text.encode(), "json": b'{"a": [1, 2]}'}.items():
                entry = tarfile.TarInfo(f"{stem}.{suffix}")
                entry.size = len(raw)
                archive.addfile(entry, io.BytesIO(raw))
    return out.getvalue()


def picture(kind: str, frames: int = 1) -> bytes:
    """A small picture or animation, with EXIF data where the format has them."""
    from PIL import Image

    exif = Image.Exif()
    exif[274] = 6
    shown = [Image.new("RGB", (64, 48), (40 * number, 90, 200)) for number in range(frames)]
    out = io.BytesIO()
    more = {"save_all": True, "append_images": shown[1:]} if frames > 1 else {}
    more |= {"exif": exif} if kind in ("PNG", "WEBP", "JPEG", "TIFF") else {}
    shown[0].save(out, kind, **more)
    return out.getvalue()


@cache
def seeds() -> dict[str, dict[str, bytes]]:
    """Files by the folder that they go to, then by the ending of their names."""
    captures = [Capture(f"https://a.example/{n}", f"<p>{text}</p>".encode()) for n, text in enumerate(TEXTS)]
    captures.append(Capture("https://a.example/p.png", picture("PNG"), mime="image/png"))
    warcs = {f".{kind}": b"".join(pieces(captures, kind)) for kind in ("warc", "warc.gz", "warc.zst", "arc", "arc.gz")}
    films = {
        ".mp4": Film("mp4", "mpeg4", frames=3, side=32),
        ".mkv": Film("matroska", "mpeg4", frames=3, side=32),
        ".avi": Film("avi", "mpeg4", frames=3, side=32),
    }
    return {
        "archives": warcs,
        "tables": {
            ".jsonl": lines(),
            ".jsonl.gz": gzip.compress(lines()[:60], mtime=0) + gzip.compress(lines()[60:], mtime=0),
            ".jsonl.zst": zstd(lines()[:60]) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd(lines()[60:]),
            ".csv": csv(","),
            ".tsv": csv("\t"),
            ".parquet": parquet(compression="zstd"),
            ".pq": parquet(use_dictionary=False, compression="none", data_page_version="2.0"),
            ".arrow": arrow(in_file=True),
            ".arrows": arrow(in_file=False),
            ".feather": feather_of("lz4"),
            ".ipc": feather_of("zstd"),
        },
        "tars": {f"-{kind}.tar": tar(kind) for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)},
        "pages": {
            ".html": f"<html><head><title>t</title></head><body><p>{TEXTS[0]}</p></body></html>".encode(),
            ".txt": "\n".join(TEXTS).encode(),
            ".xml": b'<?xml version="1.0" encoding="utf-16"?><a>' + TEXTS[1].encode("utf-16") + b"</a>",
            ".bin": bytes(range(256)),
        },
        "album": {
            ".png": picture("PNG"),
            ".apng": picture("PNG", 3),
            ".gif": picture("GIF", 3),
            ".webp": picture("WEBP", 3),
            ".jpg": picture("JPEG"),
            ".tiff": picture("TIFF", 2),
            ".avif": picture("AVIF", 2),
            ".bmp": picture("BMP"),
            ".ico": picture("ICO"),
            ".jp2": picture("JPEG2000"),
        },
        "films": {ending: film.encoded() for ending, film in films.items()},
    }


def damaged(random: Random, ending: str, raw: bytes) -> bytes:
    """The file after one to three changes, some of them to what is compressed in it."""
    pack = next((pack for end, (_, pack) in _PACKED.items() if ending.endswith(end)), None)
    if pack is not None and random.random() < 0.3:
        unpack = next(unpack for end, (unpack, _) in _PACKED.items() if ending.endswith(end))
        return pack(_changed(random, unpack(raw)))
    found = _changed(random, raw)
    return _with_checksums(found) if ending.endswith(".tar") and random.random() < 0.7 else found


def _changed(random: Random, raw: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        raw = random.choice(_CHANGES)(random, raw)
    return raw


def _place(random: Random, raw: bytes) -> int:
    """A place, mostly where headers and footers are."""
    size = max(len(raw), 1)
    return random.choice(
        (random.randrange(size), random.randrange(min(size, 256)), size - 1 - random.randrange(min(size, 400)))
    )


def _cut(random: Random, raw: bytes) -> bytes:
    return raw[: _place(random, raw)]


def _flip(random: Random, raw: bytes) -> bytes:
    at = _place(random, raw)
    return raw[:at] + bytes([(raw[at] if raw else 0) ^ 1 << random.randrange(8)]) + raw[at + 1 :]


def _number(random: Random, raw: bytes) -> bytes:
    at, width = _place(random, raw), random.choice((1, 2, 4, 8))
    number = (random.choice(NUMBERS) + random.choice((0, 0, 1, -1))) % (1 << 8 * width)
    return raw[:at] + number.to_bytes(width, random.choice(("little", "big"))) + raw[at + width :]


def _removed(random: Random, raw: bytes) -> bytes:
    at = _place(random, raw)
    return raw[:at] + raw[at + random.randrange(1, 64) :]


def _twice(random: Random, raw: bytes) -> bytes:
    at, length = _place(random, raw), random.randrange(1, 600)
    return raw[: at + length] + raw[at:]


def _zeros(random: Random, raw: bytes) -> bytes:
    at, length = _place(random, raw), random.randrange(1, 600)
    return raw[:at] + bytes(min(length, len(raw) - at)) + raw[at + length :]


def _inserted(random: Random, raw: bytes) -> bytes:
    at = _place(random, raw)
    return raw[:at] + random.randbytes(random.randrange(1, 40)) + raw[at:]


def _spliced(random: Random, raw: bytes) -> bytes:
    """Another format's bytes from some place on."""
    other = random.choice([one for files in seeds().values() for one in files.values()])
    at = _place(random, raw)
    return raw[:at] + other[_place(random, other) :]


_CHANGES: tuple[Change, ...] = (
    _cut,
    _flip,
    _flip,
    _number,
    _number,
    _number,
    _removed,
    _twice,
    _zeros,
    _inserted,
    _spliced,
)


def _gunzip(raw: bytes) -> bytes:
    return gzip.decompress(raw)


def _unzstd(raw: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader:
        return reader.read()


_PACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (_gunzip, lambda raw: gzip.compress(raw, mtime=0)),
    ".zst": (_unzstd, zstd),
}


def _with_checksums(raw: bytes) -> bytes:
    """The tar with the checksum of each of its blocks that looks like a header."""
    blocks = [raw[at : at + 512] for at in range(0, len(raw), 512)]
    for number, block in enumerate(blocks):
        if block[257:262] == b"ustar" and len(block) == 512:
            blank = block[:148] + b" " * 8 + block[156:]
            blocks[number] = block[:148] + b"%06o\0 " % sum(blank) + block[156:]
    return b"".join(blocks)


def animation(frames: int) -> bytes:
    """A PNG that claims so many frames."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"acTL", struct.pack(">II", frames, 0)) + pixels + chunk(b"IEND", b"")


def misindexed() -> bytes:
    """Parquet with a dictionary column whose indices, of two bits each, all name a fourth of its three values."""
    out = io.BytesIO()
    words = pa.array(["red", "blue", "green"]).dictionary_encode()
    pq.write_table(pa.table({"text": TEXTS, "colour": words}), out, compression="none")
    indices = b"\x02\x03\x24\x00"  # the width, one group of eight, and 0, 1, 2
    assert out.getvalue().count(indices) == 2  # of both columns
    return out.getvalue()[::-1].replace(indices[::-1], b"\x02\x03\x3f\x00"[::-1], 1)[::-1]


def named_badly() -> bytes:
    """An Arrow stream with a column whose name is not UTF-8."""
    return arrow(in_file=False).replace(b"colour", b"col\xffur", 1)


ODD: dict[str, dict[str, bytes]] = {
    "tables": {
        "-magic.jsonl.zst": b"\x28\xb5\x2f\xfd",
        "-header.jsonl.zst": b"\x28\xb5\x2f\xfd\xff\xff",
        "-bad.jsonl.zst": b"\x28\xb5\x2f\xfd" + b"\xff" * 30,
        "-skipped.jsonl.zst": b"\x50\x2a\x4d\x18\x03\0\0\0abc",
        "-cut.jsonl.zst": b"\x50\x2a\x4d\x18\x30\0\0\0abc",
        "-magic.jsonl.gz": b"\x1f\x8b",
        "-empty.jsonl.gz": gzip.compress(b"", mtime=0),
        "-bzip2.jsonl": bz2.compress(lines()),
        "-xz.jsonl": lzma.compress(lines()),
        "-reserved.jsonl.gz": b"\x1f\x8b\x08\xe0" + gzip.compress(lines(), mtime=0)[4:],
        "-name.arrows": named_badly(),
        "-index.parquet": misindexed(),
    },
    "album": {"-frames.png": animation(0xFFFF_FFFF), "-many.png": animation(1 << 31)},
}
"""Files that were each found to stop everything, or to be accounted for in two ways."""

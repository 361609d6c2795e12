"""Walks through a file's parts: what is within a part, and how often anything is looked at."""

import struct
from itertools import islice

import pytest

from winnow.filters.image.decode.containers import (
    MOST_LOOKS,
    CutError,
    InMemoryBytes,
    Part,
    UnreadableError,
    Walk,
    boxes,
    boxes_at,
    gif_blocks,
    jpeg_segments,
    png_chunks,
    riff_chunks,
    tiff_entries,
    tiff_following,
    tiff_numbers,
    tiff_order,
    tiff_start,
    tiff_values,
    with_segments,
)

CONTENT = b"0123456789"


def walk(content: bytes, looks: int = MOST_LOOKS) -> Walk:
    return Walk(InMemoryBytes(content), looks)


@pytest.mark.parametrize(
    ("start", "size", "held"),
    [
        *((2, 3, b"234"), (0, 10, CONTENT), (9, 1, b"9"), (4, 0, b"")),
        *((8, 100, b"89"), (10, 1, b""), (11, 1, b""), (100, 100, b"")),  # the file ends within it, or before it
    ],
)
def test_a_part_is_as_long_as_the_file_has_it(start: int, size: int, held: bytes) -> None:
    inside = walk(CONTENT).within(Part(b"", start, size))
    assert inside.size == len(held)
    assert inside.at(0, len(held)) == held
    with pytest.raises(CutError):
        inside.at(0, len(held) + 1)
    with pytest.raises(CutError):
        inside.at(len(held), 1)


def test_a_part_of_a_part_has_its_place_in_it() -> None:
    inside = walk(CONTENT).within(Part(b"", 2, 6)).within(Part(b"", 1, 100))
    assert (inside.size, inside.at(0, 5)) == (5, b"34567")


def test_looks_within_a_part_are_its_own_and_no_more_than_are_left() -> None:
    outer = walk(CONTENT, 3)
    outer.at(0, 1)
    inside = outer.within(Part(b"", 2, 6))
    assert [inside.at(0, 1) for _ in range(2)] == [b"2", b"2"]
    with pytest.raises(UnreadableError):
        inside.at(0, 1)
    assert outer.left == 2
    outer.count(2)
    with pytest.raises(UnreadableError):
        outer.count(1)


def jpeg(*segments: tuple[int, bytes]) -> bytes:
    made = [struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content for marker, content in segments]
    return b"\xff\xd8" + b"".join(made) + b"\xff\xda" + bytes(8)


def test_the_segments_of_a_jpeg_file_are_the_same_whether_it_was_walked_through_before() -> None:
    plain = jpeg((0xE0, b"J" * 300), (0xC0, b"size"))
    for before in (b"", b"\xff", b"\xff\xff", b"\xff\x01\xff\xd7"):  # padding, and markers without a segment
        content = plain.replace(b"\xff\xc0", before + b"\xff\xc0")
        expected = [Part(b"\xe0", 6, 300), Part(b"\xc0", 310 + len(before), 4)]
        assert list(jpeg_segments(walk(content))) == expected
        assert list(jpeg_segments(Walk(with_segments(content)))) == expected


def test_a_file_may_end_with_the_marker_of_its_scan() -> None:
    content = jpeg((0xE0, b"abc"))[:-8]
    assert list(jpeg_segments(walk(content))) == list(jpeg_segments(walk(content + bytes(2)))) == [Part(b"\xe0", 6, 3)]


@pytest.mark.parametrize("cut", [2, 3, 5, 7])
def test_a_cut_header_of_a_segment_ends_both_walks(cut: int) -> None:
    content = jpeg((0xE0, b"abc"))[:2] + b"\xff\xe0\x00\x05"[: cut - 2]
    for image in (InMemoryBytes(content), with_segments(content)):
        with pytest.raises(UnreadableError):
            list(jpeg_segments(Walk(image)))


def test_no_more_segments_are_looked_at_than_a_walk_may() -> None:
    content = jpeg(*[(0xE1, b"")] * 100)
    for image in (InMemoryBytes(content), with_segments(content)):
        left = Walk(image)
        assert len(list(jpeg_segments(left))) == 100
        looks = MOST_LOOKS - left.left
        assert looks == 201  # two of each segment, and one of the scan
        assert len(list(jpeg_segments(Walk(image, looks)))) == 100
        with pytest.raises(UnreadableError):
            list(jpeg_segments(Walk(image, looks - 1)))
        found = jpeg_segments(Walk(image, 20))
        assert len(list(islice(found, 10))) == 10
        with pytest.raises(UnreadableError):
            next(found)


def test_the_chunks_of_a_png_file() -> None:
    chunks = b"".join(struct.pack(">I4s", len(one), b"kind") + one + bytes(4) for one in (b"abc", b""))
    content = b"\x89PNG\r\n\x1a\n" + chunks
    expected = [Part(b"kind", 16, 3), Part(b"kind", 31, 0)]
    assert list(png_chunks(walk(content))) == expected
    assert list(png_chunks(walk(content[:31]))) == expected
    assert list(png_chunks(walk(content[:30]))) == expected[:1]


def test_the_chunks_of_a_riff_file_end_where_it_says_and_have_even_lengths() -> None:
    chunks = struct.pack("<4sI", b"odd ", 3) + b"abc\0" + struct.pack("<4sI", b"even", 2) + b"de"
    content = b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks
    expected = [Part(b"odd ", 20, 3), Part(b"even", 32, 2)]
    assert list(riff_chunks(walk(content))) == expected
    assert list(riff_chunks(walk(content + chunks))) == expected
    with pytest.raises(UnreadableError):
        list(riff_chunks(walk(content[:-1])))
    empty = content[:4] + struct.pack("<I", 4 + len(chunks) + 8) + content[8:] + struct.pack("<4sI", b"last", 0)
    assert list(riff_chunks(walk(empty))) == [*expected, Part(b"last", 42, 0)]
    shorter = content[:4] + struct.pack("<I", 4 + 12 + 7) + content[8:]
    assert list(riff_chunks(walk(shorter))) == expected[:1]


@pytest.mark.parametrize("colours", [0, 2, 256])
def test_the_blocks_of_a_gif_file(colours: int) -> None:
    flags = 7 if not colours else 0x80 | colours.bit_length() - 2
    table = bytes(3 * colours)
    head = b"GIF89a" + bytes(4) + bytes([flags, 0, 0]) + table
    extension, frame = b"!\xf9\x02ab\x00", b"," + bytes(8) + bytes([flags]) + table + b"\x08\x01c\x01d\x00"
    at = len(head)
    expected = [Part(b"!\xf9", at + 2, 4), Part(b",", at + 7, len(frame) - 1)]
    for end in (b";", b";junk", b""):
        assert list(gif_blocks(walk(head + extension + frame + end))) == expected
    with pytest.raises(UnreadableError):
        list(gif_blocks(walk(head + extension + b"?")))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("big", [False, True])
def test_a_directory_of_a_tiff_file(order: str, big: bool) -> None:
    pointer, count, place, step = ("Q", "Q", 16, 20) if big else ("I", "H", 8, 12)
    held = struct.calcsize(pointer)
    entries = [(256, 3, 1, b"\x07\x00" if order == "<" else b"\x00\x07"), (273, 4, 3, None), (270, 2, 3, b"ab\0")]
    entries += [
        (256, 3, 1, b"\x08\x08"),
        (257, 4, 1, struct.pack(f"{order}I", 1 << 30)),
        (33434, 5, 1, None if not big else bytes(8)),
    ]
    lists = place + struct.calcsize(count) + len(entries) * step + held
    head = struct.pack(f"{order}2sH", b"II" if order == "<" else b"MM", 43 if big else 42)
    head += struct.pack(f"{order}HHQ", 8, 0, 16) if big else struct.pack(f"{order}I", 8)
    body = struct.pack(order + count, len(entries))
    for tag, kind, values, inline in entries:
        value = struct.pack(order + pointer, lists) if inline is None else inline.ljust(held, b"\0")
        body += struct.pack(f"{order}HH{pointer}", tag, kind, values) + value
    content = head + body + struct.pack(order + pointer, 77) + struct.pack(f"{order}3I", 10, 20, 30)
    file = walk(content)
    assert (tiff_order(file), tiff_start(file), tiff_following(file, place)) == (order, place, 77)
    assert tiff_numbers(file, place, (257, 256, 270, 999)) == {256: 7, 257: 1 << 30}
    found = dict[int, list[Part]]()
    for tag, part in tiff_entries(file, place):
        found.setdefault(tag, []).append(part)
    first = place + struct.calcsize(count) + 4 + held
    assert found[256] == [Part(b"H", first, 2), Part(b"H", first + 3 * step, 2)]
    assert found[273] == [Part(b"I", lists, 12)]
    assert found[270] == [Part(b"s", first + 2 * step, 3)]
    assert found[33434] == [Part(b"", first + 5 * step if big else lists, 8)]
    read = [tiff_values(file, found[tag][0]) for tag in (256, 273, 270, 33434)]
    assert read == [(7,), (10, 20, 30), (), ()]


def test_a_list_of_a_tiff_file_is_read_up_to_a_mebibyte() -> None:
    content = b"II*\0" + bytes(1 << 20)
    assert len(tiff_values(walk(content), Part(b"H", 4, 1 << 20))) == 1 << 19
    assert tiff_values(walk(content + bytes(2)), Part(b"H", 4, (1 << 20) + 2)) == ()


def box(kind: bytes, content: bytes, length: int | None = None) -> bytes:
    return struct.pack(">I4s", 8 + len(content) if length is None else length, kind) + content


def test_boxes_end_at_the_first_that_does_not_fit() -> None:
    large = struct.pack(">I4sQ", 1, b"larg", 19) + b"abc"
    content = box(b"empt", b"") + large + box(b"rest", b"de", 0)
    expected = [Part(b"empt", 8, 0), Part(b"larg", 24, 3), Part(b"rest", 35, 2)]
    assert list(boxes(walk(content))) == expected
    assert list(boxes(walk(content), 8)) == expected[1:]
    assert list(boxes(walk(content[:8]))) == expected[:1]
    assert list(boxes(walk(content), 0, 27)) == expected[:2]
    assert list(boxes(walk(content), 0, 26)) == expected[:1]
    assert list(boxes(walk(content), 0, 15)) == expected[:1]
    for length in (2, 7):  # less than its own head
        assert list(boxes(walk(box(b"bad ", b"abc", length) + content))) == []
    assert list(boxes(walk(box(b"long", b"abc", 12)))) == []


def test_boxes_are_found_under_each_that_has_the_kind_of_the_path() -> None:
    def inner(number: int) -> bytes:
        return box(b"leaf", bytes(number))

    meta = box(b"meta", bytes(4) + inner(3))
    content = box(b"trak", inner(1)) + box(b"othr", inner(2)) + box(b"trak", inner(4) + inner(5))
    assert [part.size for part in boxes_at(walk(content), b"trak", b"leaf")] == [1, 4, 5]
    assert [part.size for part in boxes_at(walk(content + meta), b"meta", b"leaf")] == [3]
    assert list(boxes_at(walk(content), b"trak", b"none")) == []

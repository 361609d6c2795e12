"""The lists of words in Tesseract's models, read from their files without Tesseract.

A model is a container of parts; the words of its network are a graph whose edges are numbers of 64 bits, the lowest of
which are a character's number in the model's list of characters.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_WORDS, _CHARACTERS = 19, 21  # places in the container
_MAGIC = 42
_LAST, _BACKWARD, _END = 1, 2, 4  # flags of an edge
_MOST_LETTERS = 40


def words(path: Path) -> list[str]:
    """Every word of a model's list; none where it has no list."""
    parts = _parts(path.read_bytes())
    if _WORDS not in parts or _CHARACTERS not in parts:
        return []
    lines = parts[_CHARACTERS].decode("utf-8").split("\n")
    letters = [line.split(" ", 1)[0] for line in lines[1 : int(lines[0]) + 1]]
    return sorted(_walk(parts[_WORDS], letters))


def _parts(data: bytes) -> dict[int, bytes]:
    (count,) = struct.unpack_from("<i", data)
    starts = struct.unpack_from(f"<{count}q", data, 4)
    held = sorted((start, number) for number, start in enumerate(starts) if start >= 0)
    ends = [start for start, _ in held[1:]] + [len(data)]
    return {number: data[start:end] for (start, number), end in zip(held, ends, strict=True)}


def _walk(graph: bytes, letters: list[str]) -> Iterator[str]:
    magic, characters, count = struct.unpack_from("<hii", graph)
    if magic != _MAGIC:
        raise ValueError("not a graph of words")
    edges = np.frombuffer(graph, "<u8", count, 10).tolist()
    bits = characters.bit_length()
    mask = (1 << bits) - 1
    nowhere = (1 << (64 - bits - 3)) - 1
    stack = [(0, "")]
    while stack:
        edge, prefix = stack.pop()
        while True:
            value = edges[edge]
            flags, target = value >> bits & 7, value >> bits + 3
            letter = letters[value & mask] if value & mask < len(letters) else ""
            if not flags & _BACKWARD and value & mask < len(letters):
                word = prefix + letter
                if flags & _END:
                    yield word
                if target not in (0, nowhere) and len(word) < _MOST_LETTERS:
                    stack.append((target, word))
            if flags & _LAST:
                break
            edge += 1

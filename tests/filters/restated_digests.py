"""MurmurHash3 x64 128 with the seed 0 once more, in plain Python, from its author's description."""

_MASK = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _finalised(value: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & _MASK
    return value ^ value >> 33


def digest_of(content: bytes) -> bytes:
    """The digest of some bytes."""
    first = second = 0
    whole = len(content) - len(content) % 16
    for at in range(0, whole + 1, 16):
        one = int.from_bytes(content[at : at + 8], "little")
        two = int.from_bytes(content[at + 8 : at + 16], "little")
        first ^= _rotated(one * _C1 & _MASK, 31) * _C2 & _MASK
        if at == whole:  # what is left over is not mixed any further
            second ^= _rotated(two * _C2 & _MASK, 33) * _C1 & _MASK
            break
        first = ((_rotated(first, 27) + second) * 5 + 0x52DCE729) & _MASK
        second ^= _rotated(two * _C2 & _MASK, 33) * _C1 & _MASK
        second = ((_rotated(second, 31) + first) * 5 + 0x38495AB5) & _MASK
    first, second = first ^ len(content), second ^ len(content)
    first = first + second & _MASK
    second = second + first & _MASK
    first, second = _finalised(first), _finalised(second)
    first = first + second & _MASK
    second = second + first & _MASK
    return first.to_bytes(8, "little") + second.to_bytes(8, "little")

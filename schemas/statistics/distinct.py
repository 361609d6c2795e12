"""The approximate number of distinct values: HyperLogLog, merged by the union of registers.

Flajolet et al. 2007, with 64-bit hashes and the estimator of Ertl, "New cardinality estimation algorithms for
HyperLogLog sketches" (2017, algorithm 6), which needs no table and is unbiased for small counts. The registers depend
only on the set of values, not on their order or repetition.
"""

import base64
import hashlib
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

PRECISION = 12
REGISTERS = 1 << PRECISION
RELATIVE_ERROR = 1.04 / math.sqrt(REGISTERS)  # one standard deviation: 1.6 %

_REST_BITS = 64 - PRECISION
_REST_MASK = np.uint64((1 << _REST_BITS) - 1)
_MAX_RANK = _REST_BITS + 1
_SPARSE_DIGITS = 5  # three hex digits name a register, two its rank


def value_hash(value: bytes | memoryview) -> bytes:
    """64 bits of blake2b."""
    return hashlib.blake2b(value, digest_size=8).digest()


class Distinct:
    """The registers of a HyperLogLog sketch."""

    __slots__ = ("registers",)

    def __init__(self, registers: NDArray[np.uint8] | None = None):
        self.registers = np.zeros(REGISTERS, np.uint8) if registers is None else registers

    def add(self, values: Iterable[bytes | memoryview]) -> None:
        """Add values."""
        self.add_hashes(np.frombuffer(b"".join(map(value_hash, values)), "<u8"))

    def add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Add values by their 64-bit hashes."""
        rest = (hashes & _REST_MASK).astype(np.float64)  # 52 bits: exact, so its exponent is its bit length
        _, bit_length = np.frexp(rest)
        ranks = (_MAX_RANK - bit_length).astype(np.uint8)
        np.maximum.at(self.registers, (hashes >> np.uint64(_REST_BITS)).astype(np.intp), ranks)

    def absorb(self, other: "Distinct") -> None:
        """Merge with another sketch, in place."""
        self.registers = np.maximum(self.registers, other.registers)

    def estimate(self) -> int:
        """The estimated number of distinct values."""
        by_rank = np.bincount(self.registers, minlength=_MAX_RANK + 1).tolist()
        if by_rank[0] == REGISTERS:
            return 0
        total = REGISTERS * _tau(1 - by_rank[_MAX_RANK] / REGISTERS)
        for count in reversed(by_rank[1:_MAX_RANK]):
            total = 0.5 * (total + count)
        total += REGISTERS * _sigma(by_rank[0] / REGISTERS)
        return round(REGISTERS * REGISTERS / (2 * math.log(2) * total)) if total else 1 << 64

    def to_json(self) -> str:
        """Text: only the used registers if they are few, else all."""
        used = np.flatnonzero(self.registers)
        if len(used) * _SPARSE_DIGITS < REGISTERS:
            return "sparse:" + "".join(f"{index:03x}{self.registers[index]:02x}" for index in used.tolist())
        return "dense:" + base64.b64encode(self.registers.tobytes()).decode()

    @classmethod
    def from_json(cls, value: str) -> "Distinct":
        """The inverse of `to_json`; ValueError if the text is invalid."""
        form, _, written = value.partition(":")
        registers = np.zeros(REGISTERS, np.uint8)
        if form == "sparse" and len(written) % _SPARSE_DIGITS == 0:
            for start in range(0, len(written), _SPARSE_DIGITS):
                registers[int(written[start : start + 3], 16)] = int(written[start + 3 : start + _SPARSE_DIGITS], 16)
        elif form == "dense":
            registers = np.frombuffer(base64.b64decode(written, validate=True), np.uint8).copy()
        else:
            raise ValueError("a sketch is neither sparse nor dense")
        if len(registers) != REGISTERS or int(registers.max()) > _MAX_RANK:
            raise ValueError(f"a sketch does not hold {REGISTERS} ranks")
        return cls(registers)


def _sigma(share: float) -> float:
    if share == 1:
        return math.inf
    weight, total = 1.0, share
    while True:
        share *= share
        before, total = total, total + share * weight
        weight += weight
        if total == before:
            return total


def _tau(share: float) -> float:
    if share in (0, 1):
        return 0.0
    weight, total = 1.0, 1 - share
    while True:
        share = math.sqrt(share)
        weight *= 0.5
        before, total = total, total - (1 - share) * (1 - share) * weight
        if total == before:
            return total / 3

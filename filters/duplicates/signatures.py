"""MinHash signatures, bit for bit as in datasketch 2.0's scheme `affine32`, over winnow's shingles.

Two texts' similarity is the share of common shingles among all (Jaccard); the share of equal positions in their
signatures estimates it. A text's row depends only on that text and the scheme.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.normal_form import Unit, forms
from winnow.filters.duplicates.shingle_hashes import DONE, PLACES, RING, ROOM, SUMS, begin, digest_of, walk
from winnow.filters.duplicates.shingles import characters32, power_of, words32
from winnow.filters.language.kernels.spans import texts_of
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.kernels import kernel, leaf

if TYPE_CHECKING:
    from datasketch import MinHash

_FAMILY = "affine32"
_AT_A_TIME = 2048  # hashes: they and their permutations stay in the first cache
_LANES = 64  # hashes are permuted this many at a time; the last group is padded
_NO_HASH = np.uint32(0xFFFFFFFF)
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Scheme:
    """How signatures are made. Signatures of different schemes cannot be compared."""

    unit: Unit = "words"
    size: int = 5  # units of a shingle
    hashes: int = 112  # 14 bands of 8, as FineWeb
    seed: int = 1  # datasketch's

    @property
    def name(self) -> str:
        """The scheme's name, such as `affine32/words-5x112/1`."""
        return f"{_FAMILY}/{self.unit}-{self.size}x{self.hashes}/{self.seed}"

    def permutations(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The factors and summands of every hash, drawn as in datasketch."""
        drawn = np.random.RandomState(self.seed)
        factors = drawn.randint(0, 1 << 31, self.hashes, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
        return factors, drawn.randint(0, 1 << 32, self.hashes, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Signed:
    """One row per text. A text without units has no shingles, and its signature and digest are meaningless."""

    signature: NDArray[np.uint32]  # [texts, hashes]
    digest: NDArray[np.uint8]  # [texts, 16]: equal for equal sequences of units
    shingles: NDArray[np.int64]  # their number, with repeats


def sign(texts: pa.LargeStringArray, scheme: Scheme) -> Signed:
    """The signature of every text."""
    column = texts_of(texts)
    factors, summands = _permutations(scheme)
    signature, digest, shingles = _sign(
        column.buffer, column.offsets, *forms(), scheme.unit == "words", scheme.size, _power(scheme), factors, summands
    )
    return Signed(signature, digest.view(np.uint8), shingles)


def shingle_sets(
    texts: pa.LargeStringArray, scheme: Scheme, limit: int = 1 << 18
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The distinct 64-bit hashes of every text's shingles, ascending.

    Args:
        texts: Some texts.
        scheme: Only its unit and size matter.
        limit: For a text with more distinct shingles the smallest hashes are kept, which are a fair sample.

    Returns:
        The start of each text's hashes with the end of the last, and the hashes.
    """
    column = texts_of(texts)
    offsets, values = _sets(
        column.buffer, column.offsets, *forms(), scheme.unit == "words", scheme.size, _power(scheme), limit
    )
    return offsets, values


def to_datasketch(signature: NDArray[np.uint32], scheme: Scheme) -> "MinHash":
    """Convert a signature to datasketch's MinHash, whose `update` may add shingles (`shingles_of`)."""
    try:
        from datasketch import MinHash
    except ModuleNotFoundError:
        raise RecipeError("converting signatures needs the package datasketch; run: pip install datasketch"
                          ) from None  # fmt: skip
    if signature.shape != (scheme.hashes,):
        raise SourceError(f"a signature of {scheme.name} has {scheme.hashes} hashes; found shape {signature.shape}")
    return MinHash(
        seed=scheme.seed, hashfunc=_hash_function(scheme), hashvalues=signature.astype(np.uint32), scheme=_FAMILY
    )


def from_datasketch(minhash: "MinHash", scheme: Scheme) -> NDArray[np.uint32]:
    """Convert datasketch's MinHash to a signature.

    Raises:
        SourceError: It was made by another scheme; the message names the difference.
    """
    function = _hash_function(scheme)
    for what, found, expected in (
        ("scheme", getattr(minhash, "scheme", "legacy"), _FAMILY),
        ("seed", minhash.seed, scheme.seed),
        ("num_perm", len(minhash.hashvalues), scheme.hashes),
        ("hashfunc", _named(getattr(minhash, "hashfunc", function)), _named(function)),
    ):
        if found != expected:
            raise SourceError(
                f"the MinHash does not have the scheme {scheme.name}: its {what} is {found!r}, not {expected!r}; "
                f"make it with MinHash(scheme={_FAMILY!r}, seed={scheme.seed}, num_perm={scheme.hashes}, "
                f"hashfunc={function.__name__}) from shingles_of(text, {scheme.unit!r}, {scheme.size})"
            )
    permutations = getattr(minhash, "permutations", None)  # a LeanMinHash has none
    if permutations is not None and not np.array_equal(permutations, np.array(scheme.permutations())):
        raise SourceError(f"the MinHash does not have the scheme {scheme.name}: it was given other permutations")
    return np.asarray(minhash.hashvalues, np.uint32).copy()


def _hash_function(scheme: Scheme):  # type: ignore[no-untyped-def]
    return words32 if scheme.unit == "words" else characters32


def _named(function: object) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"


@lru_cache(maxsize=8)
def _permutations(scheme: Scheme) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    return scheme.permutations()


def _power(scheme: Scheme) -> np.uint64:
    return np.uint64(power_of(scheme.size))


@kernel
def _sign(  # type: ignore[no-untyped-def]
    buffer, offsets, pages, values, entries, pool, words, size, power, factors, summands
):
    count = len(offsets) - 1
    signature = np.full((count, len(factors)), _NO_HASH, np.uint32)
    digest = np.zeros((count, 2), np.uint64)
    shingles = np.zeros(count, np.int64)
    places, sums, ring = np.empty(PLACES, np.int64), np.empty(SUMS, np.uint64), np.empty(RING, np.uint64)
    hashes = np.empty(_AT_A_TIME + ROOM, np.uint64)
    mixed = np.empty(len(hashes) + _LANES, np.uint32)
    for row in range(count):
        begin(offsets[row], places, sums, ring)
        while places[DONE] == 0:
            filled = walk(
                buffer, offsets[row + 1], pages, values, entries, pool, words, size, power, places, sums, ring, hashes
            )
            shingles[row] += filled
            if filled:
                permute(hashes, filled, mixed, factors, summands, signature[row])
        if shingles[row]:
            digest_of(places, sums, digest[row])
    return signature, digest, shingles


@leaf
def permute(hashes, count, mixed, factors, summands, lowest):  # type: ignore[no-untyped-def]
    """Update a signature's minima with these hashes."""
    for at in range(count):
        value = np.uint32(hashes[at] >> _HALF)
        value = np.uint32(value ^ np.uint32(value >> np.uint32(16)))
        value = np.uint32(value * np.uint32(0x85EBCA6B))
        value = np.uint32(value ^ np.uint32(value >> np.uint32(13)))
        value = np.uint32(value * np.uint32(0xC2B2AE35))
        mixed[at] = np.uint32(value ^ np.uint32(value >> np.uint32(16)))
    whole = (count + _LANES - 1) // _LANES * _LANES
    for at in range(count, whole):
        mixed[at] = mixed[0]
    place = 0
    while place + 4 <= len(factors):
        a0, a1, a2, a3 = factors[place], factors[place + 1], factors[place + 2], factors[place + 3]
        b0, b1, b2, b3 = summands[place], summands[place + 1], summands[place + 2], summands[place + 3]
        m0, m1, m2, m3 = lowest[place], lowest[place + 1], lowest[place + 2], lowest[place + 3]
        for at in range(whole):
            value = mixed[at]
            m0 = min(m0, np.uint32(np.uint32(value * a0) + b0))
            m1 = min(m1, np.uint32(np.uint32(value * a1) + b1))
            m2 = min(m2, np.uint32(np.uint32(value * a2) + b2))
            m3 = min(m3, np.uint32(np.uint32(value * a3) + b3))
        lowest[place], lowest[place + 1], lowest[place + 2], lowest[place + 3] = m0, m1, m2, m3
        place += 4
    while place < len(factors):
        m0 = lowest[place]
        for at in range(whole):
            m0 = min(m0, np.uint32(np.uint32(mixed[at] * factors[place]) + summands[place]))
        lowest[place] = m0
        place += 1


@kernel
def _sets(buffer, offsets, pages, values, entries, pool, words, size, power, limit):  # type: ignore[no-untyped-def]
    count = len(offsets) - 1
    bounds = np.zeros(count + 1, np.int64)
    found = np.empty((offsets[-1] - offsets[0]) // 4 + 64, np.uint64)
    places, sums, ring = np.empty(PLACES, np.int64), np.empty(SUMS, np.uint64), np.empty(RING, np.uint64)
    hashes = np.empty(_AT_A_TIME + ROOM, np.uint64)
    gathered = np.empty(2 * limit + len(hashes), np.uint64)  # untouched pages cost no memory
    for row in range(count):
        begin(offsets[row], places, sums, ring)
        used, beyond = 0, np.uint64(0xFFFFFFFFFFFFFFFF)
        while places[DONE] == 0:
            filled = walk(
                buffer, offsets[row + 1], pages, values, entries, pool, words, size, power, places, sums, ring, hashes
            )
            for at in range(filled):
                if hashes[at] <= beyond:
                    gathered[used] = hashes[at]
                    used += 1
            if used > 2 * limit:
                used = _distinct(gathered, used, limit)
                if used == limit:
                    beyond = gathered[used - 1]
        used = _distinct(gathered, used, limit)
        total = bounds[row]
        if total + used > len(found):
            larger = np.empty(max(total + used, 2 * len(found)), np.uint64)
            larger[:total] = found[:total]
            found = larger
        found[total : total + used] = gathered[:used]
        bounds[row + 1] = total + used
    return bounds, found[: bounds[-1]].copy()


@kernel
def _distinct(values, used, limit):  # type: ignore[no-untyped-def]
    """Sort the first values and drop duplicates; returns their number, at most the limit."""
    values[:used].sort()
    count = 0
    for at in range(used):
        if count == 0 or values[at] != values[count - 1]:
            values[count] = values[at]
            count += 1
    return min(count, limit)

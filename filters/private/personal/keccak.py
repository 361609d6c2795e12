"""Keccak-256 as Ethereum and Monero use it: SHA-3 before its padding was changed, which no standard library has."""

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import leaf

__all__ = ["CONSTANTS", "STATE_LANES", "keccak_256"]

STATE_LANES = 55
"""Lanes of 64 bits that a caller gives to work in: 25 of the state, 25 to rotate into, and 5 of columns."""

_RATE = 136


def _round_constants() -> npt.NDArray[np.uint64]:
    """The 24 constants of the step iota, by the linear feedback shift register of FIPS 202, 3.2.5."""
    constants, state = [], 1
    for _ in range(24):
        lane = 0
        for power in range(7):
            if state & 1:
                lane |= 1 << ((1 << power) - 1)
            state = state << 1 ^ (0x171 if state & 0x80 else 0)
        constants.append(lane)
    return np.array(constants, np.uint64)


def _rotations() -> npt.NDArray[np.uint64]:
    """How far each lane is rotated, then where it goes to: the steps rho and pi."""
    offsets, targets = [0] * 25, [0] * 25
    x, y = 1, 0
    for step in range(24):
        offsets[x + 5 * y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    for lane in range(25):
        x, y = lane % 5, lane // 5
        targets[lane] = y + 5 * ((2 * x + 3 * y) % 5)
    return np.array([*offsets, *targets], np.uint64)


CONSTANTS: npt.NDArray[np.uint64] = np.concatenate([_round_constants(), _rotations()])
"""What `keccak_256` needs to know, given by its caller."""


@leaf  # type: ignore[untyped-decorator]
def _rotated(lane: np.uint64, by: np.uint64) -> np.uint64:
    if by == np.uint64(0):
        return lane
    return (lane << by) | (lane >> (np.uint64(64) - by))


@leaf  # type: ignore[untyped-decorator]
def keccak_256(
    message: npt.NDArray[np.uint8], size: int, state: npt.NDArray[np.uint64], constants: npt.NDArray[np.uint64]
) -> None:
    """Hash up to 135 bytes of a message: the first four lanes of the state are the 32 bytes, little end first."""
    for lane in range(25):
        state[lane] = np.uint64(0)
    for at in range(size):
        state[at // 8] ^= np.uint64(message[at]) << np.uint64(8 * (at % 8))
    state[size // 8] ^= np.uint64(1) << np.uint64(8 * (size % 8))
    state[_RATE // 8 - 1] ^= np.uint64(1) << np.uint64(63)
    for turn in range(24):
        for x in range(5):
            state[50 + x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]
        for x in range(5):
            mixed = state[50 + (x + 4) % 5] ^ _rotated(state[50 + (x + 1) % 5], np.uint64(1))
            for y in range(0, 25, 5):
                state[x + y] ^= mixed
        for lane in range(25):
            state[25 + np.int64(constants[49 + lane])] = _rotated(state[lane], constants[24 + lane])
        for y in range(0, 25, 5):
            for x in range(5):
                state[x + y] = state[25 + x + y] ^ (~state[25 + (x + 1) % 5 + y] & state[25 + (x + 2) % 5 + y])
        state[0] ^= constants[turn]

"""How many examples hypothesis makes for each property, and how long bait is: a sixth or five, and a quarter, in
`make test`; all in `make test-all`."""

import os

THOROUGH = os.environ.get("WINNOW_TEST_THOROUGH") == "1"
QUICK_EXAMPLES = 16


def scaled(thorough: int) -> int:
    """The examples for one property that takes so many when all are asked for."""
    return thorough if THOROUGH else max(min(thorough, 5), thorough // 6)


def bait_bytes(thorough: int) -> int:
    """The size of a text that must be read in linear time: at a quarter, the square still takes minutes."""
    return thorough if THOROUGH else thorough // 4

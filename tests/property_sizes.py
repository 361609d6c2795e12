"""How many examples hypothesis makes for each property: a sixth, or five, in `make test`; all in `make test-all`."""

import os

THOROUGH = os.environ.get("WINNOW_TEST_THOROUGH") == "1"
QUICK_EXAMPLES = 16


def scaled(thorough: int) -> int:
    """The examples for one property that takes so many when all are asked for."""
    return thorough if THOROUGH else max(min(thorough, 5), thorough // 6)

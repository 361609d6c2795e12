"""How many examples hypothesis makes for each property: a sixth in `make test`, all in `make test-all`."""

import os

THOROUGH = os.environ.get("WINNOW_TEST_THOROUGH") == "1"
QUICK_EXAMPLES = 20


def scaled(thorough: int) -> int:
    """The examples for one property that takes so many when all are asked for."""
    return thorough if THOROUGH else max(min(thorough, 10), thorough // 6)

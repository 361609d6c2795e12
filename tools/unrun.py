"""Names the tests that every step of a check skipped: each wants an asset or a package that no step brought.

    python -m tools.unrun RECORD

RECORD is what `tests/outcomes.py` wrote. The exit status is 1 if a test ran nowhere and no entry of `ELSEWHERE` says
why it cannot run in a check.
"""

import json
import re
import sys
from pathlib import Path

ELSEWHERE = {
    r"this user may read every file": "it runs where the user is not root",
    r"(jieba|KenLM|tokenizers) is (installed )?here": "it is of machines without the package, as a wheel's users have",
}
"""Reasons of skips, as patterns, that a check accepts, each with why."""


def unrun(lines: list[str]) -> dict[str, str]:
    """The tests, or whole files, that were skipped wherever they came up, and the last reason of each."""
    ran, skipped = set(), {}
    for line in lines:
        one = json.loads(line)
        if one["outcome"] == "ran":
            ran |= {one["test"], one["test"].partition("::")[0]}
        else:
            skipped[one["test"]] = one["reason"]
    return {test: reason for test, reason in skipped.items() if test not in ran}


def main() -> int:
    """Prints the tests that nothing ran."""
    left = unrun(Path(sys.argv[1]).read_text("utf-8").splitlines())
    wrong = {test: why for test, why in left.items() if not any(re.search(known, why) for known in ELSEWHERE)}
    for test, why in sorted(wrong.items()):
        print(f"{test}: skipped in every step: {why}")
    print(f"{len(wrong)} tests ran in no step; {len(left) - len(wrong)} more cannot run in a check")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""A peer of few lines for the tests: it drops a text with fewer lines than it is told, and says how many there are.

What the text asks for makes it misbehave: `count wrongly`, `drop it`, `call it thin`, `raise`, `die`, `shout`.
"""

import os
import sys

VERSION_OF = "pyarrow"


def open_peer(settings):  # type: ignore[no-untyped-def]
    least = settings["least"]

    def judge(document):  # type: ignore[no-untyped-def]
        text = document["text"]
        lines = sum(bool(line.strip()) for line in text.split("\n")) + ("count wrongly" in text)
        if "raise" in text:
            raise ZeroDivisionError("division by zero")
        if "die" in text:
            print("the peer has no more memory", file=sys.stderr)
            os._exit(3)
        if "shout" in text:
            print("this is no answer")
        few = lines < least or "drop it" in text
        return {
            "reason": ("thin" if "call it thin" in text else "few lines") if few else None,
            "values": {"lines": lines, "half": lines / 3},
            "fired": {"lines": few},
        }

    return judge

"""moto's server, whose writes are one at a time: it looks whether an object is there, and then puts it, in two steps.

Of two threads that do so at once both are told that they were the first, which no S3 does.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from moto.s3.responses import S3Response
from moto.server import main

P = ParamSpec("P")
R = TypeVar("R")
_WRITING = Lock()


def one_at_a_time(answer: Callable[P, R]) -> Callable[P, R]:
    """Bodies have been read by then: a slow client holds up nobody."""

    @wraps(answer)
    def answered(*given: P.args, **named: P.kwargs) -> R:
        with _WRITING:
            return answer(*given, **named)

    return answered


if __name__ == "__main__":
    for name in ("_key_response_put", "_key_response_post"):
        setattr(S3Response, name, one_at_a_time(getattr(S3Response, name)))
    main()

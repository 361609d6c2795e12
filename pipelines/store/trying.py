"""Asking a service over a network until it answers: what passes is tried again, a bounded number of times.

A store that throttles ("503 SlowDown", "429"), a connection that is cut and a server's own error pass; a missing
permission does not. Clients raise `PassingError` for the first kind and a StoreError for the second, and try nothing
again themselves, so that how long a call may take is decided here alone. Both kinds are worded here, alike for every
object store.
"""

import itertools
import random
import time
from collections.abc import Callable
from typing import TypeVar

from winnow.schemas.errors import StoreError

ATTEMPTS = 10  # of a request that the service answered before: half a minute of waiting in all
FIRST_CONTACTS = 2  # before the service has ever answered this process: the address is more likely wrong
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 8.0
DEADLINE_SECONDS = 150.0  # no attempt begins later, however few there were

T = TypeVar("T")


class PassingError(Exception):
    """A request that failed for a reason that passes."""

    def __init__(self, reason: str, *, answered: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.answered = answered  # whether the service, or whatever is in front of it, said so itself


class Trying:
    """Requests to one service. Its memory is whether the service has ever answered."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._answered = False

    def __call__(self, request: Callable[[int], T]) -> T:
        """What the request returns; it is given the number of the attempt, from 1.

        Raises:
            StoreError: The last attempt failed as well.
        """
        begun = time.monotonic()
        for attempt in itertools.count(1):
            try:
                result = request(attempt)
            except PassingError as error:
                self._answered = self._answered or error.answered
                allowed = ATTEMPTS if self._answered else FIRST_CONTACTS
                if attempt >= allowed or time.monotonic() - begun > DEADLINE_SECONDS:
                    raise self._given_up(error, attempt) from None
                time.sleep(_wait(attempt))
            except FileNotFoundError:
                self._answered = True
                raise
            else:
                self._answered = True
                return result
        raise AssertionError

    def _given_up(self, error: PassingError, attempts: int) -> StoreError:
        if self._answered:
            return StoreError(
                f"{self._place}: no success in {attempts} attempts, at last: {error.reason}; "
                "what is committed stays: run again when the service is well, or with fewer workers if it throttles"
            )
        return StoreError(f"{self._place}: {error.reason}")


def _wait(attempt: int) -> float:
    """Half of it is chance, so that many workers that were refused at once do not come back at once."""
    full: float = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
    return full / 2 + random.random() * full / 2


def first_line(error: Exception) -> str:
    """What a library says of an error, as far as it fits into a line."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def unreached(endpoint: str, check: str) -> PassingError:
    """Nobody has answered. `check`: what names the address."""
    return PassingError(f"{endpoint} cannot be reached; check {check} and the network", answered=False)


def cut(endpoint: str, words: str) -> PassingError:
    """The connection ended before the answer did."""
    return PassingError(f"the connection to {endpoint} was cut ({words})", answered=True)


def busy(endpoint: str, code: str | int, words: str) -> PassingError:
    """The service throttles, or has an error of its own."""
    return PassingError(f"{endpoint} answered {code} ({words})", answered=True)


def untrusted(place: str, endpoint: str, words: str, check: str) -> StoreError:
    """Its certificate is not taken."""
    return StoreError(f"{place}: {endpoint} cannot be trusted ({words}); check {check}")


def no_bucket(place: str, endpoint: str, check: str) -> StoreError:
    """There is a service, and no such bucket."""
    return StoreError(f"{place}: there is no such bucket at {endpoint}; create it, or check its name and {check}")


def wrong_clock(place: str, words: str = "") -> StoreError:
    """Requests and tokens carry the time; services take them for some minutes."""
    said = f" ({words})" if words else ""
    return StoreError(
        f"{place}: this machine's clock differs from the service's by too much{said}; set the clock "
        "(timedatectl set-ntp true)"
    )


def refused(place: str, endpoint: str, code: str | int, words: str) -> StoreError:
    """What nobody expected."""
    return StoreError(f"{place}: {endpoint} refused: {code} ({words}); see docs/howto/object-stores.md")

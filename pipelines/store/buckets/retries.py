"""Retries requests to a network service a bounded number of times, if the failure may pass.

Throttling ("503 SlowDown", "429"), a broken connection and a server's own error may pass; a missing
permission does not. Clients raise `TransientError` for the first kind and a StoreError for the second, and never retry
again themselves, so that how long a call may take is decided here alone. Both kinds are worded here, alike for every
object store.
"""

import itertools
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from winnow.schemas.errors import StoreError

ATTEMPTS = 10  # once the service has answered: half a minute of waiting in all
FIRST_CONTACTS = 2  # before the service has ever answered this process: the address is probably wrong
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 8.0
LONGEST_ASKED_SECONDS = 60.0
DAY_SECONDS = 86_400.0
DEADLINE_SECONDS = 150.0  # no attempt begins later than this

T = TypeVar("T")


class TransientError(Exception):
    """A request failed for a reason that may pass."""

    def __init__(self, reason: str, *, answered: bool, wait_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_seconds = min(wait_seconds, LONGEST_ASKED_SECONDS)  # for which the service asks
        self.answered = answered  # whether the service, or a proxy in front of it, answered


class Retries:
    """Retries requests to one service; remembers only whether it has ever answered."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._answered = False

    def __call__(self, request: Callable[[int], T]) -> T:
        """Returns the request's result; the request receives the number of the attempt, from 1. StoreError if the last
        fails too."""
        begun = time.monotonic()
        for attempt in itertools.count(1):
            try:
                result = request(attempt)
            except TransientError as error:
                self._answered = self._answered or error.answered
                allowed = ATTEMPTS if self._answered else FIRST_CONTACTS
                if attempt >= allowed or time.monotonic() - begun > DEADLINE_SECONDS:
                    raise self._given_up(error, attempt) from None
                time.sleep(max(_wait(attempt), error.wait_seconds))
            except FileNotFoundError:
                self._answered = True
                raise
            else:
                self._answered = True
                return result
        raise AssertionError

    def _given_up(self, error: TransientError, attempts: int) -> StoreError:
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


def asked_wait(value: str | None) -> float | None:
    """The seconds for which a Retry-After header asks, as a number or a date, at most a day; None if for none."""
    written = (value or "").strip()
    if written.isascii() and written.isdigit():
        return min(float(written[:12]), DAY_SECONDS)
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), DAY_SECONDS)


def first_line(error: Exception) -> str:
    """A library's error message, shortened to one line."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def unreached_error(endpoint: str, check: str) -> TransientError:
    """No answer. `check`: the setting that holds the address."""
    return TransientError(f"{endpoint} cannot be reached; check {check} and the network", answered=False)


def cut_off_error(endpoint: str, words: str) -> TransientError:
    """The connection ended before the answer was complete."""
    return TransientError(f"the connection to {endpoint} was cut ({words})", answered=True)


def busy_error(endpoint: str, code: str | int, words: str, wait_seconds: float = 0.0) -> TransientError:
    """The service throttles, or has an internal error."""
    return TransientError(f"{endpoint} answered {code} ({words})", answered=True, wait_seconds=wait_seconds)


def untrusted_error(place: str, endpoint: str, words: str, check: str) -> StoreError:
    """The service's certificate is not accepted."""
    return StoreError(f"{place}: {endpoint} cannot be trusted ({words}); check {check}")


def no_bucket_error(place: str, endpoint: str, check: str) -> StoreError:
    """The service is there, but not the bucket."""
    return StoreError(f"{place}: no such bucket at {endpoint}; create it, or check its name and {check}")


def wrong_clock_error(place: str, words: str = "") -> StoreError:
    """Requests and tokens carry the time; services accept a deviation of some minutes."""
    detail = f" ({words})" if words else ""
    return StoreError(
        f"{place}: this machine's clock differs from the service's by too much{detail}; set the clock "
        "(timedatectl set-ntp true)"
    )


def refused_error(place: str, endpoint: str, code: str | int, words: str) -> StoreError:
    """An unexpected refusal."""
    return StoreError(f"{place}: {endpoint} refused: {code} ({words}); see docs/howto/object-stores.md")

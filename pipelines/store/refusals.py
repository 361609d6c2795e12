"""What is said alike of every object store: one line with the remedy, or that it passes."""

from winnow.pipelines.store.trying import PassingError
from winnow.schemas.errors import StoreError


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

"""What Google Cloud Storage says when it refuses, as one line with the remedy, or as something that passes."""

from typing import TYPE_CHECKING

from winnow.pipelines.store import refusals
from winnow.pipelines.store.refusals import busy, cut, first_line, unreached, untrusted, wrong_clock
from winnow.pipelines.store.trying import PassingError
from winnow.schemas.errors import StoreError

if TYPE_CHECKING:
    from requests import Response

_LOGIN = "run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file"


def refused(answer: "Response", place: str, endpoint: str) -> Exception:
    """An answer that is neither a success nor about something missing: PassingError or a StoreError."""
    status = answer.status_code
    words = _words(answer)
    if status in {408, 429} or status >= 500:
        return busy(endpoint, status, words)
    if status == 401:
        return StoreError(f"{place}: the service does not take these credentials ({words}); {_LOGIN}")
    if status == 403:
        return StoreError(
            f"{place}: {words}; give who these credentials belong to the role roles/storage.objectUser on the bucket"
        )
    if 300 <= status < 400:
        return StoreError(f"{place}: {endpoint} sends its callers elsewhere ({status}); check STORAGE_EMULATOR_HOST")
    return refusals.refused(place, endpoint, status, words)


def said(error: Exception, place: str, endpoint: str) -> Exception | None:
    """What kept a request from being answered; None for what is no trouble of the network or of credentials."""
    import requests

    words = first_line(error)
    if isinstance(error, requests.exceptions.SSLError):
        return untrusted(place, endpoint, words, "REQUESTS_CA_BUNDLE")
    if isinstance(error, requests.exceptions.ConnectionError) and _never_connected(error):
        return unreached(endpoint, "STORAGE_EMULATOR_HOST")
    if isinstance(error, (requests.exceptions.RequestException, OSError)):
        return cut(endpoint, words)
    return _unauthorised(error, place, words)


def _never_connected(error: Exception) -> bool:
    """Whether no connection came about: the address is wrong, or nobody listens there."""
    from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError

    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    return isinstance(reason, (NewConnectionError, ConnectTimeoutError))


def _unauthorised(error: Exception, place: str, words: str) -> Exception | None:
    try:
        from google.auth.exceptions import GoogleAuthError, RefreshError, TransportError
    except ImportError:
        return None
    if isinstance(error, TransportError):
        return PassingError(f"the service of credentials cannot be reached ({words})", answered=False)
    if isinstance(error, RefreshError) and "reasonable timeframe" in str(error):
        return wrong_clock(place)
    if isinstance(error, GoogleAuthError):
        return StoreError(f"{place}: the credentials are not taken ({words}); {_LOGIN}")
    return None


def _words(answer: "Response") -> str:
    try:
        said = str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        said = answer.text
    return (said.strip().splitlines() or [answer.reason or "no reason given"])[0].rstrip(".")[:300]

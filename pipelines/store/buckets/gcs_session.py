"""How Google Cloud Storage is reached: its address, a session with the environment's credentials, and its errors.

Credentials come from Google's standard places: GOOGLE_APPLICATION_CREDENTIALS, the login of `gcloud auth
application-default login`, or the machine's service account. STORAGE_EMULATOR_HOST names another server, which
is asked without credentials; GS_NO_SIGN_REQUEST=YES reads a public bucket without any. An error becomes one line with
the remedy, or one that is tried again.
"""

import logging
import os
from typing import TYPE_CHECKING

from winnow.pipelines.store.buckets import retries
from winnow.pipelines.store.buckets.bucket_store import CONNECTIONS
from winnow.pipelines.store.buckets.retries import (
    TransientError,
    busy_error,
    cut_off_error,
    first_line,
    unreached_error,
    untrusted_error,
    wrong_clock_error,
)
from winnow.schemas.errors import StoreError

if TYPE_CHECKING:
    from requests import Response, Session

_LOGIN = "run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file"

INSTALL = "pip install 'winnow[gcs]'"
ENDPOINT = "https://storage.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
METADATA_SECONDS = "1"  # not every machine has a service account of its own


def endpoint() -> str:
    """The service's address."""
    address = os.environ.get("STORAGE_EMULATOR_HOST", "").rstrip("/")
    return (address if "://" in address else f"http://{address}") if address else ENDPOINT


def session(place: str) -> "Session":
    """A session that does not retry by itself."""
    try:
        import requests
        from requests.adapters import HTTPAdapter
    except ImportError:
        raise StoreError(f"{place}: reading and writing GCS needs the package requests; {INSTALL}") from None
    unsigned = os.environ.get("GS_NO_SIGN_REQUEST", "").upper() in {"YES", "TRUE", "1"}
    anybody = unsigned or os.environ.get("STORAGE_EMULATOR_HOST")
    made = requests.Session() if anybody else _authorized(place)
    for scheme in ("https://", "http://"):
        made.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=CONNECTIONS, max_retries=0))
    return made


def _authorized(place: str) -> "Session":
    """A session with the credentials of the environment; fails within seconds if there are none."""
    given = {name: os.environ.get(name) for name in ("GCE_METADATA_TIMEOUT", "GCE_METADATA_DETECT_RETRIES")}
    os.environ.setdefault("GCE_METADATA_TIMEOUT", METADATA_SECONDS)  # read when google.auth is imported
    os.environ.setdefault("GCE_METADATA_DETECT_RETRIES", "1")
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import AuthorizedSession
    except ImportError:
        raise StoreError(f"{place}: reading and writing GCS needs the package google-auth; {INSTALL}") from None
    finally:
        for name, value in given.items():
            if value is None:
                os.environ.pop(name, None)
    logging.getLogger("google.auth").setLevel(logging.ERROR)  # it also logs what it raises
    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except (GoogleAuthError, OSError, ValueError) as error:
        raise StoreError(
            f"{place}: no credentials ({first_line(error)}); run: gcloud auth application-default login, or set "
            "GOOGLE_APPLICATION_CREDENTIALS to a key file; GS_NO_SIGN_REQUEST=YES reads a public bucket"
        ) from None
    return AuthorizedSession(credentials, max_refresh_attempts=1, refresh_timeout=30)


def refused(answer: "Response", place: str, endpoint: str) -> Exception:
    """The TransientError or StoreError for an answer that is neither a success nor a missing object."""
    status = answer.status_code
    words = _words(answer)
    if status in {408, 429} or status >= 500:
        return busy_error(endpoint, status, words)
    if status == 401:
        return StoreError(f"{place}: the service rejected these credentials ({words}); {_LOGIN}")
    if status == 403:
        return StoreError(
            f"{place}: {words}; grant the owner of these credentials the role roles/storage.objectUser on the bucket"
        )
    if 300 <= status < 400:
        return StoreError(f"{place}: {endpoint} redirects requests ({status}); check STORAGE_EMULATOR_HOST")
    return retries.refused_error(place, endpoint, status, words)


def translated_error(error: Exception, place: str, endpoint: str) -> Exception | None:
    """Translates the error that prevented an answer; None if it does not concern the network or credentials."""
    import requests

    words = first_line(error)
    if isinstance(error, requests.exceptions.SSLError):
        return untrusted_error(place, endpoint, words, "REQUESTS_CA_BUNDLE")
    if isinstance(error, requests.exceptions.ConnectionError) and _never_connected(error):
        return unreached_error(endpoint, "STORAGE_EMULATOR_HOST")
    if isinstance(error, (requests.exceptions.RequestException, OSError)):
        return cut_off_error(endpoint, words)
    return _unauthorised(error, place, words)


def _never_connected(error: Exception) -> bool:
    """Whether no connection was made: the address is wrong, or nothing listens there."""
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
        return TransientError(f"the credential service cannot be reached ({words})", answered=False)
    if isinstance(error, RefreshError) and "reasonable timeframe" in str(error):
        return wrong_clock_error(place)
    if isinstance(error, GoogleAuthError):
        return StoreError(f"{place}: the credentials were rejected ({words}); {_LOGIN}")
    return None


def _words(answer: "Response") -> str:
    try:
        words = str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        words = answer.text
    return (words.strip().splitlines() or [answer.reason or "no reason given"])[0].rstrip(".")[:300]

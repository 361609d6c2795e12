"""How Google Cloud Storage is reached: its address, and a session with the credentials of the environment.

Credentials come from where every tool of Google's takes them: GOOGLE_APPLICATION_CREDENTIALS, what `gcloud auth
application-default login` left, or the machine's own service account. STORAGE_EMULATOR_HOST names another server, which
is asked without credentials; GS_NO_SIGN_REQUEST=YES reads a public bucket without any.
"""

import logging
import os
from typing import TYPE_CHECKING

from winnow.pipelines.store.buckets import CONNECTIONS
from winnow.pipelines.store.refusals import first_line
from winnow.schemas.errors import StoreError

if TYPE_CHECKING:
    from requests import Session

INSTALL = "pip install 'winnow[gcs]'"
ENDPOINT = "https://storage.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
METADATA_SECONDS = "1"  # not every machine has a service account of its own


def endpoint() -> str:
    """Where it is asked."""
    address = os.environ.get("STORAGE_EMULATOR_HOST", "").rstrip("/")
    return (address if "://" in address else f"http://{address}") if address else ENDPOINT


def session(place: str) -> "Session":
    """Connections that repeat nothing themselves."""
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
    """A session with the credentials of the environment; a machine without any is told so within seconds."""
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
    logging.getLogger("google.auth").setLevel(logging.ERROR)  # it warns of what is raised as well
    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except (GoogleAuthError, OSError, ValueError) as error:
        raise StoreError(
            f"{place}: no credentials ({first_line(error)}); run: gcloud auth application-default login, or set "
            "GOOGLE_APPLICATION_CREDENTIALS to a key file; GS_NO_SIGN_REQUEST=YES reads a public bucket"
        ) from None
    return AuthorizedSession(credentials, max_refresh_attempts=1, refresh_timeout=30)

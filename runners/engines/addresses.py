"""Checks that the addresses a user gives can be reached, before anything starts and in bounded time."""

import ipaddress
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException

from winnow.schemas.errors import WinnowError

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0  # of a service far away

_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


def split_address(text: str, flag: str) -> tuple[str, int]:
    """The host and the port of `host:port`."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise WinnowError(f"{flag}: {text!r}: expected host:port")
    return found["host"].strip("[]"), int(found["port"])


def require_listening(addresses: Sequence[str], flag: str, remedy: str) -> None:
    """Raise unless one of the addresses accepts a connection."""
    why = ""
    for address in addresses:
        host, port = split_address(address, flag)
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
        except OSError as error:
            why = error.strerror or str(error)
        else:
            return
    raise WinnowError(f"{flag}: no answer at {', '.join(addresses)} ({why}); {remedy}")


def require_answering(url: str, remedy: str) -> None:
    """Raise unless a web service answers at the URL, through the environment's proxy if one is set."""
    try:
        urllib.request.urlopen(url, timeout=ANSWER_SECONDS).close()
    except urllib.error.HTTPError as answered:
        answered.close()
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLError):  # the client checks certificates by itself
            return
        why = getattr(reason, "strerror", None) or str(reason)
        raise WinnowError(f"{url}: no answer ({why}); {remedy}") from None


def is_loopback(host: str) -> bool:
    """Whether the host is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

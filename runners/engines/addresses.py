"""Addresses that a user gives, and whether somebody listens there: asked before anything starts, in bounded time."""

import ipaddress
import re
import socket
from collections.abc import Sequence

from winnow.schemas.errors import WinnowError

CONNECT_SECONDS = 5.0

_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


def split_address(text: str, flag: str) -> tuple[str, int]:
    """The host and the port of `host:port`."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise WinnowError(f"{flag}: {text!r}: expected host:port")
    return found["host"].strip("[]"), int(found["port"])


def require_listening(addresses: Sequence[str], flag: str, remedy: str) -> None:
    """One of these must answer a connection."""
    why = ""
    for address in addresses:
        host, port = split_address(address, flag)
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
        except OSError as error:
            why = error.strerror or str(error)
        else:
            return
    raise WinnowError(f"{flag}: nobody answers at {', '.join(addresses)} ({why}); {remedy}")


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, spoken to by itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

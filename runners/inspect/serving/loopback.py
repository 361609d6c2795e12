"""Runs the server on loopback until it is interrupted."""

import asyncio
import secrets
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn

from winnow.runners.inspect.serving.server import Server
from winnow.schemas.errors import WinnowError

LOOPBACK: Final = "127.0.0.1"
CLOSING_SECONDS: Final = 2  # for answers under way when it is interrupted


def serve(server: Server, port: int, ready: Callable[[str], None]) -> None:
    """Serve until an interrupt; `ready` is told the address once the server listens.

    `port`: 0 for any that is free. WinnowError if it is taken.
    """
    with listening(port) as listener:
        number, token = listener.getsockname()[1], secrets.token_urlsafe(24)
        config = uvicorn.Config(server.app(number, token), **settings())
        running = _Uvicorn(config, server, lambda: ready(f"http://{LOOPBACK}:{number}/?token={token}"))
        try:
            asyncio.run(running.serve([listener]))
        finally:
            server.close()


def settings() -> dict[str, Any]:
    """How uvicorn runs: it prints nothing, and believes no header of a proxy."""
    return {
        "access_log": False,
        "date_header": False,
        "lifespan": "off",
        "log_config": None,
        "proxy_headers": False,
        "server_header": False,
        "timeout_graceful_shutdown": CLOSING_SECONDS,
        "ws": "none",
    }


class _Uvicorn(uvicorn.Server):
    """Tells when it listens, and gives work up when it is interrupted."""

    def __init__(self, config: uvicorn.Config, server: Server, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._server, self._ready = server, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening."""
        self._server.close()
        await super().shutdown(sockets)


def listening(port: int) -> socket.socket:
    """A socket that listens on loopback; WinnowError if the port is taken."""
    listener = socket.socket()
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server that ended a moment ago
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise WinnowError(f"port {port} of {LOOPBACK}: {error.strerror}; choose another --port") from None
    listener.listen(128)
    return listener

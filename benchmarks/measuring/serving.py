"""Servers on loopback in processes of their own: the file that is given says which port they took."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(module: str, told: Path, *arguments: str) -> Iterator[int]:
    """The port of `python -m MODULE --serve TOLD ARGUMENT…`, which is stopped at the end."""
    process = subprocess.Popen([sys.executable, "-m", module, "--serve", str(told), *arguments])
    try:
        while not told.exists():
            time.sleep(0.05)
            assert process.poll() is None
        yield int(told.read_text())
    finally:
        process.terminate()
        process.wait()


async def serve(protocol: Callable[[], asyncio.Protocol], host: str, told: Path) -> None:
    """Answer on a free port until the process is stopped."""
    server = await asyncio.get_running_loop().create_server(protocol, host, 0, backlog=4096)
    unfinished = told.with_suffix(".unfinished")
    unfinished.write_text(str(server.sockets[0].getsockname()[1]))
    unfinished.rename(told)
    await server.serve_forever()

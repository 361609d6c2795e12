"""Machines of a cluster on one: each has a network, a name, a home and a temporary folder of its own.

Network namespaces on a bridge, with namespaces of mounts and of names in each. With a machine ends all that runs in it.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from winnow.schemas.kernels import kernel_folder

BRIDGE = "winnow-br"
DRIVER = "10.77.0.1"  # of the machine with the driver and the servers


@dataclass(frozen=True)
class Host:
    """One machine."""

    name: str
    address: str
    home: Path
    hidden: Path | None = None  # a folder of the driver's that it sees empty
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> tuple[str, ...]:
        """What a program is started by, to run on the machine."""
        hide = "" if self.hidden is None else f"mount --bind {self.home / 'nothing'} {self.hidden} && "
        shown = f'hostname {self.name} && mount --bind {self.home / "hosts"} /etc/hosts && {hide}exec "$@"'
        return ("ip", "netns", "exec", self.name, "unshare", "--mount", "--uts", "sh", "-c", shown, "sh")

    def kill(self) -> None:
        """End everything that runs on it, as a machine without power does."""
        pids = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True).stdout
        for pid in pids.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


@contextmanager
def hosts(folder: Path, count: int, hidden: Path | None = None) -> Iterator[list[Host]]:
    """Machines whose caches are empty, except for compiled kernels, which an image would have."""
    if os.geteuid() or not all(map(shutil.which, ("ip", "unshare"))):
        pytest.skip("machines of their own need root, and the programs ip (iproute2) and unshare (util-linux)")
    with ExitStack() as stack:
        _ip("link", "add", BRIDGE, "type", "bridge")
        stack.callback(_ip, "link", "del", BRIDGE)
        _ip("addr", "add", f"{DRIVER}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        yield [stack.enter_context(_host(folder, number, hidden)) for number in range(1, count + 1)]


@contextmanager
def _host(folder: Path, number: int, hidden: Path | None) -> Iterator[Host]:
    name, address, home = f"node{number}", f"10.77.0.{number + 1}", folder / f"node{number}"
    for inside in ("home", "tmp", "nothing"):
        (home / inside).mkdir(parents=True)
    (home / "hosts").write_text(f"127.0.0.1 localhost\n{address} {name}\n")
    environment = {
        "HOME": str(home / "home"),
        "XDG_CACHE_HOME": str(home / "home/.cache"),
        "WINNOW_ASSETS": str(home / "home/assets"),
        "TMPDIR": str(home / "tmp"),
        "NUMBA_CACHE_DIR": str(kernel_folder()),
        "SPARK_LOCAL_IP": address,
    }
    _ip("netns", "add", name)
    try:
        _ip("link", "add", f"winnow-{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", f"winnow-{number}", "master", BRIDGE, "up")
        for said in (
            ("addr", "add", f"{address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", name, *said)
        host = Host(name, address, home, hidden, environment)
        yield host
        host.kill()
    finally:
        _ip("netns", "del", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def names(found: Sequence[Host]) -> str:
    """As the command prints them."""
    return ", ".join(host.name for host in found)

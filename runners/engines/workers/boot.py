"""`winnow-boot`: what an engine runs on a machine of a cluster when it wants a Python worker there; no container.

An engine gives a worker a name and an address to ask at. What runs is what is installed on the machine, and nothing is
fetched: a worker that is made of other versions than its driver refuses its work in a line that the driver's user
sees. With `--pool` it answers engines that ask over the network (Beam's EXTERNAL environment) by a worker each.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from winnow.pipelines.running.processes import limit_threads
from winnow.schemas.errors import WinnowError


def entry() -> NoReturn:
    """The `winnow-boot` command."""
    main(sys.argv[1:])


def main(arguments: Sequence[str]) -> NoReturn:
    """Be a worker, or a pool of them."""
    parser = _parser()
    given = parser.parse_args(arguments)
    limit_threads()  # before Beam and numpy are imported
    if given.pool:
        _serve(given.port)
    if not given.id or not given.provision_endpoint:
        parser.error("an engine calls this with --id and --provision_endpoint; by hand it is winnow-boot --pool")
    _work(given)


def _work(given: argparse.Namespace) -> NoReturn:
    from winnow.pipelines.running import worker
    from winnow.pipelines.running.provisioning import Asked, provision_of
    from winnow.pipelines.running.version_handshake import enter_folder

    os.environ.pop(worker.DRIVER_VARIABLE, None)  # an engine's worker lives as long as the engine wants it
    provision = provision_of(Asked(given.id, given.provision_endpoint, given.control_endpoint, given.logging_endpoint))
    os.environ.update(provision.variables(), PIPELINE_OPTIONS=provision.options)
    enter_folder(provision.options)
    worker.main()
    os._exit(1)  # never reached: a worker ends by itself


def _serve(port: int) -> NoReturn:
    from winnow.runners.engines.workers.pool import serve

    try:
        serve(port)
    except WinnowError as error:
        print(f"winnow-boot: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="winnow-boot",
        description="A Python worker for an engine, on a machine without containers.",
        allow_abbrev=False,
    )
    parser.add_argument("--pool", action="store_true", help="start a worker for every one that an engine asks for")
    parser.add_argument("--port", type=int, default=50000, help="of the pool, on the loopback (default: %(default)s)")
    for name in ("id", "provision_endpoint", "control_endpoint", "logging_endpoint", "artifact_endpoint"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--semi_persist_dir", default="", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    entry()

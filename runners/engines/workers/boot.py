"""`winnow-boot`: starts Python workers for an engine on a cluster's machines, without containers.

The engine gives each worker a name and an address to connect to. The worker runs what is installed on the machine and
downloads nothing; if its versions differ from the driver's, it refuses work with a message to the driver's user. With
`--pool` it starts workers for engines that request them over the network (Beam's EXTERNAL environment).
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from winnow.pipelines.processes.address_space import prepare_for_memory_limit
from winnow.pipelines.processes.identity import limit_threads
from winnow.schemas.environment.modules import SAFE_PATH
from winnow.schemas.errors import WinnowError


def entry() -> NoReturn:
    """The `winnow-boot` command."""
    os.environ.update(SAFE_PATH)
    main(sys.argv[1:])


def main(arguments: Sequence[str]) -> NoReturn:
    """Run as a worker, or as a pool of workers."""
    parser = _parser()
    given = parser.parse_args(arguments)
    limit_threads()  # before Beam and numpy are imported
    prepare_for_memory_limit()
    if given.pool:
        _serve(given.port)
    if not given.id or not given.provision_endpoint:
        parser.error("expected --id and --provision_endpoint, as an engine gives them, or --pool")
    _work(given)


def _work(given: argparse.Namespace) -> NoReturn:
    from winnow.pipelines.running import worker
    from winnow.pipelines.running.provisioning import RequestedWorker, provision_of
    from winnow.pipelines.running.version_handshake import enter_folder

    os.environ.pop(worker.DRIVER_VARIABLE, None)  # the engine, not the driver, decides when the worker ends
    provision = provision_of(
        RequestedWorker(given.id, given.provision_endpoint, given.control_endpoint, given.logging_endpoint)
    )
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
    parser.add_argument("--pool", action="store_true", help="start workers at the request of engines")
    parser.add_argument(
        "--port", type=int, default=50000, help="port of the pool on the loopback interface (default: %(default)s)"
    )
    for name in ("id", "provision_endpoint", "control_endpoint", "logging_endpoint", "artifact_endpoint"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--semi_persist_dir", default="", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    entry()

"""`winnow engines` lists the engines; `winnow engines build` builds a job server before the first run."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.runners.engines.java.server_kinds import EngineName


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="list engines, and how to install what is missing (the default)")
    for listed in (parser, listing):
        listed.add_argument("--json", action="store_true", help="print one JSON object")
    building = actions.add_parser("build", help="build an engine's job server now instead of in the first run")
    building.add_argument("engine", choices=("spark", "flink"), metavar="ENGINE", help="spark or flink")
    building.add_argument(
        "--engine-version", metavar="V", help="the exact Spark version of the cluster, such as 3.5.1 (default: 3.5.0)"
    )


def run(options: argparse.Namespace) -> int:
    """List the engines, or build a job server."""
    from winnow.runners.engines.listing import engine_states

    console = open_console()
    if options.action == "build":
        build(options.engine, options.engine_version, console)
    elif options.json:
        states = engine_states(open_console(stderr=True))
        sys.stdout.write(json.dumps({"engines": [asdict(state) for state in states]}, ensure_ascii=False) + "\n")
    else:
        show(console)
    return 0


def show(console: "Console") -> None:
    """Print a few lines per engine."""
    from winnow.runners.engines.java.jars import cache_folder
    from winnow.runners.engines.listing import engine_states

    for engine in engine_states(console):
        _print(console, f"{engine.name:<9} {engine.state}")
        for label, text in (("needs", engine.needs), *(("found", line) for line in engine.found)):
            _print(console, f"  {label:<6}  {text}")
        for line in engine.to_do:
            _print(console, f"  to do   {line}")
    _print(console, f"folder    {cache_folder()}")


def build(engine: "EngineName", engine_version: str | None, console: "Console") -> None:
    """Build the engine's job server unless it is built already, and print its path, size and hash."""
    from winnow.runners.engines.java.jars import find_jar, job_server
    from winnow.runners.engines.java.server_kinds import SERVERS
    from winnow.runners.engines.listing import described

    here = find_jar(SERVERS[engine], engine_version=engine_version)
    jar, java = job_server(engine, engine_version=engine_version, console=console)
    _print(console, f"{engine}  {'built' if here is None else 'already built'}  {described(jar)}")
    _print(console, f"{engine}  {jar.path.stat().st_size:,} bytes  sha256 {jar.sha256}")
    _print(console, f"{engine}  runs with {java}")


def _print(console: "Console", line: str) -> None:
    console.print(line)


COMMAND = Command(
    "list the engines that pipelines can run on, what each needs, and what is installed", arguments, run, place=8
)

"""`winnow engines`: what there is to run on, and `winnow engines build`: making a job server ahead of the first run."""

import argparse
import json
import sys
from dataclasses import asdict

from rich.console import Console

from winnow.runners.jobserver.jars import cache_folder, find_jar, job_server
from winnow.runners.jobserver.listing import described, engine_states
from winnow.runners.jobserver.servers import SERVERS, EngineName


def engines(options: argparse.Namespace) -> int:
    """`winnow engines`."""
    console = Console(highlight=False)
    if options.action == "build":
        build(options.engine, options.engine_version, console)
    elif options.json:
        states = engine_states(Console(stderr=True, highlight=False))
        sys.stdout.write(json.dumps({"engines": [asdict(state) for state in states]}, ensure_ascii=False) + "\n")
    else:
        show(console)
    return 0


def show(console: Console) -> None:
    """A few lines an engine."""
    for engine in engine_states(console):
        _print(console, f"{engine.name:<9} {engine.state}")
        for label, text in (("needs", engine.needs), *(("found", line) for line in engine.found)):
            _print(console, f"  {label:<6}  {text}")
        for line in engine.to_do:
            _print(console, f"  to do   {line}")
    _print(console, f"folder    {cache_folder()}")


def build(engine: EngineName, engine_version: str | None, console: Console) -> None:
    """Make the engine's job server where it is not here yet; prints where it is, its size and its hash."""
    here = find_jar(SERVERS[engine], engine_version=engine_version)
    jar, java = job_server(engine, engine_version=engine_version, console=console)
    _print(console, f"{engine}  {'built' if here is None else 'already here'}  {described(jar)}")
    _print(console, f"{engine}  {jar.path.stat().st_size:,} bytes  sha256 {jar.sha256}")
    _print(console, f"{engine}  runs with {java}")


def _print(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)

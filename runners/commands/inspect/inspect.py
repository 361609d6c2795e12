"""`winnow inspect`: open a local page on which a store is understood, its rules are tried and its samples are read."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument
from winnow.runners.stages.opening import open_console, open_place


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    parser.add_argument("--port", metavar="N", default="0", help="port of 127.0.0.1 (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only, without opening it")


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from winnow.filters.extras import required_package
    from winnow.runners.inspect.opened import Opened
    from winnow.runners.inspect.serving.browser import open_in_browser
    from winnow.runners.inspect.serving.page_build import require_page
    from winnow.runners.inspect.serving.page_files import page_files
    from winnow.schemas.errors import WinnowError

    for package in ("starlette", "uvicorn"):
        required_package("winnow inspect", package, "inspect")
    from winnow.runners.inspect.serving.loopback import serve
    from winnow.runners.inspect.serving.server import Server

    if not (options.port.isascii() and options.port.isdigit() and int(options.port) < 65_536):
        raise WinnowError(f"--port {options.port}: expected a number from 0 to 65535")
    recipe, store = open_place(options.place)
    console = open_console()
    console.print(f"inspect {options.place}")
    require_page(lambda line: console.print(f"page    {line}"))

    def ready(address: str) -> None:
        console.print(f"page    {address}")
        console.print("        Ctrl-C ends it")
        if not options.no_browser:
            open_in_browser(address)

    try:
        serve(Server(Opened(store, recipe), page_files(), debug=options.debug), int(options.port), ready)
    except KeyboardInterrupt as error:
        if type(error) is not KeyboardInterrupt:  # terminated
            raise
    return 0


COMMAND = Command(
    "open a local page on which the store is understood and rules are tried", arguments, run, place=11, slow_start=True
)

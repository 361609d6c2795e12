"""`winnow assets`: list or fetch the models and lists that operators need."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console

if TYPE_CHECKING:
    from rich.console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list all assets, and which are on this machine (the default)")
    fetching = actions.add_parser("fetch", help="download missing assets, and compile the kernels")
    fetching.add_argument("names", nargs="*", metavar="NAME", help="asset to fetch (default: all except optional ones)")


def run(options: argparse.Namespace) -> int:
    """List, or fetch."""
    console = open_console()
    if options.action == "fetch":
        fetch_assets(tuple(options.names), console)
        if not options.names:
            warm_up(console)
    else:
        list_assets(console)
    return 0


def warm_up(console: "Console") -> None:
    """Compile all kernels ahead of the first run."""
    from winnow.runners.stages.running.warming import warm_kernels

    if warm_kernels() == "already":
        console.print("kernels  already compiled")


def list_assets(console: "Console") -> None:
    """One line per asset."""
    from winnow.pipelines.assets import all_assets, cache_folder, size_of, state_of
    from winnow.runners.tables.quantities import byte_size
    from winnow.schemas.assets import Asset

    assets = all_assets()
    width = max(len(asset.name) for asset in assets)
    for asset in assets:
        size = size_of(asset)
        packages = asset.package if isinstance(asset, Asset) else ", ".join(source.package for source in asset.of)
        console.print(
            f"{asset.name:<{width}}  {state_of(asset):<7}  {'-' if size is None else byte_size(size):>9}  "
            f"{asset.licence}  {asset.summary} ({packages}){'  optional' if asset.optional else ''}",
        )
    console.print(f"folder  {cache_folder()}")


def fetch_assets(names: tuple[str, ...], console: "Console") -> None:
    """Fetch the named assets, or all except optional ones.

    Unknown names are rejected before any download. Without names, assets that need a missing program or package are
    skipped with a message.
    """
    from winnow.pipelines.assets import AssetUnavailableError, all_assets, cache_folder, fetch, find_asset

    chosen = tuple(find_asset(name) for name in names) or tuple(asset for asset in all_assets() if not asset.optional)
    for asset in chosen:
        try:
            word = "fetched" if fetch(asset) else "already fetched"
        except AssetUnavailableError as error:
            if names:
                raise
            console.print(f"{asset.name}  skipped  {error}")
            continue
        console.print(f"{asset.name}  {word}  {cache_folder() / asset.file_name}")


COMMAND = Command("list or fetch the models and lists that operators need", arguments, run, place=7)

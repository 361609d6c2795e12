"""`winnow assets`: which models and lists there are and whether they are here; `winnow assets fetch` brings them."""

import argparse
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.assets import ASSETS, Asset, cache_folder, fetch, find_asset, state_of
from winnow.runners.quantities import byte_size

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_assets(commands: "Commands") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("assets", help="models and lists that operators need: list or fetch them")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="what there is, and what is here (the default)")
    fetching = actions.add_parser("fetch", help="download what is missing, and check it")
    fetching.add_argument("names", nargs="*", metavar="NAME", help="an asset's name (default: all)")


def assets(options: argparse.Namespace) -> int:
    """`winnow assets`."""
    console = Console(highlight=False)
    if options.action == "fetch":
        fetch_assets(tuple(options.names), console)
    else:
        list_assets(console)
    return 0


def list_assets(console: Console) -> None:
    """A line an asset."""
    width = max(len(asset.name) for asset in ASSETS)
    for asset in ASSETS:
        console.print(
            f"{asset.name:<{width}}  {state_of(asset):<7}  {byte_size(asset.size_bytes):>9}  {asset.licence}  "
            f"{asset.summary} ({asset.package})",
            markup=False,
            soft_wrap=True,
        )
    console.print(f"folder  {cache_folder()}", markup=False, soft_wrap=True)


def fetch_assets(names: tuple[str, ...], console: Console) -> None:
    """Fetch the named assets, or all; an unknown name is refused before anything is downloaded."""
    chosen: tuple[Asset, ...] = tuple(find_asset(name) for name in names) or ASSETS
    for asset in chosen:
        word = "fetched" if fetch(asset) else "already here"
        console.print(f"{asset.name}  {word}  {cache_folder() / asset.file_name}", markup=False, soft_wrap=True)

"""`winnow assets`: which models and lists there are and whether they are here; `winnow assets fetch` brings them."""

import argparse
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.assets import (
    ASSETS,
    AnyAsset,
    Asset,
    AssetUnavailableError,
    cache_folder,
    fetch,
    find_asset,
    size_of,
    state_of,
)
from winnow.runners.quantities import byte_size

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_assets(commands: "Commands") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("assets", help="models and lists that operators need: list or fetch them")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="what there is, and what is here (the default)")
    fetching = actions.add_parser("fetch", help="download what is missing, and check it")
    fetching.add_argument("names", nargs="*", metavar="NAME", help="an asset's name (default: all but optional ones)")


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
        size = size_of(asset)
        packages = asset.package if isinstance(asset, Asset) else ", ".join(source.package for source in asset.of)
        console.print(
            f"{asset.name:<{width}}  {state_of(asset):<7}  {'-' if size is None else byte_size(size):>9}  "
            f"{asset.licence}  {asset.summary} ({packages}){'  optional' if asset.optional else ''}",
            markup=False,
            soft_wrap=True,
        )
    console.print(f"folder  {cache_folder()}", markup=False, soft_wrap=True)


def fetch_assets(names: tuple[str, ...], console: Console) -> None:
    """Fetch the named assets, or all but optional ones; an unknown name is refused before anything is downloaded.

    Of all, those that this machine lacks a program or a package for are left out, with a line that says so.
    """
    chosen: tuple[AnyAsset, ...] = tuple(find_asset(name) for name in names) or tuple(
        asset for asset in ASSETS if not asset.optional
    )
    for asset in chosen:
        try:
            word = "fetched" if fetch(asset) else "already here"
        except AssetUnavailableError as error:
            if names:
                raise
            console.print(f"{asset.name}  left out  {error}", markup=False, soft_wrap=True)
            continue
        console.print(f"{asset.name}  {word}  {cache_folder() / asset.file_name}", markup=False, soft_wrap=True)

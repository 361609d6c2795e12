"""Lists all assets: those that operators and tasks declare, including third-party ones."""

from collections.abc import Iterator

from winnow.filters.operators import find_operator, operator_names
from winnow.schemas.assets import AnyAsset
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import nearest
from winnow.scoring.tasks import find_task, task_names


class AssetError(WinnowError):
    """An asset is missing, damaged or cannot be fetched."""


class AssetUnavailableError(AssetError):
    """An asset cannot be fetched because a program or package is missing; the message says how to get it."""


def all_assets() -> tuple[AnyAsset, ...]:
    """Every asset once, in the order of operators and then tasks; AssetError if two assets share a name. Imports them
    all."""
    found: dict[str, AnyAsset] = {}
    for owner, asset in _declared():
        if found.setdefault(asset.name, asset) != asset:
            raise AssetError(f"asset {asset.name!r}: {owner} conflicts with the declaration of an earlier operator")
    return tuple(found.values())


def find_asset(name: str) -> AnyAsset:
    """The asset of this name; the error for an unknown name suggests the nearest."""
    found = known_asset(name)
    if found is None:
        near = nearest(name, [asset.name for asset in all_assets()])
        hint = f"did you mean {near!r}?" if near else "`winnow assets` lists them; a file's path needs a '/'"
        raise AssetError(f"unknown asset {name!r} ({hint})")
    return found


def known_asset(name: str) -> AnyAsset | None:
    """The asset of this name, or None; imports operators until one declares it."""
    if "/" in name:  # a path
        return None
    return next((asset for _, asset in _declared() if asset.name == name), None)


def _declared() -> Iterator[tuple[str, AnyAsset]]:
    for name in operator_names():
        for asset in find_operator(name).declares:
            yield f"operator {name}", asset
    for name in task_names():
        for asset in find_task(name).declares:
            yield f"task {name}", asset

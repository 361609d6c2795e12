"""The package that archives are read with over HTTP; it comes with the extra `fetch`."""

from types import ModuleType

from winnow.schemas.errors import SourceError


def aiohttp_package() -> ModuleType:
    """`aiohttp`; SourceError if it is not installed."""
    try:
        import aiohttp
    except ImportError:
        raise SourceError("fetching needs the package aiohttp; pip install 'winnow[fetch]'") from None
    return aiohttp

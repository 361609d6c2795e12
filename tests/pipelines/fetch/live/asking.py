"""Asks the farm's sites as a fetch does."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from tests.pipelines.fetch.farm.farm import Farm
from winnow.pipelines.fetch.live.client import Client
from winnow.pipelines.fetch.live.exchange import Conditions, Failed, Followed, Response
from winnow.pipelines.fetch.live.names import Names
from winnow.pipelines.fetch.live.places import Place, place_of
from winnow.schemas.recipe.fetch import FetchConfig

Given = TypeVar("Given")


def place(url: str) -> Place:
    found = place_of(url)
    assert isinstance(found, Place)
    return found


def with_client(farm: Farm, config: FetchConfig, use: Callable[[Client], Awaitable[Given]]) -> Given:
    """What a function does with a client of these limits."""

    async def run() -> Given:
        with tempfile.TemporaryDirectory() as folder:
            names = Names(farm.look_up, config.allow_hosts)
            async with Client(config, names, Path(folder), tls=farm.tls()) as client:
                return await use(client)

    return asyncio.run(run())


def ask(
    farm: Farm,
    url: str,
    config: FetchConfig | None = None,
    conditions: Conditions | None = None,
) -> Response | Failed:
    return with_client(farm, config or farm.config(), lambda client: client.ask(place(url), conditions=conditions))


def answered(farm: Farm, url: str, config: FetchConfig | None = None) -> Response:
    found = ask(farm, url, config)
    assert isinstance(found, Response), found
    return found


def failure(farm: Farm, url: str, config: FetchConfig | None = None) -> Failed:
    found = ask(farm, url, config)
    assert isinstance(found, Failed), (found.header, found.body.size)
    return found


@asynccontextmanager
async def open_gate(_place: Place) -> AsyncIterator[Failed | None]:
    yield None


def follow(farm: Farm, url: str, config: FetchConfig | None = None) -> Followed:
    return with_client(farm, config or farm.config(), lambda client: client.follow(place(url), open_gate))

"""Which transport an exchange uses: what the recipe's `shuffle` says."""

from winnow.pipelines.running.exchange.engine import Engine
from winnow.pipelines.running.exchange.files import Files
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.recipe import Shuffle


def transport_of(shuffle: Shuffle, store: ObjectStore, prefix: str, *, tiny: bool = False) -> Engine | Files:
    """The transport of one exchange, whose files are kept below a prefix of its own.

    `auto` takes files, but the engine for what is `tiny`: a few numbers from each sender are not worth files.
    """
    by_engine = tiny if shuffle == "auto" else shuffle == "engine"
    return Engine() if by_engine else Files(store, prefix)

"""The store that a page shows, as of one generation, and the recipe by which it is read."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store import layout
from winnow.pipelines.store.buckets.bucket_store import BucketStore
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import HeldStore, Store
from winnow.runners.inspect.kept import Kept
from winnow.runners.notebook.store_tables import StoreTables
from winnow.schemas.records import Generation

LOOKED_SECONDS: Final = 2.0


@dataclass(eq=False)
class _Resolved:
    """The generation that is shown, looked up once by whichever thread needs it first."""

    found: Generation | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, look_up: Callable[[], Generation]) -> Generation:
        with self.lock:
            if self.found is None:
                self.found = look_up()
            return self.found


@dataclass(frozen=True)
class Opened:
    """A store at one generation; what views have computed stays in `kept`, as far as memory allows."""

    store: Store
    recipe: BoundRecipe | None
    kept: Kept = field(default_factory=Kept, compare=False)
    _resolved: _Resolved = field(default_factory=_Resolved, compare=False)

    def __post_init__(self) -> None:
        """Hold the manifests, which nearly every view reads."""
        object.__setattr__(self, "store", HeldStore(self.store.objects, self.store.record))

    @property
    def generation(self) -> Generation:
        """The generation that all views show; StoreError if nothing is ingested yet."""
        return self._resolved.get(lambda: require_latest_for(self.recipe, self.store))

    @cached_property
    def tables(self) -> StoreTables:
        """Its tables for SQL."""
        return StoreTables(self.store, self.recipe, self.generation)

    def again(self) -> "Opened":
        """The same generation with nothing computed of it."""
        return Opened(self.store, self.recipe, _resolved=self._resolved)


class Showing:
    """What a page shows. Safe to use from several threads.

    Forgetting hides rows at once and publishes no generation, so what was computed is dropped when it has happened. It
    is looked for at each request; in a bucket, where that is a request of its own, once in two seconds for all.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._forgotten: frozenset[str] | None = None
        self._looked = 0.0
        self._lock = threading.Lock()

    @property
    def last(self) -> Opened:
        """What was shown last."""
        return self._opened

    def now(self) -> Opened:
        """What is shown to a request that begins now."""
        with self._lock:
            objects, now = self._opened.store.objects, time.monotonic()
            recent = isinstance(objects, BucketStore) and now - self._looked < LOOKED_SECONDS
            if self._forgotten is not None and recent:
                return self._opened
            forgotten, self._looked = _tombstones(objects), now
            if self._forgotten is not None and forgotten != self._forgotten:
                self._opened = self._opened.again()
            self._forgotten = forgotten
            return self._opened


def _tombstones(objects: ObjectStore) -> frozenset[str]:
    """The names of all, none of which is read."""
    return frozenset(info.path for info in objects.list(layout.TOMBSTONES))

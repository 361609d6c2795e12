"""Where samples are, by their ids: those that a page has shown are remembered, so that their pictures are found at
once; others are searched for in the ids of all shards."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.search_tasks import Wanted, search_tasks, single_match, wanted_id
from winnow.pipelines.running.job_tasks import HERE
from winnow.runners.inspect.opened import Opened

MOST: Final = 100_000
_BYTES: Final = 500  # of a remembered place, about


@dataclass
class Places:
    """Remembers places."""

    opened: Opened
    _found: OrderedDict[str, Place] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, opened: Opened) -> "Places":
        """Those of a store, which all views share."""
        return opened.kept.get("places", partial(cls, opened))

    @property
    def nbytes(self) -> int:
        """About what they take."""
        return _BYTES * len(self._found)

    def remember(self, places: Iterable[Place]) -> None:
        """Remember the places of samples that are shown."""
        with self._lock:
            for place in places:
                self._found[place.id] = place
                self._found.move_to_end(place.id)
            while len(self._found) > MOST:
                self._found.popitem(last=False)

    def find(self, digits: str) -> Place:
        """The sample whose id starts with these digits; WinnowError if none or several do, or it is forgotten."""
        with self._lock:
            known = self._found.get(digits.lower())
        return known or self._searched(wanted_id(digits))

    def find_url(self, url: str) -> Place:
        """The sample with this URL."""
        return self._searched(Wanted(url=url))

    def _searched(self, wanted: Wanted) -> Place:
        store, generation = self.opened.store, self.opened.generation
        with HERE.folder("search") as steps:
            found = search_tasks(store, generation, wanted, steps).found(HERE)
        place = single_match(store, generation, wanted, found)
        self.remember([place])
        return place

"""Objects on a disk for as long as one run lasts: what a crash of the machine takes is made again, so nothing waits."""

from dataclasses import dataclass
from typing import BinaryIO

from winnow.pipelines.store.local import LocalStore


@dataclass(frozen=True)
class ScratchDisk(LocalStore):
    """A store whose objects take their names whole, but need not be on the disk by then."""

    def _settle(self, stream: BinaryIO) -> None:
        """Nothing is waited for."""

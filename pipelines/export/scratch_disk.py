"""Objects on a disk for as long as one run lasts: what a crash of the machine takes is made again, so nothing waits."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from winnow.pipelines.store.local import LocalStore


@dataclass(frozen=True)
class ScratchDisk(LocalStore):
    """A store whose objects take their names whole, but need not be on the disk by then."""

    def put(self, path: str, content: bytes | Path) -> None:
        """Publish the whole object or nothing."""
        target = self._file(path)
        descriptor, unfinished = tempfile.mkstemp(dir=self.scratch())
        try:
            with open(descriptor, "wb") as stream:
                if isinstance(content, Path):
                    with open(content, "rb") as source:
                        shutil.copyfileobj(source, stream, 1 << 20)
                else:
                    stream.write(content)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(unfinished, target)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise

"""What the machines of a cluster start Python workers with, as the driver tells them."""

import os
import shutil
import sys
from pathlib import Path

from winnow.schemas.errors import WinnowError

BOOT = "winnow-boot"


def boot_command() -> Path:
    """Where `winnow-boot` is on this machine, and by agreement on each of the cluster.

    Raises:
        WinnowError: It is not on this machine.
    """
    beside = Path(sys.executable).with_name(BOOT)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(BOOT)
    if found is None:
        raise WinnowError(
            f"no {BOOT} beside {sys.executable}, by which a cluster's machines start workers; install winnow again, or "
            f"say where they have it: --environment_type=PROCESS --environment_options=process_command=/…/{BOOT}"
        )
    return Path(found)

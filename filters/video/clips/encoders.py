"""Opens encoders and leaves the process the priority that it has.

Run by root, SVT-AV1 makes its threads and the one that opens it real-time (SCHED_FIFO, 99) for as long as they live:
such a process, and all that it starts, goes before everything else on the machine.
"""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av.codec.context import CodecContext

__all__ = ["open_encoder"]


def open_encoder(context: "CodecContext") -> None:
    """Open an encoder all of whose settings are made."""
    if sys.platform != "linux":
        context.open()
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    context.open()
    if os.sched_getscheduler(0) == policy:
        return
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # it has ended
            if os.sched_getscheduler(int(thread)) == os.SCHED_FIFO:
                os.sched_setscheduler(int(thread), policy, parameters)

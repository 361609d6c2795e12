"""Runs a command and ends it when this process's standard input is closed, so that it ends with its parent.

Run it by its path, with a Python that imports nothing else: `python -I -S watched_process.py FOLDER COMMAND...`. The
parent holds the other end of the pipe that is its standard input; however the parent ends, the pipe is closed. Then
the command is terminated, killed after a delay, and its folder is removed. If this process itself is killed, the
kernel kills the command (on Linux). A command that ends by itself leaves its folder, so that its log can be read.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import NoReturn

FAREWELL_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1


def main(folder: str, command: list[str]) -> NoReturn:
    """Run the command until it ends or standard input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent decides
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def bound() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=bound)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", flush=True)
        os._exit(127)
    unwanted = threading.Event()
    threading.Thread(target=_end_with_input, args=(process, unwanted), daemon=True).start()
    status = process.wait()
    if unwanted.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(status if status >= 0 else 128 - status)


def _end_with_input(process: "subprocess.Popen[bytes]", unwanted: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    unwanted.set()
    process.terminate()
    time.sleep(FAREWELL_SECONDS)
    process.kill()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

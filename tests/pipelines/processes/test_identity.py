"""Processes are told apart by when they started, and one that is ending is not an error."""

import os
import subprocess
import sys
import threading

import pytest

from winnow.pipelines.processes.identity import started


def test_a_process_keeps_its_start_and_another_has_its_own() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert started(other.pid)
        assert started(other.pid) == started(other.pid)
        assert started(os.getpid()) == started(os.getpid()) != started(other.pid)
        assert other.stdin is not None
        other.stdin.close()
        other.wait()
        assert started(other.pid) is None


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no /proc here")
def test_a_process_that_ends_while_it_is_looked_at_is_gone() -> None:
    for _ in range(400):  # a few of a hundred end between the opening of the kernel's file and its reading
        process = subprocess.Popen(["true"])
        waiting = threading.Thread(target=process.wait)
        waiting.start()
        while waiting.is_alive():
            started(process.pid)
        assert started(process.pid) is None

"""What a worker prints where the disk is full: nothing, and it goes on."""

import os
from pathlib import Path

from winnow.pipelines.running.worker import log_to


def test_printing_to_a_full_disk_never_fails() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    print("an error that the driver waits for", file=log_to(full), flush=True)
    os.close(full)


def test_what_is_printed_is_in_the_log_at_once(tmp_path: Path) -> None:
    log = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    stream = log_to(log)
    print("a line: é \udc80", file=stream)
    assert (tmp_path / "log").read_text() == "a line: é \\udc80\n"
    stream.close()
    os.close(log)  # still open

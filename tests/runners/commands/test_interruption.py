"""A command that is asked to end while DuckDB computes: ended by the signal, and not by an error of DuckDB's."""

import signal
import subprocess
import sys

import pytest

from winnow.runners.commands.main import INTERRUPTED, TERMINATED, ended_by

QUERY = """
import os, signal, threading
import duckdb
from winnow.runners.commands.main import ended_by, terminable

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
connection = duckdb.connect()
with terminable():
    threading.Timer(0.3, lambda: os.kill(os.getpid(), {number})).start()
    try:
        while True:  # DuckDB notices signals in some queries only; Python does after the others
            connection.execute("SELECT sum(a.range * b.range) FROM range(4000) a, range(4000) b").fetchall()
    except (RuntimeError, KeyboardInterrupt) as error:
        print(ended_by(error))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, TERMINATED), (signal.SIGINT, INTERRUPTED)])
def test_a_signal_during_a_query_is_no_error_of_the_query(number: signal.Signals, status: int) -> None:
    script = QUERY.format(number=int(number))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == (str(status), "")


def test_other_errors_are_not_of_a_signal() -> None:
    assert ended_by(RuntimeError("another")) is None

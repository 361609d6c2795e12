"""What all tests begin with."""

import signal


def pytest_configure() -> None:
    """Mind interrupts: what a shell starts in the background ignores them, as would each command that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""Opens the page in a browser, where there is a screen."""

import html
import os
import sys
import webbrowser
from pathlib import Path

from winnow.pipelines.processes.run_folder import run_folder


def open_in_browser(address: str) -> None:
    """Open an address, if this machine has a screen: a browser of text would take the terminal.

    It goes by a file that the user alone can read, as all users see the arguments of processes, and so the token.
    """
    if sys.platform != "darwin" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    target = Path(run_folder()) / "inspect.html"
    target.touch(0o600)
    target.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">', "utf-8")
    webbrowser.open(target.as_uri())

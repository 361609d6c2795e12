"""`python -m winnow`."""

from winnow.runners.cli import entry

entry()

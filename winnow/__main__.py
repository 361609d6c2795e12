"""`python -m winnow`."""

from winnow.runners.commands.main import entry

entry()

"""`winnow law`: the family scaling law on the command line. A module for each subcommand, with its `run`."""

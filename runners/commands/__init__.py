"""The commands, in rooms as `winnow --help` lists them: one file each, with its arguments and its body."""

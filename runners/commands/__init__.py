"""The commands: one file each, with its arguments and its body."""

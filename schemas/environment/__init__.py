"""The environment of a run: packages, machine, version of winnow, and the folder for temporary files."""

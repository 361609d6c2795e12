"""What a run stands on: the packages and the machine, the version of winnow, and the folder for temporary files."""

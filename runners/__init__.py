"""The doors: the command line, the runners, progress and reports."""

"""Installs the import hook in every Python that has this folder on its path: tests start many."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location("_winnow_import_hook", Path(__file__).with_name("import_hook.py"))
assert _spec is not None
assert _spec.loader is not None
_hook = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_hook)
_hook.install()
